"""Common table expressions: folded once, referred to by id."""

from __future__ import annotations

from spark_lineage.lineage.column import Column, State
from spark_lineage.lineage.fold import Fold
from spark_lineage.lineage.rule import rule
from spark_lineage.plan.node import PlanNode, number


@rule("WithCTE")
def with_cte(fold: Fold, node: PlanNode) -> State:
    """The plan over the definitions."""
    plan = node.ref_of("plan")
    if plan is None:
        plan = node.children[-1]
    child = fold.state(plan)
    state = State(child.columns, child.rows, fold.order(plan), child.issues)
    state.uses.append(plan)
    state.outputs.extend(child.outputs)
    return state


@rule("CTERelationDef")
def definition(fold: Fold, node: PlanNode) -> State:
    """What its references stand for."""
    child = fold.child(node)
    cte_id = number(node.raw("id"))
    state = State(child.columns, child.rows, fold.order(node.children[0]), child.issues)
    if cte_id is not None:
        fold.definitions[cte_id] = (node.ref, state)
    return state


@rule("CTERelationRef", "UnionLoopRef")
def reference(fold: Fold, node: PlanNode) -> State:
    """The definition's columns by position, under new ids."""
    field = "cteId" if node.has("cteId") else "loopId"
    cte_id = number(node.raw(field))
    ids = fold.ids(node.output())
    known = fold.definitions.get(cte_id) if cte_id is not None else None
    if known is None:
        # Recursive, or defined later: the next round of the fold will know it.
        fold.pending = True
        state = State({i: Column({}, 0) for i in ids}, {}, ids)
        state.uses = [node.ref]
        return state
    ref, found = known
    order = fold.order(ref) if found.order is None else found.order
    columns = {i: found.columns[j] for i, j in zip(ids, order, strict=True)}
    state = State(columns, found.rows, ids, found.issues)
    state.uses = [ref]
    return state


@rule("UnionLoop")
def union_loop(fold: Fold, node: PlanNode) -> State:
    """A recursive CTE: the anchor's columns joined by those of the recursion, to a fixed point."""
    from spark_lineage.lineage.rules.sets import union_all

    state = union_all(fold, node)
    state.order = fold.ids(node.output())
    fold.pending = True
    loop_id = number(node.raw("id"))
    if loop_id is not None:
        fold.definitions[loop_id] = (node.ref, state)
    return state
