"""Executions folded into runs: order, nesting, degradation. No Spark: records by hand."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from spark_lineage import config
from spark_lineage.agent import derived as derived_module
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
    item, made = build.alias(build.add(a, b), more.pop("alias", "total"))
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
        _record(
            "END",
            2,
            root=1,
            writes=[{"class": "W", "metrics": {"numOutputRows": 7}, "target": None}],
        ),
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
    start, end = events
    assert start["eventTime"] < end["eventTime"]
    # The start does not say what only the end can know.
    assert "durationMillis" not in start["run"]["facets"]["sparkLineage_context"]
    assert "durationMillis" in end["run"]["facets"]["sparkLineage_context"]


def test_a_failed_run_whose_start_was_lost_has_not_failed_at_its_start(runs: Runs) -> None:
    writes = [{"class": "W", "metrics": {"numOutputRows": 7}, "target": None}]
    execution = {"outcome": "FAILURE", "error": {"class": "E", "message": "no", "stack": None}}
    _, start, end = _take(runs, _record("END", 1, execution=execution, writes=writes))
    assert "errorMessage" not in start["run"]["facets"]
    assert (start["eventType"], end["eventType"]) == ("START", "FAIL")
    assert end["outputs"][0]["outputFacets"] == {}


def test_a_look_at_a_commands_result_is_no_run(runs: Runs) -> None:
    command = [_record("START", 1), _record("END", 1)]
    look = [_record("START", 2), _record("END", 2)]
    for record in look:
        record["execution"]["mode"] = "ALL"
    shapes, nodes = look[1]["shapes"], look[1]["nodes"]
    shapes.append(["CommandResult", "org.apache.spark.CommandResult", "P", []])
    nodes.append([len(shapes) - 1, 0, []])
    look[1]["plans"]["optimized"] = len(nodes) - 1
    events = _take(runs, *command, *copy.deepcopy(look))
    assert [kind for kind, _ in _kinds(events)] == ["START", "START", "COMPLETE"]
    # Where the command runs inside it, it is the action itself; spark-sql tells that one first.
    inner = [_record("START", 3, root=2), _record("END", 3, root=2)]
    for order in (
        [look[0], *inner, look[1]],
        [*inner, *look],
        [inner[0], look[0], inner[1], look[1]],
    ):
        events = _take(Runs(config.load({}, {}), Failures()), *copy.deepcopy(order))
        assert _kinds(events)[1:] == [
            ("START", "nightly.default.sums"),
            ("COMPLETE", "nightly.default.sums"),
        ]


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


def _status(event: dict[str, Any]) -> tuple[str, str]:
    status: str = event["run"]["facets"]["sparkLineage_context"]["status"]
    return event["eventType"], status


def test_a_known_error_fails_the_application_and_an_unknown_end_is_said(runs: Runs) -> None:
    _take(runs, _application("START"))
    (failed,) = runs.end_all(RunError("ValueError: no", None, "PYTHON"))
    assert _status(failed) == ("FAIL", "failed")

    interrupted = Runs(config.load({}, {}), Failures())
    _take(interrupted, _application("START"))
    (aborted,) = interrupted.end_all(RunError("KeyboardInterrupt", None, "PYTHON", cancelled=True))
    assert _status(aborted) == ("ABORT", "aborted")

    other = Runs(config.load({}, {}), Failures())
    (_, complete) = _take(other, _application("START"), _application("END"))
    assert _status(complete) == ("COMPLETE", "unknown")


def test_an_exit_code_that_spark_tells_is_believed_if_it_is_not_zero(runs: Runs) -> None:
    end = _application("END")
    end["outcome"] = {"exitCode": 3, "time": 1_700_000_009_000}
    (_, failed) = _take(runs, _application("START"), end)
    assert _status(failed) == ("FAIL", "failed")
    assert failed["eventTime"] == "2023-11-14T22:13:29.000Z"
    assert failed["run"]["facets"]["errorMessage"]["message"].endswith("exit code 3")

    end = _application("END")
    end["outcome"] = {"exitCode": 0, "time": 1_700_000_009_000}
    (_, unknown) = _take(Runs(config.load({}, {}), Failures()), _application("START"), end)
    assert _status(unknown) == ("COMPLETE", "unknown")


FAILURE = {"outcome": "FAILURE", "error": {"class": "E", "message": "no", "stack": None}}


@pytest.mark.parametrize(
    ("records", "state"),
    [
        ([_record("START", 1), _record("END", 1)], ("COMPLETE", "unknown")),
        ([_record("START", 1)], ("ABORT", "aborted")),
        ([_record("START", 1), _record("END", 1, execution=FAILURE)], ("FAIL", "failed")),
        (
            [_record("END", 1, execution=FAILURE), _record("START", 2), _record("END", 2)],
            ("COMPLETE", "unknown"),
        ),
    ],
)
def test_a_driver_that_went_without_a_word(
    runs: Runs, records: list[dict[str, Any]], state: tuple[str, str]
) -> None:
    _take(runs, *copy.deepcopy(records))
    (*_, end) = runs.end_all(died=True)
    assert _status(end) == state
    # It is told as of the last that was heard.
    assert end["eventTime"] in ("2023-11-14T22:13:21.000Z", "2023-11-14T22:13:22.000Z")


CANCELLED = [
    ("org.apache.spark.SparkException", "[SPARK_JOB_CANCELLED] Job 1 cancelled as part of", None),
    (
        "org.apache.spark.SparkException",
        "Job 12 cancelled because SparkContext was shut down",
        None,
    ),
    ("java.lang.InterruptedException", None, None),
    ("org.apache.spark.SparkSQLException", "[OPERATION_CANCELED] Operation has been canceled.", ""),
    (
        "org.apache.spark.SparkException",
        "[WRITING_JOB_ABORTED] Writing job aborted. SQLSTATE: 40000",
        "org.apache.spark.SparkException\n  at x\n"
        "Caused by: org.apache.spark.SparkException: Job 3 cancelled part of cancelled job group g",
    ),
    (
        "java.util.concurrent.ExecutionException",
        "org.apache.spark.SparkException: [SPARK_JOB_CANCELLED] Job 3 cancelled",
        None,
    ),
]
FAILED = [
    ("org.apache.spark.SparkException", "Job aborted due to stage failure: Job 1 cancelled", None),
    ("org.apache.spark.SparkRuntimeException", "[USER_RAISED_EXCEPTION] Job 1 cancelled", None),
    (
        "org.apache.spark.SparkException",
        "[WRITING_JOB_ABORTED] Writing job aborted.",
        "E\nCaused by: java.lang.ArithmeticException: / by zero",
    ),
    ("java.lang.RuntimeException", "Job 1 cancelled", None),
    (
        "org.apache.spark.SparkException",
        "Job aborted due to stage failure: ...",
        "E\nCaused by: java.lang.RuntimeException: Job 1 cancelled",
    ),
    (None, None, None),
]


@pytest.mark.parametrize(
    ("error", "state"),
    [*[(each, "ABORT") for each in CANCELLED], *[(each, "FAIL") for each in FAILED]],
)
def test_a_cancelled_query_is_an_abort(
    runs: Runs, error: tuple[str | None, ...], state: str
) -> None:
    told = dict(zip(("class", "message", "stack"), error, strict=True))
    execution = {"outcome": "FAILURE", "error": told}
    (*_, end) = _take(runs, _record("START", 1), _record("END", 1, execution=execution))
    assert end["eventType"] == state
    assert end["run"]["facets"]["errorMessage"]["message"]


def test_a_nested_execution_that_outlives_its_action_is_no_second_end(runs: Runs) -> None:
    events = _take(
        runs,
        _record("START", 1),
        _record("START", 2, root=1),
        _record("END", 1),
        _record("END", 2, root=1),
        _application("END"),
    )
    kinds = [kind for kind, _ in _kinds(events)]
    assert kinds == ["START", "START", "COMPLETE", "COMPLETE"]


def test_a_failed_action_tells_its_error(runs: Runs) -> None:
    error = {"class": "org.apache.spark.SparkException", "message": "lost", "stack": "  at x"}
    execution = {"outcome": "FAILURE", "error": error}
    (*_, failed) = _take(runs, _record("START", 1), _record("END", 1, execution=execution))
    assert failed["eventType"] == "FAIL"
    facet = failed["run"]["facets"]["errorMessage"]
    assert facet["message"] == "org.apache.spark.SparkException: lost"
    assert facet["stackTrace"] == "  at x"


def test_a_scheduler_gives_the_applications_run_its_id() -> None:
    given = "01890a5d-ac96-774b-bcce-b302099a8057"
    for key in ("spark.lineage.applicationRunId", "spark.openlineage.applicationRunId"):
        runs = Runs(config.load({key: given}, {}), Failures())
        attempts = []
        for start in (1_700_000_000_000, 1_700_000_500_000):
            runs = Runs(config.load({key: given}, {}), Failures())
            record = _record("END", 1)
            record["app"].update(startTime=start, id=f"app-{start}")
            attempts.append(_take(runs, record))
        # The retry is the same run; what it does is done again.
        assert [events[0]["run"]["runId"] for events in attempts] == [given, given]
        assert attempts[0][-1]["run"]["runId"] != attempts[1][-1]["run"]["runId"]
        parent = attempts[0][-1]["run"]["facets"]["parent"]
        assert parent["run"]["runId"] == given


def test_a_second_context_of_the_process_is_another_run() -> None:
    given = "01890a5d-ac96-774b-bcce-b302099a8057"
    runs = Runs(config.load({"spark.lineage.applicationRunId": given}, {}), Failures())
    second = _record("END", 1)
    second["app"]["id"] = "app-2"
    events = _take(runs, _record("END", 1), second)
    starts = [event for event in events if event["job"]["name"] == "nightly"]
    assert starts[0]["run"]["runId"] == given != starts[1]["run"]["runId"]
    ids = [event["run"]["runId"] for event in events if event["eventType"] == "COMPLETE"]
    assert len(set(ids)) == 2


def test_ids_are_the_same_when_records_come_again() -> None:
    def ids() -> list[str]:
        fresh = Runs(config.load({}, {}), Failures())
        events = _take(fresh, _record("START", 1), _record("END", 1))
        return [event["run"]["runId"] for event in events]

    assert ids() == ids()


def test_different_queries_of_one_output_have_different_names_and_keep_them(runs: Runs) -> None:
    names = [
        runs.take(_record("END", number, alias=alias))[-1]["job"]["name"]
        for number, alias in enumerate(["total", "sum", "total"], 1)
    ]
    assert names == ["nightly.default.sums", "nightly.default.sums#2", "nightly.default.sums"]


def test_a_jobs_version_is_its_plan_and_its_text(runs: Runs) -> None:
    def version(number: int, sql: str, **more: Any) -> dict[str, str]:
        record = _record("END", number, execution={"sql": sql}, **more)
        (*_, end) = _take(runs, record)
        told = end["job"]["facets"]["sparkLineage_version"]
        return {key: value for key, value in told.items() if not key.startswith("_")}

    first = version(1, "INSERT INTO sums SELECT a + b AS total")
    assert first == version(2, "INSERT  INTO sums\nSELECT a + b AS total")
    spelled = version(3, "insert into sums select a + b AS total")
    assert spelled["planHash"] == first["planHash"]
    assert spelled["sqlHash"] != first["sqlHash"]
    assert version(4, "INSERT ...", alias="sum")["planHash"] != first["planHash"]

    def masked(sql: str) -> str:
        quiet = Runs(config.load({"spark.lineage.sql": "off"}, {}), Failures())
        (*_, end) = _take(quiet, _record("END", 1, execution={"sql": sql}))
        told: str = end["job"]["facets"]["sparkLineage_version"]["sqlHash"]
        return told

    assert masked("INSERT INTO sums SELECT 1") == masked("INSERT INTO sums SELECT 2")


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

    monkeypatch.setattr(derived_module, "derive", broken)
    (*_, complete) = _take(runs, _record("END", 1))
    assert complete["eventType"] == "COMPLETE"
    assert [item["name"] for item in complete["inputs"]] == ["default.orders"]
    assert [item["name"] for item in complete["outputs"]] == ["default.sums"]
    quality = complete["run"]["facets"]["sparkLineage_quality"]
    assert quality["outputs"][0]["availability"] == "UNAVAILABLE"
    assert quality["issues"] == ["column lineage failed: LineageError: no rule for this"]
    assert quality["failures"] == {"deriving lineage": 1}

    # Where that fails too, the run is told, with what failed.
    monkeypatch.setattr(derived_module, "datasets_only", broken)
    (*_, bare) = _take(runs, _record("END", 2))
    assert (bare["eventType"], bare["inputs"], bare["outputs"]) == ("COMPLETE", [], [])
    assert "column lineage failed" in bare["run"]["facets"]["sparkLineage_quality"]["issues"][0]


def test_a_parent_packed_in_one_key_is_read_and_keys_of_their_own_win() -> None:
    parent, root = "01890a5d-ac96-774b-bcce-b302099a8057", "01890a5d-ac96-774b-bcce-b302099a8058"
    packed = {
        "parent": {
            "run": {"runId": parent},
            "job": {"namespace": "airflow", "name": "dag.task"},
            "root": {"run": {"runId": root}, "job": {"namespace": "airflow", "name": "dag"}},
        }
    }
    conf = {"spark.openlineage.context": json.dumps(packed)}
    told = _take(Runs(config.load(conf, {}), Failures()), _application("START"))[0]
    facet = told["run"]["facets"]["parent"]
    assert (facet["run"]["runId"], facet["root"]["job"]["name"]) == (parent, "dag")

    for key in ("spark.openlineage.parentJobName", "spark.lineage.parentJobName"):
        other = _take(
            Runs(config.load({**conf, key: "own"}, {}), Failures()), _application("START")
        )
        assert other[0]["run"]["facets"]["parent"]["job"]["name"] == "own"

    broken = config.load({"spark.openlineage.context": "{"}, {})
    assert (
        "parent" not in _take(Runs(broken, Failures()), _application("START"))[0]["run"]["facets"]
    )


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


def test_the_context_tells_catalogs_without_secrets(runs: Runs) -> None:
    record = _record("END", 1)
    prefix = "spark.sql.catalog.lake"
    record["session"].update(
        user="bob",
        clientAddress="10.0.0.7",
        conf={
            **record["session"]["conf"],
            prefix: "org.apache.iceberg.spark.SparkCatalog",
            f"{prefix}.uri": "https://catalog.example.com",
            f"{prefix}.warehouse": "s3://lake",
            f"{prefix}.io-impl": "*********(redacted)",
            f"{prefix}.header.Authorization": "Bearer s3cret",
            f"{prefix}.credential": "id:s3cret",
            f"{prefix}.s3.secret-access-key": "s3cret",
            f"{prefix}.s3.access-key-id": "s3cret",
            f"{prefix}.adls.sas.container": "s3cret",
            f"{prefix}.jdbc.password": "s3cret",
            f"{prefix}.note": "a jaas s3cret",
        },
    )
    record["execution"]["stars"] = True
    events = _take(runs, record)
    context = events[-1]["run"]["facets"]["sparkLineage_context"]
    assert context["catalogs"] == {
        "lake": {
            "class": "org.apache.iceberg.spark.SparkCatalog",
            "uri": "https://catalog.example.com",
            "warehouse": "s3://lake",
        }
    }
    assert "s3cret" not in json.dumps(events)
    told = {key: context[key] for key in context if not key.startswith("_") and key != "catalogs"}
    assert told == {
        "applicationId": "app-1",
        "user": "bob",
        "clientAddress": "10.0.0.7",
        "sessionId": "s",
        "catalog": "spark_catalog",
        "database": "default",
        "callSite": "sql",
        "action": "command",
        "queryId": "1",
        "actionId": "app-1:1",
        "durationMillis": 1000,
        "stars": True,
    }


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
