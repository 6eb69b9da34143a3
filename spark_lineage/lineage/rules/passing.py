"""Nodes that pass their child's columns and rows on as they are."""

from __future__ import annotations

from spark_lineage.lineage.column import State
from spark_lineage.lineage.fold import Fold
from spark_lineage.lineage.rule import rule
from spark_lineage.plan.node import PlanNode


@rule(
    "CollectMetrics",
    "EventTimeWatermark",
    "PipeOperator",
    "RebalancePartitions",
    "Repartition",
    "RepartitionByExpression",
    "ResolvedHint",
    "ReturnAnswer",
    "SQLFunctionNode",
    "Subquery",
    "UnresolvedHint",
    "UpdateEventTimeWatermarkColumn",
    "WithWindowDefinition",
)
def passing(fold: Fold, node: PlanNode) -> State:
    """Where rows stand, what is measured of them, or what they are called changes none of them."""
    child = fold.child(node)
    state = State(child.columns, child.rows, None, child.issues)
    state.outputs.extend(child.outputs)
    return state


@rule("Sample")
def sample(fold: Fold, node: PlanNode) -> State:
    """Chance, not a column, decides which rows there are."""
    return passing(fold, node)


@rule("MultiResult")
def multi_result(fold: Fold, node: PlanNode) -> State:
    """Several results of one command: the last one is what is shown."""
    last = fold.state(node.children[-1])
    state = State(last.columns, last.rows, fold.order(node.children[-1]), last.issues)
    for child in node.children:
        state.outputs.extend(fold.state(child).outputs)
    return state
