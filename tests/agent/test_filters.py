"""The event filter: what is left out is not computed, and is counted."""

from __future__ import annotations

from typing import Any

import pytest

from spark_lineage import config
from spark_lineage.agent import derived as derived_module
from spark_lineage.agent.guard import Failures
from spark_lineage.agent.runs import Runs
from tests.agent.records import application_record, bare, execution_record, take

ORDERS, SUMS = "default.orders", "default.sums"


def _runs(**lists: str) -> Runs:
    conf = {f"spark.lineage.filter.{key.replace('_', '.')}": text for key, text in lists.items()}
    return Runs(config.load(conf, {}), Failures())


def _told(runs: Runs, *records: dict[str, Any]) -> list[tuple[str, str]]:
    return [(event["eventType"], event["job"]["name"]) for event in take(runs, *records)]


def _pair(number: int, **more: Any) -> list[dict[str, Any]]:
    return [execution_record("START", number, **more), execution_record("END", number, **more)]


APPLICATION = [("START", "nightly"), ("COMPLETE", "nightly")]
ACTION = [("START", f"nightly.{SUMS}"), ("COMPLETE", f"nightly.{SUMS}")]

LEFT_OUT = [
    {"statements_deny": "InsertInto*"},
    {"statements_deny": "org.apache.spark.InsertIntoHadoopFsRelationCommand"},
    {"statements_allow": "Project"},
    {"datasets_deny": ORDERS},
    {"datasets_deny": "*.or?ers"},
    {"datasets_deny": "file:/wh/*"},
    {"datasets_deny": "x;/wh/sums"},
    {"datasets_allow": "other.*"},
    {"datasets_allow": f"{SUMS},{ORDERS}", "datasets_deny": "*orders"},
    {"jobs_deny": "*.sums"},
]


@pytest.mark.parametrize("lists", LEFT_OUT)
def test_what_is_left_out_is_not_computed(
    lists: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: Any) -> Any:
        raise AssertionError("computed")

    monkeypatch.setattr(derived_module, "derive", never)
    if "statements" in str(lists):
        monkeypatch.setattr(derived_module, "decode", never)
    runs = _runs(**lists)
    nested = [execution_record("START", 2, root=1), execution_record("END", 2, root=1)]
    start, end = _pair(1)
    assert _told(
        runs, application_record("START"), start, *nested, end, application_record("END")
    ) == (APPLICATION)
    (reason,) = {key.split("_")[0] for key in lists}
    assert runs.filtered == {reason: 1}


TOLD = [
    {},
    {"statements_allow": "InsertInto*;CreateTable"},
    {"statements_deny": "Insert"},
    {"datasets_allow": SUMS},
    {"datasets_allow": "*/default.orders"},
    {"datasets_deny": "orders;sums"},
    {"jobs_allow": "nightly"},
    {"jobs_deny": "night"},
]


@pytest.mark.parametrize("lists", TOLD)
def test_what_is_not_met_is_told(lists: dict[str, str]) -> None:
    runs = _runs(**lists)
    told = _told(runs, application_record("START"), *_pair(1), application_record("END"))
    assert told == [APPLICATION[0], *ACTION, APPLICATION[1]]
    assert not runs.filtered


def test_what_was_left_out_is_told_with_the_next_run() -> None:
    runs = _runs(statements_deny="Project")
    (*_, end) = take(runs, *_pair(1, read=True), *_pair(2))
    assert end["run"]["facets"]["sparkLineage_quality"]["filtered"] == {"statements": 1}
    assert end["run"]["facets"]["sparkLineage_quality"]["dropped"] == {}


def test_an_end_without_its_start_is_judged_too() -> None:
    assert _told(_runs(datasets_deny=SUMS), execution_record("END", 1)) == APPLICATION[:1]


def test_a_denied_application_is_silent() -> None:
    runs = _runs(jobs_deny="night*")
    assert _told(runs, application_record("START"), *_pair(1), application_record("END")) == []
    assert runs.end_all() == []


def test_an_allowed_job_brings_its_application_along() -> None:
    runs = _runs(jobs_allow="*.sums")
    reads = _pair(1, read=True)
    assert _told(runs, application_record("START"), *reads) == []
    assert _told(runs, *_pair(2), application_record("END")) == [
        APPLICATION[0], *ACTION, APPLICATION[1],
    ]  # fmt: skip
    assert runs.filtered == {"jobs": 1}
    # And nothing is told where none was allowed.
    alone = _runs(jobs_allow="*.sums")
    assert (
        _told(alone, application_record("START"), *_pair(1, read=True), application_record("END"))
        == []
    )


def test_what_has_no_plan_passes_deny_lists_only() -> None:
    deny = _runs(statements_deny="*", datasets_deny="*")
    failed = {"outcome": "FAILURE", "error": {"class": "E", "message": "no", "stack": None}}
    without = bare(execution_record("END", 1, execution=failed))
    assert [kind for kind, _ in _told(deny, without)] == ["START", "START", "FAIL"]
    for key in ("statements_allow", "datasets_allow"):
        runs = _runs(**{key: "*"})
        assert (
            _told(runs, bare(execution_record("START", 1)), application_record("END"))
            == APPLICATION
        )
        runs = _runs(**{key: "*"})
        assert _told(runs, bare(execution_record("END", 1))) == APPLICATION[:1]


def test_openlineages_deny_list_of_nodes_is_understood() -> None:
    name = "org.apache.spark.InsertIntoHadoopFsRelationCommand"
    conf = {"spark.openlineage.filter.deniedSparkNodes": f"[{name};Other]"}
    runs = Runs(config.load(conf, {}), Failures())
    assert _told(runs, *_pair(1)) == APPLICATION[:1]
