"""The sidecar that the plugin starts: jobs that know nothing of lineage."""

from __future__ import annotations

import http.server
import subprocess
import sys
import threading

import pytest

from spark_lineage.agent import jar
from tests.support.jobs import PLUGIN, Finished, Jobs

SCRIPT = """
    import sys
    from pyspark.sql import SparkSession, functions as F

    spark = SparkSession.builder.appName("facts").getOrCreate()
    spark.range(10).select((F.col("id") % 3).alias("g"), "id").write.saveAsTable("numbers")
    spark.table("numbers").groupBy("g").agg(F.sum("id").alias("total")).write.parquet("out")
    try:
        spark.sql("SELECT raise_error('no such thing') FROM numbers").collect()
    except Exception as error:
        print("caught", type(error).__name__)
    print("rows", spark.table("numbers").count())
    # No spark.stop(): the driver must end without it.
"""


@pytest.fixture(scope="module")
def finished(module_jobs: Jobs) -> Finished:
    return module_jobs.submit(module_jobs.script(SCRIPT))


@pytest.mark.smoke
def test_a_script_without_stop_ends_and_all_its_events_arrive(finished: Finished) -> None:
    assert finished.code == 0, finished.stderr
    assert "rows 10" in finished.stdout
    runs: dict[str, list[str]] = {}
    for event in finished.events:
        runs.setdefault(event["run"]["runId"], []).append(event["eventType"])
    ends = sorted(kinds[-1] for kinds in runs.values())
    assert all(kinds[0] == "START" and len(kinds) == 2 for kinds in runs.values()), runs
    # The application, saveAsTable, the parquet write and count end well; one query fails.
    assert ends.count("FAIL") == 1
    assert ends.count("COMPLETE") == len(runs) - 1
    applications = [
        event
        for event in finished.of("COMPLETE")
        if event["job"]["facets"]["jobType"]["jobType"] == "APPLICATION"
    ]
    assert len(applications) == 1


def _said(finished: Finished) -> list[str]:
    """What the driver's log has of ours: level and text."""
    lines = [line.partition(" LineagePlugin: ") for line in finished.stderr.splitlines()]
    return [f"{head.split()[-1]} {text}" for head, found, text in lines if found]


def test_the_log_has_one_line_that_it_is_on(finished: Finished, module_jobs: Jobs) -> None:
    (line,) = _said(finished)
    assert line.startswith("INFO spark_lineage: lineage of local-")
    assert line.endswith(f" goes to file {module_jobs.events}")


def test_a_table_written_is_one_run_with_its_columns(finished: Finished) -> None:
    (complete,) = [e for e in finished.writing("numbers") if e["eventType"] == "COMPLETE"]
    (output,) = complete["outputs"]
    assert [field["name"] for field in output["facets"]["schema"]["fields"]] == ["g", "id"]
    columns = {c["name"]: c for c in output["facets"]["sparkLineage_columns"]["columns"]}
    assert columns["g"]["origin"] == columns["id"]["origin"] == "SYSTEM"


def test_a_path_written_names_its_sources(finished: Finished) -> None:
    (complete,) = [e for e in finished.writing("/out") if e["eventType"] == "COMPLETE"]
    (output,) = complete["outputs"]
    assert output["namespace"] == "file"
    fields = output["facets"]["columnLineage"]["fields"]
    (source,) = fields["total"]["inputFields"]
    assert source["name"] == "default.numbers"
    assert source["field"] == "id"
    assert [t["subtype"] for t in source["transformations"]] == ["AGGREGATION"]


def test_a_failed_query_is_a_fail_with_its_error(finished: Finished) -> None:
    (failed,) = finished.of("FAIL")
    assert "no such thing" in failed["run"]["facets"]["errorMessage"]["message"]
    assert [item["name"] for item in failed["inputs"]] == ["default.numbers"]
    assert "SELECT raise_error" in failed["job"]["facets"]["sql"]["query"]


@pytest.mark.parametrize(
    ("key", "value", "allowed"),
    [
        ("spark.lineage.transport.type", "carrier-pigeon", "http, file or console"),
        ("spark.lineage.queue.bytes", "lots", "a positive size"),
        ("spark.lineage.no.such.setting", "1", "spark.lineage.enabled"),
    ],
)
def test_a_wrong_setting_is_told_once_and_the_job_runs(
    jobs: Jobs, key: str, value: str, allowed: str
) -> None:
    script = jobs.script(
        """
        from pyspark.sql import SparkSession
        spark = SparkSession.builder.getOrCreate()
        print("rows", spark.range(3).count())
        """
    )
    done = jobs.submit(script, {key: value})
    assert done.code == 0, done.stderr
    assert "rows 3" in done.stdout
    told = [line for line in done.stderr.splitlines() if key in line and value in line]
    assert len(told) == 1, done.stderr
    assert allowed in told[0]
    assert done.events == []


