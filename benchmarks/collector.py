"""How fast the collector is: intake, graph questions, search, start and memory.

    python benchmarks/collector.py                           # all parts, on SQLite
    python benchmarks/collector.py --part graph --postgres   # on a PostgreSQL of its own
    python benchmarks/collector.py --part graph --postgres URL      # of an empty database
    python benchmarks/collector.py --part memory --events 1000000   # the long run

Prints a line for each figure. The collector of `ingest`, `new`, `start` and `memory` is
a process of its own, asked over HTTP by clients in this one; `graph`, `ladder`
and `search` put the question to the library and time the answer, and say with
`over HTTP` what the whole of it takes.
"""

from __future__ import annotations

import argparse
import gc
import http.client
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from collector_events import KNOWN, NEW, ORDINARY, Events, batches, posted, sizes
from collector_graph import HOPS, build
from sqlalchemy import insert, select

from spark_lineage.collector import graph, questions
from spark_lineage.collector.graph import Bounds
from spark_lineage.collector.server import tune
from spark_lineage.collector.service import Collector
from spark_lineage.collector.store import schema

CLIENTS, JOBS, BATCH = 16, 200, 100
QUANTILES = (("median", 0.5), ("p90", 0.9), ("p99", 0.99))
# What is asked of each part if nothing else is said: under three minutes each.
EVENTS = {"ingest": 10_000, "new": 1_000, "memory": 60_000}
STARTS = 1_000


class Server(NamedTuple):
    """A collector in a process of its own."""

    process: subprocess.Popen[str]
    address: str
    # How long it took to start.
    seconds: float

    def timed(self, path: str, bodies: list[bytes], clients: int) -> Spent:
        """What it takes to post bodies, each client waiting for its answers."""
        work, own = cpu(self.process.pid), time.process_time()
        wall = posted(self.address, path, bodies, clients)
        return Spent(wall, cpu(self.process.pid) - work, time.process_time() - own)

    def health(self) -> dict[str, int]:
        """How much there is of everything."""
        content: dict[str, int] = json.loads(get(self.address, "/healthz"))
        return content


@contextmanager
def served(db: str) -> Iterator[Server]:
    """A collector in a process of its own, ended with the context."""
    begin = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "spark_lineage.cli", "collector", "--port", "0", "--db", db],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    address = process.stdout.readline().split()[-1]
    try:
        yield Server(process, address, time.perf_counter() - begin)
    finally:
        process.terminate()
        process.wait()


def ingest(db: str, given: argparse.Namespace) -> None:
    """Events a second of known lineage, each answered when it is on the disk."""
    count = given.events or EVENTS["ingest"]
    with served(db) as server:
        for number, shape in enumerate(KNOWN):
            repeats(server, Events(JOBS, shape), count, number << 40)


def repeats(server: Server, events: Events, count: int, first: int) -> None:
    """Runs of jobs that are known, one event a request and in batches."""
    begin = server.health()["events"]
    posted(server.address, "/api/v1/lineage", events.known(first), CLIENTS)
    before = server.health()
    bodies = events.mixed(first + 1_000, count)
    told = f"{CLIENTS} clients, one event a request, known lineage"
    rate(f"{events}, {told}", count, server.timed("/api/v1/lineage", bodies, CLIENTS), 1_000)
    bodies = batches(events.mixed(first + 10_000_000, count * 2), BATCH)
    told = f"batches of {BATCH} from 2 clients, known lineage"
    spent = server.timed("/api/v1/lineage/batch", bodies, 2)
    rate(f"{events}, {told}", count * 2, spent, 5_000)
    after = server.health()
    say("new edge rows of the repeats", str(after["edges"] - before["edges"]))
    assert after["events"] == begin + JOBS + count * 3, "an event was acknowledged and lost"


