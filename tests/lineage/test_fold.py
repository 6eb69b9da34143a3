"""The fold without a Spark: degradation, unknown nodes, size."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest

from spark_lineage.errors import LineageError
from spark_lineage.lineage import LineageOptions, datasets_only, derive
from spark_lineage.lineage import rule as registry
from spark_lineage.lineage.handlers import expression, transparent
from spark_lineage.lineage.model import Availability, Kind, Lineage
from spark_lineage.plan import decode
from tests.plan.builder import Builder, deep, doubling, nested, wide


def lineage(record: dict[str, Any], **options: Any) -> Lineage:
    return derive(decode(record), LineageOptions(**options))


@pytest.fixture
def broken_rules() -> Iterator[Any]:
    """Makes rules fail; puts them back afterwards."""
    kept = registry.registered()

    def fail(*names: str) -> None:
        def broken(fold: Any, node: Any) -> Any:
            raise ZeroDivisionError("broken on purpose")

        for name in names or kept:
            registry._RULES[name] = broken

    yield fail
    registry._RULES.clear()
    registry._RULES.update(kept)


def test_a_rule_is_registered_once() -> None:
    with pytest.raises(LineageError, match="two rules"):
        registry.rule("Project")(lambda fold, node: fold.child(node))
    with pytest.raises(LineageError, match="twice"):
        expression("Coalesce")(lambda gather, row, lane: 0)
    with pytest.raises(LineageError, match="twice"):
        transparent("Literal")


def over_unknown_node() -> dict[str, Any]:
    build = Builder()
    table, (a, _) = build.table("t", ["a", "b"])
    fresh = build.attribute("n")
    unknown = build.plan("FromOuterSpace", [table], [a, fresh])
    item, made = build.alias(build.add(a, build.literal(1)), "a1")
    return build.record(build.project(unknown, [item, fresh], [made, fresh]))


def test_an_unknown_node_is_counted_and_loses_nothing() -> None:
    found = lineage(over_unknown_node())
    assert found.unknown_nodes == {"FromOuterSpace": 1}
    known, fresh = found.outputs[0].columns
    assert [(s.field, s.kind) for s in known.direct] == [("a", Kind.TRANSFORMATION)]
    assert known.availability is Availability.AVAILABLE
    assert [(s.field, s.kind) for s in fresh.direct] == [
        ("a", Kind.TRANSFORMATION),
        ("b", Kind.TRANSFORMATION),
    ]
    assert fresh.availability is Availability.PARTIAL
    assert found.outputs[0].availability is Availability.PARTIAL
    assert any("FromOuterSpace" in issue for issue in found.outputs[0].issues)


def unknown_writer(name: str) -> dict[str, Any]:
    """``INSERT INTO sink SELECT a + 1, b FROM t``, by a connector's own command."""
    build = Builder()
    table, (a, b) = build.table("t", ["a", "b"])
    item, made = build.alias(build.add(a, build.literal(1)), "a1")
    query = build.project(table, [item, b], [made, b])
    target, _ = build.table("sink", ["x", "y"])
    shape = build.shape(name, "P", ["relation", "query", "overwrite"])
    return build.record(build.row([shape, [query], [], target, query, False]))


@pytest.mark.parametrize("name", ["InsertIntoAcmeCommand", "AcmeOverwrite", "WriteAcmeTable"])
def test_an_unknown_command_that_writes_a_query_has_its_table_as_output(name: str) -> None:
    found = lineage(unknown_writer(name))
    assert found.unknown_nodes == {name: 1}
    assert [item.dataset.name for item in found.inputs] == ["default.t"]
    (output,) = found.outputs
    assert output.dataset is not None
    assert output.dataset.name == "default.sink"
    told = {c.name: [(s.field, s.kind) for s in c.direct] for c in output.columns}
    assert told == {"x": [("a", Kind.TRANSFORMATION)], "y": [("b", Kind.IDENTITY)]}
    assert output.availability is Availability.PARTIAL
    assert output.issues == (f"{name} is not known",)


def test_an_unknown_command_that_is_not_called_a_write_only_reads() -> None:
    found = lineage(unknown_writer("CompareAcmeTables"))
    assert [item.dataset.name for item in found.inputs] == ["default.sink", "default.t"]
    assert [output.dataset for output in found.outputs] == [None]


