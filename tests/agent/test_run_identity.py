"""What runs and jobs are known by: ids, names, versions, parents. No Spark: records by hand."""

from __future__ import annotations

import json
from typing import Any

from spark_lineage import config
from spark_lineage.agent.guard import Failures
from spark_lineage.agent.runs import Runs
from tests.agent.records import application_record, execution_record, take


def test_a_scheduler_gives_the_applications_run_its_id() -> None:
    given = "01890a5d-ac96-774b-bcce-b302099a8057"
    for key in ("spark.lineage.applicationRunId", "spark.openlineage.applicationRunId"):
        runs = Runs(config.load({key: given}, {}), Failures())
        attempts = []
        for start in (1_700_000_000_000, 1_700_000_500_000):
            runs = Runs(config.load({key: given}, {}), Failures())
            record = execution_record("END", 1)
            record["app"].update(startTime=start, id=f"app-{start}")
            attempts.append(take(runs, record))
        # The retry is the same run; what it does is done again.
        assert [events[0]["run"]["runId"] for events in attempts] == [given, given]
        assert attempts[0][-1]["run"]["runId"] != attempts[1][-1]["run"]["runId"]
        parent = attempts[0][-1]["run"]["facets"]["parent"]
        assert parent["run"]["runId"] == given


def test_a_second_context_of_the_process_is_another_run() -> None:
    given = "01890a5d-ac96-774b-bcce-b302099a8057"
    runs = Runs(config.load({"spark.lineage.applicationRunId": given}, {}), Failures())
    second = execution_record("END", 1)
    second["app"]["id"] = "app-2"
    events = take(runs, execution_record("END", 1), second)
    starts = [event for event in events if event["job"]["name"] == "nightly"]
    assert starts[0]["run"]["runId"] == given != starts[1]["run"]["runId"]
    ids = [event["run"]["runId"] for event in events if event["eventType"] == "COMPLETE"]
    assert len(set(ids)) == 2


def test_ids_are_the_same_when_records_come_again() -> None:
    def ids() -> list[str]:
        fresh = Runs(config.load({}, {}), Failures())
        events = take(fresh, execution_record("START", 1), execution_record("END", 1))
        return [event["run"]["runId"] for event in events]

    assert ids() == ids()


def test_different_queries_of_one_output_have_different_names_and_keep_them(runs: Runs) -> None:
    names = [
        runs.take(execution_record("END", number, alias=alias))[-1]["job"]["name"]
        for number, alias in enumerate(["total", "sum", "total"], 1)
    ]
    assert names == ["nightly.default.sums", "nightly.default.sums#2", "nightly.default.sums"]


def test_a_jobs_version_is_its_plan_and_its_text(runs: Runs) -> None:
    def version(number: int, sql: str, **more: Any) -> dict[str, str]:
        record = execution_record("END", number, execution={"sql": sql}, **more)
        (*_, end) = take(runs, record)
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
        (*_, end) = take(quiet, execution_record("END", 1, execution={"sql": sql}))
        told: str = end["job"]["facets"]["sparkLineage_version"]["sqlHash"]
        return told

    assert masked("INSERT INTO sums SELECT 1") == masked("INSERT INTO sums SELECT 2")


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
    told = take(Runs(config.load(conf, {}), Failures()), application_record("START"))[0]
    facet = told["run"]["facets"]["parent"]
    assert (facet["run"]["runId"], facet["root"]["job"]["name"]) == (parent, "dag")

    for key in ("spark.openlineage.parentJobName", "spark.lineage.parentJobName"):
        other = take(
            Runs(config.load({**conf, key: "own"}, {}), Failures()), application_record("START")
        )
        assert other[0]["run"]["facets"]["parent"]["job"]["name"] == "own"

    broken = config.load({"spark.openlineage.context": "{"}, {})
    assert (
        "parent"
        not in take(Runs(broken, Failures()), application_record("START"))[0]["run"]["facets"]
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
    application, _, complete = take(Runs(settings, Failures()), execution_record("END", 1))
    told = application["run"]["facets"]["parent"]
    assert (told["run"]["runId"], told["job"]["name"]) == (parent, "dag.task")
    assert told["root"]["run"]["runId"] == root
    told = complete["run"]["facets"]["parent"]
    assert told["run"]["runId"] == application["run"]["runId"]
    assert told["root"]["run"]["runId"] == root


def test_the_context_tells_catalogs_without_secrets(runs: Runs) -> None:
    record = execution_record("END", 1)
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
    events = take(runs, record)
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
        for record in (execution_record("START", number), execution_record("END", number)):
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
