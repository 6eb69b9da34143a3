"""What the agent's engine costs against the size of a plan, decode included.

    .venv/bin/python benchmarks/engine.py [--most 1000000] [--no-tpc | --tpc DIR] [--json FILE]

Plans up to a million expression nodes: wide (one projection), deep (projections
over projections), nested (one deep expression), shared (30 common table
expressions, each the join of the one before with itself). Each is measured in
a process of its own: CPU time of parsing, decoding and deriving (best of three
up to 100,000 nodes), and the peak of memory. Then the TPC-DS queries, encoded
by Spark, and a plan of 30,000 nodes that Spark itself made, to say whether the
synthetic ones are like it.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import synthetic
import tpc

from spark_lineage.agent.sidecar import collect_rarely
from spark_lineage.lineage import Lineage, derive
from spark_lineage.lineage.model import Availability
from spark_lineage.plan import decode

SIZES = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
#: Below this, fixed costs and the clock's grain are most of what is measured.
SLOPE_FROM = 10_000
TO_REACH = {
    "expression nodes a second, at least": 200_000,
    "slope (log-log), at most": 1.1,
    "TPC-DS, median ms, below": 5.0,
}


def told(text: str) -> tuple[Lineage, dict[str, float]]:
    """The lineage of a record's text, and the CPU seconds of each part."""
    began = time.process_time()
    raw = json.loads(text)
    parsed = time.process_time()
    record = decode(raw)
    decoded = time.process_time()
    lineage = derive(record)
    ended = time.process_time()
    parts = {"json": parsed - began, "decode": decoded - parsed, "derive": ended - decoded}
    return lineage, parts


def work(shape: str, nodes: int) -> dict[str, Any]:
    """Measure one plan in this process."""
    text, expressions = synthetic.make(shape, nodes)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    rounds = 3 if nodes <= 100_000 else 1
    best: dict[str, float] = {}
    for _ in range(rounds):
        lineage, parts = told(text)
        assert lineage.outputs[0].availability is Availability.AVAILABLE
        if not best or sum(parts.values()) < sum(best.values()):
            best = parts
    return {
        "shape": shape,
        "expressions": expressions,
        "bytes": len(text),
        "seconds": sum(best.values()),
        "parts": best,
        # Making the text has a peak of its own: this is what telling adds to that, at least.
        "added_kb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before,
        "peak_kb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
    }


