"""Commands that write what a query gives: inserts, CTAS, path writes, views."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from spark_lineage.lineage import evidence
from spark_lineage.lineage.column import DERIVED, Column, Origin, State
from spark_lineage.lineage.datasets import Schema
from spark_lineage.lineage.datasets.kafka import is_kafka
from spark_lineage.lineage.datasets.lakehouse import is_new_delta
from spark_lineage.lineage.datasets.paths import absolute
from spark_lineage.lineage.datasets.subset import partitions
from spark_lineage.lineage.fold import Fold
from spark_lineage.lineage.model import Dataset
from spark_lineage.lineage.rule import rule
from spark_lineage.lineage.rules.hudi_writes import (
    HUDI_DELETES,
    HUDI_OVERWRITES,
    hudi_deletes,
    hudi_operation,
)
from spark_lineage.lineage.rules.named import current_database, makes_iceberg
from spark_lineage.lineage.rules.topics import topics_of
from spark_lineage.lineage.rules.written_part import replaced_by_option, written_part
from spark_lineage.lineage.target import Target
from spark_lineage.plan.node import PlanNode

_OVERWRITE = "Overwrite"
_IGNORE = "Ignore"
_ERROR = "ErrorIfExists"
_SPARK = "org.apache.spark."

UNTOLD = "mode ignore: the source does not tell whether it wrote"


def query_of(fold: Fold, node: PlanNode) -> int:
    """The row of the query that a command writes."""
    for field in ("query", "plan", "sourceQuery", "table"):
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
    if static and dataset is not None and "subset" not in dataset.facts:
        told = {key: value for key, value in static.items() if value is not None}
        if told:
            dataset = replace(dataset, facts={**dataset.facts, "subset": partitions([told])})
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


def _new(node: PlanNode) -> bool:
    """Whether what is written can only be new: the save mode refuses or ignores what exists."""
    return node.text("mode") in (_ERROR, _IGNORE)


def _only_if(state: State, written: bool | None) -> State:
    """The same write, done only if something was not there before."""
    for target in state.outputs:
        if isinstance(target, Target):
            target.written = written
    return state


def _committed(fold: Fold, node: PlanNode, state: State) -> State:
    """A write of files that may find its path or partition there, and then does nothing."""
    conditional = node.text("mode") == _IGNORE or node.raw("ifPartitionNotExists") is True
    if not conditional or evidence.failed(fold.record):
        return state
    return _only_if(state, evidence.committed(fold.record))


@rule("InsertIntoHadoopFsRelationCommand")
def insert_into_files(fold: Fold, node: PlanNode) -> State:
    """A table's files, or a path."""
    names = _names(fold, node)
    schema = query_schema(fold, node, names)
    dataset = fold.naming.catalog_table(node.raw("catalogTable"), schema)
    mode = _mode(node)
    if dataset is None:
        path = fold.naming.described_path(node.raw("outputPath"))
        form = node.raw("fileFormat")
        told = fold.record.text(form.get("format")) if isinstance(form, dict) else None
        dataset = fold.naming.path(path or "", trim=False, schema=schema, form=told)
        # A new partition directory makes no new data set.
        if _new(node) and "subset" not in dataset.facts:
            mode = "CREATE"
    static = _static(fold, node.raw("staticPartitions"))
    return _committed(fold, node, write(fold, node, dataset, names, static, mode))


@rule("InsertIntoHiveTable")
def insert_into_hive(fold: Fold, node: PlanNode) -> State:
    """A table of Hive's own formats."""
    dataset = fold.naming.catalog_table(node.raw("table"))
    static = _static(fold, node.raw("partition"))
    state = write(fold, node, dataset, _names(fold, node), static, _mode(node))
    return _committed(fold, node, state)


@rule(
    "CreateDataSourceTableAsSelectCommand",
    "CreateHiveTableAsSelectCommand",
    "OptimizedCreateHiveTableAsSelectCommand",
    "CreateHoodieTableAsSelectCommand",
    "SaveAsV1TableCommand",
)
def create_as_select(fold: Fold, node: PlanNode) -> State:
    """CREATE TABLE ... AS SELECT, saveAsTable."""
    names = _names(fold, node)
    described = node.raw("table") if node.has("table") else node.raw("tableDesc")
    dataset = fold.naming.catalog_table(described, query_schema(fold, node, names))
    state = write(fold, node, dataset, names, None, _lifecycle_of_save(fold, node, described))
    if node.text("mode") == _IGNORE and not evidence.failed(fold.record):
        return _only_if(state, _table_event(fold, described, evidence.CREATED))
    return state


