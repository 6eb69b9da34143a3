"""Executions folded into runs: order, nesting, degradation. No Spark: records by hand."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from spark_lineage import config
from spark_lineage.agent import runs as runs_module
from spark_lineage.agent.guard import Failures
from spark_lineage.agent.runs import Runs
from spark_lineage.errors import LineageError
from spark_lineage.openlineage.run import RunError
from tests.plan.builder import Builder
from tests.support.validation import validate

APP = {
    "id": "app-1", "name": "nightly", "user": "ada", "startTime": 1_700_000_000_000,
    "sparkVersion": "3.5.9", "scalaVersion": "2.12", "master": "local", "deployMode": "client",
    "attemptId": None,
}  # fmt: skip


def _record(phase: str, number: int, root: int | None = None, **more: Any) -> dict[str, Any]:
    build = Builder()
    source, (a, b) = build.table("orders", ["a", "b"])
    item, made = build.alias(build.add(a, b), "total")
    query = build.project(source, [item], [made])
    build.table("sums", ["total"])
    described = build.rows.pop()[5]
    fields = ["outputPath", "query", "catalogTable", "outputColumnNames", "mode"]
    shape = build.shape("InsertIntoHadoopFsRelationCommand", "P", fields)
    path = {"c": build.string("Path"), "uri": build.string("file:/wh/sums")}
    names = [build.string("total")]
    mode = build.string("Append")
    write = build.row([shape, [query], [], path, query, described, names, mode])
    record = build.record(query if more.pop("read", False) else write)
    execution = {
        "id": number, "rootId": number if root is None else root, "sessionId": "s",
        "thread": None, "description": "sql", "callSite": "", "sql": "INSERT ...",
        "name": "command" if phase == "END" else None, "startTime": 1_700_000_001_000,
        "endTime": 1_700_000_002_000 if phase == "END" else None,
        "outcome": "SUCCESS" if phase == "END" else None, "error": None, "stars": False,
        "jobTags": [],
    }  # fmt: skip
    execution.update(more.pop("execution", {}))
    bridge = {"version": "0.1.0", "captureNanos": 1, "dropped": {}, "truncated": None}
    record.update(phase=phase, app=copy.deepcopy(APP), execution=execution, bridge=bridge, **more)
    return record


def _bare(record: dict[str, Any]) -> dict[str, Any]:
    record["plans"] = {"analyzed": None, "optimized": None}
    return record


def _application(phase: str) -> dict[str, Any]:
    return {
        "formatVersion": 1, "sequence": 1, "kind": "application", "phase": phase,
        "app": copy.deepcopy(APP), "bridge": {}, "outcome": {"exitCode": None},
    }  # fmt: skip


@pytest.fixture
def runs() -> Runs:
    return Runs(config.load({}, {}), Failures())


def _take(runs: Runs, *records: dict[str, Any]) -> list[dict[str, Any]]:
    events = [event for record in records for event in runs.take(record)]
    for event in events:
        validate(event)
    return events


def _kinds(events: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(event["eventType"], event["job"]["name"]) for event in events]


def test_an_action_is_a_run_below_the_application(runs: Runs) -> None:
    events = _take(
        runs, _application("START"), _record("START", 4), _record("END", 4), _application("END")
    )
    assert _kinds(events) == [
        ("START", "nightly"),
        ("START", "nightly.default.sums"),
        ("COMPLETE", "nightly.default.sums"),
        ("COMPLETE", "nightly"),
    ]
    application, start, end, _ = events
    assert start["run"]["runId"] == end["run"]["runId"]
    assert end["run"]["facets"]["parent"]["run"]["runId"] == application["run"]["runId"]
    assert [item["name"] for item in end["inputs"]] == ["default.orders"]


def test_a_nested_execution_adds_to_its_root(runs: Runs) -> None:
    events = _take(
        runs,
        _record("START", 1),
        _record("START", 2, root=1),
        _record("END", 2, root=1, writes=[{"class": "W", "metrics": {"numOutputRows": 7}}]),
        _record("END", 1),
    )
    assert [kind for kind, _ in _kinds(events)] == ["START", "START", "COMPLETE"]
    (output,) = events[-1]["outputs"]
    assert output["outputFacets"]["outputStatistics"]["rowCount"] == 7
    assert len(output["facets"]["columnLineage"]["fields"]["total"]["inputFields"]) == 2


def test_a_start_without_a_plan_is_told_with_its_end_under_the_same_name(runs: Runs) -> None:
    assert [kind for kind, _ in _kinds(_take(runs, _bare(_record("START", 1))))] == ["START"]
    events = _take(runs, _record("END", 1))
    assert _kinds(events) == [
        ("START", "nightly.default.sums"),
        ("COMPLETE", "nightly.default.sums"),
    ]
    assert events[0]["eventTime"] < events[1]["eventTime"]


def test_a_run_whose_start_was_lost_is_whole_all_the_same(runs: Runs) -> None:
    events = _take(runs, _record("END", 1))
    assert [kind for kind, _ in _kinds(events)] == ["START", "START", "COMPLETE"]


def test_runs_still_open_at_the_end_are_aborted(runs: Runs) -> None:
    events = _take(runs, _record("START", 1), _bare(_record("START", 2)), _application("END"))
    kinds: dict[str, list[str]] = {}
    for event in events:
        kinds.setdefault(event["run"]["runId"], []).append(event["eventType"])
    assert sorted(kinds.values()) == [["START", "ABORT"], ["START", "ABORT"], ["START", "COMPLETE"]]
    assert _take(runs, _application("END")) == []


def test_a_known_error_fails_the_application_and_an_unknown_end_is_said(runs: Runs) -> None:
    _take(runs, _application("START"))
    (failed,) = runs.end_all(RunError("ValueError: no", None, "PYTHON"))
    assert failed["eventType"] == "FAIL"
    assert failed["run"]["facets"]["sparkLineage_context"]["status"] == "failed"

    other = Runs(config.load({}, {}), Failures())
    (_, complete) = _take(other, _application("START"), _application("END"))
    assert complete["run"]["facets"]["sparkLineage_context"]["status"] == "unknown"


def test_a_failed_action_tells_its_error(runs: Runs) -> None:
    error = {"class": "org.apache.spark.SparkException", "message": "lost", "stack": "  at x"}
    execution = {"outcome": "FAILURE", "error": error}
    (*_, failed) = _take(runs, _record("START", 1), _record("END", 1, execution=execution))
    assert failed["eventType"] == "FAIL"
    facet = failed["run"]["facets"]["errorMessage"]
    assert facet["message"] == "org.apache.spark.SparkException: lost"
    assert facet["stackTrace"] == "  at x"


def test_ids_are_the_same_when_records_come_again() -> None:
    def ids() -> list[str]:
        fresh = Runs(config.load({}, {}), Failures())
        events = _take(fresh, _record("START", 1), _record("END", 1))
        return [event["run"]["runId"] for event in events]

    assert ids() == ids()


def test_different_queries_of_one_output_have_different_names_and_keep_them(runs: Runs) -> None:
    names = [
        runs.take(_record("END", number, execution={"sql": sql}))[-1]["job"]["name"]
        for number, sql in enumerate(["INSERT one", "INSERT two", "INSERT  one"], 1)
    ]
    assert names == ["nightly.default.sums", "nightly.default.sums#2", "nightly.default.sums"]


def test_reads_can_be_left_out() -> None:
    quiet = Runs(config.load({"spark.lineage.readOnlyActions": "off"}, {}), Failures())
    events = _take(quiet, _record("START", 1, read=True), _record("END", 1, read=True))
    assert _kinds(events) == [("START", "nightly")]


@pytest.mark.swallows
def test_where_column_lineage_fails_data_sets_are_told(
    runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> Any:
        raise LineageError("no rule for this")

    monkeypatch.setattr(runs_module, "derive", broken)
    (*_, complete) = _take(runs, _record("END", 1))
    assert complete["eventType"] == "COMPLETE"
    assert [item["name"] for item in complete["inputs"]] == ["default.orders"]
    assert [item["name"] for item in complete["outputs"]] == ["default.sums"]
    quality = complete["run"]["facets"]["sparkLineage_quality"]
    assert quality["outputs"][0]["availability"] == "UNAVAILABLE"
    assert quality["issues"] == ["column lineage failed: LineageError: no rule for this"]
    assert quality["failures"] == {"deriving lineage": 1}

    # Where that fails too, the run is told, with what failed.
    monkeypatch.setattr(runs_module, "datasets_only", broken)
    (*_, bare) = _take(runs, _record("END", 2))
    assert (bare["eventType"], bare["inputs"], bare["outputs"]) == ("COMPLETE", [], [])
    assert "column lineage failed" in bare["run"]["facets"]["sparkLineage_quality"]["issues"][0]


def test_the_parent_that_a_scheduler_names_is_the_applications(runs: Runs) -> None:
    parent, root = "01890a5d-ac96-774b-bcce-b302099a8057", "01890a5d-ac96-774b-bcce-b302099a8058"
    settings = config.load(
        {
            "spark.openlineage.parentRunId": parent,
            "spark.openlineage.parentJobName": "dag.task",
            "spark.openlineage.parentJobNamespace": "airflow",
            "spark.openlineage.rootParentRunId": root,
            "spark.openlineage.rootParentJobName": "dag",
            "spark.openlineage.rootParentJobNamespace": "airflow",
        },
        {},
    )
    application, _, complete = _take(Runs(settings, Failures()), _record("END", 1))
    told = application["run"]["facets"]["parent"]
    assert (told["run"]["runId"], told["job"]["name"]) == (parent, "dag.task")
    assert told["root"]["run"]["runId"] == root
    told = complete["run"]["facets"]["parent"]
    assert told["run"]["runId"] == application["run"]["runId"]
    assert told["root"]["run"]["runId"] == root


MULTI = "FROM t INSERT INTO a SELECT x INSERT OVERWRITE b SELECT 'insert into c' AS y"


def _actions(version: str, *statements: str) -> list[str]:
    runs = Runs(config.load({}, {}), Failures())
    told = []
    for number, sql in enumerate(statements, 1):
        for record in (_record("START", number), _record("END", number)):
            record["app"]["sparkVersion"] = version
            record["execution"]["sql"] = sql
            events = runs.take(record)
        told.append(events[-1]["run"]["facets"]["sparkLineage_context"]["actionId"])
    return told


def test_the_inserts_of_a_multi_insert_share_an_action_before_spark_4() -> None:
    assert _actions("3.5.9", MULTI, MULTI, MULTI, MULTI) == [
        "app-1:1", "app-1:1", "app-1:3", "app-1:3",
    ]  # fmt: skip
    assert _actions("3.5.9", MULTI, "INSERT INTO a SELECT 1", MULTI) == [
        "app-1:1", "app-1:2", "app-1:3",
    ]  # fmt: skip
    assert _actions("4.3.0", MULTI, MULTI) == ["app-1:1", "app-1:2"]
