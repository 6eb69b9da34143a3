"""Commands that read a table and write nothing: ANALYZE, CACHE TABLE, SET VAR."""

from __future__ import annotations

from spark_lineage.lineage.column import State
from spark_lineage.lineage.fold import Fold
from spark_lineage.lineage.rule import rule
from spark_lineage.lineage.rules.commands.nothing import nothing
from spark_lineage.lineage.rules.named import named_table
from spark_lineage.lineage.rules.writes import write
from spark_lineage.plan.node import PlanNode


@rule(
    "AnalyzeColumn",
    "AnalyzeColumnCommand",
    "AnalyzePartitionCommand",
    "AnalyzeTable",
    "AnalyzeTableCommand",
)
def analyze(fold: Fold, node: PlanNode) -> State:
    """The rows are counted, unless NOSCAN: then only the files' sizes are summed."""
    state = nothing(fold, node)
    dataset = named_table(fold, node)
    skipped = any(node.raw(field) is True for field in ("noScan", "noscan"))
    if dataset is not None and not skipped:
        fold.leaves[node.ref] = [dataset]
        fold.taken.add(dataset)
    return state


@rule("CacheTable", "CacheTableAsSelect", "SetVariable")
def keep(fold: Fold, node: PlanNode) -> State:
    """A cache or a variable is no data set: the query's columns, without a name."""
    if node.raw("isLazy") is True:
        # Nothing is read before somebody asks for it.
        return nothing(fold, node)
    return write(fold, node, None)
