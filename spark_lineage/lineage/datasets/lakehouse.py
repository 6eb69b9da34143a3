"""Tables of the lake's formats: which table a relation is of, by whatever way it was reached.

Time travel, branches, tags, metadata tables and change feeds are views of one table: the data
set is the table. What such a view adds to the table's columns is made by the reader. The log
that Delta reads for itself is no data set.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from spark_lineage.lineage.datasets import hudi, paimon
from spark_lineage.lineage.datasets.schema import Schema, parse_schema
from spark_lineage.lineage.datasets.tables import SESSION_CATALOG
from spark_lineage.lineage.evidence import ended
from spark_lineage.lineage.model import Dataset, Lineage, Output
from spark_lineage.plan.node import PlanNode, Record
from spark_lineage.plan.walk import plan_rows

if TYPE_CHECKING:
    from spark_lineage.lineage.datasets.naming import Naming

#: Formats that have a catalog of their own beside the session's, or in its place.
FORMATS: Final = frozenset({"delta", "hudi", "iceberg", "paimon"})
_LOG_INDEX: Final = "DeltaLogFileIndex"
_DELTA_TABLE: Final = "DeltaTableV2"
_ROW_LEVEL: Final = "RowLevelOperationTable"
_ICEBERG: Final = "org.apache.iceberg."
_DELTA: Final = "org.apache.spark.sql.delta."
#: What reads of a change data feed have beside the table's columns.
_DELTA_CHANGES: Final = frozenset({"_change_type", "_commit_version", "_commit_timestamp"})
_ICEBERG_CHANGES: Final = frozenset({"_change_type", "_change_ordinal", "_commit_snapshot_id"})
#: How a path names a metadata table, a branch, a tag, a snapshot or a time.
_SELECTOR: Final = re.compile(r"#[^/]*$")
#: Catalogs by which Iceberg hands tables to its own maintenance.
_OWN_CATALOGS: Final = frozenset({"SparkCachedTableCatalog", "SparkRewriteTableCatalog"})
#: The file in which a table is as one of its snapshots has it.
_METADATA_FILE: Final = re.compile(r"/metadata/[^/]*metadata\.json$")
#: What Delta calls the RDDs and the caches of its state.
_STATE: Final = re.compile(r"(?:Cache )?Delta [\w ]+ #\d+ - .*_delta_log")
_ACTION: Final = re.compile(
    r"^\s*(?:at )?org\.apache\.iceberg\.spark\.(?:actions|procedures)\.", re.M
)
#: What is known of one reading or writing of a table, not of the table.
_OF_A_READING: Final = frozenset({"scanned", "subset", "version"})
_CARRIED: Final = "CARRIED_OVER"
_WRITER: Final = re.compile(r"^\s*(?:at )?org\.apache\.paimon\.spark\.commands\.", re.M)
#: What Delta, Hudi or Paimon has started itself.
_FRAME: Final = re.compile(
    r"^\s*(?:at )?org\.apache\.(?:hudi|paimon\.spark|spark\.sql\.(?:delta|hudi))\.", re.M
)


def relation(naming: Naming, node: PlanNode) -> list[Dataset] | None:
    """The data sets of a leaf or a table of one of these formats; None for any other."""
    described = node.raw("relation")
    if isinstance(described, dict):
        if hudi.is_relation(naming.record, described):
            return hudi.relation(naming, node, described)
        return _delta_relation(naming, node, described)
    found = paimon.relation(naming, node)
    if found is not None:
        return [found]
    table = _table(naming.record, node)
    if table is None:
        return None
    found = table_of(naming, table, node.raw("catalog")) or _staged_path(naming, node, table)
    return None if found is None else [found]


def table_of(naming: Naming, table: Any, catalog: Any = None) -> Dataset | None:
    """The data set of a described V2 table of Delta's or Iceberg's; None for any other."""
    if not isinstance(table, dict):
        return None
    if naming.record.class_of(table) == _DELTA_TABLE:
        return _delta_table(naming, table)
    return _iceberg_table(naming, table, catalog) if _is_iceberg(naming.record, table) else None


def described(naming: Naming, node: PlanNode) -> Dataset | None:
    """The table that a command names with its description at hand; None for any other."""
    found = relation(naming, node) if node.has("relation") or node.has("table") else None
    return found[0] if found else None


def _table(record: Record, node: PlanNode) -> dict[str, Any] | None:
    """The described V2 table, without what a row-level operation wraps it in."""
    table = node.raw("table")
    if isinstance(table, dict) and record.class_of(table) == _ROW_LEVEL:
        table = table.get("table")
    return table if isinstance(table, dict) else None


def _is_iceberg(record: Record, table: Mapping[str, Any]) -> bool:
    name = record.text(table.get("class"))
    return name is not None and name.startswith(_ICEBERG)


# -- Delta -------------------------------------------------------------------


def _delta_relation(
    naming: Naming, node: PlanNode, described: dict[str, Any]
) -> list[Dataset] | None:
    text = naming.record.text
    kind = naming.record.class_of(described)
    schema = parse_schema(text(described.get("schema")))
    if kind == "DeltaCDFRelation":
        schema = tuple(field for field in schema if field[0] not in _DELTA_CHANGES)
        table = node.raw("catalogTable") or described.get("v1")
        path = naming.described_path(described.get("path"))
    elif kind == "HadoopFsRelation":
        index = text(described.get("index"))
        if index == _LOG_INDEX:
            return []
        if text(described.get("version")) is None:
            return None
        table = node.raw("catalogTable")
        path = next(iter(naming.record.texts(described.get("rootPaths"))), None)
    else:
        return None
    found = _delta(naming, table, path, schema)
    return None if found is None else [found]


def _delta_table(naming: Naming, table: dict[str, Any]) -> Dataset | None:
    schema = parse_schema(naming.record.text(table.get("schema")))
    path = naming.described_path(table.get("path"))
    return _delta(naming, table.get("v1"), path, schema)


def _delta(naming: Naming, table: Any, path: str | None, schema: Schema) -> Dataset | None:
    """By the catalog where it knows the table, else by the path of its log."""
    if isinstance(table, dict) and path_named(naming.record, table) is None:
        # The catalog's own entry has no columns: they are in the log.
        found = naming.catalog_table(table, schema)
        if found is not None:
            return of_framework(found if found.schema else replace(found, schema=schema), "delta")
    if path is None:
        return None
    return naming.path(path, trim=False, schema=schema, form="delta")


def _staged_path(naming: Naming, node: PlanNode, table: Mapping[str, Any]) -> Dataset | None:
    """What CREATE TABLE delta.`/a/b` AS SELECT writes to, before the path is a table."""
    text = naming.record.text
    catalog, identifier = node.raw("catalog"), node.raw("identifier")
    if not isinstance(catalog, dict) or not isinstance(identifier, dict):
        return None
    if text(catalog.get("name")) != SESSION_CATALOG:
        return None
    database = ".".join(naming.record.texts(identifier.get("namespace")))
    place = path_in_name(database, text(identifier.get("name")))
    schema = parse_schema(text(table.get("schema")))
    return None if place is None else naming.path(place, False, schema, "delta")


def path_named(record: Record, table: Any) -> str | None:
    """The place, URI-encoded, of a described table that is ``delta.`/a/b```; None for any other."""
    if not isinstance(table, dict):
        return None
    return path_in_name(record.text(table.get("database")), record.text(table.get("table")))


def path_in_name(database: str | None, table: str | None) -> str | None:
    """The same of a table of the session catalog by database and name; None for any other."""
    if table is None or "/" not in table or (database or "").lower() != "delta":
        return None
    return table.replace("%", "%25")


def of_framework(dataset: Dataset, framework: str) -> Dataset:
    """The data set, with the format whose catalog it is in."""
    catalog = dataset.facts.get("catalog")
    if not isinstance(catalog, dict) or catalog.get("framework") == framework:
        return dataset
    facts = {**dataset.facts, "catalog": {**catalog, "framework": framework}}
    return replace(dataset, facts=facts)


# -- Iceberg -----------------------------------------------------------------


def _iceberg_table(naming: Naming, table: dict[str, Any], catalog: Any) -> Dataset:
    record = naming.record
    schema = parse_schema(record.text(table.get("schema")))
    place = record.mapping(table.get("properties")).get("location")
    place = place if isinstance(place, str) else None
    name = record.text(table.get("tableName")) or record.text(table.get("name")) or ""
    if is_metadata_table(record, table):
        # Its columns are not the table's.
        schema = ()
        name = _without_metadata(name)
    owner = record.text(catalog.get("name")) if isinstance(catalog, dict) else None
    if "/" in name or not owner:
        # A table of no catalog: Iceberg calls it by its location.
        path = _SELECTOR.sub("", name) if "/" in name else place or name
        path = _METADATA_FILE.sub("", path)
        return naming.path(path, trim=False, schema=schema, form="iceberg")
    if record.class_of(catalog) in _OWN_CATALOGS:
        # Its tables keep the name that they have elsewhere.
        owner = name.partition(".")[0]
    parts = name.removeprefix(owner + ".").split(".")
    found = naming.table_of(
        owner, parts, schema, place, {"storage": _iceberg_storage(record, table)}
    )
    return of_framework(found, "iceberg")


def _iceberg_storage(record: Record, table: Mapping[str, Any]) -> dict[str, str]:
    """The layer, and the format of its data files where the table says it (``iceberg/parquet``)."""
    told = record.mapping(table.get("properties")).get("format")
    layer, _, form = told.partition("/") if isinstance(told, str) else ("", "", "")
    if layer == "iceberg" and form:
        return {"storageLayer": layer, "fileFormat": form}
    return {"storageLayer": "iceberg"}


def is_metadata_table(record: Record, table: Mapping[str, Any]) -> bool:
    """Whether a described table of Iceberg's is one of its metadata tables."""
    return table.get("metadata") is True


