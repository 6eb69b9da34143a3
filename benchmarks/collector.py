"""How fast the collector is: intake, graph questions, start and memory.

    python benchmarks/collector.py                      # SQLite, all parts
    python benchmarks/collector.py --db postgresql+psycopg://user@host/empty graph
    python benchmarks/collector.py --scale 0.1 graph    # a tenth of the graph

Prints a line for each figure. Parts: intake, graph, ladder, start, memory.
"""

from __future__ import annotations

import argparse
import http.client
import json
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import insert, select

from spark_lineage.collector import graph
from spark_lineage.collector.graph import Bounds
from spark_lineage.collector.resolve import Column, Dataset
from spark_lineage.collector.service import Collector
from spark_lineage.collector.store import schema

CLIENTS = 16
DAY0 = datetime(2026, 1, 1)
COLUMNS, EDGES = 380_000, 920_000
PER_TABLE = 20


def event(job: int, run: int, kind: str, minute: int) -> bytes:
    """A run of one of many jobs that each write a table of ten columns; the lineage is known."""
    fields = {
        f"c{n}": {
            "inputFields": [
                {
                    "namespace": "bench",
                    "name": f"source_{job}",
                    "field": f"c{n}",
                    "transformations": [{"type": "DIRECT", "subtype": "IDENTITY"}],
                }
            ]
        }
        for n in range(10)
    }
    return json.dumps(
        {
            "eventType": kind,
            "eventTime": f"{DAY0 + timedelta(minutes=minute):%Y-%m-%dT%H:%M:%SZ}",
            "producer": "https://bench",
            "run": {"runId": str(uuid.UUID(int=run))},
            "job": {"namespace": "bench", "name": f"job_{job}"},
            "inputs": [{"namespace": "bench", "name": f"source_{job}"}],
            "outputs": [
                {
                    "namespace": "bench",
                    "name": f"table_{job}",
                    "facets": {"columnLineage": {"fields": fields}},
                }
            ],
        }
    ).encode()


@contextmanager
def served(db: str) -> Iterator[tuple[subprocess.Popen[str], str, float]]:
    """A collector in a process of its own: the process, its address, how long it took to start."""
    begin = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "spark_lineage.cli", "collector", "--port", "0", "--db", db],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    address = process.stdout.readline().split()[-1]
    try:
        yield process, address, time.perf_counter() - begin
    finally:
        process.terminate()
        process.wait()


