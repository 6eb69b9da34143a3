"""Commands that carry no column: they create, change or drop a table."""

from __future__ import annotations

from spark_lineage.lineage.column import DERIVED, Column, State
from spark_lineage.lineage.fold import Fold
from spark_lineage.lineage.model import Dataset
from spark_lineage.lineage.rule import rule
from spark_lineage.lineage.target import Target
from spark_lineage.plan.node import PlanNode

_LIFECYCLES = {
    "Add": "ALTER",
    "Alter": "ALTER",
    "DropColumns": "ALTER",
    "DropConstraint": "ALTER",
    "DropPartitions": "ALTER",
    "RenameColumn": "ALTER",
    "RenamePartitions": "ALTER",
    "ReplaceColumns": "ALTER",
    "Set": "ALTER",
    "Unset": "ALTER",
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
    "AddCheckConstraint",
    "AddColumns",
    "AddConstraint",
    "AddPartitions",
    "AlterColumn",
    "AlterColumns",
    "AlterTableAddColumnsCommand",
    "AlterTableAddPartitionCommand",
    "AlterTableChangeColumnCommand",
    "AlterTableClusterBy",
    "AlterTableCollation",
    "AlterTableDropPartitionCommand",
    "AlterTableRenameCommand",
    "AlterTableRenamePartitionCommand",
    "AlterTableSerDePropertiesCommand",
    "AlterTableSetLocationCommand",
    "AlterTableSetPropertiesCommand",
    "AlterTableUnsetPropertiesCommand",
    "CreateDataSourceTableCommand",
    "CreateTable",
    "CreateTableCommand",
    "CreateTableLike",
    "CreateTableLikeCommand",
    "DropColumns",
    "DropConstraint",
    "DropPartitions",
    "DropTable",
    "DropTableCommand",
    "DropView",
    "RenameColumn",
    "RenamePartitions",
    "RenameTable",
    "ReplaceColumns",
    "ReplaceTable",
    "SetTableLocation",
    "SetTableProperties",
    "SetTableSerDeProperties",
    "TruncatePartition",
    "TruncateTable",
    "TruncateTableCommand",
    "UnsetTableProperties",
)
def change_table(fold: Fold, node: PlanNode) -> State:
    """The table is an output without columns."""
    state = State({}, {}, [])
    dataset = _dataset(fold, node)
    if dataset is not None:
        state.outputs.append(Target(dataset, lifecycle=_lifecycle(node.class_name)))
    return state


@rule(
    "AddArchivesCommand",
    "AddFilesCommand",
    "AddJarsCommand",
    "AlterDatabasePropertiesCommand",
    "AlterDatabaseSetLocationCommand",
    "AlterViewSchemaBinding",
    "AlterViewSchemaBindingCommand",
    "AnalyzeColumn",
    "AnalyzeColumnCommand",
    "AnalyzePartitionCommand",
    "AnalyzeTable",
    "AnalyzeTableCommand",
    "AnalyzeTables",
    "AnalyzeTablesCommand",
    "ClearCacheCommand",
    "CommentOnNamespace",
    "CommentOnTable",
    "CreateDatabaseCommand",
    "CreateFunction",
    "CreateFunctionCommand",
    "CreateNamespace",
    "CreateSQLFunctionCommand",
    "CreateTempViewUsing",
    "CreateUserDefinedFunction",
    "CreateVariable",
    "DescribeColumn",
    "DescribeColumnCommand",
    "DescribeDatabaseCommand",
    "DescribeFunction",
    "DescribeFunctionCommand",
    "DescribeNamespace",
    "DescribeProcedureCommand",
    "DescribeQueryCommand",
    "DescribeRelation",
    "DescribeRelationJsonCommand",
    "DescribeTableCommand",
    "DescribeTablePartition",
    "DropDatabaseCommand",
    "DropFunction",
    "DropFunctionCommand",
    "DropNamespace",
    "DropTempViewCommand",
    "DropVariable",
    "ExplainCommand",
    "ListArchivesCommand",
    "ListFilesCommand",
    "ListJarsCommand",
    "NoopCommand",
    "RecoverPartitions",
    "RefreshFunction",
    "RefreshFunctionCommand",
    "RefreshResource",
    "RefreshTable",
    "RefreshTableCommand",
    "RepairTable",
    "RepairTableCommand",
    "ResetCommand",
    "ResolvedIdentifier",
    "ResolvedInlineTable",
    "ResolvedNamespace",
    "ResolvedNonPersistentFunc",
    "ResolvedPersistentFunc",
    "ResolvedPersistentView",
    "ResolvedProcedure",
    "ResolvedTable",
    "ResolvedTempView",
    "SetCatalogAndNamespace",
    "SetCatalogCommand",
    "SetCommand",
    "SetNamespaceCollationCommand",
    "SetNamespaceCommand",
    "SetNamespaceLocation",
    "SetNamespaceProperties",
    "SetPathCommand",
    "SetViewProperties",
    "ShowCatalogsCommand",
    "ShowCollationsCommand",
    "ShowColumns",
    "ShowColumnsCommand",
    "ShowCreateTable",
    "ShowCreateTableAsSerdeCommand",
    "ShowCreateTableCommand",
    "ShowCurrentNamespaceCommand",
    "ShowFunctions",
    "ShowFunctionsCommand",
    "ShowNamespaces",
    "ShowNamespacesCommand",
    "ShowPartitions",
    "ShowPartitionsCommand",
    "ShowPartitionsJsonCommand",
    "ShowProceduresCommand",
    "ShowTableExtended",
    "ShowTablePartition",
    "ShowTableProperties",
    "ShowTablePropertiesCommand",
    "ShowTables",
    "ShowTablesCommand",
    "ShowTablesExtended",
    "ShowTablesJsonCommand",
    "ShowViews",
    "ShowViewsCommand",
    "StreamingExplainCommand",
    "UncacheTable",
    "UncacheTableCommand",
    "UnsetNamespacePropertiesCommand",
    "UnsetViewProperties",
)
def nothing(fold: Fold, node: PlanNode) -> State:
    """No data set is read or written by a column."""
    columns = {expr_id: Column({}, DERIVED, system=True) for expr_id in fold.ids(node.output())}
    return State(columns, {})


@rule("CommandResult")
def command_result(fold: Fold, node: PlanNode) -> State:
    """A command that has run already (``spark.sql("INSERT ...")``): what it wrote."""
    columns = {expr_id: Column({}, DERIVED, system=True) for expr_id in fold.ids(node.output())}
    state = State(columns, {})
    plan = node.ref_of("commandLogicalPlan")
    if plan is not None:
        command = fold.state(plan)
        state.outputs.extend(command.outputs)
        state.issues = command.issues
        state.uses = [plan]
    return state
