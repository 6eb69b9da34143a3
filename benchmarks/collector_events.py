"""Events as this project's agent sends them, and clients that post them.

Each of the jobs reads two tables of 20 columns and overwrites one of ten: 20
edges to columns and 4 to rows, expressions, schemas, symlinks, statistics, the
job's SQL, what the agent says of itself. START tells the lineage too, as it does
where the query is known by then. The agent's own builder makes them; ``lean``
ones have the same edges and little else, as other producers send them.
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
from typing import Any

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


class Events:
    """The events of so many jobs; a job's are alike but for run, time and statistics."""

    def __init__(self, jobs: int, lean: bool = False) -> None:
        self._jobs = [
            (self._body(n, "START", lean), self._body(n, "COMPLETE", lean)) for n in range(jobs)
        ]
        self.size = sum(len(body) for pair in self._jobs for body in pair) // (2 * jobs)

    def known(self, first: int = 0) -> list[bytes]:
        """One successful run of each job."""
        return [self.event(job, first + job, True) for job in range(len(self._jobs))]

    def mixed(self, first: int, count: int) -> list[bytes]:
        """``count`` events, START and COMPLETE of one run after the other, job by job."""
        return [
            self.event(n // 2 % len(self._jobs), first + n // 2, n % 2 == 1) for n in range(count)
        ]

    def event(self, job: int, run: int, end: bool) -> bytes:
        """One event of a run, by the run's number, by which its time is told too."""
        at = DAY0 + timedelta(seconds=run % (1 << 28) * 10 + end * 5)
        body = self._jobs[job][end].replace(b"@TIME@", at.strftime("%Y-%m-%dT%H:%M:%SZ").encode())
        body = body.replace(str(_WRITTEN).encode(), str(1_000 + run % 100_000).encode())
        return body.replace(_RUN.encode(), str(uuid.UUID(int=run)).encode())

    @staticmethod
    def _body(job: int, state: str, lean: bool) -> bytes:
        name = f"lean_{job}" if lean else str(job)
        orders, customers = _table(f"orders_{name}"), _table(f"customers_{name}")

        def source(table: Dataset, column: int, kind: Kind) -> Source:
            return Source(table.namespace, table.name, f"column_{column}", kind)

        columns = tuple(
            OutputColumn(
                f"column_{n}",
                (Kind.IDENTITY, Kind.TRANSFORMATION, Kind.AGGREGATION)[n % 3],
                Origin.INPUT_FIELDS,
                f"coalesce(orders.column_{n}, customers.column_{2 * n})",
                direct=(
                    source(orders, n, (Kind.IDENTITY, Kind.TRANSFORMATION)[n % 2]),
                    source(customers, 2 * n, Kind.TRANSFORMATION),
                ),
                data_type='"string"',
            )
            for n in range(10)
        )
        rows = (
            source(orders, 0, Kind.JOIN),
            source(customers, 0, Kind.JOIN),
            source(orders, 3, Kind.FILTER),
            source(orders, 1, Kind.GROUP_BY),
        )
        out = _table(f"summary_{name}", 10)
        output = Output(out, columns=columns, indirect=rows, lifecycle="OVERWRITE")
        run = Run(
            _RUN,
            "bench",
            f"etl.summary_{name}",
            "COMMAND",
            0,
            1,
            sql=f"INSERT OVERWRITE summary_{name} SELECT ... FROM orders_{name} JOIN ...",
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
        if lean:
            _strip(told)
        return json.dumps(told, separators=(",", ":")).encode()


def _strip(event: dict[str, Any]) -> None:
    """Leave what a plain producer tells: the edges, the output's schema, the SQL, statistics."""
    event["run"]["facets"] = {"processing_engine": event["run"]["facets"]["processing_engine"]}
    for item in event["inputs"]:
        item["facets"] = {}
    (output,) = event["outputs"]
    output["facets"] = {key: output["facets"][key] for key in ("schema", "columnLineage")}


def _table(name: str, columns: int = 20) -> Dataset:
    return Dataset(
        WAREHOUSE,
        f"sales.{name}",
        schema=tuple((f"column_{n}", '"string"', None) for n in range(columns)),
        symlinks=((WAREHOUSE, f"/sales/{name}", "LOCATION"),),
    )


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