def measured(shape: str, nodes: int) -> dict[str, Any]:
    """Measure one plan in a process of its own."""
    command = [sys.executable, __file__, "--worker", shape, str(nodes)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def slope(points: Sequence[dict[str, Any]], key: str) -> float:
    """The exponent of growth: 1 is linear."""
    chosen = [p for p in points if p["expressions"] >= SLOPE_FROM * 0.8]
    if len(chosen) < 2:
        return math.nan
    xs = [math.log(p["expressions"]) for p in chosen]
    ys = [math.log(p[key]) for p in chosen]
    return statistics.linear_regression(xs, ys).slope


def spark_records(folder: tpc.Folder, only: str) -> tuple[str, dict[str, str], tuple[str, int]]:
    """Spark's version, the records of the queries, and of a large plan with its nodes."""
    from capture import expression_nodes, large_plan
    from pyspark.sql import SparkSession

    from spark_lineage.agent.link import connect

    with tempfile.TemporaryDirectory() as warehouse:
        spark = (
            SparkSession.builder.master("local[1]")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.sql.warehouse.dir", warehouse)
            .config("spark.log.level", "ERROR")
            .getOrCreate()
        )
        tpc.create(spark, folder)
        link = connect(spark.sparkContext)
        records = {}
        for query in folder.queries(only):
            spark.sql(f"USE {query.database}")
            execution = spark.sql(query.text)._jdf.queryExecution()
            execution.optimizedPlan()
            records[query.id] = link.proxy.encode(execution)
        execution = large_plan(spark)._jdf.queryExecution()
        large = str(link.proxy.encode(execution))
        version = str(spark.version)
        spark.stop()
    return version, records, (large, expression_nodes(json.loads(large)))


def best_of(text: str, rounds: int) -> float:
    return min(sum(told(text)[1].values()) for _ in range(rounds))


def tpc_figures(folder: tpc.Folder, only: str) -> dict[str, Any]:
    version, records, (large, nodes) = spark_records(folder, only)
    millis = {query: best_of(text, 5) * 1000 for query, text in records.items()}
    ranked = sorted(millis, key=lambda query: millis[query])
    seconds = best_of(large, 3)
    return {
        "spark": version,
        "queries": len(millis),
        "median_ms": statistics.median(millis.values()),
        "p95_ms": millis[ranked[int(len(ranked) * 0.95)]],
        "slowest": {query: millis[query] for query in ranked[-3:]},
        "large": {"expressions": nodes, "seconds": seconds, "rate": nodes / seconds},
    }


def synthetic_figures(most: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    print(f"{'plan':8}{'expressions':>13}{'seconds':>10}{'nodes/s':>11}{'peak MB':>9}  parts")
    for shape in synthetic.SHAPES:
        points = []
        for nodes in SIZES:
            if nodes > most:
                break
            point = measured(shape, nodes)
            points.append(point)
            parts = ", ".join(f"{k} {v / point['seconds']:.0%}" for k, v in point["parts"].items())
            print(
                f"{shape:8}{point['expressions']:13,}{point['seconds']:10.3f}"
                f"{point['expressions'] / point['seconds']:11,.0f}"
                f"{point['peak_kb'] / 1024:9.0f}  {parts}",
                flush=True,
            )
        last = points[-1]
        found[shape] = {
            "points": points,
            "slope": slope(points, "seconds"),
            "rate": last["expressions"] / last["seconds"],
            "memory_per_record_byte": last["peak_kb"] * 1024 / last["bytes"],
        }
        memory = ""
        if len(points) > 2:
            # Tenfold nodes: what the peak grows by beyond the interpreter's own.
            base = points[0]["peak_kb"]
            grown = (last["peak_kb"] - base) / max(1, points[-3]["peak_kb"] - base)
            times = last["expressions"] / points[-3]["expressions"]
            memory = f", memory x{grown:.1f} for nodes x{times:.1f}"
            found[shape]["memory_growth"] = grown / times
        print(
            f"{shape:8}slope {found[shape]['slope']:.2f}, peak "
            f"{found[shape]['memory_per_record_byte']:.1f} bytes a record's byte{memory}"
        )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--most", type=int, default=1_000_000, help="expression nodes")
    parser.add_argument("--no-tpc", action="store_true", help="leave the TPC-DS queries out")
    parser.add_argument("--worker", nargs=2, metavar=("SHAPE", "NODES"), help=argparse.SUPPRESS)
    parser.add_argument("--json", type=Path)
    tpc.add_arguments(parser)
    parser.set_defaults(only="tpcds")
    arguments = parser.parse_args()
    # As the agent's process does, whose work this is.
    collect_rarely()
    if arguments.worker:
        print(json.dumps(work(arguments.worker[0], int(arguments.worker[1]))))
        return
    folder = None if arguments.no_tpc else tpc.chosen(arguments)
    result: dict[str, Any] = {"python": sys.version.split()[0]}
    print(f"Python {result['python']}, CPU time")
    result["synthetic"] = synthetic_figures(arguments.most)
    if folder is not None:
        queries = result["tpc"] = tpc_figures(folder, arguments.only)
        large = queries["large"]
        slowest = ", ".join(f"{query} {ms:.1f}" for query, ms in queries["slowest"].items())
        print(
            f"{queries['queries']} queries {arguments.only}*, Spark {queries['spark']}: "
            f"median {queries['median_ms']:.2f} ms, p95 {queries['p95_ms']:.2f} ms; {slowest}"
        )
        print(
            f"a plan by Spark, {large['expressions']:,} expressions: "
            f"{large['seconds']:.3f} s, {large['rate']:,.0f} nodes/s"
        )
    print("to reach:", json.dumps(TO_REACH))
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
