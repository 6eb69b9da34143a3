"""Commands that write what a query gives: inserts, CTAS, path writes, views."""

from __future__ import annotations

from typing import Any

from spark_lineage.lineage.column import DERIVED, Column, Origin, State
from spark_lineage.lineage.datasets import Schema
from spark_lineage.lineage.fold import Fold
from spark_lineage.lineage.model import Dataset
from spark_lineage.lineage.rule import rule
from spark_lineage.lineage.target import Target
from spark_lineage.plan.node import PlanNode

_OVERWRITE = "Overwrite"


def query_of(fold: Fold, node: PlanNode) -> int:
    """The row of the query that a command writes."""
    for field in ("query", "plan"):
        ref = node.ref_of(field)
        if ref is not None:
            return ref
    return node.children[-1]


def write(
    fold: Fold,
    node: PlanNode,
    dataset: Dataset | None,
    names: list[str] | None = None,
    static: dict[str, str | None] | None = None,
    lifecycle: str | None = None,
) -> State:
    """The state of a command: the query's columns by position, under the target's names."""
    query = query_of(fold, node)
    state = fold.state(query)
    refs = PlanNode(fold.record, query).output()
    order = fold.order(query)
    own = fold.names(refs)
    types = [fold.record.expression(ref).data_type() for ref in refs]
    if names is None or len(names) < len(own):
        names = own
    columns = [
        (name, state.columns[expr_id], kind)
        for name, expr_id, kind in zip(names, order, types, strict=False)
    ]
    known = {name.lower() for name, _, _ in columns}
    for name, value in (static or {}).items():
        if name.lower() not in known:
            columns.append((name, Column({}, DERIVED, Origin(_quoted(value))), None))
    found = State({}, {}, [], state.issues)
    found.uses = [query]
    found.outputs.append(Target(dataset, columns, state.rows, state.issues, lifecycle))
    return found


def _quoted(value: str | None) -> str:
    return "NULL" if value is None else f"'{value}'"


def query_schema(fold: Fold, node: PlanNode, names: list[str] | None = None) -> Schema:
    """The schema that the query gives, under the names that it is written with."""
    refs = PlanNode(fold.record, query_of(fold, node)).output()
    names = names or fold.names(refs)
    kinds = [fold.record.expression(ref).data_type() or "" for ref in refs]
    return tuple((name, kind, None) for name, kind in zip(names, kinds, strict=False))


def _static(fold: Fold, raw: Any) -> dict[str, str | None]:
    """The partition columns to which a value is given in the statement."""
    return {
        key: value if isinstance(value, str) else None
        for key, value in fold.record.mapping(raw).items()
        if value is not None
    }


def _names(fold: Fold, node: PlanNode) -> list[str] | None:
    return fold.record.texts(node.raw("outputColumnNames")) or None


def _mode(node: PlanNode) -> str | None:
    """Whether what was there is replaced."""
    overwrite = node.raw("overwrite")
    if overwrite is True or node.text("mode") == _OVERWRITE:
        return "OVERWRITE"
    return None


@rule("InsertIntoHadoopFsRelationCommand")
def insert_into_files(fold: Fold, node: PlanNode) -> State:
    """A table's files, or a path."""
    names = _names(fold, node)
    schema = query_schema(fold, node, names)
    dataset = fold.naming.catalog_table(node.raw("catalogTable"), schema)
    if dataset is None:
        path = fold.naming.described_path(node.raw("outputPath"))
        dataset = fold.naming.path(path or "", trim=False, schema=schema)
    return write(
        fold, node, dataset, names, _static(fold, node.raw("staticPartitions")), _mode(node)
    )


@rule("InsertIntoHiveTable")
def insert_into_hive(fold: Fold, node: PlanNode) -> State:
    """A table of Hive's own formats."""
    dataset = fold.naming.catalog_table(node.raw("table"))
    static = _static(fold, node.raw("partition"))
    return write(fold, node, dataset, _names(fold, node), static, _mode(node))


@rule(
    "CreateDataSourceTableAsSelectCommand",
    "CreateHiveTableAsSelectCommand",
    "OptimizedCreateHiveTableAsSelectCommand",
    "SaveAsV1TableCommand",
)
def create_as_select(fold: Fold, node: PlanNode) -> State:
    """CREATE TABLE ... AS SELECT, saveAsTable."""
    names = _names(fold, node)
    described = node.raw("table") if node.has("table") else node.raw("tableDesc")
    dataset = fold.naming.catalog_table(described, query_schema(fold, node, names))
    mode = "OVERWRITE" if node.text("mode") == _OVERWRITE else "CREATE"
    return write(fold, node, dataset, names, None, mode)


@rule("SaveIntoDataSourceCommand")
def save_into_source(fold: Fold, node: PlanNode) -> State:
    """A data source with a writer of its own, such as JDBC."""
    dataset = fold.naming.saved(node.raw("options"), query_schema(fold, node))
    return write(fold, node, dataset, None, None, _mode(node))