def new(db: str, given: argparse.Namespace) -> None:
    """Events a second where each has a job, data sets, columns and edges of its own."""
    count = given.events or EVENTS["new"]
    with served(db) as server:
        for number, (shape, wanted) in enumerate(zip(NEW, (1_000, 0, 400), strict=True)):
            # Half of them one by one, the other half in batches: other jobs.
            events = Events(2 * count, shape)
            bodies = events.known(number << 40)
            before = server.health()
            told = f"{CLIENTS} clients, one event a request, new lineage"
            spent = server.timed("/api/v1/lineage", bodies[:count], CLIENTS)
            rate(f"{events}, {told}", count, spent, wanted)
            told = f"batches of {BATCH} from 2 clients, new lineage"
            spent = server.timed("/api/v1/lineage/batch", batches(bodies[count:], BATCH), 2)
            rate(f"{events}, {told}", count, spent, wanted)
            after = server.health()
            edges = (after["edges"] - before["edges"]) / (2 * count)
            say("new edges of each event", f"{edges:.0f}, two of them from data set to data set")
            assert after["events"] == before["events"] + 2 * count, "an event was lost"
        some_new(server, 2 * count)
        used = resident(server.process.pid)
        say("memory of the collector after them", f"{used} MiB (wanted at most 300)")


def some_new(server: Server, count: int) -> None:
    """Events of which one in ten has a job and data sets of its own."""
    first = len(NEW) << 40
    events = Events(JOBS + count, ORDINARY._replace(what="of some jobs"))
    known = [events.event(job, first + job, True) for job in range(JOBS)]
    posted(server.address, "/api/v1/lineage", known, CLIENTS)
    bodies = [
        events.event(n % JOBS if n % 10 else JOBS + n, first + JOBS + n, True) for n in range(count)
    ]
    told = f"batches of {BATCH} from 2 clients, one in ten is new lineage"
    spent = server.timed("/api/v1/lineage/batch", batches(bodies, BATCH), 2)
    rate(f"{events}, {told}", count, spent)


class Spent(NamedTuple):
    """Seconds: until all were answered, of the collector's processor time, of the clients'."""

    wall: float
    server: float
    clients: float


def rate(what: str, count: int, spent: Spent, wanted: int = 0) -> None:
    found = count / spent.wall
    told = f", {found / wanted:.2f} of {wanted:,} wanted" if wanted else ""
    say(
        what,
        f"{found:.0f} events/s{told};"
        f" {spent.server / count * 1e6:.0f} µs of processor time an event,"
        f" the clients took {100 * spent.clients / spent.wall:.0f} % of a processor",
    )


def weighed(folder: Path) -> str:
    """How large events are, as JSON without blanks."""
    found = sizes(folder)
    told = [f"{name} {quantile(found, part) / 1000:.1f} kB" for name, part in QUANTILES]
    return f"{len(found)}; {', '.join(told)}"


def questions_of_graph(db: str, given: argparse.Namespace) -> None:
    """Walks over a large graph."""
    collector = Collector(db)
    begin = time.perf_counter()
    every = build(collector, given.scale)
    say("graph of 380,000 columns and 920,000 edges, built in", f"{since(begin):.0f} s")
    tune()
    starts = random.Random(1).sample(every, min(STARTS, len(every)))
    begin = time.perf_counter()
    walk(collector, starts[0], Bounds(depth=HOPS), ("down",))
    say("the first question after the start", f"{since(begin) * 1000:.1f} ms")
    ask(collector, starts, f"{HOPS} hops downstream", Bounds(depth=HOPS), ("down",), 40)
    both = Bounds(depth=20, limit=1_000)
    ask(collector, starts[:300], "20 hops both ways", both, ("up", "down"), 200)
    ask(collector, starts[:300], "20 hops both ways", Bounds(depth=20), ("up", "down"), 200)
    say("memory of this process, which asked them", f"{resident(os.getpid())} MiB")
    names = columns(collector, starts[:200])
    collector.close()
    with served(db) as server:
        paths = [f"/api/v1/columns/impact?{query}&depth={HOPS}" for query in names]
        answered(f"impact over HTTP, {HOPS} hops, whole answer", server.address, paths)
        used = resident(server.process.pid)
        say("memory of the collector after them", f"{used} MiB (wanted 300)")


def columns(collector: Collector, ids: list[int]) -> list[str]:
    c, d = schema.columns, schema.datasets
    query = select(d.c.namespace, d.c.name, c.c.path).join(d, d.c.id == c.c.dataset_id)
    with collector.database.read() as connection:
        return [
            urllib.parse.urlencode({"namespace": row[0], "dataset": row[1], "column": row[2]})
            for row in connection.execute(query.where(c.c.id.in_(ids)))
        ]


