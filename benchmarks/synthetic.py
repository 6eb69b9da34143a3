"""Records of large plans, made without Spark, in the form that docs/record.md gives.

A million expression nodes take Spark longer to analyse than to tell about. The
rows are as the bridge writes them: attributes stand once, each node lists its
output, each expression its children.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

_EXPRESSIONS = "org.apache.spark.sql.catalyst.expressions."
_PLANS = "org.apache.spark.sql.catalyst.plans.logical."
_SHAPES: dict[str, tuple[str, str, list[str]]] = {
    "AttributeReference": (
        _EXPRESSIONS,
        "E",
        ["name", "dataType", "nullable", "exprId", "qualifier", "metadata"],
    ),
    "Alias": (_EXPRESSIONS, "E", ["child", "name", "exprId", "explicitMetadata"]),
    "Literal": (_EXPRESSIONS, "E", ["value", "dataType"]),
    "Add": (_EXPRESSIONS, "E", ["left", "right", "evalContext"]),
    "Multiply": (_EXPRESSIONS, "E", ["left", "right", "evalContext"]),
    "EqualTo": (_EXPRESSIONS, "E", ["left", "right"]),
    "LogicalRelation": (
        "org.apache.spark.sql.execution.datasources.",
        "P",
        ["relation", "output", "catalogTable", "isStreaming", "stream"],
    ),
    "Project": (_PLANS, "P", ["projectList", "child"]),
    "SubqueryAlias": (_PLANS, "P", ["identifier", "child"]),
    "Join": (_PLANS, "P", ["left", "right", "joinType", "condition", "hint"]),
    "WithCTE": (_PLANS, "P", ["plan", "cteDefs"]),
    "CTERelationDef": (_PLANS, "P", ["child", "id", "originalPlanWithPredicates"]),
    "CTERelationRef": (_PLANS, "P", ["cteId", "_resolved", "output", "isStreaming"]),
}


class Tables:
    """The tables of a record while they are written."""

    def __init__(self) -> None:
        self.strings: dict[str, int] = {}
        self.shapes: dict[str, int] = {}
        self.rows: list[list[Any]] = []
        self.ids = 0
        self.expressions = 0
        self.integer = self.text('"integer"')

    def text(self, value: str) -> int:
        return -1 - self.strings.setdefault(value, len(self.strings))

    def row(self, name: str, *values: Any) -> int:
        shape = self.shapes.setdefault(name, len(self.shapes))
        self.rows.append([shape, *values])
        if _SHAPES[name][1] == "E":
            self.expressions += 1
        return len(self.rows) - 1

    def fresh(self) -> dict[str, int]:
        self.ids += 1
        return {"#": self.ids}

    def attribute(self, name: str, expr_id: dict[str, int] | None = None) -> int:
        expr_id = expr_id or self.fresh()
        name_ref = self.text(name)
        return self.row("AttributeReference", 0, name_ref, self.integer, True, expr_id, [], None)

    def named(self, child: int, name: str) -> tuple[int, int]:
        """An alias, and the attribute that stands for it above."""
        expr_id = self.fresh()
        alias = self.row("Alias", [child], child, self.text(name), expr_id, None)
        return alias, self.attribute(name, expr_id)

    def literal(self, value: int) -> int:
        return self.row("Literal", 0, self.text(str(value)), self.integer)

    def both(self, name: str, left: int, right: int) -> int:
        extra = () if name == "EqualTo" else (None,)
        return self.row(name, [left, right], left, right, *extra)

    def step(self, left: int, right: int) -> int:
        """``left * 2 + right + 1``: five nodes."""
        product = self.both("Multiply", left, self.literal(2))
        return self.both("Add", self.both("Add", product, right), self.literal(1))

    def relation(self, table: str, width: int) -> tuple[int, list[int]]:
        columns = [self.attribute(f"c{i}") for i in range(width)]
        fields = [
            {"name": f"c{i}", "type": "integer", "nullable": True, "metadata": {}}
            for i in range(width)
        ]
        location = self.text(f"file:/warehouse/{table}")
        catalog_table = {
            "c": self.text("CatalogTable"),
            "catalog": self.text("spark_catalog"),
            "database": self.text("default"),
            "table": self.text(table),
            "tableType": self.text("MANAGED"),
            "provider": self.text("parquet"),
            "location": location,
            "partitionColumns": [],
            "properties": {"map": []},
            "schema": self.text(json.dumps({"type": "struct", "fields": fields})),
            "viewText": None,
        }
        relation = {
            "c": self.text("HadoopFsRelation"),
            "rootPaths": [location],
            "format": self.text("parquet"),
            "partitionColumns": [],
            "schema": catalog_table["schema"],
            "options": {"map": []},
        }
        ref = self.row("LogicalRelation", 0, columns, relation, columns, catalog_table, False, None)
        return ref, columns

    def project(self, items: list[tuple[int, int]], child: int) -> tuple[int, list[int]]:
        outputs = [attribute for _, attribute in items]
        return self.row("Project", [child], outputs, [a for a, _ in items], child), outputs

    def record(self, root: int) -> str:
        """The record as JSON text."""
        shapes = [
            [name, _SHAPES[name][0] + name, _SHAPES[name][1], _SHAPES[name][2]]
            for name in self.shapes
        ]
        return json.dumps(
            {
                "formatVersion": 1,
                "sequence": 1,
                "kind": "execution",
                "phase": "END",
                "bridge": {"version": "synthetic", "truncated": None},
                "app": {"id": "synthetic"},
                "execution": {"id": 1, "rootId": 1},
                "session": {"conf": {"spark.sql.warehouse.dir": "file:/warehouse"}},
                "strings": list(self.strings),
                "shapes": shapes,
                "nodes": self.rows,
                "plans": {"analyzed": root, "optimized": None},
                "scans": [],
                "writes": [],
            }
        )


def wide(nodes: int) -> Tables:
    """One projection of many expressions over a table of 100 columns."""
    tables = Tables()
    ref, columns = tables.relation("wide", 100)
    count = max(1, nodes // 7)
    items = [
        tables.named(tables.step(columns[i % 100], columns[(i * 7 + 1) % 100]), f"w{i}")
        for i in range(count)
    ]
    tables.project(items, ref)
    return tables


def deep(nodes: int) -> Tables:
    """Projections over projections of 50 columns, as a loop of ``withColumn`` makes them."""
    tables = Tables()
    width = 50
    ref, columns = tables.relation("deep", width)
    for _ in range(max(1, nodes // (width * 7))):
        items = [
            tables.named(tables.step(columns[i], columns[(i + 1) % width]), f"c{i}")
            for i in range(width)
        ]
        ref, columns = tables.project(items, ref)
    return tables


def nested(nodes: int) -> Tables:
    """One expression, as deep as it has nodes."""
    tables = Tables()
    ref, columns = tables.relation("nested", 100)
    value = columns[0]
    for i in range(max(1, nodes // 4)):
        value = tables.step(value, columns[i % 100])
    tables.project([tables.named(value, "n")], ref)
    return tables


def shared(nodes: int, doublings: int = 30) -> Tables:
    """A chain of common table expressions, each the join of the one before with itself.

    Told without sharing it would have 2^30 relations.
    """
    tables = Tables()
    width = max(1, nodes // (doublings * 9))
    ref, columns = tables.relation("shared", width)
    definitions = []
    for number in range(doublings):
        definition = tables.row("CTERelationDef", [ref], columns, ref, {"#": number}, None)
        definitions.append(definition)
        sides = []
        for _ in range(2):
            names = [tables.attribute(f"c{i}") for i in range(width)]
            sides.append(
                (
                    tables.row("CTERelationRef", 0, names, {"#": number}, True, names, False),
                    names,
                )
            )
        (left, left_names), (right, right_names) = sides
        condition = tables.both("EqualTo", left_names[0], right_names[0])
        output = [*left_names, *right_names]
        inner = tables.text("Inner")
        joined = tables.row("Join", [left, right], output, left, right, inner, condition, None)
        items = [
            tables.named(tables.step(a, b), f"c{i}")
            for i, (a, b) in enumerate(zip(left_names, right_names, strict=True))
        ]
        ref, columns = tables.project(items, joined)
    tables.row("WithCTE", [*definitions, ref], columns, ref, definitions)
    return tables


SHAPES: dict[str, Callable[[int], Tables]] = {
    "wide": wide,
    "deep": deep,
    "nested": nested,
    "shared": shared,
}


def make(shape: str, nodes: int) -> tuple[str, int]:
    """A record of about so many expression nodes, and how many it has."""
    tables = SHAPES[shape](nodes)
    return tables.record(len(tables.rows) - 1), tables.expressions
