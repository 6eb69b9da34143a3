"""How runs and applications end. No Spark: records by hand."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from spark_lineage import config
from spark_lineage.agent.guard import Failures
from spark_lineage.agent.runs import Runs
from spark_lineage.openlineage.run import RunError
from tests.agent.records import application_record, bare, execution_record, kinds_of, take


def test_runs_still_open_at_the_end_are_aborted(runs: Runs) -> None:
    events = take(
        runs,
        execution_record("START", 1),
        bare(execution_record("START", 2)),
        application_record("END"),
    )
    kinds: dict[str, list[str]] = {}
    for event in events:
        kinds.setdefault(event["run"]["runId"], []).append(event["eventType"])
    assert sorted(kinds.values()) == [["START", "ABORT"], ["START", "ABORT"], ["START", "COMPLETE"]]
    assert take(runs, application_record("END")) == []


def _status(event: dict[str, Any]) -> tuple[str, str]:
    status: str = event["run"]["facets"]["sparkLineage_context"]["status"]
    return event["eventType"], status


def test_a_known_error_fails_the_application_and_an_unknown_end_is_said(runs: Runs) -> None:
    take(runs, application_record("START"))
    (failed,) = runs.end_all(RunError("ValueError: no", None, "PYTHON"))
    assert _status(failed) == ("FAIL", "failed")

    interrupted = Runs(config.load({}, {}), Failures())
    take(interrupted, application_record("START"))
    (aborted,) = interrupted.end_all(RunError("KeyboardInterrupt", None, "PYTHON", cancelled=True))
    assert _status(aborted) == ("ABORT", "aborted")

    other = Runs(config.load({}, {}), Failures())
    (_, complete) = take(other, application_record("START"), application_record("END"))
    assert _status(complete) == ("COMPLETE", "unknown")


def test_an_exit_code_that_spark_tells_is_believed_if_it_is_not_zero(runs: Runs) -> None:
    end = application_record("END")
    end["outcome"] = {"exitCode": 3, "time": 1_700_000_009_000}
    (_, failed) = take(runs, application_record("START"), end)
    assert _status(failed) == ("FAIL", "failed")
    assert failed["eventTime"] == "2023-11-14T22:13:29.000Z"
    assert failed["run"]["facets"]["errorMessage"]["message"].endswith("exit code 3")

    end = application_record("END")
    end["outcome"] = {"exitCode": 0, "time": 1_700_000_009_000}
    (_, unknown) = take(Runs(config.load({}, {}), Failures()), application_record("START"), end)
    assert _status(unknown) == ("COMPLETE", "unknown")


FAILURE = {"outcome": "FAILURE", "error": {"class": "E", "message": "no", "stack": None}}


@pytest.mark.parametrize(
    ("records", "state"),
    [
        ([execution_record("START", 1), execution_record("END", 1)], ("COMPLETE", "unknown")),
        ([execution_record("START", 1)], ("ABORT", "aborted")),
        (
            [execution_record("START", 1), execution_record("END", 1, execution=FAILURE)],
            ("FAIL", "failed"),
        ),
        (
            [
                execution_record("END", 1, execution=FAILURE),
                execution_record("START", 2),
                execution_record("END", 2),
            ],
            ("COMPLETE", "unknown"),
        ),
    ],
)
def test_a_driver_that_went_without_a_word(
    runs: Runs, records: list[dict[str, Any]], state: tuple[str, str]
) -> None:
    take(runs, *copy.deepcopy(records))
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
    (*_, end) = take(
        runs, execution_record("START", 1), execution_record("END", 1, execution=execution)
    )
    assert end["eventType"] == state
    assert end["run"]["facets"]["errorMessage"]["message"]


def test_a_nested_execution_that_outlives_its_action_is_no_second_end(runs: Runs) -> None:
    events = take(
        runs,
        execution_record("START", 1),
        execution_record("START", 2, root=1),
        execution_record("END", 1),
        execution_record("END", 2, root=1),
        application_record("END"),
    )
    kinds = [kind for kind, _ in kinds_of(events)]
    assert kinds == ["START", "START", "COMPLETE", "COMPLETE"]


def test_a_failed_action_tells_its_error(runs: Runs) -> None:
    error = {"class": "org.apache.spark.SparkException", "message": "lost", "stack": "  at x"}
    execution = {"outcome": "FAILURE", "error": error}
    (*_, failed) = take(
        runs, execution_record("START", 1), execution_record("END", 1, execution=execution)
    )
    assert failed["eventType"] == "FAIL"
    facet = failed["run"]["facets"]["errorMessage"]
    assert facet["message"] == "org.apache.spark.SparkException: lost"
    assert facet["stackTrace"] == "  at x"
