"""Executions folded into runs: order, nesting, degradation. No Spark: records by hand."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from spark_lineage import config
from spark_lineage.agent import derived as derived_module
from spark_lineage.agent.guard import Failures
from spark_lineage.agent.runs import Runs
from spark_lineage.errors import LineageError
from tests.agent.records import application_record, bare, execution_record, kinds_of, take


def test_an_action_is_a_run_below_the_application(runs: Runs) -> None:
    events = take(
        runs,
        application_record("START"),
        execution_record("START", 4),
        execution_record("END", 4),
        application_record("END"),
    )
    assert kinds_of(events) == [
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
    events = take(
        runs,
        execution_record("START", 1),
        execution_record("START", 2, root=1),
        execution_record(
            "END",
            2,
            root=1,
            writes=[{"class": "W", "metrics": {"numOutputRows": 7}, "target": None}],
        ),
        execution_record("END", 1),
    )
    assert [kind for kind, _ in kinds_of(events)] == ["START", "START", "COMPLETE"]
    (output,) = events[-1]["outputs"]
    assert output["outputFacets"]["outputStatistics"]["rowCount"] == 7
    assert len(output["facets"]["columnLineage"]["fields"]["total"]["inputFields"]) == 2


def test_a_start_without_a_plan_is_told_with_its_end_under_the_same_name(runs: Runs) -> None:
    assert [kind for kind, _ in kinds_of(take(runs, bare(execution_record("START", 1))))] == [
        "START"
    ]
    events = take(runs, execution_record("END", 1))
    assert kinds_of(events) == [
        ("START", "nightly.default.sums"),
        ("COMPLETE", "nightly.default.sums"),
    ]
    start, end = events
    assert start["eventTime"] < end["eventTime"]
    # The start does not say what only the end can know.
    assert "durationMillis" not in start["run"]["facets"]["sparkLineage_context"]
    assert "durationMillis" in end["run"]["facets"]["sparkLineage_context"]


def test_a_failed_run_whose_start_was_lost_has_not_failed_at_its_start(runs: Runs) -> None:
    writes = [{"class": "W", "metrics": {"numOutputRows": 7}, "target": None}]
    execution = {"outcome": "FAILURE", "error": {"class": "E", "message": "no", "stack": None}}
    _, start, end = take(runs, execution_record("END", 1, execution=execution, writes=writes))
    assert "errorMessage" not in start["run"]["facets"]
    assert (start["eventType"], end["eventType"]) == ("START", "FAIL")
    assert end["outputs"][0]["outputFacets"] == {}


def test_a_look_at_a_commands_result_is_no_run(runs: Runs) -> None:
    command = [execution_record("START", 1), execution_record("END", 1)]
    look = [execution_record("START", 2), execution_record("END", 2)]
    for record in look:
        record["execution"]["mode"] = "ALL"
    shapes, nodes = look[1]["shapes"], look[1]["nodes"]
    shapes.append(["CommandResult", "org.apache.spark.CommandResult", "P", []])
    nodes.append([len(shapes) - 1, 0, []])
    look[1]["plans"]["optimized"] = len(nodes) - 1
    events = take(runs, *command, *copy.deepcopy(look))
    assert [kind for kind, _ in kinds_of(events)] == ["START", "START", "COMPLETE"]
    # Where the command runs inside it, it is the action itself; spark-sql tells that one first.
    inner = [execution_record("START", 3, root=2), execution_record("END", 3, root=2)]
    for order in (
        [look[0], *inner, look[1]],
        [*inner, *look],
        [inner[0], look[0], inner[1], look[1]],
    ):
        events = take(Runs(config.load({}, {}), Failures()), *copy.deepcopy(order))
        assert kinds_of(events)[1:] == [
            ("START", "nightly.default.sums"),
            ("COMPLETE", "nightly.default.sums"),
        ]


def test_a_run_whose_start_was_lost_is_whole_all_the_same(runs: Runs) -> None:
    events = take(runs, execution_record("END", 1))
    assert [kind for kind, _ in kinds_of(events)] == ["START", "START", "COMPLETE"]


def test_reads_can_be_left_out() -> None:
    quiet = Runs(config.load({"spark.lineage.readOnlyActions": "off"}, {}), Failures())
    events = take(
        quiet, execution_record("START", 1, read=True), execution_record("END", 1, read=True)
    )
    assert kinds_of(events) == [("START", "nightly")]


@pytest.mark.swallows
def test_where_column_lineage_fails_data_sets_are_told(
    runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> Any:
        raise LineageError("no rule for this")

    monkeypatch.setattr(derived_module, "derive", broken)
    (*_, complete) = take(runs, execution_record("END", 1))
    assert complete["eventType"] == "COMPLETE"
    assert [item["name"] for item in complete["inputs"]] == ["default.orders"]
    assert [item["name"] for item in complete["outputs"]] == ["default.sums"]
    quality = complete["run"]["facets"]["sparkLineage_quality"]
    assert quality["outputs"][0]["availability"] == "UNAVAILABLE"
    assert quality["issues"] == ["column lineage failed: LineageError: no rule for this"]
    assert quality["failures"] == {"deriving lineage": 1}

    # Where that fails too, the run is told, with what failed.
    monkeypatch.setattr(derived_module, "datasets_only", broken)
    (*_, bare) = take(runs, execution_record("END", 2))
    assert (bare["eventType"], bare["inputs"], bare["outputs"]) == ("COMPLETE", [], [])
    assert "column lineage failed" in bare["run"]["facets"]["sparkLineage_quality"]["issues"][0]


def test_a_look_into_files_for_their_columns_is_a_run_only_if_it_fails(runs: Runs) -> None:
    def look(number: int, **execution: Any) -> list[dict[str, Any]]:
        both = [
            execution_record("START", number, read=True),
            execution_record("END", number, read=True, execution=execution),
        ]
        for each in both:
            each["strings"].append("__globPaths__")
        return both

    assert kinds_of(take(runs, *look(1))) == [("START", "nightly")]
    error = {"class": "java.io.IOException", "message": "gone", "stack": ""}
    failed = take(runs, *look(2, outcome="FAILURE", error=error))
    assert [event["eventType"] for event in failed] == ["START", "FAIL"]
    # Inside a command (CREATE TABLE USING csv) it gives the command no input.
    create = [execution_record("START", 3), execution_record("END", 3)]
    inner = look(4, rootId=3)
    inner[0]["execution"]["rootId"] = 3
    (_, end) = take(runs, create[0], *inner, create[1])
    assert [each["name"] for each in end["inputs"]] == ["default.orders"]
