"""What a record tells of whether a command did what its plan says."""

from __future__ import annotations

from typing import Any

import pytest

from spark_lineage.lineage import evidence
from spark_lineage.plan.node import Record

DROPPED = {"event": "DropTableEvent", "database": "Db", "name": "t"}


def record(phase: str = "END", outcome: str | None = "SUCCESS", **more: Any) -> Record:
    execution = {"id": 1, "outcome": outcome, **more}
    envelope = {"phase": phase, "execution": execution, "writes": more.get("writes")}
    return Record(envelope, [], [], [], None, None)


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ([DROPPED], True),
        ([], False),
        ([{**DROPPED, "event": "CreateTableEvent"}], False),
        ([{**DROPPED, "database": "other"}], False),
        ([{**DROPPED, "name": "tt"}], False),
        (None, None),
    ],
)
def test_the_catalog_tells_what_it_did(told: Any, expected: bool | None) -> None:
    ended = record(tableChanges=told)
    assert evidence.changed(ended, evidence.DROPPED, "DB", "T") is expected


def test_nobody_knows_before_the_end_or_without_the_list() -> None:
    assert evidence.changed(record("START", None), evidence.DROPPED, "db", "t") is None
    assert evidence.changed(record(), evidence.DROPPED, "db", "t") is None
    failed = record(outcome="FAILURE", tableChanges=[DROPPED])
    assert evidence.changed(failed, evidence.DROPPED, "db", "t") is None


@pytest.mark.parametrize(
    ("metrics", "expected"),
    [
        ({"numFiles": 0, "numOutputRows": 0, "jobCommitTime": 0}, False),
        ({"numFiles": 0, "numOutputRows": 0, "jobCommitTime": 12}, True),
        ({"numFiles": 1}, True),
        ({}, False),
    ],
)
def test_a_write_that_committed_left_its_metrics(metrics: Any, expected: bool) -> None:
    writes = [{"class": "InsertIntoHadoopFsRelationCommand", "metrics": metrics}]
    assert evidence.committed(record(writes=writes)) is expected
    assert evidence.committed(record("START", None, writes=writes)) is None
