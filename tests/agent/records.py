"""Records of executions made by hand, and what the runs make of them."""

from __future__ import annotations

import copy
from typing import Any

from spark_lineage.agent.runs import Runs
from tests.plan.builder import Builder
from tests.support.validation import validate

APP = {
    "id": "app-1", "name": "nightly", "user": "ada", "startTime": 1_700_000_000_000,
    "sparkVersion": "3.5.9", "scalaVersion": "2.12", "master": "local", "deployMode": "client",
    "attemptId": None,
}  # fmt: skip


def execution_record(
    phase: str, number: int, root: int | None = None, **more: Any
) -> dict[str, Any]:
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


def bare(record: dict[str, Any]) -> dict[str, Any]:
    record["plans"] = {"analyzed": None, "optimized": None}
    return record


def application_record(phase: str) -> dict[str, Any]:
    return {
        "formatVersion": 1, "sequence": 1, "kind": "application", "phase": phase,
        "app": copy.deepcopy(APP), "bridge": {}, "outcome": {"exitCode": None},
    }  # fmt: skip


def take(runs: Runs, *records: dict[str, Any]) -> list[dict[str, Any]]:
    events = [event for record in records for event in runs.take(record)]
    for event in events:
        validate(event)
    return events


def kinds_of(events: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(event["eventType"], event["job"]["name"]) for event in events]