def walk(collector: Collector, start: int, bounds: Bounds, ways: tuple[str, ...]) -> list[Any]:
    with collector.database.read() as connection:
        return [
            (graph.upstream if way == "up" else graph.downstream)(connection, [start], bounds)
            for way in ways
        ]


def ask(
    collector: Collector,
    starts: list[int],
    name: str,
    bounds: Bounds,
    ways: tuple[str, ...],
    wanted: int,
) -> None:
    spent, worked, sizes, cut = [], [], [], 0
    for start in starts:
        begin, work = time.perf_counter(), time.thread_time()
        walks = walk(collector, start, bounds, ways)
        spent.append(since(begin) * 1000)
        worked.append((time.thread_time() - work) * 1000)
        sizes.append(sum(len(one.nodes) - 1 for one in walks))
        cut += len(walks[0].nodes) >= bounds.limit or len(walks[-1].nodes) >= bounds.limit
    say(
        f"{name}, at most {bounds.limit:,} columns a way, {len(starts)} starts",
        f"{times(spent)}, {quantile(spent, 0.99) / wanted:.2f} of {wanted} ms wanted;"
        f" own processor time p99 {quantile(worked, 0.99):.1f} ms;"
        f" columns: median {statistics.median(sizes):.0f}, p99 {quantile(sizes, 0.99):.0f},"
        f" most {max(sizes)}; {cut} cut by the bound",
    )


def ladder(db: str, _given: argparse.Namespace) -> None:
    """40 edges in 10 layers of two columns, where the number of paths doubles at each layer."""
    collector = Collector(db)
    for layer in range(10):
        fields = {
            column: {
                "inputFields": [
                    {"namespace": "ladder", "name": f"l{layer}", "field": field} for field in "ab"
                ]
            }
            for column in "ab"
        }
        out = {
            "namespace": "ladder",
            "name": f"l{layer + 1}",
            "facets": {"columnLineage": {"fields": fields}},
        }
        content: dict[str, Any] = {
            "eventTime": "2026-01-01T00:00:00Z",
            "producer": "x",
            "eventType": "COMPLETE",
            "run": {"runId": f"ladder-{layer}"},
            "job": {"namespace": "ladder", "name": f"j{layer}"},
            "outputs": [out],
        }
        collector.take(json.dumps(content).encode())
    c, d = schema.columns, schema.datasets
    with collector.database.read() as connection:
        query = select(c.c.id).join(d, d.c.id == c.c.dataset_id)
        start = connection.scalar(query.where(d.c.name == "l5", c.c.path == "a"))
    spent = []
    for _ in range(200):
        begin = time.perf_counter()
        walks = walk(collector, int(start or 0), Bounds(), ("up", "down"))
        spent.append(since(begin) * 1000)
    found = statistics.median(spent)
    say(
        "40 edges, both ways, depth 20",
        f"{times(spent)}, {found / 5:.2f} of 5 ms wanted (p50);"
        f" {sum(len(one.nodes) for one in walks)} columns",
    )
    collector.close()


def search(db: str, _given: argparse.Namespace) -> None:
    """By any part of a name, among 100,000 data sets."""
    collector = Collector(db)
    chance = random.Random(3)
    words = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=6)) for _ in range(3_000)]
    names = [f"{chance.choice(words)}.{chance.choice(words)}_{n}" for n in range(100_000)]
    with collector.database.write() as connection:
        for place in range(0, len(names), 10_000):
            some = list(enumerate(names[place : place + 10_000], place + 1))
            rows = [{"id": n, "namespace": "bench", "name": name} for n, name in some]
            connection.execute(insert(schema.datasets), [{**row, "ghost": False} for row in rows])
            connection.execute(
                insert(schema.names), [{**r, "digest": f"n{r['id']}", "used": True} for r in rows]
            )
            meant = [{"name_id": n, "since": -(10**17), "dataset_id": n} for n, _ in some]
            connection.execute(insert(schema.meanings), meant)
    tune()
    spent, sizes = [], []
    for word in chance.sample(words, 100):
        begin = time.perf_counter()
        found = collector.ask(questions.search, word[1:5], 50)
        spent.append(since(begin) * 1000)
        sizes.append(len(found))
    say("search among 100,000 data sets", f"{times(spent)}; {statistics.median(sizes):.0f} found")
    collector.close()


