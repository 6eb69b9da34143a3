"""Records built by hand: plans without a Spark, small for tests and huge for measurements."""

from __future__ import annotations

import json
from typing import Any

PLAN_FIELDS: dict[str, list[str]] = {
    "Project": ["projectList", "child"],
    "Filter": ["condition", "child"],
    "Join": ["left", "right", "joinType", "condition", "hint"],
    "Aggregate": ["groupingExpressions", "aggregateExpressions", "child"],
    "Union": ["children", "byName", "allowMissingCol"],
    "LocalRelation": ["output", "data", "isStreaming"],
    "LogicalRelation": ["relation", "output", "catalogTable", "isStreaming"],
    "WithCTE": ["plan", "cteDefs"],
    "CTERelationDef": ["child", "id"],
    "CTERelationRef": ["cteId", "_resolved", "output"],
}
EXPRESSION_FIELDS: dict[str, list[str]] = {
    "AttributeReference": ["name", "dataType", "nullable", "exprId", "qualifier", "metadata"],
    "Alias": ["child", "name", "exprId", "explicitMetadata"],
    "Literal": ["value", "dataType"],
    "Add": ["left", "right", "evalMode"],
}


class Builder:
    """Rows, shapes and strings of one record; expressions and plans are row numbers."""

    def __init__(self) -> None:
        self.strings: list[str] = []
        self._string: dict[str, int] = {}
        self.shapes: list[list[Any]] = []
        self._shape: dict[str, int] = {}
        self.rows: list[list[Any]] = []
        self._next_id = 0

    def string(self, text: str) -> int:
        if text not in self._string:
            self._string[text] = len(self.strings)
            self.strings.append(text)
        return -1 - self._string[text]

    def shape(self, name: str, kind: str, fields: list[str]) -> int:
        if name not in self._shape:
            self._shape[name] = len(self.shapes)
            self.shapes.append([name, "org.apache.spark." + name, kind, fields])
        return self._shape[name]

    def row(self, row: list[Any]) -> int:
        self.rows.append(row)
        return len(self.rows) - 1

    def new_id(self) -> int:
        self._next_id += 1
        return self._next_id

    # expressions

    def attribute(self, name: str, expr_id: int | None = None) -> int:
        number = self.new_id() if expr_id is None else expr_id
        shape = self.shape("AttributeReference", "E", EXPRESSION_FIELDS["AttributeReference"])
        kind = self.string('"integer"')
        return self.row([shape, 0, self.string(name), kind, True, {"#": number}, [], None])

    def literal(self, value: int) -> int:
        shape = self.shape("Literal", "E", EXPRESSION_FIELDS["Literal"])
        return self.row([shape, 0, self.string(str(value)), self.string('"integer"')])

    def add(self, left: int, right: int) -> int:
        shape = self.shape("Add", "E", EXPRESSION_FIELDS["Add"])
        return self.row([shape, [left, right], left, right, None])

    def expression(self, name: str, children: list[int]) -> int:
        fields = [f"child{index}" for index in range(len(children))]
        return self.row([self.shape(name, "E", fields), children or 0, *children])

    def alias(self, child: int, name: str, expr_id: int | None = None) -> tuple[int, int]:
        """The alias and the attribute that it makes."""
        number = self.new_id() if expr_id is None else expr_id
        shape = self.shape("Alias", "E", EXPRESSION_FIELDS["Alias"])
        made = self.row([shape, [child], child, self.string(name), {"#": number}, None])
        return made, self.attribute(name, number)

    # plans

    def plan(self, name: str, children: list[int], output: list[int] | int, *values: Any) -> int:
        fields = PLAN_FIELDS.get(name, [f"f{index}" for index in range(len(values))])
        return self.row([self.shape(name, "P", fields), children or 0, output, *values])

    def table(self, name: str, columns: list[str]) -> tuple[int, list[int]]:
        attributes = [self.attribute(column) for column in columns]
        fields = [{"name": column, "type": "integer", "nullable": True} for column in columns]
        schema = json.dumps({"type": "struct", "fields": fields})
        described = {
            "c": self.string("CatalogTable"),
            "catalog": self.string("spark_catalog"),
            "database": self.string("default"),
            "table": self.string(name),
            "tableType": self.string("MANAGED"),
            "provider": self.string("parquet"),
            "location": self.string(f"file:/wh/{name}"),
            "partitionColumns": [],
            "properties": {"map": []},
            "schema": self.string(schema),
        }
        node = self.plan("LogicalRelation", [], attributes, None, attributes, described, False)
        return node, attributes

    def project(self, child: int, items: list[int], output: list[int]) -> int:
        return self.plan("Project", [child], output, items, child)

    def record(self, analyzed: int | None, optimized: int | None = None) -> dict[str, Any]:
        return {
            "formatVersion": 1,
            "sequence": 1,
            "kind": "execution",
            "phase": "START",
            "session": {
                "catalog": "spark_catalog",
                "database": "default",
                "conf": {"spark.sql.warehouse.dir": "file:/wh"},
            },
            "strings": self.strings,
            "shapes": self.shapes,
            "nodes": self.rows,
            "plans": {"analyzed": analyzed, "optimized": optimized},
            "scans": [],
            "writes": [],
        }


