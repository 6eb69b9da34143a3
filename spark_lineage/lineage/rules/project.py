"""SELECT: each output is an expression over the child's columns."""

from __future__ import annotations

from spark_lineage.lineage.column import State
from spark_lineage.lineage.fold import Fold
from spark_lineage.lineage.rule import rule
from spark_lineage.plan.node import PlanNode


@rule("Project")
def project(fold: Fold, node: PlanNode) -> State:
    """A value for each expression of the list."""
    child = fold.child(node)
    state = State({}, child.rows, None, child.issues)
    state.uses.extend(node.children)
    state.columns = fold.project(node.refs("projectList"), child.columns, state.uses)
    return state
