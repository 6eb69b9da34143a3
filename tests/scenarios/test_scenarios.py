"""Whole jobs and all that they tell: a script, and beside it the events worked out by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.scenarios.normal import Names, differences, runs
from tests.support.jobs import Finished, Jobs
from tests.support.maven import jars
from tests.support.python import kept_of

HERE = Path(__file__).parent
SCENARIOS = sorted(path.stem for path in HERE.glob("*.json"))


@pytest.fixture(scope="module", params=SCENARIOS)
def scenario(
    request: pytest.FixtureRequest, module_jobs: Jobs
) -> tuple[list[dict[str, Any]], Finished, Jobs]:
    folder = module_jobs.folder / request.param
    folder.mkdir()
    jobs = Jobs(folder)
    done = jobs.submit(HERE / f"{request.param}.py", jars=_jars(request.param))
    assert done.code == 0, done.stderr[-3000:]
    expected = json.loads((HERE / f"{request.param}.json").read_text())
    return [entry for entry in expected if _runs_here(entry)], done, jobs


def _jars(name: str) -> list[Path]:
    """What a scenario needs that Spark does not come with."""
    if name != "avro":
        return []
    from pyspark import __version__

    # Of each Scala the newest release: not every release of Spark has one.
    released = "2.12:3.5.9" if __version__.startswith("3.") else "2.13:4.2.0"
    return jars(f"org.apache.spark:spark-avro_{released}", alone=True)


def _runs_here(entry: dict[str, Any]) -> bool:
    from pyspark import __version__

    since = entry.get("since", "3.4").split(".")
    return tuple(map(int, __version__.split(".")[:2])) >= tuple(map(int, since))


def test_each_run_is_told_as_worked_out(
    scenario: tuple[list[dict[str, Any]], Finished, Jobs],
) -> None:
    expected, done, jobs = scenario
    told = runs(done.events, Names(jobs.folder))
    if any("writes_nothing" in entry for entry in expected):
        # Whether Spark makes an execution of what it then leaves alone is its own affair.
        expected = [entry for entry in expected if "writes_nothing" not in entry]
        told = [run for run in told if run["outputs"]]
    wrong = differences(told, expected)
    assert not wrong, "\n".join(wrong)


def test_each_run_has_one_start_and_one_end_below_its_application(
    scenario: tuple[list[dict[str, Any]], Finished, Jobs],
) -> None:
    _, done, _ = scenario
    by_run: dict[str, list[dict[str, Any]]] = {}
    for event in done.events:
        by_run.setdefault(event["run"]["runId"], []).append(event)
    applications = {
        run_id
        for run_id, events in by_run.items()
        if events[0]["job"]["facets"]["jobType"]["jobType"] == "APPLICATION"
    }
    for run_id, events in by_run.items():
        assert [event["eventType"] == "START" for event in events] == [True, False]
        assert events[0]["job"]["name"] == events[1]["job"]["name"]
        assert events[0]["eventTime"] <= events[1]["eventTime"]
        if run_id not in applications:
            assert events[1]["run"]["facets"]["parent"]["run"]["runId"] in applications


def test_nothing_is_unexplained_or_unknown(
    scenario: tuple[list[dict[str, Any]], Finished, Jobs],
) -> None:
    for event in scenario[1].events:
        quality = event["run"]["facets"].get("sparkLineage_quality", {})
        assert not quality.get("unexplained"), event
        assert not quality.get("unknownNodes"), event
        assert not quality.get("dropped"), event
        assert not quality.get("failures"), event


def test_the_collector_holds_one_node_for_each_data_set(
    scenario: tuple[list[dict[str, Any]], Finished, Jobs],
) -> None:
    expected, done, jobs = scenario
    names = {name for entry in expected for name in entry.get("inputs", ())}
    names |= {name for entry in expected for name in entry.get("outputs", {})}
    short = Names(jobs.folder).short
    held = [short(dataset) for dataset in kept_of(jobs.events, jobs.folder)]
    assert sorted(held) == sorted(_now(names, expected))
    assert done.events


def _now(names: set[str], expected: list[dict[str, Any]]) -> set[str]:
    """The data sets after all renames: a table that got another name is one node."""
    for entry in expected:
        for name, output in entry.get("outputs", {}).items():
            if "previous" in output:
                names = (names - {output["previous"]}) | {name}
    return names