def _table_event(fold: Fold, described: Any, event: str) -> bool | None:
    """Whether the catalog made (dropped) the table that a command describes."""
    text = fold.record.text
    table = text(described.get("table")) if isinstance(described, dict) else None
    database = text(described.get("database")) if isinstance(described, dict) else None
    database = database or current_database(fold)
    return evidence.changed(fold.record, event, database, table or "")


def _lifecycle_of_save(fold: Fold, node: PlanNode, described: Any) -> str | None:
    """An append or an overwrite of a table that was not there makes it."""
    mode = node.text("mode")
    made = _table_event(fold, described, evidence.CREATED)
    if mode == "Append":
        return "CREATE" if made else None
    if mode != _OVERWRITE:
        return "CREATE"
    # Only this command drops the old table itself, where its own execution shows it.
    if node.class_name == "SaveAsV1TableCommand" and made:
        dropped = _table_event(fold, described, evidence.DROPPED)
        return "OVERWRITE" if dropped else "CREATE"
    return "OVERWRITE"


@rule("SaveIntoDataSourceCommand")
def save_into_source(fold: Fold, node: PlanNode) -> State:
    """A data source with a writer of its own, such as JDBC."""
    raw, schema = node.raw("options"), query_schema(fold, node)
    topics, issues = topics_of(fold, query_of(fold, node), raw)
    datasets = fold.naming.saved_by(node.raw("dataSource"), raw, schema, topics)
    options = {key.lower() for key in fold.record.mapping(node.raw("options"))}
    jdbc = {"url", "dbtable"} <= options
    made = (jdbc and _new(node)) or is_new_delta(fold.record, node)
    hudi = hudi_operation(fold, node)
    if hudi is not None:
        made = node.text("mode") == _ERROR
    mode = "CREATE" if made else _mode(node)
    if hudi in HUDI_OVERWRITES:
        mode = "OVERWRITE"
    elif hudi in HUDI_DELETES and datasets:
        return hudi_deletes(fold, node, datasets[0], query_of(fold, node))
    dataset = _in_part(datasets[0] if datasets else None, replaced_by_option(fold, raw))
    state = write(fold, node, dataset, None, None, mode)
    _to_each(state, datasets[1:], issues)
    if node.text("mode") != _IGNORE or evidence.failed(fold.record):
        return state
    if jdbc:
        # Rows are sent by an execution of their own, where there is one.
        return _only_if(state, None)
    for target in state.outputs:
        if isinstance(target, Target):
            target.issues |= {UNTOLD}
    return state


@rule("InsertIntoDataSourceCommand", "InsertIntoHoodieTableCommand")
def insert_into_source(fold: Fold, node: PlanNode) -> State:
    """An insert into a relation that takes rows itself."""
    target = PlanNode(fold.record, node.refs("logicalRelation")[0])
    datasets = fold.naming.relation(target)
    names = fold.names(target.output())
    static = _static(fold, node.raw("partitionSpec"))
    return write(fold, node, datasets[0] if datasets else None, names, static, _mode(node))


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


@rule(
    "AppendData",
    "OverwriteByExpression",
    "OverwritePartitionsDynamic",
    "PaimonDynamicPartitionOverwriteCommand",
)
def write_v2(fold: Fold, node: PlanNode) -> State:
    """An insert into a DataSource V2 table: Spark has put the query into its columns' order.

    Not where the table takes any schema (Delta): what is written by name is found by name.
    """
    target = PlanNode(fold.record, node.refs("table")[0])
    while target.class_name in ("SubqueryAlias", "View"):
        target = PlanNode(fold.record, target.children[0])
    datasets = fold.naming.relation(target)
    names = fold.names(target.output())
    if node.raw("isByName") is True:
        known = {name.lower(): name for name in names}
        own = fold.names(PlanNode(fold.record, query_of(fold, node)).output())
        names = [known.get(name.lower(), name) for name in own]
    mode = None if node.class_name == "AppendData" else "OVERWRITE"
    dataset = datasets[0] if datasets else None
    part = written_part(fold, node, target, query_of(fold, node), names)
    return write(fold, node, _in_part(dataset, part), names, None, mode)


