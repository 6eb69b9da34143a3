"""UNION, INTERSECT, EXCEPT."""

from __future__ import annotations

from spark_lineage.lineage.column import NOTHING, Column, State, merge
from spark_lineage.lineage.fold import Fold
from spark_lineage.lineage.lanes import FILTER, Lanes, add, union
from spark_lineage.lineage.rule import rule
from spark_lineage.plan.node import PlanNode


@rule("Union", "SequentialStreamingUnion")
def union_all(fold: Fold, node: PlanNode) -> State:
    """Column by position, from every branch."""
    branches = [fold.state(child) for child in node.children]
    orders = [fold.order(child) for child in node.children]
    rows: Lanes = {}
    issues = NOTHING
    for branch in branches:
        rows = union(rows, branch.rows)
        issues |= branch.issues
    columns: dict[int, Column] = {}
    for position, expr_id in enumerate(fold.ids(node.output())):
        columns[expr_id] = merge(
            [b.columns[o[position]] for b, o in zip(branches, orders, strict=True)]
        )
    state = State(columns, rows, None, issues)
    # Spark 4 runs a multi-insert as one union of commands.
    for branch in branches:
        state.outputs.extend(branch.outputs)
    return state


@rule("Intersect", "Except")
def membership(fold: Fold, node: PlanNode) -> State:
    """Values come from the left; being in either branch decides which rows there are."""
    left, right = fold.child(node, 0), fold.child(node, 1)
    rows = union(left.rows, right.rows)
    members: Lanes = {}
    for child, side in zip(node.children, (left, right), strict=True):
        for expr_id in fold.order(child):
            add(members, side.columns[expr_id].lanes, FILTER)
    left_order = fold.order(node.children[0])
    columns = dict(left.columns)
    for expr_id, below in zip(fold.ids(node.output()), left_order, strict=False):
        columns[expr_id] = left.columns[below]
    return State(columns, union(rows, members), None, left.issues | right.issues)
