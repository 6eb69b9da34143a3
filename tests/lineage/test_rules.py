"""Rules for plans that no Spark at hand makes: built by hand, as the record would have them."""

from __future__ import annotations

import json
from typing import Any

from spark_lineage.lineage import Lineage, derive
from spark_lineage.plan import decode
from tests.lineage.bench import edges
from tests.plan.builder import Builder


def told(record: dict[str, Any]) -> Lineage:
    found = derive(decode(record))
    assert found.unknown_nodes == {}
    assert all(not output.issues for output in found.outputs)
    return found


def plan(
    build: Builder, name: str, fields: str, children: list[int], output: Any, *row: Any
) -> int:
    build.shape(name, "P", fields.split())
    return build.plan(name, children, output, *row)


def greater(build: Builder, left: int, right: int) -> int:
    return build.expression("GreaterThan", [left, right])


def v2_table(build: Builder, name: str, columns: list[str]) -> tuple[int, list[int]]:
    """A table of a catalog that can overwrite by a condition, such as Iceberg's."""
    attributes = [build.attribute(column) for column in columns]
    schema = [{"name": column, "type": "integer", "nullable": True} for column in columns]
    text = build.string
    table = {
        "c": text("SparkTable"),
        "class": text("org.example.SparkTable"),
        "name": text(f"lake.db.{name}"),
        "properties": {"map": []},
        "schema": text(json.dumps({"type": "struct", "fields": schema})),
        "partitioning": [],
    }
    catalog = {"c": text("Catalog"), "class": text("org.example.Catalog"), "name": text("lake")}
    identifier = {"c": text("Identifier"), "namespace": [text("db")], "name": text(name)}
    fields = "table output catalog identifier options"
    row: tuple[Any, ...] = (table, attributes, catalog, identifier, {"map": []})
    return plan(build, "DataSourceV2Relation", fields, [], attributes, *row), attributes


def test_replace_where_takes_its_rows_from_the_query_only() -> None:
    # INSERT INTO lake.db.rw REPLACE WHERE y > 1 SELECT a + 1, b FROM t WHERE b > 2
    build = Builder()
    table, (a, b) = build.table("t", ["a", "b"])
    target, (_, y) = v2_table(build, "rw", ["x", "y"])
    chosen = build.plan("Filter", [table], [a, b], greater(build, b, build.literal(2)), table)
    more, x_made = build.alias(build.add(a, build.literal(1)), "x")
    kept, y_made = build.alias(b, "y")
    query = build.project(chosen, [more, kept], [x_made, y_made])
    fields = "table deleteExpr query writeOptions isByName write analyzedQuery"
    replaced = greater(build, y, build.literal(1))
    row: tuple[Any, ...] = (target, replaced, query, {"map": []}, False, None, None)
    root = plan(build, "OverwriteByExpression", fields, [query], [], *row)
    found = told(build.record(root))
    assert [(i.dataset.name) for i in found.inputs] == ["default.t"]
    (output,) = found.outputs
    assert output.dataset is not None
    assert output.dataset.name == "db.rw"
    assert output.lifecycle == "OVERWRITE"
    # What the condition removes stood in the table before: no column of the result is made of it.
    assert edges(found) == (
        {("x", "TRANSFORMATION", "t.a"), ("y", "IDENTITY", "t.b")},
        {("*", "FILTER", "t.b")},
    )


def test_bin_by_scales_values_by_the_bounds() -> None:
    # SELECT * FROM t BIN BY (RANGE s TO e BIN WIDTH ... DISTRIBUTE UNIFORM (v)); not in 4.3.0 yet
    build = Builder()
    table, (s, e, v, k) = build.table("t", ["s", "e", "v", "k"])
    scaled = build.attribute("v")
    bounds = [build.attribute(name) for name in ("bin_start", "bin_end", "bin_distribute_ratio")]
    fields = (
        "binWidthMicros rangeStart rangeEnd originMicros distributeColumns "
        "scaledDistributeColumns appendedAttributes child timeZoneId"
    )
    row = ({"#": 300}, s, e, {"#": 0}, [v], [scaled], bounds, table, None)
    root = plan(build, "BinBy", fields, [table], [s, e, scaled, k, *bounds], *row)
    direct, indirect = edges(told(build.record(root)))
    computed = {
        (name, "TRANSFORMATION", f"t.{source}")
        for name in ("v", "bin_start", "bin_end", "bin_distribute_ratio")
        for source in "se"
    }
    assert direct == computed | {
        ("s", "IDENTITY", "t.s"),
        ("e", "IDENTITY", "t.e"),
        ("k", "IDENTITY", "t.k"),
        ("v", "TRANSFORMATION", "t.v"),
    }
    assert indirect == {("*", "FILTER", "t.s"), ("*", "FILTER", "t.e")}


def test_of_several_results_the_last_is_the_result() -> None:
    build = Builder()
    first, _ = build.table("t", ["a"])
    last, (b,) = build.table("u", ["b"])
    root = plan(build, "MultiResult", "children", [first, last], [b], [first, last])
    assert edges(told(build.record(root))) == ({("b", "IDENTITY", "u.b")}, set())


def test_streams_that_follow_each_other_are_a_union() -> None:
    build = Builder()
    first, (a,) = build.table("t", ["a"])
    last, _ = build.table("u", ["b"])
    fields = "children byName allowMissingCol"
    row = ([first, last], False, False)
    root = plan(build, "SequentialStreamingUnion", fields, [first, last], [a], *row)
    direct, _ = edges(told(build.record(root)))
    assert direct == {("a", "IDENTITY", "t.a"), ("a", "IDENTITY", "u.b")}


def test_a_python_processor_with_state_groups_by_the_first_columns() -> None:
    build = Builder()
    table, (k, v) = build.table("t", ["k", "v"])
    state = build.plan("LocalRelation", [], [], [], [])
    made = build.attribute("r")
    fields = "functionExpr groupingAttributesLen outputAttrs child initialState"
    udf_shape = build.shape("PythonUDF", "E", ["name", "children"])
    udf = build.row([udf_shape, [k, v], build.string("process"), [k, v]])
    row = (udf, {"#": 1}, [made], table, state)
    root = plan(build, "TransformWithStateInPySpark", fields, [table, state], [made], *row)
    found = told(build.record(root))
    assert edges(found) == (
        {("r", "TRANSFORMATION", "t.k"), ("r", "TRANSFORMATION", "t.v")},
        {("*", "GROUP_BY", "t.k")},
    )
    assert found.outputs[0].columns[0].opaque == ("process",)


def test_what_workers_logged_is_made_by_the_engine() -> None:
    build = Builder()
    line = build.attribute("message")
    root = plan(build, "PythonWorkerLogs", "jsonAttr", [], [line], line)
    (column,) = told(build.record(root)).outputs[0].columns
    assert (column.direct, column.origin.value) == ((), "SYSTEM")
