"""CREATE and REPLACE TABLE without a query; a table after which one is modelled is not read."""

from __future__ import annotations

from spark_lineage.lineage import evidence
from spark_lineage.lineage.column import State
from spark_lineage.lineage.fold import Fold
from spark_lineage.lineage.rule import rule
from spark_lineage.lineage.rules.named import changes, named_table, session_name
from spark_lineage.lineage.target import Target
from spark_lineage.plan.node import PlanNode

UNTOLD = "IF NOT EXISTS: the catalog does not tell whether the table was there"


@rule(
    "CreateDataSourceTableCommand",
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
    name = session_name(fold, node)
    for target in state.outputs:
        if not isinstance(target, Target) or evidence.failed(fold.record):
            continue
        if name is None:
            target.lifecycle, target.issues = None, frozenset({UNTOLD})
        else:
            target.written = evidence.changed(fold.record, evidence.CREATED, *name)
    return state


@rule("ReplaceTable")
def replace_table(fold: Fold, node: PlanNode) -> State:
    """An empty table in the place of the one that was there."""
    return changes(named_table(fold, node), "OVERWRITE")
