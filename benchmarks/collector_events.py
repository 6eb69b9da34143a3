"""Events as this project's agent sends them, and clients that post them.

Each of the jobs reads two tables and overwrites one: two edges to each of its columns
and 4 to rows, expressions, schemas, symlinks, statistics, the
job's SQL, what the agent says of itself. START tells the lineage too, as it does
where the query is known by then. The agent's own builder makes them; those of other
shapes are such events with less in them, as other producers send them.
"""

from __future__ import annotations

import json
import selectors
import socket
import time
import urllib.parse
import uuid
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from spark_lineage.lineage.model import (
    Dataset,
    Input,
    Kind,
    Lineage,
    Origin,
    Output,
    OutputColumn,
    Source,
)
from spark_lineage.openlineage.events import EventBuilder
from spark_lineage.openlineage.run import ParentRun, Run

WAREHOUSE = "s3://bench/warehouse"
DAY0 = datetime(2026, 1, 1)
_RUN, _APPLICATION = (str(uuid.UUID(int=1 << 120 | n)) for n in (1, 2))
_WRITTEN = 987_654_321
_JOB = "JOB@JOB"


class Shape(NamedTuple):
    """What the events of a job have in them: columns of each input and of the output."""

    what: str
    read: int
    written: int
    # What is told beside the edges, the SQL and statistics: `all` that the agent tells, the
    # `schemas` of all data sets, or that of the `output` alone.
    told: str = "all"


AGENT = Shape("as the agent sends it", 20, 10)
LEAN = Shape("lean", 20, 10, "output")
MEDIAN = Shape("small", 4, 2, "output")
ORDINARY = Shape("ordinary", 10, 10, "schemas")
BIG = Shape("big", 50, 50, "schemas")
KNOWN = (AGENT, LEAN, MEDIAN)
NEW = (ORDINARY, AGENT, BIG)


