"""Many small queries in one session: is anything that grows, and does all arrive?

    .venv/bin/python benchmarks/delivery.py [--queries 10000] [--threads 1] [--samples 10]
                                            [--reads 20] [--json FILE]

A spark-submit job with the plugin runs the queries; a collector in this process
counts what comes. At equal steps the job waits until the agent has taken all and
tells: the time that the listener bus gave to a record, the records that waited
just before, the driver's live heap after a collection of garbage, the resident
set of the sidecar, and how many entries the agent's and the bridge's maps hold.
Flat means: the last half of the samples is no higher than the first half (the
first sample is left out: caches fill).

Most queries have no Spark job (``SELECT`` over a row that stands in the query), so
that there can be many; every ``--reads``-th reads and aggregates a table. A session
of a day is ``--queries 50000``; ``--threads 100`` runs them from 100 threads.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import statistics
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from spark_lineage.agent import jar

JOB = """
    import gc, json, os, sys, threading, time
    from pathlib import Path
    from pyspark.sql import SparkSession

    queries, threads, samples, reads = map(int, sys.argv[1:5])
    spark = SparkSession.builder.appName("many").getOrCreate()
    spark.range(100).write.saveAsTable("numbers")
    # The plugin's own class, through which the agent speaks too.
    bridge = spark._jvm.io.sparklineage.Bridge()
    runtime = spark._jvm.java.lang.Runtime.getRuntime()

    def sidecar():
        for entry in Path("/proc").iterdir():
            try:
                if (
                    entry.name.isdigit()
                    and b"spark_lineage.agent.sidecar" in (entry / "cmdline").read_bytes()
                    and os.readlink(entry / "cwd") == os.getcwd()
                ):
                    return int((entry / "statm").read_text().split()[1]) * 4096
            except OSError:
                continue
        return 0

    def work(first, last):
        for number in range(first, last):
            if number % reads == 0:
                spark.sql("SELECT sum(id) AS s FROM numbers").collect()
            else:
                spark.sql("SELECT one FROM VALUES (1) AS t(one)").collect()

    step, before = queries // samples, None
    for sample in range(samples):
        began = time.perf_counter()
        share = max(1, step // threads)
        first = sample * step
        workers = [
            threading.Thread(target=work, args=(first + n * share, first + (n + 1) * share))
            for n in range(threads)
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        took = time.perf_counter() - began
        waiting = json.loads(bridge.status())["queued"]
        drained = bridge.drain(600_000)
        status = json.loads(bridge.status())
        gc.collect()
        spark._jvm.java.lang.System.gc()
        known = before or {"captured": 0, "captureNanos": 0}
        records = status["captured"] - known["captured"]
        print("sample " + json.dumps({
            "queries": share * threads,
            "seconds": round(took, 2),
            "bus_us": round((status["captureNanos"] - known["captureNanos"]) / records / 1000, 1),
            "waited": waiting,
            "drained": drained,
            "heap_mib": round((runtime.totalMemory() - runtime.freeMemory()) / 2**20, 1),
            "agent_mib": round(sidecar() / 2**20, 1),
            "held": (status.get("agent") or {}).get("held"),
            "running": status.get("running"),
            "dropped": status["dropped"],
        }), flush=True)
        before = status
"""


class _Counted:
    """A collector that keeps no more than which events it has."""

    def __init__(self) -> None:
        self.seen: set[tuple[str, str]] = set()
        self.posts = 0
        self.repeated = 0


@contextmanager
def collector() -> Iterator[tuple[str, _Counted]]:
    """Takes single events and batches; gives its address and what it has counted."""
    counted = _Counted()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            told = json.loads(gzip.decompress(body) if body[:1] == b"\x1f" else body)
            events = told if isinstance(told, list) else [told]
            counted.posts += 1
            for event in events:
                key = event["run"]["runId"], event["eventType"]
                counted.repeated += key in counted.seen
                counted.seen.add(key)
            summary = {"received": len(events), "successful": len(events), "failed": 0}
            answer = json.dumps(
                {"status": "success", "summary": summary, "failed_events": []}
            ).encode()
            self.send_response(200 if isinstance(told, list) else 201)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", counted
    finally:
        server.shutdown()
        server.server_close()


def run(queries: int, threads: int, samples: int, reads: int) -> dict[str, Any]:
    """Run the job; gives its samples, and what arrived of what was to arrive."""
    import pyspark

    with tempfile.TemporaryDirectory() as folder, collector() as (url, counted):
        script = Path(folder, "job.py")
        script.write_text(textwrap.dedent(JOB))
        conf = {
            "spark.master": "local[2]",
            "spark.ui.enabled": "false",
            "spark.log.level": "WARN",
            "spark.sql.shuffle.partitions": "1",
            "spark.sql.warehouse.dir": f"{folder}/warehouse",
            "spark.driver.memory": "2g",
            "spark.plugins": "io.sparklineage.LineagePlugin",
            "spark.lineage.transport.type": "http",
            "spark.lineage.transport.url": url,
            "spark.lineage.spool.dir": f"{folder}/spool",
            "spark.lineage.shutdown.timeout": "10m",
        }
        command = [str(Path(pyspark.__file__).parent / "bin" / "spark-submit")]
        command += ["--jars", str(jar.path())]
        for key, value in conf.items():
            command += ["--conf", f"{key}={value}"]
        sizes = [str(number) for number in (queries, threads, samples, reads)]
        began = time.monotonic()
        done = subprocess.run(
            [*command, str(script), *sizes],
            cwd=folder,
            env={**os.environ, "PYSPARK_PYTHON": sys.executable},
            capture_output=True,
            text=True,
            check=False,
        )
        seconds = time.monotonic() - began
        if done.returncode != 0:
            raise SystemExit(done.stdout + done.stderr[-5000:])
        told = [
            json.loads(line.removeprefix("sample "))
            for line in done.stdout.splitlines()
            if line.startswith("sample ")
        ]
        ran = sum(sample["queries"] for sample in told)
        return {
            "samples": told,
            "seconds": round(seconds, 1),
            "queries": ran,
            "threads": threads,
            # Each query is a run; the application and the table written are two more.
            "expected": 2 * (ran + 2),
            "delivered": len(counted.seen),
            "repeated": counted.repeated,
            "posts": counted.posts,
        }


def flat(samples: list[dict[str, Any]], key: str) -> tuple[float, float]:
    """The medians of the first and of the last half, without the first sample."""
    values = [sample[key] for sample in samples[1:]]
    half = len(values) // 2
    return statistics.median(values[:half]), statistics.median(values[-half:])


def show(result: dict[str, Any]) -> None:
    samples = result["samples"]
    print(f"{result['queries']} queries from {result['threads']} threads, {result['seconds']} s")
    keys = ("seconds", "bus_us", "waited", "heap_mib", "agent_mib", "running")
    print("  ".join(f"{key:>9}" for key in keys) + "  held")
    for sample in samples:
        held = json.dumps(sample["held"])
        print("  ".join(f"{sample[key]!s:>9}" for key in keys) + f"  {held}")
    for key, what in (
        ("bus_us", "microseconds on the bus for a record"),
        ("heap_mib", "MiB of live heap of the driver"),
        ("agent_mib", "MiB resident of the agent"),
    ):
        first, last = flat(samples, key)
        print(f"{what}: {first} in the first half, {last} in the last, ratio {last / first:.2f}")
    print(
        f"delivered {result['delivered']} of {result['expected']} events in {result['posts']} "
        f"posts, {result['repeated']} repeated; dropped {samples[-1]['dropped']}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--samples", type=int, default=10)
    parser.add_argument("--reads", type=int, default=20)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    result = run(options.queries, options.threads, options.samples, options.reads)
    show(result)
    if options.json:
        options.json.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