def _without_metadata(name: str) -> str:
    if "/" in name:
        base = _SELECTOR.sub("", name)
        if base != name:
            return base
        folder, _, last = name.rpartition("/")
        return f"{folder}/{last.rpartition('.')[0]}" if "." in last else name
    return name.rpartition(".")[0] or name


# -- columns and versions ------------------------------------------------------


def reader_made(record: Record, node: PlanNode) -> frozenset[str] | None:
    """The columns of a leaf that the reader makes; None for all of them."""
    described = node.raw("relation")
    if isinstance(described, dict):
        if record.class_of(described) == "DeltaCDFRelation":
            return _DELTA_CHANGES
        if hudi.is_relation(record, described):
            return hudi.made_columns(record, described)
        return frozenset()
    table = _table(record, node)
    if table is not None and paimon.is_table(record, table):
        return paimon.made_columns(record, table)
    if table is None or not _is_iceberg(record, table):
        return frozenset()
    if is_metadata_table(record, table):
        return None
    return _ICEBERG_CHANGES if record.class_of(table) == "SparkChangelogTable" else frozenset()


def versions_read(naming: Naming) -> dict[Dataset, str]:
    """The version of each table that this run has read, where it is one.

    By what the scans were planned on, in the optimized plan: the analyzed one knows only what
    was the newest when the query was analysed.
    """
    record = naming.record
    if record.optimized is None:
        return {}
    found: dict[Dataset, set[str]] = {}
    for ref in plan_rows(record, record.optimized):
        node = PlanNode(record, ref)
        version, leaf = _version(record, node)
        if version is not None:
            for dataset in relation(naming, leaf) or ():
                found.setdefault(dataset, set()).add(version)
    return {dataset: next(iter(seen)) for dataset, seen in found.items() if len(seen) == 1}


