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
)
from spark_lineage.plan.node import PlanNode

UNTOLD = "IF EXISTS: the catalog does not tell whether the table was there"


@rule("DropTable", "DropTableCommand", "DropView")
def drop(fold: Fold, node: PlanNode) -> State:
    """A table or view that is gone; with IF EXISTS nothing, where none was."""
    dataset = named_table(fold, node)
    plan = named_plan(fold, node) if described_table(fold, node) is None else None
    if dataset is not None and plan is not None and not isinstance(plan.raw("table"), dict):
        # The plan has the name only: the default place of such a table need not be its own.
        dataset = replace(dataset, symlinks=())
    state = changes(dataset, "DROP")
    if node.raw("ifExists") is not True:
        return state
    return only_if(fold, node, state, evidence.DROPPED, UNTOLD)


@rule("TruncatePartition", "TruncateTable", "TruncateTableCommand")
def truncate(fold: Fold, node: PlanNode) -> State:
    """A table without its rows, or one partition without them."""
    subset = partitions(fold, node.raw("partitionSpec"))
    return changes(named_table(fold, node), "TRUNCATE", subset)