def wide(columns: int, terms: int) -> dict[str, Any]:
    """One projection: each column a sum of so many terms."""
    build = Builder()
    table, base = build.table("t", [f"c{index}" for index in range(50)])
    items, output = [], []
    for index in range(columns):
        tree = base[index % 50]
        for term in range(terms):
            tree = build.add(tree, base[(index + term) % 50] if term % 2 else build.literal(term))
        item, attribute = build.alias(tree, f"x{index}")
        items.append(item)
        output.append(attribute)
    return build.record(build.project(table, items, output))


def deep(steps: int, columns: int) -> dict[str, Any]:
    """A loop of ``withColumn``: each step computes every column from the step before."""
    build = Builder()
    plan, current = build.table("t", [f"c{index}" for index in range(columns)])
    for step in range(steps):
        items, output = [], []
        for index, attribute in enumerate(current):
            other = current[(index + 1) % columns]
            tree = build.add(build.add(attribute, other), build.literal(step))
            item, made = build.alias(tree, f"c{index}")
            items.append(item)
            output.append(made)
        plan = build.project(plan, items, output)
        current = output
    return build.record(plan)


def nested(depth: int) -> dict[str, Any]:
    """One expression, as deep as it has nodes."""
    build = Builder()
    table, base = build.table("t", ["a", "b"])
    tree = base[0]
    for index in range(depth):
        tree = build.add(tree, base[index % 2])
    item, attribute = build.alias(tree, "x")
    return build.record(build.project(table, [item], [attribute]))


def doubling(steps: int) -> dict[str, Any]:
    """A chain of CTEs, each joined with itself: 2 ** steps reads if it were written out."""
    build = Builder()
    table, base = build.table("t", ["a", "b"])
    definitions: list[int] = []

    def define(child: int, cte_id: int, output: list[int]) -> None:
        definitions.append(build.plan("CTERelationDef", [child], output, child, {"#": cte_id}))

    def refer(cte_id: int) -> tuple[int, list[int]]:
        made = [build.attribute("a"), build.attribute("b")]
        return build.plan("CTERelationRef", [], made, {"#": cte_id}, True, made), made

    define(table, 0, base)
    for step in range(1, steps + 1):
        left, one = refer(step - 1)
        right, two = refer(step - 1)
        condition = build.expression("EqualTo", [one[0], two[0]])
        join = build.plan("Join", [left, right], one + two, left, right, None, condition, None)
        first, a = build.alias(build.add(one[0], two[1]), "a")
        second, b = build.alias(build.add(one[1], two[0]), "b")
        define(build.project(join, [first, second], [a, b]), step, [a, b])
    last, output = refer(steps)
    return build.record(build.plan("WithCTE", [*definitions, last], output, last, definitions))
