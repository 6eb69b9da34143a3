"""Paimon's own commands beside the row-level ones: procedures, TRUNCATE, ANALYZE."""

from __future__ import annotations

from typing import Final

from spark_lineage.lineage.column import State
from spark_lineage.lineage.datasets import paimon
from spark_lineage.lineage.fold import Fold
from spark_lineage.lineage.rule import rule
from spark_lineage.lineage.rules.commands.nothing import nothing
from spark_lineage.lineage.rules.lakehouse import answered, kept, of_place, procedure_of, taken_over
from spark_lineage.lineage.rules.named import changes, partitions
from spark_lineage.plan.node import PlanNode

#: Procedures whose first argument is the kind of the table that their second names.
_MIGRATE_TABLE: Final = "MigrateTableProcedure"
_MIGRATE_FILE: Final = "MigrateFileProcedure"
_REPAIR: Final = "RepairProcedure"


@rule("PaimonCallCommand")
def call(fold: Fold, node: PlanNode) -> State:
    """CALL: a procedure works on the table that its first argument names."""
    catalog, name = procedure_of(fold, node)
    arguments = [fold.literal(ref) for ref in node.refs("args")]
    if name in (_MIGRATE_TABLE, _MIGRATE_FILE):
        arguments = arguments[1:]
    places = [of_place(fold, text, catalog) if text else None for text in arguments[:2]]
    whole = name == _REPAIR and "." not in (arguments[0] or "")
    if catalog is None or not places or whole:
        # A repair may be of a whole catalog, or of a database of it.
        return answered(fold, node, State({}, {}))
    if name == _MIGRATE_FILE and len(places) > 1:
        return answered(fold, node, taken_over(fold, node, places[0], places[1], None))
    return answered(fold, node, kept(places[0]))


@rule("PaimonTruncateTableCommand")
def truncate(fold: Fold, node: PlanNode) -> State:
    """TRUNCATE: the plan has the table without the catalog that it was found in."""
    table = node.raw("v2Table")
    dataset = paimon.by_settings(fold.naming, table) if isinstance(table, dict) else None
    return changes(dataset, "TRUNCATE", partitions(fold, node.raw("partitionSpec")))


@rule("PaimonAnalyzeTableColumnCommand")
def analyze(fold: Fold, node: PlanNode) -> State:
    """ANALYZE TABLE ... FOR COLUMNS reads the table's rows."""
    state, table = nothing(fold, node), node.raw("v2Table")
    if isinstance(table, dict):
        catalog, identifier = node.raw("catalog"), node.raw("identifier")
        dataset = paimon.table_of(fold.naming, table, catalog, identifier)
        if dataset is not None:
            fold.leaves[node.ref] = [dataset]
            fold.taken.add(dataset)
    return state
