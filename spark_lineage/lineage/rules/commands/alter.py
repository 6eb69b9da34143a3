"""ALTER TABLE and ALTER VIEW, and what repairs a table's list of partitions."""

from __future__ import annotations

from dataclasses import replace

from spark_lineage.lineage.column import State
from spark_lineage.lineage.fold import Fold
from spark_lineage.lineage.rule import rule
from spark_lineage.lineage.rules.named import (
    changes,
    is_temporary,
    named_table,
    partitions,
)
from spark_lineage.plan.node import PlanNode


@rule(
    "AddCheckConstraint",
    "AddColumns",
    "AddConstraint",
    "AddPartitions",
    "AlterColumn",
    "AlterColumns",
    "AlterHoodieTableAddColumnsCommand",
    "AlterHoodieTableChangeColumnCommand",
    "AlterTableAddColumnsCommand",
    "AlterTableChangeColumnCommand",
    "AlterTableChangeColumnCommentsCommand",
    "AlterTableClusterBy",
    "AlterTableCollation",
    "AlterTableCommand",
    "AlterTableSerDePropertiesCommand",
    "AlterTableSetPropertiesCommand",
    "AlterTableUnsetPropertiesCommand",
    "AlterViewSchemaBinding",
    "AlterViewSchemaBindingCommand",
    "CommentOnTable",
    "CreateIndex",
    "CreateIndexCommand",
    "DropColumns",
    "DropConstraint",
    "DropIndex",
    "DropIndexCommand",
    "DropPartitions",
    "RecoverPartitions",
    "RenameColumn",
    "RenamePartitions",
    "RepairTable",
    "RepairTableCommand",
    "ReplaceColumns",
    "SetTableProperties",
    "SetTableSerDeProperties",
    "SetViewProperties",
    "UnsetTableProperties",
    "UnsetViewProperties",
)
def alter(fold: Fold, node: PlanNode) -> State:
    """A table (or view) of another shape; a temporary view is no data set."""
    if node.raw("isView") is True and is_temporary(fold, node.raw("tableName")):
        return changes(None, None)
    return changes(named_table(fold, node), "ALTER", partitions(fold, node.raw("partSpec")))


@rule("AlterHoodieTableAddPartitionCommand", "AlterTableAddPartitionCommand")
def add_partitions(fold: Fold, node: PlanNode) -> State:
    """ADD PARTITION: pairs of a partition and, if it has one, its place."""
    raw = node.raw("partitionSpecsAndLocs") or node.raw("partitionSpecs")
    pairs = raw if isinstance(raw, list) else []
    specs = [pair[0] for pair in pairs if isinstance(pair, list) and pair]
    return changes(named_table(fold, node), "ALTER", partitions(fold, *specs))


@rule("AlterHoodieTableDropPartitionCommand", "AlterTableDropPartitionCommand")
def drop_partitions(fold: Fold, node: PlanNode) -> State:
    """DROP PARTITION."""
    raw = node.raw("specs") or node.raw("partitionSpecs")
    specs = raw if isinstance(raw, list) else []
    return changes(named_table(fold, node), "ALTER", partitions(fold, *specs))


@rule("AlterTableRenamePartitionCommand")
def rename_partition(fold: Fold, node: PlanNode) -> State:
    """RENAME PARTITION changes two: the one that was and the one that is."""
    subset = partitions(fold, node.raw("oldPartition"), node.raw("newPartition"))
    return changes(named_table(fold, node), "ALTER", subset)


@rule("AlterTableSetLocationCommand", "SetTableLocation")
def set_location(fold: Fold, node: PlanNode) -> State:
    """SET LOCATION: the table's path is another one from here on."""
    subset = partitions(fold, node.raw("partitionSpec"))
    dataset = named_table(fold, node)
    place = node.text("location")
    if dataset is not None and subset is None and place and ("://" in place or place[0] == "/"):
        path = fold.naming.path(place, trim=False)
        others = tuple(link for link in dataset.symlinks if link[2] != "LOCATION")
        link = (path.namespace, path.name, "LOCATION")
        dataset = replace(dataset, symlinks=(*others, link))
    return changes(dataset, "ALTER", subset)