def posted(address: str, path: str, bodies: list[bytes], clients: int) -> float:
    """Seconds to post all bodies from so many connections at once."""
    host = urllib.parse.urlsplit(address).netloc
    places = iter(range(len(bodies)))
    lock = threading.Lock()

    def work() -> None:
        connection = http.client.HTTPConnection(host)
        while True:
            with lock:
                place = next(places, None)
            if place is None:
                return
            connection.request("POST", path, bodies[place], {"Content-Type": "application/json"})
            answer = connection.getresponse()
            answer.read()
            assert answer.status in (200, 201), answer.status

    begin = time.perf_counter()
    threads = [threading.Thread(target=work) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.perf_counter() - begin


def intake(db: str, scale: float) -> None:
    jobs, count = 200, int(4_000 * scale)
    known = [event(job, job, "COMPLETE", 0) for job in range(jobs)]
    singles = [
        event(n // 2 % jobs, 1_000 + n // 2, ("START", "COMPLETE")[n % 2], 1 + n)
        for n in range(count)
    ]
    later = [event(n % jobs, 10_000_000 + n, "COMPLETE", 10 + n % 30_000) for n in range(count * 2)]
    batches = [b"[" + b",".join(later[n : n + 100]) + b"]" for n in range(0, len(later), 100)]
    with served(db) as (_, address, _):
        spent = posted(address, "/api/v1/lineage", known, CLIENTS)
        say("new lineage, single posts", f"{jobs / spent:.0f} events/s")
        spent = posted(address, "/api/v1/lineage", singles, CLIENTS)
        say(
            f"single posts, {CLIENTS} clients, known lineage",
            f"{count / spent:.0f} events/s (wanted 1,000)",
        )
        before = edges(address)
        spent = posted(address, "/api/v1/lineage/batch", batches, 2)
        say("batches of 100", f"{len(later) / spent:.0f} events/s (wanted 5,000)")
        say("new edge rows of the repeats", str(edges(address) - before))


def edges(address: str) -> int:
    host = urllib.parse.urlsplit(address).netloc
    connection = http.client.HTTPConnection(host)
    connection.request("GET", "/healthz")
    return int(json.loads(connection.getresponse().read())["edges"])


def build(collector: Collector, columns: int, count: int) -> list[int]:
    """Layered, skewed, with cycles: edges go a layer on, mostly from few columns, some back."""
    chance = random.Random(5)
    tables, layers = columns // PER_TABLE, 40
    per_layer = tables // layers * PER_TABLE
    with collector.database.write() as c:
        c.execute(
            insert(schema.jobs), [{"id": 1, "digest": "j", "namespace": "bench", "name": "job"}]
        )
        c.execute(
            insert(schema.datasets),
            [
                {
                    "id": 1 + t,
                    "namespace": "bench",
                    "name": f"layer_{t * layers // tables}.table_{t}",
                    "ghost": False,
                }
                for t in range(tables)
            ],
        )
        c.execute(
            insert(schema.columns),
            [
                {
                    "id": 1 + n,
                    "digest": f"d{n}",
                    "dataset_id": 1 + n // PER_TABLE,
                    "whole": False,
                    "path": f"c{n % PER_TABLE}",
                    "root": f"c{n % PER_TABLE}",
                    "stated": True,
                    "type": "int",
                    "position": n % PER_TABLE,
                }
                for n in range(columns)
            ],
        )
        pairs: set[tuple[int, int]] = set()
        while len(pairs) < count:
            layer = chance.randrange(layers - 1)
            skewed = int(per_layer * chance.random() ** 1.6)
            source = layer * per_layer + skewed
            back = chance.random() < 0.002
            target = ((layer + 1) if not back else max(0, layer - 2)) * per_layer
            target += chance.randrange(per_layer)
            if source != target:
                pairs.add((1 + source, 1 + target))
        rows = [
            {
                "job_id": 1,
                "output_id": 1 + (t - 1) // PER_TABLE,
                "out_id": t,
                "in_id": s,
                "kind": "TRANSFORMATION",
                "masking": False,
            }
            for s, t in sorted(pairs)
        ]
        for place in range(0, len(rows), 100_000):
            c.execute(insert(schema.edges), rows[place : place + 100_000])
    if not collector.database.sqlite:
        with collector.database.write() as c:
            c.exec_driver_sql("ANALYZE")
    starts = sorted({source for source, _ in pairs})
    return chance.sample(starts, min(1_000, len(starts)))


def questions(db: str, scale: float) -> None:
    collector = Collector(db)
    begin = time.perf_counter()
    starts = build(collector, int(COLUMNS * scale), int(EDGES * scale))
    say("graph built in", f"{time.perf_counter() - begin:.0f} s")
    ask(collector, starts, "8 hops downstream", Bounds(depth=8, limit=1_000), ("down",), 40)
    ask(
        collector,
        starts[:200],
        "20 hops both ways",
        Bounds(depth=20, limit=1_000),
        ("up", "down"),
        200,
    )
    collector.close()


def ask(
    collector: Collector,
    starts: list[int],
    name: str,
    bounds: Bounds,
    ways: tuple[str, ...],
    wanted: int,
) -> None:
    spent, sizes = [], []
    for start in starts:
        begin = time.perf_counter()
        with collector.database.read() as connection:
            size = 0
            for way in ways:
                walk = (graph.upstream if way == "up" else graph.downstream)(
                    connection, [start], bounds
                )
                size += len(walk.nodes) - 1
        spent.append((time.perf_counter() - begin) * 1000)
        sizes.append(size)
    spent.sort()
    say(
        f"{name}, at most {bounds.limit} columns a way, {len(starts)} starts",
        f"p50 {statistics.median(spent):.1f} ms, p99 {spent[int(len(spent) * 0.99) - 1]:.1f} ms "
        f"(wanted {wanted}); columns: median {statistics.median(sizes):.0f}, most {max(sizes)}",
    )


def ladder(db: str, _scale: float) -> None:
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
    with collector.database.read() as connection:
        d, c = schema.datasets, schema.columns
        query = select(c.c.id, d.c.id, d.c.name).join(d, d.c.id == c.c.dataset_id)
        row = connection.execute(query.where(d.c.name == "l5", c.c.path == "a")).one()
    column = Column(Dataset(row[1], "ladder", "l5"), row[0], "a")
    times = []
    for _ in range(50):
        begin = time.perf_counter()
        with collector.database.read() as connection:
            size = len(graph.upstream(connection, [column.id or 0], Bounds()).nodes)
            size += len(graph.downstream(connection, [column.id or 0], Bounds()).nodes)
        times.append((time.perf_counter() - begin) * 1000)
    say(
        "40 edges, both ways, depth 20",
        f"{statistics.median(times):.1f} ms (wanted 5), {size} columns",
    )
    collector.close()


def start(db: str, _scale: float) -> None:
    with served(db) as (_, _, seconds):
        say("start to the first answer", f"{seconds:.2f} s (wanted 2)")


def memory(db: str, scale: float) -> None:
    """Resident memory, idle and after many events."""
    with served(db) as (process, address, _):
        say("memory, idle", f"{resident(process.pid)} MiB (wanted at most 300)")
        total = int(20_000 * scale)
        for done in range(0, total, 10_000):
            some = [
                event(n % 200, 50_000_000 + n, "COMPLETE", n % 40_000)
                for n in range(done, done + 10_000)
            ]
            batches = [b"[" + b",".join(some[n : n + 100]) + b"]" for n in range(0, len(some), 100)]
            posted(address, "/api/v1/lineage/batch", batches, 2)
            say(f"memory, {done + 10_000} events", f"{resident(process.pid)} MiB")


def resident(pid: int) -> int:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * 4096 // (1 << 20)


def say(what: str, figure: str) -> None:
    print(f"{what}: {figure}", flush=True)


PARTS = {"start": start, "ladder": ladder, "intake": intake, "graph": questions, "memory": memory}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("parts", nargs="*", default=list(PARTS))
    parser.add_argument("--db", help="an empty database; default: SQLite files of their own")
    parser.add_argument("--scale", type=float, default=1.0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for part in given.parts:
            PARTS[part](given.db or f"sqlite:///{folder}/{part}.db", given.scale)


if __name__ == "__main__":
    main()
