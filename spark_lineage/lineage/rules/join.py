"""Joins of all types."""

from __future__ import annotations

from spark_lineage.lineage.column import Column, State
from spark_lineage.lineage.fold import Fold
from spark_lineage.lineage.lanes import JOIN, union
from spark_lineage.lineage.rule import rule
from spark_lineage.plan.node import PlanNode


def _both(fold: Fold, node: PlanNode) -> State:
    left, right = fold.child(node, 0), fold.child(node, 1)
    columns: dict[int, Column] = {**right.columns, **left.columns}
    state = State(columns, union(left.rows, right.rows), None, left.issues | right.issues)
    state.uses.extend(node.children)
    return state


@rule("Join")
def join(fold: Fold, node: PlanNode) -> State:
    """Both sides' columns; the condition is a row dependency, for semi and anti joins too."""
    state = _both(fold, node)
    fold.depend(state, node.refs("condition"), JOIN, state)
    return state


@rule("AsOfJoin")
def as_of_join(fold: Fold, node: PlanNode) -> State:
    """What pairs rows: the conditions, and the expression that finds the nearest."""
    state = _both(fold, node)
    for field in ("asOfCondition", "condition", "orderExpression", "toleranceAssertion"):
        fold.depend(state, node.refs(field), JOIN, state)
    return state


@rule("NearestByJoin")
def nearest_by_join(fold: Fold, node: PlanNode) -> State:
    """What pairs rows is the expression that ranks them; the number of results is a constant."""
    state = _both(fold, node)
    fold.depend(state, node.refs("rankingExpression"), JOIN, state)
    return state


@rule("LateralJoin")
def lateral_join(fold: Fold, node: PlanNode) -> State:
    """The right side is a query over the left side's columns."""
    left = fold.child(node)
    right = node.refs("right")[0]
    subquery = fold.record.expression(right)
    plan = subquery.ref_of("plan")
    if plan is None:
        plan = subquery.children[0]
    inner = fold.state(plan)
    outer = fold.gather((), JOIN, left.columns)
    columns = dict(left.columns)
    for expr_id, column in inner.columns.items():
        columns[expr_id] = fold.fill(column, outer)
    rows = union(left.rows, fold.fill_lanes(inner.rows, outer))
    state = State(columns, rows, None, left.issues | inner.issues)
    state.uses.extend([*node.children, plan])
    fold.depend(state, node.refs("condition"), JOIN, state)
    return state
