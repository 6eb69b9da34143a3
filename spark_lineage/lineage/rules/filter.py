"""WHERE, HAVING, QUALIFY: the condition decides which rows there are."""

from __future__ import annotations

from spark_lineage.lineage.column import State
from spark_lineage.lineage.fold import Fold
from spark_lineage.lineage.lanes import FILTER
from spark_lineage.lineage.rule import rule
from spark_lineage.plan.node import PlanNode


@rule("Filter")
def filter_(fold: Fold, node: PlanNode) -> State:
    """The child's columns; the rows depend on the condition."""
    child = fold.child(node)
    state = State(child.columns, child.rows, None, child.issues)
    state.uses.extend(node.children)
    fold.depend(state, node.refs("condition"), FILTER, child)
    return state
