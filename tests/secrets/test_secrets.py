"""No secret leaves the driver, and no literal does where the settings say so.

One job plants them in each place; then each byte is looked at that left it:
what the collector got, the spool, the file of records, the agent's log, and what
other users of the machine see of the processes.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.faults.collectors import Collector
from tests.support.jobs import PLUGIN, Jobs

SECRET = "tiger7f3aQ"
PERSON = "Ann Example 4711"
JOB = Path(__file__).parent / "job.py"

pytestmark = pytest.mark.timeout(600)


class Left:
    """All bytes that left a driver, by the way they took."""

    def __init__(self) -> None:
        self.ways: dict[str, bytes] = {}
        self.events: list[dict[str, Any]] = []

    def with_(self, text: str) -> list[str]:
        """The ways by which this text left, with what stands around it."""
        found = []
        for way, content in self.ways.items():
            at = content.find(text.encode())
            if at >= 0:
                found.append(f"{way}: {content[max(0, at - 300) : at + 60]!r}")
        return found


def _job(jobs: Jobs, conf: dict[str, str | None]) -> Left:
    from spark_lineage.agent import jar

    left = Left()
    server = Collector("healthy")
    settings: dict[str, str | None] = {
        **jobs.conf(),
        "spark.lineage.transport.type": "http",
        "spark.lineage.transport.path": None,
        "spark.lineage.transport.url": server.url,
        "spark.lineage.log.level": "debug",
        "spark.plugins": PLUGIN,
        "spark.redaction.regex": "(?i)secret|password|token|ourword",
        "spark.sql.redaction.string.regex": "internal-\\w+",
        "spark.hadoop.fs.s3a.secret.key": SECRET,
        "spark.sql.catalog.lake.credential": SECRET,
        "spark.sql.ansi.enabled": "true",
        # Spark 3.5 without Hive has no other kind of table.
        "spark.sql.legacy.createHiveTableByDefault": "false",
        **conf,
    }
    command = [jobs.tool("spark-submit"), "--jars", str(jar.path())]
    for key, value in settings.items():
        if value is not None:
            command += ["--conf", f"{key}={value}"]
    lines: list[bytes] = []
    stop = threading.Event()
    watch = threading.Thread(target=_watch, args=(lines, stop))
    watch.start()
    try:
        done = subprocess.run(
            [*command, str(JOB), SECRET, PERSON],
            cwd=jobs.folder,
            env=jobs.environment(JOB_PASSWORD=SECRET),
            capture_output=True,
            timeout=400,
            check=False,
        )
    finally:
        stop.set()
        watch.join()
        server.close()
    assert done.returncode == 0, done.stderr.decode()[-4000:]
    assert b"done" in done.stdout
    import json

    left.events = server.taken()
    left.ways["events"] = json.dumps(server.taken()).encode()
    ours = [line for line in done.stderr.splitlines() if b"spark_lineage" in line.lower()]
    left.ways["log"] = b"\n".join(ours)
    for path in jobs.spool.glob("*"):
        left.ways[path.name] = path.read_bytes()
    left.ways["process list"] = b"\n".join(lines)
    return left


def _watch(lines: list[bytes], stop: threading.Event) -> None:
    """What the process list shows of the agents while they run."""
    seen: set[bytes] = set()
    while not stop.is_set():
        for entry in Path("/proc").iterdir():
            try:
                line = (entry / "cmdline").read_bytes() if entry.name.isdigit() else b""
            except OSError:
                continue
            if b"spark_lineage.agent.sidecar" in line and line not in seen:
                seen.add(line)
                lines.append(line)
        time.sleep(0.2)


@pytest.fixture(scope="module", params=["full", "normalized", "off"])
def told(request: pytest.FixtureRequest, module_jobs: Jobs) -> Iterator[tuple[str, Left]]:
    folder = module_jobs.folder / request.param
    folder.mkdir()
    return request.param, _job(Jobs(folder), {"spark.lineage.sql": request.param})


def _facets(left: Left, key: str) -> list[dict[str, Any]]:
    return [e["job"]["facets"][key] for e in left.events if key in e["job"]["facets"]]


def test_the_job_was_told(told: tuple[str, Left]) -> None:
    _mode, left = told
    names = {output["name"] for event in left.events for output in event["outputs"]}
    assert {"default.chosen", "default.stated", "default.parted"} <= names
    assert any("PEOPLE" in name for name in names)
    # The agents were seen, or the look at their command lines would find nothing to see.
    assert left.ways["process list"]
    assert any(event["eventType"] == "FAIL" for event in left.events)


def test_no_secret_leaves(told: tuple[str, Left]) -> None:
    assert told[1].with_(SECRET) == []


def test_personal_data_leaves_only_where_sql_is_full(told: tuple[str, Left]) -> None:
    mode, left = told
    found = left.with_(PERSON)
    if mode == "full":
        assert [way for way in found if way.startswith("events")]
        assert _facets(left, "sql")
        return
    assert found == []
    statements = [facet["query"] for facet in _facets(left, "sql")]
    if mode == "off":
        assert statements == []
    else:
        (stated,) = {s for s in statements if "stated" in s}
        assert " ".join(stated.split()) == (
            "CREATE TABLE stated AS SELECT concat(name, ?) AS n FROM people "
            "WHERE name <> ? OR name IN (?, ?)"
        )


def test_expressions_are_told_without_literals(told: tuple[str, Left]) -> None:
    mode, left = told
    expressions = {
        column["name"]: column["expression"]
        for event in left.events
        for output in event["outputs"]
        if output["name"] == "default.chosen"
        for column in output["facets"]["sparkLineage_columns"]["columns"]
    }
    shown = f"'{PERSON}'" if mode == "full" else "?"
    assert shown in expressions["who"]


def test_what_lies_in_the_spool_is_for_the_owner_only(module_jobs: Jobs) -> None:
    """Records without an agent, and events without a collector."""
    folder = module_jobs.folder / "files"
    folder.mkdir()
    jobs = Jobs(folder)
    left = _job(jobs, {"spark.lineage.python": "/no/such/python"})
    (records,) = jobs.spool.glob("records-*.jsonl")
    assert oct(records.stat().st_mode & 0o777) == oct(0o600)
    assert oct(jobs.spool.stat().st_mode & 0o777) == oct(0o700)
    assert left.events == []
    assert left.with_(SECRET) == []
    replayed = subprocess.run(
        [sys.executable, "-m", "spark_lineage.cli", "replay", "--spool", str(jobs.spool)],
        env={
            **os.environ,
            "SPARK_LINEAGE_TRANSPORT_TYPE": "file",
            "SPARK_LINEAGE_TRANSPORT_PATH": str(jobs.events),
            "SPARK_LINEAGE_SQL": "off",
        },
        capture_output=True,
        check=False,
    )
    assert replayed.returncode == 0, replayed.stderr
    text = jobs.events.read_text() + replayed.stdout.decode() + replayed.stderr.decode()
    assert SECRET not in text
    assert PERSON not in text
    assert "default.chosen" in text
