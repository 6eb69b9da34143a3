"""What holds of every record, whatever was run: docs/record.md as code."""

from __future__ import annotations

import json
from typing import Any

ENVELOPE = {"formatVersion", "sequence", "kind", "phase", "bridge", "app"}
EXECUTION = {"execution", "session", "strings", "shapes", "nodes", "plans", "scans", "writes"}
FACTS = {
    "id", "rootId", "sessionId", "thread", "description", "callSite", "sql", "name", "startTime",
    "endTime", "outcome", "error", "stars", "jobTags",
}  # fmt: skip
JOB = {
    "id", "callSite", "details", "named", "scopeId", "scope", "group", "description", "tags",
    "operations", "seen", "startTime", "endTime", "outcome", "error", "metrics", "rdd", "output",
}  # fmt: skip
SCAN = {
    "class", "node", "output", "columns", "partitionFilters", "dataFilters", "pushed", "metrics",
    "source",
}  # fmt: skip


def check(record: dict[str, Any]) -> None:
    """Raise AssertionError for what docs/record.md does not allow."""
    assert record["formatVersion"] == 1
    assert record["phase"] in ("START", "END")
    assert set(record["bridge"]) == {"version", "captureNanos", "dropped", "truncated"}
    assert record["app"]["sparkVersion"]
    if record["kind"] == "application":
        extra = {"outcome"} if record["phase"] == "END" else set()
        assert set(record) == ENVELOPE | extra
        return
    if record["kind"] == "job":
        assert set(record) == ENVELOPE | {"job", "session", "strings", "shapes", "nodes"}
        assert set(record["job"]) == JOB
        assert set(record["session"]) == {"conf"}
        assert record["nodes"] == []
        for key in ("rdd", "output"):
            _value(record, 0, record["job"][key])
        return
    assert record["kind"] == "execution"
    assert set(record) == ENVELOPE | EXECUTION
    # Told only at the end of what was seen to start, or not yet in records kept from before.
    told_later = {"jobGroup", "mode", "tableChanges", "written"}
    assert set(record["execution"]) - told_later == FACTS
    assert len(set(record["strings"])) == len(record["strings"])
    for number, row in enumerate(record["nodes"]):
        _row(record, number, row)
    for plan in record["plans"].values():
        assert plan is None or kind_of(record, plan) == "P"
    for scan in record["scans"]:
        assert set(scan) == SCAN
        for key in ("output", "partitionFilters", "dataFilters"):
            assert all(kind_of(record, ref) == "E" for ref in scan[key])
        _value(record, len(record["nodes"]), scan["source"])
    for write in record["writes"]:
        # Records kept from before have no target and no version.
        assert set(write) - {"target", "version"} == {"class", "metrics"}
        _value(record, len(record["nodes"]), write.get("target"))


def _row(record: dict[str, Any], number: int, row: list[Any]) -> None:
    _, full, kind, fields = record["shapes"][row[0]]
    head = {"P": 3, "E": 2, "O": 1}[kind]
    assert len(row) == head + len(fields), (full, row)
    if kind != "O":
        assert row[1] == 0 or all(0 <= child < number for child in row[1]), (full, row)
    if kind == "P" and row[2] == -1:
        assert len(row[1]) == 1
    elif kind == "P":
        assert all(0 <= ref < number and simple(record, ref) == "AttributeReference"
                   for ref in row[2])  # fmt: skip
    for value in row[head:]:
        _value(record, number, value)


def _value(record: dict[str, Any], number: int, value: Any) -> None:
    if isinstance(value, bool) or value is None:
        return
    if isinstance(value, int):
        assert -len(record["strings"]) <= value < number
    elif isinstance(value, list):
        for each in value:
            _value(record, number, each)
    elif "#" in value:
        assert isinstance(value["#"], (int, float))
    elif "map" in value:
        for entry in value["map"]:
            assert "cut" in entry or len(entry) == 2
            for each in entry if isinstance(entry, list) else ():
                _value(record, number, each)
    elif "cut" in value:
        assert isinstance(value["cut"], int)
    else:
        assert value["c"] < 0, value
        for each in value.values():
            _value(record, number, each)


def kind_of(record: dict[str, Any], ref: int) -> str:
    """``P``, ``E`` or ``O``."""
    kind: str = record["shapes"][record["nodes"][ref][0]][2]
    return kind


def simple(record: dict[str, Any], ref: int) -> str:
    """The simple class name of a row."""
    name: str = record["shapes"][record["nodes"][ref][0]][0]
    return name


def read(record: dict[str, Any], value: Any) -> Any:
    """A value with its strings put in; references stay integers."""
    if isinstance(value, int) and not isinstance(value, bool) and value < 0:
        return record["strings"][-1 - value]
    if isinstance(value, list):
        return [read(record, each) for each in value]
    if isinstance(value, dict):
        if "#" in value:
            return value["#"]
        if "map" in value:
            return {read(record, k): read(record, v) for k, v in value["map"]}
        return {key: read(record, each) for key, each in value.items()}
    return value


def fields(record: dict[str, Any], ref: int) -> dict[str, Any]:
    """The fields of a row by name."""
    row = record["nodes"][ref]
    _, _, kind, names = record["shapes"][row[0]]
    values = row[{"P": 3, "E": 2, "O": 1}[kind] :]
    return {name: read(record, value) for name, value in zip(names, values, strict=True)}


def of_class(record: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """The fields of all rows of this class."""
    return [
        fields(record, ref) for ref in range(len(record["nodes"])) if simple(record, ref) == name
    ]


def tree(record: dict[str, Any], ref: int) -> list[str]:
    """A plan as indented class names, expressions not followed."""
    lines = []
    stack = [(ref, 0)]
    while stack:
        at, depth = stack.pop()
        lines.append("  " * depth + simple(record, at))
        children = record["nodes"][at][1] or []
        stack.extend((child, depth + 1) for child in reversed(children))
    return lines


def names(record: dict[str, Any], refs: list[int]) -> list[str]:
    """The names of attributes."""
    return [fields(record, ref)["name"] for ref in refs]


def dumps(record: dict[str, Any]) -> str:
    """All of a record as text, to look for what must not be in it."""
    return json.dumps(record)
