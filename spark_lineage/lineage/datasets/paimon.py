"""Paimon's tables: one data set with its branches, its snapshots and its system tables.

``t$branch_b`` is a branch of ``t``, ``t$files`` and its kin are views of ``t``; no name of a
table has a ``$`` in it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from spark_lineage.lineage.datasets.schema import Schema, parse_schema, schema_of
from spark_lineage.lineage.model import Dataset
from spark_lineage.plan.node import PlanNode, Record

if TYPE_CHECKING:
    from spark_lineage.lineage.datasets.naming import Naming

_CLASS: Final = "org.apache.paimon."
_BRANCH: Final = "branch_"
#: Which snapshot a reader asks for, as a property of the table or as an option.
_SNAPSHOT: Final = "scan.snapshot-id"
#: Where a catalog in a file system keeps a table of a database.
_PLACE: Final = re.compile(r"/([^/]+)\.db/([^/]+)$")
#: Views of the table's rows, by the columns that they add.
_VIEWS: Final = {
    "audit_log": frozenset({"rowkind"}),
    "binlog": frozenset({"rowkind"}),
    "ro": frozenset[str](),
}
#: ``PaimonMetadataColumn``: what its own writers read of each row.
_OWN_COLUMNS: Final = frozenset(
    {
        "__paimon_file_path",
        "__paimon_row_index",
        "__paimon_partition",
        "__paimon_bucket",
    }
)


def table_name(name: str) -> str:
    """The table that a name is of: the name without a branch and a system table."""
    return name.partition("$")[0]


def _view(name: str) -> str | None:
    """The system table that a name is of; None for a table or a branch."""
    parts = [part for part in name.split("$")[1:] if not part.startswith(_BRANCH)]
    return parts[0] if parts else None


def is_table(record: Record, table: Mapping[str, Any]) -> bool:
    """Whether a described V2 table is one of Paimon's."""
    return (record.text(table.get("class")) or "").startswith(_CLASS)


def relation(naming: Naming, node: PlanNode) -> Dataset | None:
    """The data set of a node with a table or, on Spark 3, a stream of Paimon's; None else."""
    table, record = node.raw("table"), naming.record
    if isinstance(table, dict):
        if not is_table(record, table):
            return None
        return table_of(naming, table, node.raw("catalog"), node.raw("identifier"))
    scan = node.raw("scan")
    if not isinstance(scan, dict) or not is_table(record, scan):
        return None
    schema, path = schema_of(record, node.output()), record.text(scan.get("path"))
    return _named(naming, path, node.raw("catalog"), node.raw("identifier"), schema)


def table_of(
    naming: Naming, table: Mapping[str, Any], catalog: Any = None, identifier: Any = None
) -> Dataset | None:
    """The data set of a described table of Paimon's."""
    record = naming.record
    path = record.mapping(table.get("properties")).get("path")
    made = made_columns(record, table)
    schema: Schema = ()
    if made is not None and _view(record.text(table.get("name")) or "") != "binlog":
        fields = parse_schema(record.text(table.get("schema")))
        schema = tuple(field for field in fields if field[0] not in made)
    return _named(naming, path if isinstance(path, str) else None, catalog, identifier, schema)


def _named(
    naming: Naming, path: str | None, catalog: Any, identifier: Any, schema: Schema
) -> Dataset | None:
    """By the catalog where the plan has it, else by the path."""
    record = naming.record
    place = path.replace("%", "%25") if path else None
    owner = record.text(catalog.get("name")) if isinstance(catalog, dict) else None
    name = record.text(identifier.get("name")) if isinstance(identifier, dict) else None
    if owner and name:
        parts = [*record.texts(identifier.get("namespace")), table_name(name)]
        return naming.owned(owner, parts, schema, place, "paimon")
    return naming.path(place, trim=False, schema=schema, form="paimon") if place else None


def by_settings(naming: Naming, table: Mapping[str, Any]) -> Dataset | None:
    """The data set of a table of which neither catalog nor identifier is told.

    A catalog in a file system keeps a table nowhere but at its name's path.
    """
    record = naming.record
    told = record.mapping(table.get("properties")).get("path")
    path = told if isinstance(told, str) else ""
    found = _PLACE.search(path)
    parts = [found[1], found[2]] if found else []
    for key, value in record.conf.items():
        catalog = key.removeprefix("spark.sql.catalog.")
        if catalog == key or "." in catalog or "paimon" not in value.lower():
            continue
        settings = {
            name.removeprefix(key + "."): text
            for name, text in record.conf.items()
            if name.startswith(key + ".")
        }
        if parts and place_in(settings, parts) == path.replace("%", "%25"):
            identifier = {"namespace": parts[:-1], "name": parts[-1]}
            return table_of(naming, table, {"name": catalog}, identifier)
    return table_of(naming, table)


def place_in(settings: Mapping[str, str], parts: list[str]) -> str | None:
    """Where a catalog in a file system keeps a table; None for any other catalog.

    ``settings`` are the catalog's, without their prefix; the path is URI-encoded.
    """
    warehouse = settings.get("warehouse")
    if not warehouse or settings.get("metastore", "filesystem") != "filesystem":
        return None
    if len(parts) != 2:
        return None
    return f"{warehouse.rstrip('/')}/{parts[0]}.db/{parts[1]}".replace("%", "%25")


def made_columns(record: Record, table: Mapping[str, Any]) -> frozenset[str] | None:
    """The columns of a described table that are not its own; None for all of them."""
    view = _view(record.text(table.get("name")) or "")
    made = frozenset[str]() if view is None else _VIEWS.get(view)
    return None if made is None else made | _OWN_COLUMNS


def snapshot(record: Record, node: PlanNode) -> str | None:
    """The snapshot that a relation is pinned to by its number; each branch has its own numbers."""
    table = node.raw("table")
    if not isinstance(table, dict) or not is_table(record, table):
        return None
    told = {
        **record.mapping(table.get("properties")),
        **record.mapping(node.raw("options")),
    }
    pinned = told.get(_SNAPSHOT)
    return pinned if isinstance(pinned, str) and "branch" not in told else None
