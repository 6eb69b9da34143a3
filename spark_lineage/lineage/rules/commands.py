"""Commands that carry no column: they create, change or drop a table."""

from __future__ import annotations

from spark_lineage.lineage.column import State
from spark_lineage.lineage.fold import Fold
from spark_lineage.lineage.model import Dataset
from spark_lineage.lineage.rule import rule
from spark_lineage.lineage.target import Target
from spark_lineage.plan.node import PlanNode

_LIFECYCLES = {
    "AlterTable": "ALTER",
    "AddColumns": "ALTER",
    "RenameTable": "RENAME",
    "AlterTableRename": "RENAME",
    "Drop": "DROP",
    "Truncate": "TRUNCATE",
    "Create": "CREATE",
    "Replace": "CREATE",
}


def _lifecycle(name: str) -> str | None:
    best = max((key for key in _LIFECYCLES if name.startswith(key)), key=len, default=None)
    return _LIFECYCLES[best] if best else None


def _dataset(fold: Fold, node: PlanNode) -> Dataset | None:
    for field in ("table", "tableName", "tableIdentifier", "name", "tableDesc", "oldName"):
        raw = node.raw(field)
        if isinstance(raw, dict):
            kind = fold.record.class_of(raw)
            if kind == "CatalogTable":
                return fold.naming.catalog_table(raw)
            if kind == "TableIdentifier":
                return fold.naming.identifier(raw)
    for ref in [*node.refs("name"), *node.refs("table"), *node.refs("child"), *node.children]:
        if fold.record.shape(ref).kind == "P":
            target = PlanNode(fold.record, ref)
            if target.has("identifier"):
                return fold.naming.resolved_identifier(target)
    return None


@rule(
    "AddColumns",
    "AlterColumns",
    "AlterTableAddColumnsCommand",
    "AlterTableAddPartitionCommand",
    "AlterTableChangeColumnCommand",
    "AlterTableDropPartitionCommand",
    "AlterTableRenameCommand",
    "AlterTableSetLocationCommand",
    "AlterTableSetPropertiesCommand",
    "AlterTableUnsetPropertiesCommand",
    "CreateDataSourceTableCommand",
    "CreateTable",
    "CreateTableCommand",
    "CreateTableLikeCommand",
    "DropTable",
    "DropTableCommand",
    "DropView",
    "RenameTable",
    "ReplaceTable",
    "TruncateTable",
    "TruncateTableCommand",
)
def change_table(fold: Fold, node: PlanNode) -> State:
    """The table is an output without columns."""
    state = State({}, {}, [])
    dataset = _dataset(fold, node)
    if dataset is not None:
        state.outputs.append(Target(dataset, lifecycle=_lifecycle(node.class_name)))
    return state


@rule(
    "AddJarsCommand",
    "AnalyzeColumnCommand",
    "AnalyzeTableCommand",
    "AnalyzeTablesCommand",
    "ClearCacheCommand",
    "CommandResult",
    "CreateDatabaseCommand",
    "CreateFunctionCommand",
    "CreateNamespace",
    "CreateTempViewUsing",
    "DescribeColumnCommand",
    "DescribeRelation",
    "DescribeTableCommand",
    "DropFunctionCommand",
    "DropNamespace",
    "DropTempViewCommand",
    "ExplainCommand",
    "ListJarsCommand",
    "NoopCommand",
    "RefreshTable",
    "RefreshTableCommand",
    "RepairTableCommand",
    "ResetCommand",
    "ResolvedIdentifier",
    "ResolvedNamespace",
    "ResolvedPersistentView",
    "ResolvedTable",
    "ResolvedTempView",
    "SetCatalogAndNamespace",
    "SetCatalogCommand",
    "SetCommand",
    "SetNamespaceCommand",
    "ShowColumnsCommand",
    "ShowCreateTableCommand",
    "ShowFunctionsCommand",
    "ShowNamespaces",
    "ShowNamespacesCommand",
    "ShowPartitionsCommand",
    "ShowTables",
    "ShowTablesCommand",
    "ShowTablePropertiesCommand",
    "ShowViewsCommand",
    "UncacheTable",
    "UncacheTableCommand",
)
def nothing(fold: Fold, node: PlanNode) -> State:
    """No data set is read or written."""
    from spark_lineage.lineage.column import DERIVED, Column

    columns = {expr_id: Column({}, DERIVED, system=True) for expr_id in fold.ids(node.output())}
    return State(columns, {})
