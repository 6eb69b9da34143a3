"""Hudi's own commands beside the row-level ones: maintenance and procedures."""

from __future__ import annotations

import re
from typing import Final

from spark_lineage.lineage.column import State
from spark_lineage.lineage.fold import Fold
from spark_lineage.lineage.model import Dataset
from spark_lineage.lineage.rule import rule
from spark_lineage.lineage.rules.lakehouse import answered, kept, of_parts, parts_of
from spark_lineage.lineage.rules.named import changes, named_table
from spark_lineage.plan.node import PlanNode

_SESSION: Final = "spark_catalog"
#: Procedures that only ask, by the name of their class.
_ASKS: Final = re.compile(r"(Show|Stats|Validate|Help|Export|CommitsCompare)")
#: Procedures whose executions inside tell what is read and written.
_COPIES: Final = frozenset({"CopyToTable", "CopyToTempView"})
_CHANGES: Final = {
    "DropPartition": "ALTER",
    "HdfsParquetImport": None,
    "RunBootstrap": None,
    "TruncateTable": "TRUNCATE",
}


@rule(
    "CompactionHoodieTableCommand",
    "RefreshIndexCommand",
    "RepairHoodieTableCommand",
)
def maintain(fold: Fold, node: PlanNode) -> State:
    """RUN COMPACTION, REFRESH INDEX, MSCK REPAIR: the same rows in other files."""
    return answered(fold, node, kept(named_table(fold, node)))


@rule("CompactionHoodiePathCommand")
def maintain_path(fold: Fold, node: PlanNode) -> State:
    """RUN COMPACTION on a path."""
    return answered(fold, node, kept(_at(fold, node.text("path"))))


@rule("CallProcedureHoodieCommand")
def call(fold: Fold, node: PlanNode) -> State:
    """CALL: a procedure works on the table or path that one of its first arguments names."""
    name = (fold.record.class_of(node.raw("procedure")) or "").removesuffix("Procedure")
    if _ASKS.match(name) or name in _COPIES:
        return answered(fold, node, State({}, {}))
    dataset = _argument(fold, node)
    if name in _CHANGES:
        return answered(fold, node, changes(dataset, _CHANGES[name]))
    return answered(fold, node, kept(dataset))


def _argument(fold: Fold, node: PlanNode) -> Dataset | None:
    """What a call's ``table`` or ``path`` names; arguments without a name go by their number."""
    procedure, described = node.raw("procedure"), node.raw("args")
    if not isinstance(procedure, dict) or not isinstance(described, dict):
        return None
    names = fold.record.texts(procedure.get("parameters"))
    told: dict[str, str] = {}
    for key, value in fold.record.mapping(described.get("arguments")).items():
        at = int(key) if key.isdecimal() else -1
        if isinstance(value, str):
            told[names[at] if 0 <= at < len(names) else key] = value
    if told.get("table"):
        return of_parts(fold, parts_of(told["table"]), _SESSION)
    return _at(fold, told.get("path"))


def _at(fold: Fold, path: str | None) -> Dataset | None:
    return fold.naming.path(path.replace("%", "%25"), trim=False, form="hudi") if path else None
