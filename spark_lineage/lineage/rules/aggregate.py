"""GROUP BY, DISTINCT, dropDuplicates."""

from __future__ import annotations

from spark_lineage.lineage.column import State
from spark_lineage.lineage.fold import Fold
from spark_lineage.lineage.lanes import GROUP_BY, Lanes, add, union
from spark_lineage.lineage.rule import rule
from spark_lineage.plan.node import PlanNode


@rule("Aggregate")
def aggregate(fold: Fold, node: PlanNode) -> State:
    """A value for each result expression; the rows are the groups."""
    child = fold.child(node)
    state = State({}, child.rows, None, child.issues)
    state.uses.extend(node.children)
    state.columns = fold.project(node.refs("aggregateExpressions"), child.columns, state.uses)
    pivot = _pivot_column(fold, node)
    if pivot is not None:
        state.rows = _rows_before_pivot(fold, node, pivot)
    fold.depend(state, node.refs("groupingExpressions"), GROUP_BY, child)
    return state


def _pivot_column(fold: Fold, node: PlanNode) -> int | None:
    """The expression id of the column that PIVOT spreads, if this is its second step."""
    if not fold.has_class("PivotFirst"):
        return None
    for ref in node.refs("aggregateExpressions"):
        row = fold.rows[ref]
        while row[1] and len(row[1]) == 1:
            row = fold.rows[row[1][0]]
        shape = fold.shapes[row[0]]
        if shape.name == "PivotFirst":
            return fold.record.expr_id(row[shape.position["pivotColumn"]])
    return None


def _rows_before_pivot(fold: Fold, node: PlanNode, pivot: int) -> Lanes:
    """The first step groups by the pivot column too, but no row of the result is owed to it."""
    first = PlanNode(fold.record, node.children[0])
    base = fold.state(first.children[0]) if first.children else fold.state(first.ref)
    if first.class_name != "Aggregate":
        return fold.child(node).rows
    named = dict(zip(fold.ids(first.output()), first.refs("aggregateExpressions"), strict=False))
    spread = fold.rows[named[pivot]] if pivot in named else None
    other = [
        ref
        for ref in first.refs("groupingExpressions")
        if fold.record.expr_id(ref) != pivot and not (spread and spread[1] == [ref])
    ]
    return union(base.rows, fold.gather(other, GROUP_BY, base.columns).lanes)


@rule("Distinct")
def distinct(fold: Fold, node: PlanNode) -> State:
    """All columns are grouped by; the values stay what they were."""
    child = fold.child(node)
    rows: dict[int, int] = {}
    for expr_id in fold.order(node.children[0]):
        column = child.columns.get(expr_id)
        if column is not None:
            add(rows, column.lanes, GROUP_BY)
    return State(child.columns, union(child.rows, rows), None, child.issues)


@rule("Deduplicate", "DeduplicateWithinWatermark")
def deduplicate(fold: Fold, node: PlanNode) -> State:
    """Only the keys are grouped by; kept columns stay what they were."""
    child = fold.child(node)
    state = State(child.columns, child.rows, None, child.issues)
    state.uses.extend(node.children)
    fold.depend(state, node.refs("keys"), GROUP_BY, child)
    return state
