"""Jobs of RDDs folded into runs. No Spark: records by hand."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from spark_lineage import config
from spark_lineage.agent import jobs as jobs_module
from spark_lineage.agent.guard import Failures
from spark_lineage.agent.jobs import call_site_of
from spark_lineage.agent.runs import Runs
from tests.agent.records import APP
from tests.support.validation import validate

BEGAN = 1_700_000_001_000


def _job(number: int, phase: str = "END", source: str = "/data/in", **more: Any) -> dict[str, Any]:
    end = phase == "END"
    output = more.pop("output", None)
    strings = ["RDD", source, "Output", output or "", "Text"]
    start = more.pop("startTime", BEGAN)
    failed = "error" in more
    job = {
        "id": number, "callSite": "collect at job.py:7", "details": "", "named": True,
        "scopeId": str(number), "scope": "collect", "group": None, "description": None,
        "tags": None, "operations": ["textFile", "map"], "seen": True, "startTime": start,
        "endTime": start + 100 if end else None,
        "outcome": ("FAILURE" if failed else "SUCCESS") if end else None, "error": None,
        "metrics": {"recordsRead": 3, "bytesRead": 30} if end else {},
        "rdd": {"c": -1, "paths": [-2], "files": [], "jdbc": []},
        "output": {"c": -3, "path": -4, "format": -5} if output else None,
    }  # fmt: skip
    return {
        "formatVersion": 1,
        "sequence": number,
        "kind": "job",
        "phase": phase,
        "bridge": {"version": "0.1.0", "captureNanos": 1, "dropped": {}, "truncated": None},
        "app": copy.deepcopy(APP),
        "session": {"conf": {"fs.defaultFS": "hdfs://nn:8020", "user.dir": "/home"}},
        "strings": strings,
        "shapes": [],
        "nodes": [],
        "job": {**job, **more},
    }


def _pair(number: int, **more: Any) -> list[dict[str, Any]]:
    start = {key: told for key, told in more.items() if key != "error"}
    return [_job(number, "START", **start), _job(number, **more)]


def _runs(**settings: str) -> Runs:
    conf = {f"spark.lineage.{key.replace('_', '.')}": text for key, text in settings.items()}
    return Runs(config.load(conf, {}), Failures())


def _take(runs: Runs, *records: dict[str, Any]) -> list[dict[str, Any]]:
    events = [event for record in records for event in runs.take(record)]
    for event in events:
        validate(event)
    return [e for e in events if e["job"]["facets"]["jobType"]["jobType"] == "RDD_JOB"]


def _types(events: list[dict[str, Any]]) -> list[str]:
    return [event["eventType"] for event in events]


ERROR = {"class": "org.apache.spark.SparkException", "message": "Job aborted", "stack": None}
PYSPARK_TAKE = {"callSite": "runJob at PythonRDD.scala:218", "named": False, "scope": None}


def test_a_path_gets_what_hadoop_adds() -> None:
    (_, end) = _take(_runs(), *_pair(1, output="hdfs://nn:8020/out put/100%"))
    assert [(i["namespace"], i["name"]) for i in end["inputs"]] == [("hdfs://nn:8020", "/data/in")]
    (output,) = end["outputs"]
    assert (output["namespace"], output["name"]) == ("hdfs://nn:8020", "/out put/100%")
    assert end["job"]["name"] == "nightly.100%"
    assert end["inputs"][0]["inputFacets"]["inputStatistics"]["size"] == 30


def test_several_jobs_of_one_scope_are_one_run() -> None:
    runs = _runs()
    first, second = _pair(1, scopeId="9"), _pair(2, scopeId="9", startTime=BEGAN + 60_000)
    assert _types(_take(runs, *first, *second)) == ["START", "COMPLETE"]


def test_what_fails_is_told_though_a_run_of_its_action_has_ended() -> None:
    events = _take(_runs(), *_pair(1, scopeId="9"), *_pair(2, scopeId="9", error=ERROR))
    assert _types(events) == ["START", "COMPLETE", "START", "FAIL"]
    assert events[1]["run"]["runId"] != events[3]["run"]["runId"]
    assert events[1]["job"]["name"] == events[3]["job"]["name"]


@pytest.mark.parametrize(("gap", "told"), [(10, 2), (4_000, 2), (60_000, 4)])
def test_jobs_without_a_scope_in_common_are_one_action_while_they_follow(
    gap: int, told: int
) -> None:
    first = _pair(1, scopeId=None, **PYSPARK_TAKE)
    second = _pair(2, scopeId=None, **PYSPARK_TAKE, startTime=BEGAN + 100 + gap)
    assert len(_take(_runs(), *first, *second)) == told


def test_the_same_line_over_other_files_is_another_action() -> None:
    first = _pair(1, scopeId=None, **PYSPARK_TAKE)
    second = _pair(2, scopeId=None, **PYSPARK_TAKE, source="/data/other")
    assert len(_take(_runs(), *first, *second)) == 4


@pytest.mark.parametrize(
    "job",
    [
        {"callSite": "sortBy at job.py:9"},
        {"callSite": "sortByKey at Main.java:3", "named": False, "scope": "sortByKey"},
        {"callSite": "first at PythonRDD.scala:598", "named": False, "scope": "first"},
    ],
)
def test_what_only_prepares_an_action_is_no_run_unless_it_fails(job: dict[str, Any]) -> None:
    assert _take(_runs(), *_pair(1, **job)) == []
    assert _types(_take(_runs(), *_pair(1, **job, error=ERROR))) == ["START", "FAIL"]


def test_an_end_without_its_start_tells_both() -> None:
    assert _types(_take(_runs(), _job(1))) == ["START", "COMPLETE"]


def test_the_applications_end_aborts_what_is_open() -> None:
    runs = _runs()
    _take(runs, _job(1, "START"))
    end = {"kind": "application", "phase": "END", "outcome": {"exitCode": None, "time": BEGAN + 5}}
    events = _take(runs, {**_job(2), **end})
    assert _types(events) == ["ABORT"]


def test_a_cancelled_job_is_an_abort() -> None:
    error = {**ERROR, "message": "Job 1 cancelled part of cancelled job group x"}
    assert _types(_take(_runs(), *_pair(1, error=error))) == ["START", "ABORT"]


LEFT_OUT = [
    {"readOnlyActions": "off"},
    {"filter_statements_deny": "RDD"},
    {"filter_statements_deny": "coll*"},
    {"filter_statements_allow": "InsertInto*"},
    {"filter_datasets_deny": "/data/*"},
    {"filter_jobs_deny": "*.collect.*"},
]


@pytest.mark.parametrize("settings", LEFT_OUT)
def test_what_the_settings_leave_out(settings: dict[str, str]) -> None:
    assert _take(_runs(**settings), *_pair(1)) == []


def test_a_write_is_told_without_reads() -> None:
    assert len(_take(_runs(readOnlyActions="off"), *_pair(1, output="/o"))) == 2


def test_an_output_that_was_missed_is_said() -> None:
    missed = {"seen": False, "callSite": "runJob at SparkHadoopWriter.scala:85", "named": False}
    (_, end) = _take(_runs(readOnlyActions="off"), *_pair(1, **missed, scope="saveAsTextFile"))
    (issue,) = end["run"]["facets"]["sparkLineage_quality"]["issues"]
    assert "its output is not known" in issue


DAYS = ((1, "log-2026-01-01"), (7, "log-2026-01-02"))


def test_the_same_job_keeps_its_name_and_version() -> None:
    first, second = (_take(_runs(), *_pair(n, source=f"/d/{day}")) for n, day in DAYS)
    assert first[1]["job"]["name"] == second[1]["job"]["name"]
    other = _take(_runs(), *_pair(1, operations=["textFile", "filter"]))
    assert other[1]["job"]["name"] != first[1]["job"]["name"]


def test_many_jobs_leave_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs_module, "MAX_ACTIONS", 50)
    monkeypatch.setattr(jobs_module, "MAX_OPEN", 20)
    runs = _runs(filter_jobs_deny="*.collect.*")
    for number in range(1_000):
        runs.take(_job(number, "START", scopeId=str(number)))
        if number % 2:
            runs.take(_job(number, scopeId=str(number)))
    assert len(runs._jobs._actions) == 50
    assert len(runs._jobs._open) <= 20


def test_the_call_site_is_the_programs_line() -> None:
    frames = ["org.apache.spark.SparkContext.runJob(SparkContext.scala:2)", "J.go(J.java:6)"]
    job = {
        "callSite": "runJob at SparkHadoopWriter.scala:85",
        "details": "\n".join(frames),
        "scope": "saveAsTextFile",
    }
    assert call_site_of(job) == "saveAsTextFile at J.java:6"


def test_a_kind_of_record_that_is_not_known_is_ignored() -> None:
    assert _take(_runs(), {**_job(1), "kind": "other"}) == []
