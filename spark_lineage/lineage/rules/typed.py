"""Typed Scala and Java operators: rows become objects, a function runs, objects become rows."""

from __future__ import annotations

from spark_lineage.lineage.column import DERIVED, Column, Origin, State
from spark_lineage.lineage.fold import Fold
from spark_lineage.lineage.lanes import FILTER, GROUP_BY, MASK, TRANSFORMATION, Lanes, union
from spark_lineage.lineage.rule import rule
from spark_lineage.plan.node import PlanNode


@rule("DeserializeToObject")
def deserialize(fold: Fold, node: PlanNode) -> State:
    """One object of the columns that the deserializer reads."""
    child = fold.child(node)
    state = State({}, child.rows, None, child.issues)
    state.uses.extend(node.children)
    gathered = fold.gather(node.refs("deserializer"), TRANSFORMATION, child.columns, state.uses)
    gathered.type = max(gathered.type, DERIVED)
    state.columns = {i: gathered.column(None) for i in fold.ids(node.output())}
    return state


@rule("SerializeFromObject")
def serialize(fold: Fold, node: PlanNode) -> State:
    """Each column is an expression over the object."""
    child = fold.child(node)
    state = State({}, child.rows, None, child.issues)
    state.uses.extend(node.children)
    state.columns = fold.project(node.refs("serializer"), child.columns, state.uses)
    return state


@rule(
    "MapElements",
    "MapPartitions",
    "MapPartitionsInR",
    "MapPartitionsInRWithArrow",
    "MapGroups",
    "CoGroup",
    "FlatMapGroupsWithState",
    "TransformWithState",
    "AppendColumns",
    "AppendColumnsWithObject",
)
def user_function(fold: Fold, node: PlanNode) -> State:
    """What the function gives may depend on all that it is given."""
    below: dict[int, Column] = {}
    every: list[Column] = []
    rows: Lanes = {}
    state = State({}, {})
    for ref in node.children:
        child = fold.state(ref)
        below.update(child.columns)
        every.extend(child.columns[i] for i in fold.order(ref))
        rows = union(rows, child.rows)
        state.issues |= child.issues
    state.rows = rows
    state.uses.extend(node.children)
    made = fold.every(every)
    made = Column(
        made.lanes,
        made.type,
        Origin(f"{node.class_name}(...)"),
        made.system,
        made.opaque | {node.class_name},
        made.issues,
    )
    base = State(below, {})
    for field in ("groupingAttributes", "leftGroup", "rightGroup"):
        fold.depend(state, node.refs(field), GROUP_BY, base)
    # AppendColumns keeps the child's columns beside the new ones.
    kept = below if node.class_name.startswith("AppendColumns") else {}
    state.columns = {i: kept.get(i, made) for i in fold.ids(node.output())}
    return state


@rule("TypedFilter")
def typed_filter(fold: Fold, node: PlanNode) -> State:
    """A function of the whole row decides which rows there are."""
    child = fold.child(node)
    state = State(child.columns, child.rows, None, child.issues)
    state.uses.extend(node.children)
    gathered = fold.gather(node.refs("deserializer"), FILTER, child.columns, state.uses)
    lanes = gathered.lanes
    if not lanes:
        every = fold.every(child.columns[i] for i in fold.order(node.children[0]))
        for lane, bits in every.lanes.items():
            there = FILTER | (lane & MASK)
            lanes[there] = lanes.get(there, 0) | bits
    state.rows = union(state.rows, lanes)
    return state