def test_a_failing_rule_costs_its_node_only(broken_rules: Any) -> None:
    build = Builder()
    table, (a, b) = build.table("t", ["a", "b"])
    filtered = build.plan("Filter", [table], -1, b, table)
    item, made = build.alias(a, "x")
    record = build.record(build.project(filtered, [item], [made]))
    broken_rules("Filter")
    found = lineage(record)
    assert [s.field for s in found.outputs[0].columns[0].direct] == ["a"]
    assert found.outputs[0].availability is Availability.PARTIAL
    assert "ZeroDivisionError" in found.outputs[0].issues[0]
    assert found.unknown_nodes == {}


def test_datasets_are_told_where_every_rule_fails(broken_rules: Any) -> None:
    broken_rules()
    record = decode(over_unknown_node())
    found = datasets_only(record, LineageOptions(), "everything failed")
    assert [item.dataset.name for item in found.inputs] == ["default.t"]
    assert found.outputs[0].availability is Availability.UNAVAILABLE
    assert found.outputs[0].issues == ("everything failed",)
    derive(record)  # and the fold itself still ends


def test_a_record_without_a_plan_is_unavailable() -> None:
    build = Builder()
    found = lineage(build.record(None))
    assert found.outputs[0].availability is Availability.UNAVAILABLE


def test_an_attribute_that_nothing_gives_is_told() -> None:
    build = Builder()
    table, _ = build.table("t", ["a"])
    lost = build.attribute("lost")
    item, made = build.alias(build.add(lost, build.literal(1)), "x")
    found = lineage(build.record(build.project(table, [item], [made])))
    assert found.outputs[0].availability is Availability.PARTIAL
    assert "lost" in found.outputs[0].issues[0]


def test_deriving_twice_gives_the_same() -> None:
    record = decode(json.loads(json.dumps(deep(4, 5))))
    assert derive(record) == derive(record)
    assert derive(record).to_dict() == derive(record).to_dict()


def test_depth_is_no_limit() -> None:
    limit = sys.getrecursionlimit()
    found = lineage(nested(limit * 20))
    column = found.outputs[0].columns[0]
    assert {(s.field, s.kind) for s in column.direct} == {
        ("a", Kind.TRANSFORMATION),
        ("b", Kind.TRANSFORMATION),
    }
    assert column.expression is not None
    assert len(column.expression) <= 2000
    assert column.expression.endswith("…")
    build = Builder()
    plan, output = build.table("t", ["a"])
    for _ in range(limit * 5):
        plan = build.plan("Filter", [plan], -1, output[0], plan)
    assert lineage(build.record(plan)).outputs[0].indirect[0].kind is Kind.FILTER


def test_a_loop_of_with_column_keeps_its_sources() -> None:
    found = lineage(deep(500, 4))
    assert [s.field for s in found.outputs[0].columns[0].direct] == ["c0", "c1", "c2", "c3"]


def test_doubling_is_not_exponential() -> None:
    found = lineage(doubling(60))
    column = found.outputs[0].columns[0]
    assert [s.field for s in column.direct] == ["a", "b"]
    assert column.expression is not None
    assert len(column.expression) <= 2000


def test_time_grows_with_size_not_faster() -> None:
    def seconds(columns: int) -> float:
        record = decode(wide(columns, 100))
        best = float("inf")
        for _ in range(3):
            begin = time.process_time()
            derive(record)
            best = min(best, time.process_time() - begin)
        return best

    # Ten times the plan; a square would be a hundred times the time.
    assert seconds(500) < 30 * max(seconds(50), 1e-3)


def test_a_deep_chain_of_distinct_is_linear() -> None:
    build = Builder()
    plan, output = build.table("t", ["a", "b"])
    for _ in range(20_000):
        plan = build.plan("Filter", [plan], -1, output[0], plan)
        plan = build.plan("Distinct", [plan], -1, plan)
    begin = time.process_time()
    found = lineage(build.record(plan))
    assert time.process_time() - begin < 20
    assert {s.kind for s in found.outputs[0].indirect} == {Kind.FILTER, Kind.GROUP_BY}
