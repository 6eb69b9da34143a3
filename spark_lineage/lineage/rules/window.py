"""Window functions: columns that see other rows."""

from __future__ import annotations

from spark_lineage.lineage.column import State
from spark_lineage.lineage.fold import Fold
from spark_lineage.lineage.rule import rule
from spark_lineage.plan.node import PlanNode


@rule("Window", "WindowInPandas", "ArrowWindowPython")
def window(fold: Fold, node: PlanNode) -> State:
    """The child's columns and one for each window expression, with its own window."""
    child = fold.child(node)
    state = State({}, child.rows, None, child.issues)
    state.uses.extend(node.children)
    added = fold.project(node.refs("windowExpressions"), child.columns, state.uses)
    state.columns = {**child.columns, **added}
    return state
