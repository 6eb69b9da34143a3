"""A record that cannot be told holds back no other, and is not silently lost. No Spark."""

from __future__ import annotations

from typing import Any

import pytest

from spark_lineage.agent import facts
from spark_lineage.agent import runs as runs_module
from spark_lineage.agent.guard import Failures
from spark_lineage.agent.runs import Runs
from tests.agent.records import application_record, execution_record, kinds_of, take

pytestmark = pytest.mark.swallows


def _quality(event: dict[str, Any]) -> dict[str, Any]:
    quality: dict[str, Any] = event["run"]["facets"]["sparkLineage_quality"]
    return quality


def _fails_for(monkeypatch: pytest.MonkeyPatch, module: Any, name: str, number: int) -> None:
    """Let a function of ``module`` raise for what is of one execution."""
    real = getattr(module, name)

    def faulty(record: dict[str, Any], *more: Any) -> Any:
        if record["execution"]["id"] == number:
            raise ValueError("a fault")
        return real(record, *more)

    monkeypatch.setattr(module, name, faulty)


def test_a_run_that_cannot_be_merged_is_told_without_lineage(
    runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, calls = runs_module.merge, []

    def faulty(lineages: Any) -> Any:
        calls.append(lineages)
        if len(calls) == 2:
            raise ValueError("a fault")
        return real(lineages)

    monkeypatch.setattr(runs_module, "merge", faulty)
    events = take(runs, *(execution_record(phase, n) for n in (1, 2) for phase in ("START", "END")))
    assert [kind for kind, _ in kinds_of(events)] == ["START", *2 * ["START", "COMPLETE"]]
    poor, well = events[2], events[4]
    assert poor["run"]["runId"] == events[1]["run"]["runId"]
    assert poor["job"] == events[1]["job"]
    assert poor["outputs"] == []
    assert _quality(poor)["issues"] == ["the run cannot be told in full: ValueError: a fault"]
    assert _quality(poor)["failures"] == {"reading a record": 1}
    assert well["outputs"]
    assert _quality(well)["issues"] == []


def test_a_start_that_fails_is_told_with_its_end(
    runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    _fails_for(monkeypatch, facts, "execution_context", 1)
    assert [kind for kind, _ in kinds_of(take(runs, execution_record("START", 1)))] == ["START"]
    monkeypatch.undo()
    events = take(runs, execution_record("END", 1))
    assert [kind for kind, _ in kinds_of(events)] == ["START", "COMPLETE"]
    assert events[-1]["outputs"]


def test_what_cannot_be_told_at_all_is_counted_and_the_count_told(
    runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    _fails_for(monkeypatch, facts, "execution_context", 1)
    records = [execution_record(phase, n) for n in (1, 2) for phase in ("START", "END")]
    events = take(runs, application_record("START"), *records, application_record("END"))
    assert [kind for kind, _ in kinds_of(events)] == ["START", "START", "COMPLETE", "COMPLETE"]
    assert _quality(events[2])["dropped"] == {"records_unreadable": 1}
    assert _quality(events[3])["dropped"] == {"records_unreadable": 1}


def test_a_nested_execution_that_fails_leaves_its_root(
    runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any) -> None:
        raise ValueError("a fault")

    monkeypatch.setattr(Runs, "_measure", fails)
    take(
        runs,
        execution_record("START", 1),
        execution_record("START", 2, root=1),
        execution_record("END", 2, root=1),
    )
    monkeypatch.undo()
    (end,) = take(runs, execution_record("END", 1))
    assert end["eventType"] == "COMPLETE"
    assert end["outputs"]
    assert _quality(end)["issues"] == ["the run cannot be told in full: ValueError: a fault"]


def test_records_without_what_they_must_have_are_counted(runs: Runs) -> None:
    take(runs, application_record("START"))
    for record in ({}, {"formatVersion": 1}, {**execution_record("END", 1), "formatVersion": 2}):
        assert runs.take(record) == []
    half = execution_record("END", 2)
    del half["execution"]
    assert runs.take(half) == []
    assert runs.losses == {"records_unreadable": 4}


def test_failures_are_counted_all_and_logged_once_a_minute(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1000.0]
    monkeypatch.setattr("spark_lineage.agent.guard.time.monotonic", lambda: now[0])
    failures = Failures()
    for second in range(130):
        now[0] = 1000.0 + second
        failures.add("doing this", ValueError(f"fault {second}"))
    assert [record.getMessage() for record in caplog.records] == [
        "doing this failed: ValueError: fault 0",
        "doing this failed: ValueError: fault 60 (59 more since the last message)",
        "doing this failed: ValueError: fault 120 (59 more since the last message)",
    ]
    assert failures.counts() == {"doing this": 130}