def _version(record: Record, node: PlanNode) -> tuple[str | None, PlanNode]:
    if node.class_name == "LogicalRelation":
        described = node.raw("relation")
        if isinstance(described, dict):
            if record.class_of(described) == "DeltaCDFRelation":
                return record.text(described.get("endingVersion")), node
            # An index that has not been prepared for a scan takes what is newest then.
            pinned = record.text(described.get("index")) != "TahoeLogFileIndex"
            return record.text(described.get("version")) if pinned else None, node
    elif node.class_name == "DataSourceV2ScanRelation":
        scan, below = node.raw("scan"), node.refs("relation")
        if isinstance(scan, dict) and below:
            leaf = PlanNode(record, below[0])
            return record.text(scan.get("version")) or paimon.snapshot(record, leaf), leaf
    return None, node


def version_written(record: Record) -> str | None:
    """The version that this execution's one write has made of its table, where it is known.

    The bridge tells it of a write that it can be proved of. A Delta table that was made with
    rows, where none was before, has the version 0: these commands refuse what exists.
    """
    if not ended(record):
        return None
    told = [write["version"] for write in record.writes if write.get("version")]
    if told:
        return str(told[0]) if len(told) == 1 else None
    node = None if record.analyzed is None else PlanNode(record, record.analyzed)
    return "0" if node is not None and is_new_delta(record, node) else None


