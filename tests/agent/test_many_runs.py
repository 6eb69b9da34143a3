"""A session of many executions: a share of the reads, and nothing that grows."""

from __future__ import annotations

from collections import Counter

import pytest

from spark_lineage import config
from spark_lineage.agent.guard import Failures
from spark_lineage.agent.runs import Runs
from tests.agent.records import application_record, execution_record
from tests.support.validation import validate


def _sampled(share: str) -> tuple[Counter[str], int]:
    settings = config.load({"spark.lineage.readOnlyActions.sample": share}, {})
    runs = Runs(settings, Failures())
    kinds: Counter[str] = Counter()
    for number in range(300):
        seen: Counter[str] = Counter()
        for phase in ("START", "END"):
            for event in runs.take(execution_record(phase, number, read=True)):
                if event["job"]["facets"]["jobType"]["jobType"] != "APPLICATION":
                    seen[event["eventType"]] += 1
        assert seen in (Counter(), Counter(START=1, COMPLETE=1))
        kinds += seen
    return kinds, runs.filtered["readOnlyActions"]


def test_a_share_of_the_reads_is_told_and_the_rest_counted() -> None:
    kinds, left_out = _sampled("0.3")
    assert kinds["START"] == kinds["COMPLETE"] == 300 - left_out
    # 0.3 of 300 is 90; six standard deviations of a fair draw are 48.
    assert 42 <= kinds["START"] <= 138


@pytest.mark.parametrize(("share", "told"), [("0", 0), ("1", 300)])
def test_none_and_all(share: str, told: int) -> None:
    kinds, left_out = _sampled(share)
    assert (kinds["COMPLETE"], left_out) == (told, 300 - told)


def test_a_write_is_never_left_out() -> None:
    settings = config.load({"spark.lineage.readOnlyActions.sample": "0"}, {})
    runs = Runs(settings, Failures())
    events = [e for phase in ("START", "END") for e in runs.take(execution_record(phase, 1))]
    assert [e["eventType"] for e in events if e["outputs"]] == ["START", "COMPLETE"]


def test_nothing_grows_with_the_number_of_runs() -> None:
    """But for the roots that ended, which are kept for a while, up to a bound."""
    runs = Runs(config.load({}, {}), Failures())
    held = []
    for number in range(0, 900, 2):
        # An action with a nested execution.
        runs.take(execution_record("START", number))
        runs.take(execution_record("START", number + 1, number))
        runs.take(execution_record("END", number + 1, number))
        runs.take(execution_record("END", number))
        held.append(runs.held())
    assert {key: held[-1][key] for key in ("open", "nested", "applications", "names")} == {
        "open": 0,
        "nested": 0,
        "applications": 1,
        "names": 1,
    }
    assert held[100] | {"ended": 0} == held[-1] | {"ended": 0}


def test_the_roots_that_ended_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spark_lineage.agent.application.MAX_ENDED", 10)
    runs = Runs(config.load({}, {}), Failures())
    for number in range(50):
        runs.take(execution_record("END", number))
    assert runs.held()["ended"] == 10


def test_the_applications_end_tells_what_was_lost_up_to_it() -> None:
    runs = Runs(config.load({}, {}), Failures())
    runs.take(application_record("START"))
    end = application_record("END")
    end["bridge"] = {"version": "0.1.0", "dropped": {"queue.records": 7}}
    runs.losses = {"open_runs_forgotten": 1}
    (event,) = runs.take(end)
    validate(event)
    assert event["run"]["facets"]["sparkLineage_quality"]["dropped"] == {
        "queue.records": 7,
        "open_runs_forgotten": 1,
    }
