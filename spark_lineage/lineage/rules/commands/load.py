"""LOAD DATA: files are moved or copied into a table as they are."""

from __future__ import annotations

from spark_lineage.lineage.column import State
from spark_lineage.lineage.fold import Fold
from spark_lineage.lineage.rule import rule
from spark_lineage.lineage.rules.named import changes, named_table, partitions
from spark_lineage.lineage.target import Target
from spark_lineage.plan.node import PlanNode

UNREAD = "LOAD DATA does not look into the files: which of their columns are whose is not known"


@rule("LoadData", "LoadDataCommand")
def load_data(fold: Fold, node: PlanNode) -> State:
    """The files are the input; their columns have no names that Spark would know."""
    overwrite = node.raw("isOverwrite") is True
    subset = partitions(fold, node.raw("partition"))
    state = changes(named_table(fold, node), "OVERWRITE" if overwrite else None, subset)
    for target in state.outputs:
        if isinstance(target, Target):
            target.issues = frozenset({UNREAD})
    path = node.text("path")
    if path:
        files = fold.naming.path(path)
        fold.leaves[node.ref] = [files]
        fold.taken.add(files)
    return state