def is_new_delta(record: Record, node: PlanNode) -> bool:
    """Whether a command has made a Delta table or path with its first rows."""
    if node.class_name == "SaveIntoDataSourceCommand":
        source = node.raw("dataSource")
        name = record.text(source.get("class")) if isinstance(source, dict) else None
        return (name or "").startswith(_DELTA) and node.text("mode") == "ErrorIfExists"
    if node.class_name != "CreateTableAsSelect" or node.raw("ignoreIfExists") is not False:
        return False
    for ref in node.refs("tableSpec"):
        provider = record.expression(ref).text("provider")
        return provider is not None and provider.lower() == "delta"
    return False


def with_version(dataset: Dataset, version: str | None) -> Dataset:
    """The data set with the version read or written as its ``version`` facet's fact."""
    if version is None:
        return dataset
    facts = {**dataset.facts, "version": {"datasetVersion": version}}
    return replace(dataset, facts=facts)


def maintained(record: Mapping[str, Any], lineage: Lineage | None) -> Lineage | None:
    """What Iceberg's maintenance works on, by an execution that it runs for itself.

    None where the execution is no part of it, or does not show the one table that it is about.
    """
    if lineage is None or not _ACTION.search(record["execution"].get("callSite") or ""):
        return None
    tables = {output.dataset for output in lineage.outputs if output.dataset is not None}
    tables |= {item.dataset for item in lineage.inputs}
    if len(tables) != 1:
        return None
    (table,) = tables
    facts = {key: fact for key, fact in table.facts.items() if key not in _OF_A_READING}
    return Lineage(outputs=(Output(replace(table, facts={**facts, "maintenance": True})),))


def within(record: Mapping[str, Any], lineage: Lineage) -> Lineage:
    """The lineage of an execution inside an action, without what only a format's writer reads.

    Paimon's takes whole rows through functions of its own, which no optimizer sees through:
    what the user's statement needs of them is told, and checked, by the action itself.
    """
    own = _WRITER.search(record["execution"].get("callSite") or "")
    written = any(output.dataset is not None for output in lineage.outputs)
    if not own or written or not lineage.unexplained:
        return lineage
    carried = lineage.explained.get(_CARRIED, 0) + len(lineage.unexplained)
    return replace(lineage, unexplained=(), explained={**lineage.explained, _CARRIED: carried})


def is_bookkeeping(record: Mapping[str, Any], lineage: Lineage | None) -> bool:
    """Whether an execution is a format's own: none of a user's.

    Iceberg's is what its maintenance runs, whatever it reads; the procedure itself is a run.
    Delta's is over its log, Hudi's over its statistics, and both over no data set: it was
    started by the format's code, or has Delta's state as its source (streams do not say who
    started a query).
    """
    execution = record["execution"]
    call_site = execution.get("callSite") or ""
    if _ACTION.search(call_site):
        return True
    if lineage is None or lineage.inputs:
        return False
    if any(output.dataset is not None for output in lineage.outputs):
        return False
    if _FRAME.search(call_site) or _STATE.search(execution.get("name") or ""):
        return True
    return any(text == _LOG_INDEX or _STATE.match(text) for text in record.get("strings") or ())