def _in_part(dataset: Dataset | None, part: dict[str, Any] | None) -> Dataset | None:
    """The data set, with the part of it that is written."""
    if dataset is None or part is None:
        return dataset
    return replace(dataset, facts={**dataset.facts, "subset": part})


@rule("CreateTableAsSelect", "ReplaceTableAsSelect")
def create_as_select_v2(fold: Fold, node: PlanNode) -> State:
    """CREATE or REPLACE TABLE ... AS SELECT through a catalog."""
    name = node.refs("name") or node.children
    target = PlanNode(fold.record, name[0])
    schema, iceberg = query_schema(fold, node), makes_iceberg(fold, node)
    dataset = fold.naming.resolved_identifier(target, schema, iceberg=iceberg)
    mode = "CREATE" if node.class_name == "CreateTableAsSelect" else "OVERWRITE"
    dataset = _in_part(dataset, replaced_by_option(fold, node.raw("writeOptions")))
    state = write(fold, node, dataset, None, None, mode)
    if node.raw("ignoreIfExists") is True and not evidence.failed(fold.record):
        # The rows are written by an execution of their own, where the table was not there.
        return _only_if(state, None)
    return state


@rule("WriteToDataSourceV2", "WriteToMicroBatchDataSource", "WriteToMicroBatchDataSourceV1")
def write_to_source(fold: Fold, node: PlanNode) -> State:
    """A V2 sink that is no table, or one of the first streaming API."""
    told = _topics_of_stream(fold, node)
    if told is not None:
        return told
    dataset = None
    relation = node.refs("relation")
    if relation:
        datasets = fold.naming.relation(PlanNode(fold.record, relation[0]))
        dataset = datasets[0] if datasets else None
    if dataset is None:
        dataset = fold.naming.catalog_table(node.raw("catalogTable"))
    sink = node.raw("sink")
    if dataset is None and isinstance(sink, dict) and "path" in sink:
        place = absolute(fold.naming.described_path(sink.get("path")) or "", fold.record.conf)
        form = fold.record.text(sink.get("format"))
        dataset = fold.naming.path(place, False, query_schema(fold, node), form)
    if dataset is None and _is_connector(fold, sink):
        schema = query_schema(fold, node)
        datasets = fold.naming.saved_by(sink, node.raw("writeOptions"), schema)
        dataset = datasets[0] if datasets else None
    if dataset is None and isinstance(node.raw("table"), dict):
        # Spark 3 keeps a sink without a catalog as its table alone.
        datasets = fold.naming.v2_table(node)
        dataset = datasets[0] if datasets else None
    return write(fold, node, dataset, None, None, None)


def _topics_of_stream(fold: Fold, node: PlanNode) -> State | None:
    """A stream to Kafka, by its options; None for any other sink."""
    raw = node.raw("writeOptions")
    if not is_kafka({key.lower(): value for key, value in fold.record.mapping(raw).items()}):
        return None
    topics, issues = topics_of(fold, query_of(fold, node), raw)
    datasets = fold.naming.saved_by(None, raw, query_schema(fold, node), topics)
    state = write(fold, node, datasets[0] if datasets else None, None, None, None)
    return _to_each(state, datasets[1:], issues)


def _to_each(state: State, others: list[Dataset], issues: frozenset[str]) -> State:
    """The same write, of these data sets as well; ``issues``: what is not known of it."""
    for target in list(state.outputs):
        if isinstance(target, Target):
            target.issues |= issues
            state.outputs.extend(replace(target, dataset=other) for other in others)
    return state


def _is_connector(fold: Fold, sink: Any) -> bool:
    """Whether a described sink is not one of Spark's own, which have names of their own or none."""
    name = fold.record.text(sink.get("class")) if isinstance(sink, dict) else None
    return name is not None and not name.startswith(_SPARK)
