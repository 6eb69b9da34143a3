"""CREATE and REPLACE TABLE without a query; a table after which one is modelled is not read."""

from __future__ import annotations

from spark_lineage.lineage import evidence
from spark_lineage.lineage.column import State
from spark_lineage.lineage.fold import Fold
from spark_lineage.lineage.rule import rule
from spark_lineage.lineage.rules.named import changes, named_table, only_if
from spark_lineage.plan.node import PlanNode

UNTOLD = "IF NOT EXISTS: the catalog does not tell whether the table was there"


@rule(
    "CreateDataSourceTableCommand",
    "CreateHoodieTableCommand",
    "CreateHoodieTableLikeCommand",
    "CreateMetricView",
    "CreateMetricViewCommand",
    "CreateTable",
    "CreateTableCommand",
    "CreateTableLike",
    "CreateTableLikeCommand",
)
def create_table(fold: Fold, node: PlanNode) -> State:
    """A table that was not there; with IF NOT EXISTS nothing, where one was."""
    state = changes(named_table(fold, node), "CREATE")
    if not any(node.raw(field) is True for field in ("ignoreIfExists", "ifNotExists")):
        return state
    return only_if(fold, node, state, evidence.CREATED, UNTOLD)


@rule("ReplaceTable")
def replace_table(fold: Fold, node: PlanNode) -> State:
    """An empty table in the place of the one that was there."""
    return changes(named_table(fold, node), "OVERWRITE")