def start(db: str, _given: argparse.Namespace) -> None:
    """Until the first request can be sent, on a new database and on one that there is."""
    for what in ("a new database", "a database that is there"):
        with served(db) as server:
            begin = time.perf_counter()
            get(server.address, "/readyz")
            found = server.seconds + since(begin)
            say(f"start on {what}", f"{found:.2f} s, {found / 2:.2f} of 2 wanted")


def memory(db: str, given: argparse.Namespace) -> None:
    """Resident memory of the collector, idle and after many events."""
    events, total = Events(JOBS), given.events or EVENTS["memory"]
    most = 10_000
    with served(db) as server:
        pid, address = server.process.pid, server.address
        say("memory, idle", f"{resident(pid)} MiB (wanted at most 300)")
        posted(address, "/api/v1/lineage", events.known(), CLIENTS)
        part, done, told, begin = max(total // 10, 1_000), 0, 0, time.perf_counter()
        while done < total:
            # Not all at once: the client's own memory is bounded, too.
            count = min(most, part, total - done)
            some = events.mixed(50_000_000 + done, count)
            posted(address, "/api/v1/lineage/batch", batches(some, 100), 2)
            done += count
            if done - told >= part or done >= total:
                pace, told, begin = (done - told) / since(begin), done, time.perf_counter()
                figure = f"{resident(pid)} MiB; {pace:.0f} events/s; {_size(db)}"
                say(f"memory, {done:,} events", figure)


def _size(db: str) -> str:
    """How large the store is."""
    if not db.startswith("sqlite:///"):
        return "its database is another server's"
    size = Path(db.removeprefix("sqlite:///")).stat().st_size
    return f"the store has {size / 1e6:.0f} MB"


def answered(what: str, address: str, paths: list[str]) -> None:
    spent, sizes = [], []
    for path in paths:
        begin = time.perf_counter()
        sizes.append(len(get(address, path)) / 1000)
        spent.append(since(begin) * 1000)
    say(what, f"{times(spent)}; answer: median {statistics.median(sizes):.0f} kB")


def get(address: str, path: str) -> bytes:
    connection = http.client.HTTPConnection(urllib.parse.urlsplit(address).netloc)
    connection.request("GET", path)
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    assert answer.status == 200, (answer.status, body[:500])
    return body


def cpu(pid: int) -> float:
    """Seconds of processor time that a process took."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident(pid: int) -> int:
    """MiB."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") // (1 << 20)


def since(begin: float) -> float:
    return time.perf_counter() - begin


def quantile(values: list[Any], part: float) -> float:
    ordered = sorted(values)
    return float(ordered[min(len(ordered) - 1, int(len(ordered) * part))])


def times(spent: list[float]) -> str:
    return f"p50 {quantile(spent, 0.5):.1f} ms, p99 {quantile(spent, 0.99):.1f} ms"


def say(what: str, figure: str) -> None:
    print(f"{what}: {figure}", flush=True)


@contextmanager
def postgres() -> Iterator[Callable[[], str]]:
    """The tests' own PostgreSQL, which does not wait for the disk; gives new databases."""
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from tests.support.postgres import server

    with server() as found:
        yield found.create


PARTS = {
    "start": start,
    "ladder": ladder,
    "ingest": ingest,
    "new": new,
    "graph": questions_of_graph,
    "search": search,
    "memory": memory,
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--part", action="append", choices=list(PARTS), help="default: all")
    parser.add_argument(
        "--postgres",
        nargs="?",
        const="own",
        help="URL of an empty database; without one: its own, which does not wait for the disk",
    )
    parser.add_argument("--events", type=int, help="how many `ingest`, `new` and `memory` post")
    parser.add_argument("--scale", type=float, default=1.0, help="of the graph's size")
    parser.add_argument(
        "--weigh", metavar="FOLDER", help="only say how large the events in a folder are"
    )
    given = parser.parse_args()
    if given.weigh:
        say(f"events in {given.weigh}", weighed(Path(given.weigh)))
        return
    say("load of the machine before", f"{os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    gc.collect()
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        create = stack.enter_context(postgres()) if given.postgres == "own" else None
        for part in given.part or PARTS:
            db = create() if create else given.postgres or f"sqlite:///{folder}/{part}.db"
            say(f"-- {part}", "PostgreSQL" if given.postgres else "SQLite")
            PARTS[part](db, given)
            for path in Path(folder).glob(f"{part}.db*"):
                path.unlink()
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