def test_without_any_python_the_records_are_kept_and_replayed(jobs: Jobs) -> None:
    script = jobs.script(SCRIPT)
    done = jobs.submit(script, {"spark.lineage.python": "/no/such/python"})
    assert done.code == 0, done.stderr
    assert done.events == []
    warnings = [line for line in done.stderr.splitlines() if "WARN" in line and "ineage" in line]
    assert len(warnings) == 1, warnings
    (records,) = jobs.spool.glob("records-*.jsonl")
    assert records.stat().st_mode & 0o777 == 0o600

    replayed = subprocess.run(
        [sys.executable, "-m", "spark_lineage.cli", "replay", "--spool", str(jobs.spool)],
        env=jobs.environment(
            SPARK_LINEAGE_TRANSPORT_TYPE="file", SPARK_LINEAGE_TRANSPORT_PATH=str(jobs.events)
        ),
        capture_output=True,
        text=True,
        check=False,
    )
    assert replayed.returncode == 0, replayed.stdout + replayed.stderr
    events = jobs.read()
    assert len([e for e in events if e["eventType"] == "FAIL"]) == 1
    assert [
        e["eventType"] for e in events if any(o["name"].endswith("numbers") for o in e["outputs"])
    ] == ["START", "COMPLETE"]
    assert not list(jobs.spool.glob("records-*.jsonl"))


class _Absent:
    """A collector that comes back later, on the port it always had."""

    def __init__(self) -> None:
        self.received: list[bytes] = []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                # A target that takes single events only.
                single = self.path == "/api/v1/lineage"
                if single:
                    outer.received.append(body)
                self.send_response(201 if single else 404)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self._handler = Handler
        probe = http.server.HTTPServer(("127.0.0.1", 0), Handler)
        self.port = probe.server_port
        probe.server_close()

    def come_back(self) -> http.server.HTTPServer:
        server = http.server.ThreadingHTTPServer(("127.0.0.1", self.port), self._handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return server


@pytest.fixture
def absent() -> _Absent:
    return _Absent()


def test_events_for_an_absent_collector_wait_in_the_spool(jobs: Jobs, absent: _Absent) -> None:
    conf: dict[str, str | None] = {
        "spark.lineage.transport.type": "http",
        "spark.lineage.transport.path": None,
        "spark.lineage.transport.url": f"http://127.0.0.1:{absent.port}",
        "spark.lineage.shutdown.timeout": "2s",
    }
    done = jobs.submit(jobs.script(SCRIPT), conf)
    assert done.code == 0, done.stderr
    assert "rows 10" in done.stdout
    assert list(jobs.spool.glob("events-*.db"))
    # Each of ten events and more fails, and more than once; it is told once.
    on, failing = _said(done)
    assert on.startswith("INFO spark_lineage: lineage of local-")
    assert failing.startswith("WARN spark_lineage: lineage events cannot be delivered to ")

    server = absent.come_back()
    try:
        replayed = subprocess.run(
            [
                sys.executable, "-m", "spark_lineage.cli", "replay",
                "--spool", str(jobs.spool), "--url", f"http://127.0.0.1:{absent.port}",
            ],
            env=jobs.environment(),
            capture_output=True,
            text=True,
            check=False,
        )  # fmt: skip
    finally:
        server.shutdown()
        server.server_close()
    assert replayed.returncode == 0, replayed.stdout + replayed.stderr
    assert sum(b'"FAIL"' in body for body in absent.received) == 1
    assert len(absent.received) == len(set(absent.received)) >= 10


def test_a_job_gives_the_same_result_and_exit_code_as_without(jobs: Jobs) -> None:
    script = jobs.script(
        """
        from pyspark.sql import SparkSession
        spark = SparkSession.builder.getOrCreate()
        print("rows", spark.range(3).count())
        raise SystemExit(3)
        """
    )
    without = jobs.submit(script, plugin=False)
    with_it = jobs.submit(script)
    assert (with_it.code, with_it.stdout) == (without.code, without.stdout)
    assert with_it.code == 3


def test_spark_sql_reports_too(jobs: Jobs) -> None:
    conf = {**jobs.conf(), "spark.plugins": PLUGIN}
    command = [jobs.tool("spark-sql"), "--jars", str(jar.path())]
    for key, value in conf.items():
        command += ["--conf", f"{key}={value}"]
    done = subprocess.run(
        [
            *command,
            "-e",
            "CREATE TABLE t USING parquet AS SELECT id, id * 2 AS twice FROM range(3)",
        ],
        cwd=jobs.folder,
        env=jobs.environment(),
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    complete = [e for e in jobs.read() if e["eventType"] == "COMPLETE" and e["outputs"]]
    assert [o["name"] for e in complete for o in e["outputs"]] == ["default.t"]


def test_a_multi_insert_is_one_action(jobs: Jobs) -> None:
    script = jobs.script(
        """
        from pyspark.sql import SparkSession
        spark = SparkSession.builder.getOrCreate()
        for table in "tab":
            spark.sql(f"CREATE TABLE {table} (x INT) USING parquet")
        spark.sql("FROM t INSERT INTO a SELECT x INSERT INTO b SELECT x + 1 WHERE x > 0")
        """
    )
    ends = [e for e in jobs.submit(script).of("COMPLETE") if e["inputs"]]
    written = sorted(output["name"] for event in ends for output in event["outputs"])
    assert written == ["default.a", "default.b"]
    # Two executions before Spark 4, one from then on.
    assert len({e["run"]["facets"]["sparkLineage_context"]["actionId"] for e in ends}) == 1
