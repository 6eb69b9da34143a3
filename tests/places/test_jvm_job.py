"""A job of the JVM, with no Python in it, through spark-submit."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.places import told
from tests.places.place import Place

pytestmark = pytest.mark.places

SUMMARY = {
    "g": {("numbers", "g", "IDENTITY")},
    "total": {("numbers", "id", "AGGREGATION")},
}


def test_a_java_job(place: Place, java_job: Path) -> None:
    options = place.options()
    place.run(
        "java", "spark-submit", *options, "--class", "Summary", str(java_job), str(place.folder)
    )
    events = place.jobs.read()
    told.assert_each_run_has_one_end(events)
    summary = told.written(events, "summary")
    assert told.sources(summary) == SUMMARY
    assert summary["job"]["name"] == "java summary.summary"


def test_a_driver_without_python_keeps_its_records_for_a_replay(
    place: Place, java_job: Path
) -> None:
    # PATH holds what the machine has, but no Python.
    programs = place.folder / "programs"
    programs.mkdir()
    for directory in os.get_exec_path():
        for program in Path(directory).glob("*"):
            if not program.name.startswith(("python", "pypy")):
                with contextlib.suppress(FileExistsError):
                    (programs / program.name).symlink_to(program)
    environment = place.jobs.environment(PATH=str(programs))
    environment = {k: v for k, v in environment.items() if not k.startswith("PYSPARK_")}
    # The jar and the plugin as printed, but no Python named.
    *named, python = place.options()[:6]
    assert python.startswith("spark.lineage.python=")
    output = place.run(
        "java", "spark-submit", *named[:-1], *place.plain(), "--class", "Summary",
        str(java_job), str(place.folder), environment=environment,
    )  # fmt: skip
    assert "spark-lineage replay" in output
    assert place.jobs.read() == []

    replayed = subprocess.run(
        [sys.executable, "-m", "spark_lineage.cli", "replay", "--spool", str(place.jobs.spool)],
        env={
            **os.environ,
            "SPARK_LINEAGE_TRANSPORT_TYPE": "file",
            "SPARK_LINEAGE_TRANSPORT_PATH": str(place.jobs.events),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert replayed.returncode == 0, replayed.stdout + replayed.stderr
    events = place.jobs.read()
    told.assert_each_run_has_one_end(events)
    assert told.sources(told.written(events, "summary")) == SUMMARY
