"""Nodes that hand rows to a user's function or program: every output may depend on every input."""

from __future__ import annotations

from spark_lineage.lineage.column import DERIVED, Column, Origin, State
from spark_lineage.lineage.fold import Fold
from spark_lineage.lineage.lanes import GROUP_BY
from spark_lineage.lineage.rule import rule
from spark_lineage.plan.node import PlanNode, number

#: Fields that say how many keys a child's columns begin with, and which child.
_KEYS = (("groupingAttributesLen", 0), ("leftGroupingLen", 0), ("rightGroupingLen", 1))


@rule(
    "MapInPandas",
    "PythonMapInArrow",
    "MapInArrow",
    "FlatMapGroupsInPandas",
    "FlatMapGroupsInArrow",
    "FlatMapCoGroupsInPandas",
    "FlatMapCoGroupsInArrow",
    "FlatMapGroupsInR",
    "FlatMapGroupsInRWithArrow",
    "FlatMapGroupsInPandasWithState",
    "MapPartitionsExternalUDF",
    "TransformWithStateInPySpark",
    "ScriptTransformation",
)
def opaque(fold: Fold, node: PlanNode) -> State:
    """All columns of the children; grouping expressions are row dependencies."""
    columns: list[Column] = []
    merged = State({}, {})
    merged.uses.extend(node.children)
    below: dict[int, Column] = {}
    for ref in node.children:
        child = fold.state(ref)
        merged = merged.with_rows(child.rows)
        merged.issues |= child.issues
        below.update(child.columns)
        columns.extend(child.columns[i] for i in fold.order(ref))
    merged.uses = list(node.children)
    every = fold.every(columns)
    name = _name(fold, node)
    made = Column(
        every.lanes,
        DERIVED if every.type < DERIVED else every.type,
        Origin(f"{name}(...)"),
        every.system,
        every.opaque | {name},
        every.issues,
    )
    base = State(below, {})
    for field in ("groupingAttributes", "leftGroup", "rightGroup"):
        fold.depend(merged, node.refs(field), GROUP_BY, base)
    for field, side in _KEYS:
        keys = number(node.raw(field))
        if keys:
            # That child gives the keys first.
            first = PlanNode(fold.record, node.children[side]).output()[:keys]
            fold.depend(merged, first, GROUP_BY, base)
    merged.columns = dict.fromkeys(fold.ids(node.output()), made)
    return merged


def _name(fold: Fold, node: PlanNode) -> str:
    script = node.text("script")
    if script:
        return script
    for field in ("functionExpr", "func"):
        for ref in node.refs(field):
            return fold.function_name(fold.rows[ref])
    return node.class_name