class Events:
    """The events of so many jobs; a job's are alike but for run, time and statistics."""

    def __init__(self, jobs: int, shape: Shape = AGENT) -> None:
        self.jobs = jobs
        self._shape = shape
        self._bodies = [_body(shape, state) for state in ("START", "COMPLETE")]
        self.size = sum(len(self.event(jobs // 2, 1, end)) for end in (False, True)) // 2

    def __str__(self) -> str:
        shape = self._shape
        return (
            f"an event {shape.what} ({self.size / 1000:.1f} kB, 2 tables of {shape.read} columns"
            f" into one of {shape.written}: {2 * shape.written + 4} edges)"
        )

    def known(self, first: int = 0) -> list[bytes]:
        """One successful run of each job."""
        return [self.event(job, first + job, True) for job in range(self.jobs)]

    def mixed(self, first: int, count: int) -> list[bytes]:
        """``count`` events, START and COMPLETE of one run after the other, job by job."""
        return [self.event(n // 2 % self.jobs, first + n // 2, n % 2 == 1) for n in range(count)]

    def event(self, job: int, run: int, end: bool) -> bytes:
        """One event of a run, by the run's number, by which its time is told too."""
        at = DAY0 + timedelta(seconds=run % (1 << 28) * 10 + end * 5)
        body = self._bodies[end].replace(b"@TIME@", at.strftime("%Y-%m-%dT%H:%M:%SZ").encode())
        body = body.replace(_JOB.encode(), f"{self._shape.what.partition(' ')[0]}_{job}".encode())
        body = body.replace(str(_WRITTEN).encode(), str(1_000 + run % 100_000).encode())
        return body.replace(_RUN.encode(), str(uuid.UUID(int=run)).encode())


def _body(shape: Shape, state: str) -> bytes:
    """An event with marks for its job, run, time and number of rows."""
    orders, customers = (_table(f"{name}_{_JOB}", shape.read) for name in ("orders", "customers"))

    def source(table: Dataset, column: int, kind: Kind) -> Source:
        return Source(table.namespace, table.name, f"column_{column % shape.read}", kind)

    columns = tuple(
        OutputColumn(
            f"column_{n}",
            (Kind.IDENTITY, Kind.TRANSFORMATION, Kind.AGGREGATION)[n % 3],
            Origin.INPUT_FIELDS,
            f"coalesce(orders.column_{n}, customers.column_{2 * n % shape.read})",
            direct=(
                source(orders, n, (Kind.IDENTITY, Kind.TRANSFORMATION)[n % 2]),
                source(customers, 2 * n, Kind.TRANSFORMATION),
            ),
            data_type='"string"',
        )
        for n in range(shape.written)
    )
    rows = (
        source(orders, 0, Kind.JOIN),
        source(customers, 0, Kind.JOIN),
        source(orders, 3, Kind.FILTER),
        source(orders, 1, Kind.GROUP_BY),
    )
    out = _table(f"summary_{_JOB}", shape.written)
    output = Output(out, columns=columns, indirect=rows, lifecycle="OVERWRITE")
    run = Run(
        _RUN,
        "bench",
        f"etl.summary_{_JOB}",
        "COMMAND",
        0,
        1,
        sql=f"INSERT OVERWRITE summary_{_JOB} SELECT ... FROM orders_{_JOB} JOIN ...",
        parent=ParentRun(_APPLICATION, "bench", "etl"),
        root=ParentRun(_APPLICATION, "airflow", "nightly"),
        spark_version="4.0.1",
        context={"applicationId": "application_1_2", "user": "etl", "queryId": "7"},
        quality={"agentVersion": "0.1.0"},
        input_statistics={
            (orders.namespace, orders.name): {"rows": _WRITTEN, "bytes": 2048, "files": 2}
        },
        output_statistics={(out.namespace, out.name): {"rows": _WRITTEN, "bytes": 512}},
    )
    lineage = Lineage(inputs=(Input(orders), Input(customers)), outputs=(output,))
    builder = EventBuilder()
    told: dict[str, Any] = (
        builder.start(run, lineage) if state == "START" else builder.end(run, lineage, state)
    )
    told["eventTime"] = "@TIME@"
    if shape.told != "all":
        _strip(told, shape.told == "schemas")
    return json.dumps(told, separators=(",", ":")).encode()


def _strip(event: dict[str, Any], schemas: bool) -> None:
    """Leave what a plain producer tells: the edges, the output's schema, the SQL, statistics."""
    event["run"]["facets"] = {"processing_engine": event["run"]["facets"]["processing_engine"]}
    for item in event["inputs"]:
        item["facets"] = {"schema": item["facets"]["schema"]} if schemas else {}
    (output,) = event["outputs"]
    output["facets"] = {key: output["facets"][key] for key in ("schema", "columnLineage")}


def _table(name: str, columns: int = 20) -> Dataset:
    return Dataset(
        WAREHOUSE,
        f"sales.{name}",
        schema=tuple((f"column_{n}", '"string"', None) for n in range(columns)),
        symlinks=((WAREHOUSE, f"/sales/{name}", "LOCATION"),),
    )


def sizes(folder: Path) -> list[int]:
    """The sizes in bytes of the events in a folder's files: JSON, or one event a line."""
    found = []
    for path in sorted(folder.rglob("*.json*")):
        text = path.read_text(errors="replace")
        for part in (text,) if path.suffix == ".json" else text.splitlines():
            try:
                content = json.loads(part)
            except ValueError:
                continue
            for one in content if isinstance(content, list) else [content]:
                if isinstance(one, dict) and "eventTime" in one:
                    found.append(len(json.dumps(one, separators=(",", ":")).encode()))
    return found


def batches(events: list[bytes], size: int) -> list[bytes]:
    """The same events as bodies of the batch endpoint."""
    return [b"[" + b",".join(events[n : n + size]) + b"]" for n in range(0, len(events), size)]


def posted(address: str, path: str, bodies: list[bytes], clients: int) -> float:
    """Seconds to post all bodies over so many connections, each waiting for its answer.

    Plain sockets in one thread: the clients share the machine with the collector.
    """
    place = urllib.parse.urlsplit(address)
    head = (
        f"POST {path} HTTP/1.1\r\nHost: {place.netloc}\r\nContent-Type: application/json\r\n"
        "Content-Length: "
    ).encode()
    waiting = iter([head + b"%d\r\n\r\n" % len(body) + body for body in bodies])
    begin = time.perf_counter()
    with selectors.DefaultSelector() as selector:
        for request in _first(waiting, clients):
            connection = socket.create_connection((place.hostname or "", place.port or 80))
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.sendall(request)
            selector.register(connection, selectors.EVENT_READ, bytearray())
        while selector.get_map():
            for key, _ in selector.select():
                connection, answer = key.fileobj, key.data
                assert isinstance(connection, socket.socket)
                answer += connection.recv(1 << 16)
                if not _whole(answer):
                    continue
                answer.clear()
                request_ = next(waiting, None)
                if request_ is None:
                    selector.unregister(connection)
                    connection.close()
                else:
                    connection.sendall(request_)
    return time.perf_counter() - begin


def _first(requests: Iterator[bytes], count: int) -> list[bytes]:
    return [request for _, request in zip(range(count), requests, strict=False)]


def _whole(answer: bytearray) -> bool:
    """Whether all of an answer is here; an answer that is no success ends the benchmark."""
    end = answer.find(b"\r\n\r\n")
    if end < 0:
        return False
    lines = bytes(answer[:end]).lower().split(b"\r\n")
    assert lines[0].split()[1] in (b"200", b"201"), bytes(answer)
    assert b'"partial_success"' not in answer, bytes(answer)
    size = next(
        int(line.partition(b":")[2]) for line in lines if line.startswith(b"content-length")
    )
    return len(answer) >= end + 4 + size
