"""The plugin and its agent's process, by configuration alone, in real jobs."""

from __future__ import annotations

import json
import stat
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest

from tests.bridge.records import check
from tests.support.jobs import Jobs

SCRIPT = """
    from pyspark.sql import SparkSession
    spark = SparkSession.builder.getOrCreate()
    print("rows", spark.range(3).count())
"""


def _records(jobs: Jobs) -> list[dict[str, Any]]:
    (path,) = jobs.spool.glob("records-*.jsonl")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    records = [json.loads(line) for line in path.read_text().splitlines()]
    for record in records:
        check(record)
    return records


def _told(records: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(record["kind"], record["phase"]) for record in records]


WHOLE = [
    ("application", "START"),
    ("execution", "START"),
    ("execution", "END"),
    ("application", "END"),
]


def _fake_python(jobs: Jobs, then: str) -> Path:
    """A "Python" that can import everything, and an agent that does as told."""
    program = jobs.folder / "fake-python"
    program.write_text(
        textwrap.dedent(
            f"""\
            #!/bin/sh
            [ "$1" = -c ] && exit 0
            echo "$@" >> {jobs.folder}/arguments
            env > {jobs.folder}/environment
            read -r hello
            echo "$hello" >> {jobs.folder}/hello
            {then}
            """
        )
    )
    program.chmod(0o755)
    return program


def test_an_agent_that_dies_is_started_once_more_and_then_records_go_to_the_file(
    jobs: Jobs,
) -> None:
    python = _fake_python(jobs, "exit 7")
    done = jobs.submit(
        jobs.script(SCRIPT),
        {"spark.lineage.python": str(python)},
        {"PYTHONSTARTUP": "/no/such", "PYTHONINSPECT": "1"},
    )
    assert done.code == 0, done.stderr
    assert "rows 3" in done.stdout
    warnings = [line for line in done.stderr.splitlines() if "WARN LineagePlugin" in line]
    assert len(warnings) == 1, warnings
    assert "ended twice, the last time with exit code 7" in warnings[0]
    assert _told(_records(jobs)) == WHOLE
    # The secret is told by standard input alone.
    arguments = (jobs.folder / "arguments").read_text().splitlines()
    assert arguments == ["-m spark_lineage.agent.sidecar"] * 2
    hello = json.loads((jobs.folder / "hello").read_text().splitlines()[0])
    assert set(hello) == {"port", "token", "applicationId", "pid"}
    environment = (jobs.folder / "environment").read_text()
    assert hello["token"] not in environment
    assert "PYTHONSTARTUP" not in environment
    assert "PYTHONINSPECT" not in environment


def test_an_agent_that_hangs_delays_the_end_no_longer_than_set(jobs: Jobs) -> None:
    python = _fake_python(jobs, "exec sleep 300")
    begun = time.monotonic()
    done = jobs.submit(
        jobs.script(SCRIPT + "    spark.stop()\n    print('stopped')\n"),
        {"spark.lineage.python": str(python), "spark.lineage.shutdown.timeout": "1s"},
    )
    assert time.monotonic() - begun < 120
    assert done.code == 0, done.stderr
    assert "stopped" in done.stdout
    # What it did not take is not lost.
    assert _told(_records(jobs)) == WHOLE


def test_an_agent_that_refuses_its_settings_turns_all_off(jobs: Jobs) -> None:
    python = _fake_python(jobs, "echo 'the setting is wrong'; exit 2")
    done = jobs.submit(jobs.script(SCRIPT), {"spark.lineage.python": str(python)})
    assert done.code == 0, done.stderr
    assert len([line for line in done.stderr.splitlines() if "the setting is wrong" in line]) == 1
    assert not list(jobs.spool.glob("*"))
    assert len((jobs.folder / "arguments").read_text().splitlines()) == 1


def test_the_listener_alone_does_as_the_plugin(jobs: Jobs) -> None:
    done = jobs.submit(
        jobs.script(SCRIPT),
        {
            "spark.plugins": None,
            "spark.sql.queryExecutionListeners": "io.sparklineage.LineageListener",
            "spark.lineage.python": "/no/such",
        },
    )
    assert done.code == 0, done.stderr
    assert "rows 3" in done.stdout
    assert _told(_records(jobs)) == WHOLE


def test_both_in_a_script_that_fails_tell_once(jobs: Jobs) -> None:
    done = jobs.submit(
        jobs.script(SCRIPT + "    raise SystemExit(3)\n"),
        {
            "spark.sql.queryExecutionListeners": "io.sparklineage.LineageListener",
            "spark.lineage.python": "/no/such",
        },
    )
    assert done.code == 3
    assert _told(_records(jobs)) == WHOLE


@pytest.mark.parametrize("setting", ["spark.lineage.enabled", "spark.openlineage.disabled"])
def test_switched_off_it_does_nothing(jobs: Jobs, setting: str) -> None:
    value = "false" if setting.endswith("enabled") else "true"
    done = jobs.submit(jobs.script(SCRIPT), {setting: value, "spark.lineage.python": "/no/such"})
    assert done.code == 0, done.stderr
    assert "rows 3" in done.stdout
    assert "LineagePlugin:" not in done.stderr
    assert not jobs.spool.exists()
