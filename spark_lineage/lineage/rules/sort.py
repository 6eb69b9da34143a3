"""ORDER BY, SORT BY, LIMIT and OFFSET."""

from __future__ import annotations

from spark_lineage.lineage.column import State
from spark_lineage.lineage.fold import Fold
from spark_lineage.lineage.lanes import FILTER, SORT
from spark_lineage.lineage.rule import rule
from spark_lineage.plan.node import PlanNode


@rule("Sort")
def sort(fold: Fold, node: PlanNode) -> State:
    """The child's columns; the rows' order depends on the sort expressions."""
    child = fold.child(node)
    state = State(child.columns, child.rows, None, child.issues)
    state.uses.extend(node.children)
    fold.depend(state, node.refs("order"), SORT, child)
    return state


@rule("GlobalLimit", "LocalLimit", "Limit", "Offset", "Tail", "LimitAll")
def limit(fold: Fold, node: PlanNode) -> State:
    """The child's columns; a limit that is an expression decides which rows there are."""
    child = fold.child(node)
    state = State(child.columns, child.rows, None, child.issues)
    state.uses.extend(node.children)
    expressions = [*node.refs("limitExpr"), *node.refs("offsetExpr")]
    fold.depend(state, expressions, FILTER, child)
    return state
