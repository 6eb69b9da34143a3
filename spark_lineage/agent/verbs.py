"""What a command does, in a word: the same for a command in every Spark version and catalog."""

from __future__ import annotations

from typing import Any, Final

_VERBS: Final = {
    "create_table": (
        "CreateDataSourceTableCommand CreateHoodieTableCommand CreateHoodieTableLikeCommand"
        " CreateTable CreateTableCommand CreateTableLike CreateTableLikeCommand"
    ),
    "replace_table": "ReplaceTable",
    "drop_table": "DropHoodieTableCommand DropTable DropTableCommand",
    "rename_table": "AlterHoodieTableRenameCommand AlterTableRenameCommand RenameTable",
    "truncate_table": (
        "PaimonTruncateTableCommand TruncateHoodieTableCommand TruncatePartition TruncateTable"
        " TruncateTableCommand"
    ),
    "repair_table": "RecoverPartitions RepairHoodieTableCommand RepairTable RepairTableCommand",
    "alter_table": (
        "AlterHoodieTableAddColumnsCommand AlterHoodieTableAddPartitionCommand"
        " AlterHoodieTableChangeColumnCommand AlterHoodieTableDropPartitionCommand"
        " AlterTableCommand CreateIndexCommand DropIndexCommand "
        "AddCheckConstraint AddColumns AddConstraint AddPartitions AlterColumn AlterColumns"
        " AlterTableAddColumnsCommand AlterTableAddPartitionCommand"
        " AlterTableChangeColumnCommand AlterTableChangeColumnCommentsCommand"
        " AlterTableClusterBy AlterTableCollation AlterTableDropPartitionCommand"
        " AlterTableRenamePartitionCommand AlterTableSerDePropertiesCommand"
        " AlterTableSetLocationCommand AlterTableSetPropertiesCommand"
        " AlterTableUnsetPropertiesCommand CommentOnTable CreateIndex DropColumns DropConstraint"
        " DropIndex DropPartitions RenameColumn RenamePartitions ReplaceColumns SetTableLocation"
        " SetTableProperties SetTableSerDeProperties UnsetTableProperties AddPartitionField"
        " CreateOrReplaceBranch CreateOrReplaceTag DropBranch DropIdentifierFields"
        " DropPartitionField DropTag ReplacePartitionField SetIdentifierFields"
        " SetWriteDistributionAndOrdering"
    ),
    "create_view": (
        "CreateIcebergView CreateMetricView CreateMetricViewCommand CreateView CreateViewCommand"
    ),
    "drop_view": "DropIcebergView DropTempViewCommand DropView",
    "alter_view": (
        "AlterViewAs AlterViewAsCommand AlterViewSchemaBinding AlterViewSchemaBindingCommand"
        " SetViewProperties UnsetViewProperties"
    ),
    "load_data": "LoadData LoadDataCommand",
    "analyze_table": (
        "AnalyzeColumn AnalyzeColumnCommand AnalyzePartitionCommand AnalyzeTable"
        " AnalyzeTableCommand AnalyzeTables AnalyzeTablesCommand"
        " PaimonAnalyzeTableColumnCommand"
    ),
    "cache_table": "CacheTable CacheTableAsSelect",
    "uncache_table": "ClearCacheCommand UncacheTable UncacheTableCommand",
    "refresh_table": "RefreshResource RefreshTable RefreshTableCommand",
    "create_namespace": "CreateDatabaseCommand CreateNamespace",
    "drop_namespace": "DropDatabaseCommand DropNamespace",
    "alter_namespace": (
        "AlterDatabasePropertiesCommand AlterDatabaseSetLocationCommand CommentOnNamespace"
        " SetNamespaceCollationCommand SetNamespaceLocation SetNamespaceProperties"
        " UnsetNamespacePropertiesCommand"
    ),
    "delete": (
        "DeleteCommand DeleteFromPaimonTableCommand DeleteFromTable DeleteFromTableWithFilters"
        " DeleteHoodieTableCommand"
    ),
    "update": "UpdateCommand UpdateHoodieTableCommand UpdatePaimonTableCommand UpdateTable",
    "merge": (
        "DeltaMergeInto InsertOnlyMerge MergeIntoCommand MergeIntoHoodieTableCommand"
        " MergeIntoPaimonTable MergeIntoTable"
    ),
    "optimize": (
        "CompactionHoodiePathCommand CompactionHoodieTableCommand DeltaReorgTableCommand"
        " OptimizeTableCommand RefreshIndexCommand"
    ),
    "vacuum": "VacuumTableCommand",
    "restore": "RestoreTableCommand",
    "convert_table": "ConvertToDelta ConvertToDeltaCommand",
    "call": "Call CallProcedureHoodieCommand PaimonCallCommand",
}

VERB_OF: Final = {name: verb for verb, names in _VERBS.items() for name in names.split()}


def verb_of(record: dict[str, Any]) -> str | None:
    """The verb of the command at the root of the analyzed plan; None if it only moves rows.

    A write of rows (INSERT, CREATE TABLE AS, a DataFrame's write) is told by its
    output alone, and so is a query.
    """
    analyzed = (record.get("plans") or {}).get("analyzed")
    if analyzed is None:
        return None
    row = record["nodes"][analyzed]
    name, _, _, fields = record["shapes"][row[0]]
    verb = VERB_OF.get(str(name))
    if verb and "isView" in fields and row[3 + fields.index("isView")] is True:
        return verb.replace("table", "view")
    return verb
