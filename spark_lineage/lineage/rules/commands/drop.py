"""DROP and TRUNCATE."""

from __future__ import annotations

from dataclasses import replace

from spark_lineage.lineage import evidence
from spark_lineage.lineage.column import State
from spark_lineage.lineage.fold import Fold
from spark_lineage.lineage.rule import rule
from spark_lineage.lineage.rules.named import (
    changes,
    described_table,
    named_plan,
    named_table,
    only_if,
    partitions,
    session_name,
    untold,
)
from spark_lineage.plan.node import PlanNode

UNTOLD = "IF EXISTS: the catalog does not tell whether the table was there"


@rule("DropHoodieTableCommand", "DropIcebergView", "DropTable", "DropTableCommand", "DropView")
def drop(fold: Fold, node: PlanNode) -> State:
    """A table or view that is gone; with IF EXISTS nothing, where none was."""
    plan = named_plan(fold, node) if described_table(fold, node) is None else None
    if plan is not None and node.class_name == "DropTable" and fold.naming.tables.hands_iceberg_on:
        name = session_name(fold, node)
        if name is not None:
            return _dropped_by_iceberg(fold, node, plan, name)
    dataset = named_table(fold, node)
    if dataset is not None and plan is not None and not isinstance(plan.raw("table"), dict):
        # The plan has the name only: the default place of such a table need not be its own.
        dataset = replace(dataset, symlinks=())
    state = changes(dataset, "DROP")
    if node.raw("ifExists") is not True:
        return state
    return only_if(fold, node, state, evidence.DROPPED, UNTOLD)


def _dropped_by_iceberg(fold: Fold, node: PlanNode, plan: PlanNode, name: tuple[str, str]) -> State:
    """DROP in Iceberg's session catalog, which looks among Iceberg's tables first.

    Which of its two catalogs had the table is known when it is gone.
    """
    if not evidence.ended(fold.record):
        return changes(None, None)
    if evidence.changed(fold.record, evidence.DROPPED, *name):
        return changes(fold.naming.resolved_identifier(plan), "DROP")
    state = changes(fold.naming.resolved_identifier(plan, iceberg=True), "DROP")
    return state if node.raw("ifExists") is not True else untold(state, UNTOLD)


@rule(
    "TruncateHoodieTableCommand",
    "TruncatePartition",
    "TruncateTable",
    "TruncateTableCommand",
)
def truncate(fold: Fold, node: PlanNode) -> State:
    """A table without its rows, or one partition without them."""
    subset = partitions(fold, node.raw("partitionSpec"))
    return changes(named_table(fold, node), "TRUNCATE", subset)
