"""What capture costs: on the listener bus, in the agent, beside a py4j walk of the plan.

    .venv/bin/python benchmarks/capture.py [--rounds 20] [--json FILE]

One session runs the statements of the demo, several times each, and one query
over a plan of about 30,000 expression nodes (300 columns x 10 steps). Times are
of this machine; the ratios, taken within one run, are what to compare.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_lineage.agent.link import Link, connect
from spark_lineage.lineage.derive import derive
from spark_lineage.lineage.options import LineageOptions
from spark_lineage.plan.decode import decode

ROOT = Path(__file__).resolve().parents[1]
COLUMNS, STEPS = 300, 10
TO_REACH = {
    "everyday queries, bus, median ms": 2.0,
    "large plan, bus, ms": 100.0,
    "large plan, agent, ms": 500.0,
    "py4j walk / (bus + agent), at least": 50.0,
}


def demo_statements() -> list[str]:
    spec = importlib.util.spec_from_file_location("demo", ROOT / "examples/customer_summary.py")
    assert spec
    assert spec.loader
    demo = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(demo)
    create = (
        "CREATE TABLE customer_summary (customer_id INT, region_label STRING,"
        " total_amount DECIMAL(14, 2), customer_seq INT, region_group STRING) USING parquet"
    )
    return [
        *(f"DROP TABLE IF EXISTS {t}" for t in ("orders", "customers", "customer_summary")),
        f"CREATE TABLE orders USING parquet AS {demo.ORDERS}",
        f"CREATE TABLE customers USING parquet AS {demo.CUSTOMERS}",
        create,
        demo.SUMMARY,
        "SELECT * FROM customer_summary",
    ]


def large_plan(spark: SparkSession) -> DataFrame:
    frame = spark.range(1).select(*[(F.col("id") + i).alias(f"c{i}") for i in range(COLUMNS)])
    for _ in range(STEPS - 1):
        frame = frame.select(
            *[
                (F.col(f"c{i}") * 2 + F.col(f"c{(i + 1) % COLUMNS}") + F.lit(1)).alias(f"c{i}")
                for i in range(COLUMNS)
            ]
        )
    return frame


def walk(node: Any) -> int:
    """Visit a plan node by node over py4j: names and children only. Gives how many."""
    count, stack = 0, [node]
    while stack:
        current = stack.pop()
        count += 1
        current.nodeName()
        for attribute in ("children", "expressions"):
            try:
                sequence = getattr(current, attribute)()
            except Exception:
                continue
            stack.extend(sequence.apply(i) for i in range(sequence.size()))
    return count


def taken(link: Link) -> list[dict[str, Any]]:
    """Every record that is there; timed elsewhere."""
    records: list[dict[str, Any]] = []
    while True:
        batch = link.lease(1000, 64 << 20, 0.3)
        if not batch:
            return records
        records += batch
        link.ack(batch[-1]["sequence"])


def agent_millis(record: dict[str, Any]) -> float:
    text = json.dumps(record)
    began = time.perf_counter()
    derive(decode(json.loads(text)), LineageOptions())
    return (time.perf_counter() - began) * 1000


def expression_nodes(record: dict[str, Any]) -> int:
    analyzed = record["plans"]["analyzed"]
    kinds = [shape[2] for shape in record["shapes"]]
    return sum(1 for row in record["nodes"][: analyzed + 1] if kinds[row[0]] == "E")


def measure(rounds: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        spark = (
            SparkSession.builder.master("local[1]")
            .config("spark.ui.enabled", "false")
            .config("spark.sql.shuffle.partitions", "1")
            .config("spark.sql.warehouse.dir", folder)
            .config("spark.log.level", "ERROR")
            .getOrCreate()
        )
        link = connect(spark.sparkContext)
        link.install(spark.sparkContext._jsc.sc())
        assert link.claim("driver:benchmark")
        bus: list[float] = []
        agent: list[float] = []
        for number in range(rounds):
            for statement in demo_statements():
                spark.sql(statement).collect()
            link.drain(0.0)
            time.sleep(0.2)
            records = [r for r in taken(link) if r["kind"] == "execution"]
            # The first rounds warm the JVM up, as the first queries of a job do.
            if number >= min(3, rounds - 1):
                bus += [r["bridge"]["captureNanos"] / 1e6 for r in records]
                agent += [agent_millis(r) for r in records if r["plans"]["analyzed"] is not None]

        frame = large_plan(spark)
        execution = frame._jdf.queryExecution()
        nodes = 0
        large_bus, large_agent = [], []
        for _ in range(7):
            frame.write.format("noop").mode("overwrite").save()
            link.drain(0.0)
            time.sleep(0.3)
            (record,) = [r for r in taken(link) if r["kind"] == "execution" and r["phase"] == "END"]
            large_bus.append(record["bridge"]["captureNanos"] / 1e6)
            large_agent.append(agent_millis(record))
            nodes = expression_nodes(record)
        began = time.perf_counter()
        crossing = link.proxy.encode(execution)
        crossed = (time.perf_counter() - began) * 1000
        began = time.perf_counter()
        walked = walk(execution.analyzed())
        walk_millis = (time.perf_counter() - began) * 1000
        version = spark.version
        spark.stop()
    bus_large, agent_large = statistics.median(large_bus), statistics.median(large_agent)
    return {
        "spark": version,
        "python": sys.version.split()[0],
        "everyday": {
            "records": len(bus),
            "bus_ms": {
                "median": statistics.median(bus),
                "p95": sorted(bus)[int(len(bus) * 0.95)],
                "max": max(bus),
            },
            "agent_ms": {"median": statistics.median(agent), "max": max(agent)},
        },
        "large": {
            "expression_nodes": nodes,
            "record_bytes": len(crossing),
            "bus_ms": {"median": bus_large, "first": large_bus[0], "max": max(large_bus)},
            "encode_and_cross_ms": crossed,
            "agent_ms": {"median": agent_large, "first": large_agent[0], "max": max(large_agent)},
            "py4j_walk_ms": walk_millis,
            "py4j_walk_nodes": walked,
        },
        "ratios": {
            "walk / bus": walk_millis / bus_large,
            "walk / agent": walk_millis / agent_large,
            "walk / (bus + agent)": walk_millis / (bus_large + agent_large),
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    result = measure(arguments.rounds)
    everyday, large, ratios = result["everyday"], result["large"], result["ratios"]
    print(f"Spark {result['spark']}, Python {result['python']}")
    print(
        f"everyday queries ({everyday['records']} records): bus median "
        f"{everyday['bus_ms']['median']:.2f} ms, p95 {everyday['bus_ms']['p95']:.2f} ms, "
        f"max {everyday['bus_ms']['max']:.2f} ms; agent median "
        f"{everyday['agent_ms']['median']:.2f} ms"
    )
    print(
        f"large plan ({large['expression_nodes']} expression nodes, "
        f"{large['record_bytes'] / 1e6:.2f} MB): bus median {large['bus_ms']['median']:.1f} ms "
        f"(first {large['bus_ms']['first']:.1f}), agent median "
        f"{large['agent_ms']['median']:.1f} ms (first {large['agent_ms']['first']:.1f})"
    )
    print(
        f"node-by-node py4j walk of it: {large['py4j_walk_nodes']} nodes in "
        f"{large['py4j_walk_ms'] / 1000:.1f} s; walk / bus {ratios['walk / bus']:.0f}, "
        f"walk / (bus + agent) {ratios['walk / (bus + agent)']:.0f}"
    )
    print("to reach:", json.dumps(TO_REACH))
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
