"""GROUP BY, DISTINCT, dropDuplicates."""

from __future__ import annotations

from spark_lineage.lineage.column import State
from spark_lineage.lineage.fold import Fold
from spark_lineage.lineage.lanes import GROUP_BY, add, union
from spark_lineage.lineage.rule import rule
from spark_lineage.plan.node import PlanNode


@rule("Aggregate")
def aggregate(fold: Fold, node: PlanNode) -> State:
    """A value for each result expression; the rows are the groups."""
    child = fold.child(node)
    state = State({}, child.rows, None, child.issues)
    state.uses.extend(node.children)
    state.columns = fold.project(node.refs("aggregateExpressions"), child.columns, state.uses)
    fold.depend(state, node.refs("groupingExpressions"), GROUP_BY, child)
    return state


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