@rule("InsertIntoDataSourceCommand")
def insert_into_source(fold: Fold, node: PlanNode) -> State:
    """An insert into a relation that takes rows itself."""
    target = PlanNode(fold.record, node.refs("logicalRelation")[0])
    datasets = fold.naming.relation(target)
    names = fold.names(target.output())
    return write(fold, node, datasets[0] if datasets else None, names, None, _mode(node))


@rule("InsertIntoDataSourceDirCommand", "InsertIntoHiveDirCommand", "InsertIntoDir")
def insert_into_directory(fold: Fold, node: PlanNode) -> State:
    """INSERT OVERWRITE DIRECTORY."""
    schema = query_schema(fold, node)
    place = None
    for ref in node.refs("storage"):
        storage = fold.record.expression(ref)
        place = fold.naming.described_path(storage.raw("locationUri"))
        if place is None:
            found = fold.record.mapping(storage.raw("properties")).get("path")
            place = found if isinstance(found, str) else None
    dataset = fold.naming.path(place, trim=False, schema=schema) if place else None
    return write(fold, node, dataset, _names(fold, node), None, "OVERWRITE")


@rule("InsertIntoStatement")
def insert_statement(fold: Fold, node: PlanNode) -> State:
    """An insert that no later step replaced; the target's columns by position."""
    ref = node.refs("table")[0]
    target = PlanNode(fold.record, ref)
    while target.class_name == "SubqueryAlias":
        target = PlanNode(fold.record, target.children[0])
    dataset = fold.naming.resolved_identifier(target) if target.has("identifier") else None
    if dataset is None:
        datasets = fold.naming.relation(target)
        dataset = datasets[0] if datasets else None
    static = _static(fold, node.raw("partitionSpec"))
    names = [n for n in fold.names(target.output()) if n not in static]
    return write(fold, node, dataset, names, static, _mode(node))


@rule("AppendData", "OverwriteByExpression", "OverwritePartitionsDynamic")
def write_v2(fold: Fold, node: PlanNode) -> State:
    """An insert into a DataSource V2 table: Spark has put the query into its columns' order."""
    target = PlanNode(fold.record, node.refs("table")[0])
    while target.class_name in ("SubqueryAlias", "View"):
        target = PlanNode(fold.record, target.children[0])
    datasets = fold.naming.relation(target)
    names = fold.names(target.output())
    mode = None if node.class_name == "AppendData" else "OVERWRITE"
    return write(fold, node, datasets[0] if datasets else None, names, None, mode)


@rule("CreateTableAsSelect", "ReplaceTableAsSelect")
def create_as_select_v2(fold: Fold, node: PlanNode) -> State:
    """CREATE or REPLACE TABLE ... AS SELECT through a catalog."""
    name = node.refs("name") or node.children
    target = PlanNode(fold.record, name[0])
    dataset = fold.naming.resolved_identifier(target, query_schema(fold, node))
    mode = "CREATE" if node.class_name == "CreateTableAsSelect" else "OVERWRITE"
    return write(fold, node, dataset, None, None, mode)


@rule("WriteToDataSourceV2", "WriteToMicroBatchDataSource", "WriteToMicroBatchDataSourceV1")
def write_to_source(fold: Fold, node: PlanNode) -> State:
    """A V2 sink that is no table."""
    dataset = None
    relation = node.refs("relation")
    if relation:
        datasets = fold.naming.relation(PlanNode(fold.record, relation[0]))
        dataset = datasets[0] if datasets else None
    if dataset is None:
        dataset = fold.naming.catalog_table(node.raw("catalogTable"))
    return write(fold, node, dataset, None, None, None)


@rule("CreateViewCommand", "AlterViewAsCommand")
def create_view(fold: Fold, node: PlanNode) -> State:
    """A permanent view is an output under its declared names; a temporary one is none."""
    names = None
    declared = node.raw("userSpecifiedColumns")
    if isinstance(declared, list) and declared:
        names = _declared(fold, declared)
    kind = node.text("viewType")
    temporary = kind is not None and kind != "PersistedView"
    identifier = node.raw("name")
    if isinstance(identifier, dict) and fold.record.text(identifier.get("database")) is None:
        temporary = temporary or node.raw("isTempView") is True
    dataset = None
    if not temporary:
        dataset = fold.naming.identifier(identifier, query_schema(fold, node, names))
    mode = "ALTER" if node.class_name.startswith("Alter") else "CREATE"
    return write(fold, node, dataset, names, None, mode)


def _declared(fold: Fold, raw: list[Any]) -> list[str] | None:
    """The names of a list of (name, comment) pairs, however a pair was written down."""
    names = []
    for pair in raw:
        first = pair[0] if isinstance(pair, list) and pair else pair
        if isinstance(first, dict) and "_1" in first:
            first = first["_1"]
        elif type(first) is int and first >= 0:
            row = fold.rows[first]
            first = row[-2] if len(row) >= 3 else None
        name = fold.record.text(first)
        if name is None:
            return None
        names.append(name)
    return names


@rule("CacheTableAsSelect", "CacheTable")
def cache_table(fold: Fold, node: PlanNode) -> State:
    """A cache is no data set: the query's columns, without a name."""
    return write(fold, node, None)
