"""Decoding: what is read, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from spark_lineage.errors import RecordError
from spark_lineage.plan import decode
from spark_lineage.plan.node import Record, number
from spark_lineage.plan.walk import plan_rows, reachable
from tests.plan.builder import Builder


def small() -> dict[str, Any]:
    build = Builder()
    table, (a, b) = build.table("t", ["a", "b"])
    item, made = build.alias(build.add(a, b), "s")
    return build.record(build.project(table, [a, item], [a, made]))


def test_fields_are_read_by_name() -> None:
    record = decode(small())
    assert record.analyzed is not None
    node = record.node(record.analyzed)
    assert node.class_name == "Project"
    assert [record.name(ref) for ref in node.refs("projectList")] == ["a", "s"]
    assert [record.name(ref) for ref in node.output()] == ["a", "s"]
    assert node.ref_of("child") == node.children[0]
    assert node.text("no such field") is None


def test_output_of_the_child_is_found_however_far_below() -> None:
    build = Builder()
    plan, output = build.table("t", ["a"])
    for _ in range(5000):
        plan = build.plan("Filter", [plan], -1, output[0], plan)
    record = decode(build.record(plan))
    assert record.node(plan).output() == output


def test_a_version_that_is_not_known_is_refused_by_both_names() -> None:
    with pytest.raises(RecordError, match=r"version 7.* knows 1"):
        decode({**small(), "formatVersion": 7})


def test_no_version_is_refused() -> None:
    with pytest.raises(RecordError):
        decode({})


def test_unknown_keys_are_ignored() -> None:
    assert isinstance(decode({**small(), "later": {"x": 1}}), Record)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda r: r["nodes"].append([0, [999_999], 0]),
        lambda r: r["nodes"].append([99, 0, 0]),
        lambda r: r["nodes"].append([]),
        lambda r: r["nodes"].append("text"),
        lambda r: r["nodes"].append([r["nodes"][-1][0], 0, -1, None, None]),
        lambda r: r["plans"].update(analyzed=12_345),
        lambda r: r["plans"].update(analyzed="x"),
        lambda r: r["shapes"].append(["only", "two"]),
        lambda r: r["shapes"].append(["N", "n", "X", []]),
    ],
)
def test_a_malformed_record_is_refused(spoil: Any) -> None:
    record = small()
    spoil(record)
    with pytest.raises(RecordError):
        decode(record)


def test_a_record_must_be_an_object() -> None:
    with pytest.raises(RecordError, match="JSON object"):
        decode([])  # type: ignore[arg-type]


def test_a_record_without_plans_is_read() -> None:
    record = decode({"formatVersion": 1, "kind": "application", "phase": "END"})
    assert (record.kind, record.phase, record.analyzed) == ("application", "END", None)


def test_values() -> None:
    record = decode(small())
    first = record.strings[0]
    assert record.text(-1) == first
    assert record.text(None) is None
    assert record.texts([-1, None, -1]) == [first, first]
    assert record.mapping({"map": [[-1, -1], [-1, True]]}) == {first: True}
    assert record.refs([1, [2, -1], {"map": [[-1, 3]]}, {"#": 9}, None]) == [1, 2, 3]
    assert number({"#": 4}) == 4
    assert number({"c": -1}) is None


def test_walks() -> None:
    raw = small()
    record = decode(raw)
    assert record.analyzed is not None
    assert [record.shape(ref).name for ref in plan_rows(record, record.analyzed)] == [
        "LogicalRelation",
        "Project",
    ]
    assert record.analyzed in reachable(record, [record.analyzed])
    assert all(ref < len(record.rows) for ref in reachable(record, [record.analyzed]))
