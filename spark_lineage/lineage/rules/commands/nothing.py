"""Commands without a data set: sessions, namespaces, functions, temporary views, questions."""

from __future__ import annotations

from spark_lineage.lineage.column import DERIVED, Column, State
from spark_lineage.lineage.fold import Fold
from spark_lineage.lineage.rule import rule
from spark_lineage.plan.node import PlanNode

#: The execution of a record that a user asked for, of a query that need not run.
_ASKED = -1


@rule(
    "AddArchivesCommand",
    "AddFilesCommand",
    "AddJarsCommand",
    "AlterDatabasePropertiesCommand",
    "AlterDatabaseSetLocationCommand",
    "AnalyzeTables",
    "AnalyzeTablesCommand",
    "ClearCacheCommand",
    "CommentOnNamespace",
    "CompactionShowHoodiePathCommand",
    "CompactionShowHoodieTableCommand",
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
    "PaimonShowColumnsCommand",
    "RefreshFunction",
    "RefreshFunctionCommand",
    "RefreshResource",
    "RefreshTable",
    "RefreshTableCommand",
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
    "ResolvedV2View",
    "SetCatalogAndNamespace",
    "SetCatalogCommand",
    "SetCommand",
    "SetNamespaceCollationCommand",
    "SetNamespaceCommand",
    "SetNamespaceLocation",
    "SetNamespaceProperties",
    "SetPathCommand",
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
    "ShowHoodieCreateTableCommand",
    "ShowHoodieTablePartitionsCommand",
    "ShowIndexesCommand",
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
)
def nothing(fold: Fold, node: PlanNode) -> State:
    """No data set is read or written."""
    columns = {expr_id: Column({}, DERIVED, system=True) for expr_id in fold.ids(node.output())}
    return State(columns, {})


@rule("CommandResult")
def command_result(fold: Fold, node: PlanNode) -> State:
    """A command that has run already (``spark.sql("INSERT ...")``).

    Asked what such a DataFrame is, we say what the command wrote. An action on
    it only shows the command's answer: the command was a run of its own.
    """
    state = nothing(fold, node)
    plan = node.ref_of("commandLogicalPlan")
    if plan is not None and fold.record.execution.get("id") == _ASKED:
        command = fold.state(plan)
        state.outputs.extend(command.outputs)
        state.issues = command.issues
        state.uses = [plan]
    return state
