"""The conservative rule, for nodes that no other knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spark_lineage.lineage.column import BARE, Column, State
from spark_lineage.lineage.fallback import written_by
from spark_lineage.lineage.lanes import union
from spark_lineage.lineage.target import Target
from spark_lineage.plan.node import PlanNode

if TYPE_CHECKING:
    from spark_lineage.lineage.fold import Fold


def unknown(fold: Fold, node: PlanNode, issue: str | None = None) -> State:
    """Outputs that a child has are that child's; the rest may depend on every child column."""
    issue = issue or f"{node.class_name} is not known"
    below: dict[int, Column] = {}
    state = State(below, {}, None, frozenset({issue}))
    everything: list[Column] = []
    plans = [*node.children, *_plans_in_fields(fold, node)]
    for ref in plans:
        child = fold.states.get(ref)
        if child is None:
            continue
        state.uses.append(ref)
        state.rows = union(state.rows, child.rows)
        state.issues |= child.issues
        state.outputs.extend(child.outputs)
        below.update(child.columns)
        everything.extend(child.columns[i] for i in fold.order(ref) if i in child.columns)
    try:
        output = node.output()
    except (TypeError, IndexError):
        output = []
    rest: Column | None = None
    for expr_id in fold.ids(output):
        if expr_id in below:
            continue
        if rest is None:
            rest = fold.every(everything)
            rest = Column(
                rest.lanes, rest.type, None, rest.system, rest.opaque, rest.issues | {issue}
            )
        below[expr_id] = rest
    if not output:
        state.order = []
    if not state.outputs:
        # A command that is not known column by column still says what it writes.
        for dataset in written_by(fold.naming, node):
            state.outputs.append(Target(dataset, [], state.rows, state.issues))
    return state


def _plans_in_fields(fold: Fold, node: PlanNode) -> list[int]:
    children = set(node.children)
    found = []
    for _, raw in node.fields():
        for ref in fold.record.refs(raw):
            if ref not in children and fold.record.shape(ref).kind == "P" and ref < node.ref:
                found.append(ref)
    return found


__all__ = ["BARE", "unknown"]
