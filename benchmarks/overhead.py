"""What lineage adds to the wall time of jobs: the TPC queries written as INSERTs.

    .venv/bin/python benchmarks/overhead.py [--tpc DIR] [--queries 20] [--rounds 5] [--json FILE]

One session runs each query several times, in turn without anything, with the
bridge's listener alone, with the whole agent (events to a file), and once more
without anything, as a control: what the control differs by is noise. The order
turns with each round. What is switched and delivered stands outside the wall
time; the CPU time is of both processes, the JVM and this one, until all is
delivered. It holds also where other work disturbs the wall time. Ratios are
taken pair by pair (same query, same round); the median is given with the 95 %
interval of a bootstrap over the pairs.

The data is small, so that a query takes a second or less: the ratio is that of
small jobs, where an overhead shows most.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import tpc
from tpc.data import fill

import spark_lineage
from spark_lineage.agent.link import connect

BARE, CONTROL, LISTENER, AGENT = "without", "without, again", "listener", "agent"
_SETTLE_SECONDS = 0.05


def session(folder: str) -> Any:
    from pyspark.sql import SparkSession

    return (
        SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "1")
        .config("spark.sql.warehouse.dir", f"{folder}/warehouse")
        .config("spark.lineage.spool.dir", f"{folder}/spool")
        .config("spark.log.level", "OFF")
        .getOrCreate()
    )


Settle = Callable[[], Any]


def arms(spark: Any, folder: str) -> dict[str, Callable[[], AbstractContextManager[Settle]]]:
    """What is on while a query runs, by name; each gives a call that waits for what it does."""
    context = spark.sparkContext._jsc.sc()
    bus = context.listenerBus()
    link = connect(spark.sparkContext)
    events = f"{folder}/events.jsonl"

    @contextmanager
    def nothing() -> Iterator[Settle]:
        yield bus.waitUntilEmpty

    @contextmanager
    def listener() -> Iterator[Settle]:
        link.install(context)
        if not link.claim("driver:overhead"):
            raise RuntimeError("another agent takes this application's records")
        try:
            yield bus.waitUntilEmpty
        finally:
            while batch := link.lease(1000, 64 << 20, 0.0):
                link.ack(batch[-1]["sequence"])
            link.release()
            link.uninstall()

    @contextmanager
    def agent() -> Iterator[Settle]:
        spark_lineage.enable(spark, transport_type="file", transport_path=events)
        try:
            yield lambda: spark_lineage.flush(30)
        finally:
            spark_lineage.disable(spark)

    return {BARE: nothing, LISTENER: listener, AGENT: agent, CONTROL: nothing}


def targets(spark: Any, queries: list[tpc.Query]) -> dict[str, str]:
    """Create a table for each query's result; the statements that fill them."""
    statements = {}
    for query in queries:
        table = f"default.{query.id.replace('-', '_')}"
        spark.sql(f"USE {query.database}")
        frame = spark.sql(query.text)
        fields = ", ".join(f"`{f.name}` {f.dataType.simpleString()}" for f in frame.schema.fields)
        spark.sql(f"CREATE TABLE {table} ({fields}) USING parquet")
        statements[query.id] = f"INSERT OVERWRITE {table} {query.text}"
    return statements


class Clock:
    """Wall time of a statement, and CPU time of the JVM and this process until it is settled."""

    def __init__(self, spark: Any) -> None:
        self.spark = spark
        self.stat = Path(f"/proc/{spark.sparkContext._gateway.proc.pid}/stat")

    def cpu(self) -> float:
        # Its bean is in a module that py4j cannot see into; user and system ticks are here.
        ticks = self.stat.read_text(encoding="ascii").rsplit(")", 1)[1].split()[11:13]
        return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK") + time.process_time()

    def run(self, statement: str, settle: Settle) -> tuple[float, float]:
        began, cpu = time.perf_counter(), self.cpu()
        self.spark.sql(statement)
        took = time.perf_counter() - began
        settle()
        return took, self.cpu() - cpu


Times = dict[str, dict[str, list[float]]]


def measure(spark: Any, folder: str, queries: list[tpc.Query], rounds: int) -> tuple[Times, Times]:
    """Wall and CPU seconds by arm, query and round. The first round warms up and is not kept."""
    switches = arms(spark, folder)
    names = list(switches)
    statements = targets(spark, queries)
    clock = Clock(spark)
    bus = spark.sparkContext._jsc.sc().listenerBus()
    wall: Times = {name: {} for name in names}
    cpu: Times = {name: {} for name in names}
    for number in range(rounds + 1):
        for position, query in enumerate(queries):
            turn = (number + position) % len(names)
            spark.sql(f"USE {query.database}")
            # Whoever is first would pay for code that is compiled once and kept for the others.
            clock.run(statements[query.id], bus.waitUntilEmpty)
            for name in names[turn:] + names[:turn]:
                with switches[name]() as settle:
                    time.sleep(_SETTLE_SECONDS)
                    took, worked = clock.run(statements[query.id], settle)
                if number:
                    wall[name].setdefault(query.id, []).append(took)
                    cpu[name].setdefault(query.id, []).append(worked)
        print(f"round {number} of {rounds}", file=sys.stderr, flush=True)
    return wall, cpu


def ratios(with_it: dict[str, list[float]], without: dict[str, list[float]]) -> list[float]:
    return [a / b for query in without for a, b in zip(with_it[query], without[query], strict=True)]


def spread(values: list[float], chance: random.Random) -> tuple[float, float, float]:
    """The median, and the 95 % interval of it by bootstrap."""
    medians = sorted(statistics.median(chance.choices(values, k=len(values))) for _ in range(2000))
    return statistics.median(values), medians[50], medians[1949]


def report(title: str, found: Times) -> dict[str, Any]:
    """Print and give the ratios of each arm to the one without anything."""
    chance = random.Random(1)
    without = found[BARE]
    total = sum(statistics.median(times) for times in without.values())
    print(f"{title} time, {total / len(without) * 1000:.0f} ms a query without")
    result: dict[str, Any] = {}
    for name in (CONTROL, LISTENER, AGENT):
        middle, low, high = spread(ratios(found[name], without), chance)
        added = sum(statistics.median(t) for t in found[name].values()) - total
        millis = added / len(without) * 1000
        result[name] = {"ratio": middle, "interval": [low, high], "added_ms": millis}
        print(f"  {name:16} x{middle:.3f}  [{low:.3f}, {high:.3f}]  {millis:+.1f} ms a query")
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--queries", type=int, default=20, help="how many, evenly chosen")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rows", type=int, default=2000, help="rows of each table")
    parser.add_argument("--json", type=Path)
    tpc.add_arguments(parser)
    arguments = parser.parse_args()
    folder = tpc.chosen(arguments)
    every = folder.queries(arguments.only)
    step = max(1, len(every) // max(1, arguments.queries))
    queries = every[::step][: arguments.queries]
    with tempfile.TemporaryDirectory() as place:
        spark = session(place)
        version = str(spark.version)
        fill(spark, folder.schema, arguments.rows)
        wall, cpu = measure(spark, place, queries, arguments.rounds)
        events = Path(place, "events.jsonl").read_text(encoding="utf-8").count("\n")
        spark.stop()
    result: dict[str, Any] = {"spark": version, "python": sys.version.split()[0], "events": events}
    print(f"Spark {version}: {len(queries)} queries x {arguments.rounds} rounds; {events} events")
    for title, found in (("wall", wall), ("CPU", cpu)):
        result[title] = report(title, found)
        result[title]["seconds"] = found
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
