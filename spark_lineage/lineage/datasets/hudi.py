"""Hudi's tables: one data set by whatever index, query type or view of it they are read.

Hudi keeps five columns of its own beside a table's, and a timeline, statistics and indexes in a
table inside it (``.hoodie/metadata``). None of them is a data set or a column of the user's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from spark_lineage.lineage.datasets.schema import Schema, parse_schema
from spark_lineage.lineage.model import Dataset
from spark_lineage.plan.node import PlanNode, Record

if TYPE_CHECKING:
    from spark_lineage.lineage.datasets.naming import Naming

_CLASS: Final = "org.apache.hudi."
_INDEX: Final = "Hoodie"
#: Its rows are changes: the operation, the time, and the table's rows as JSON.
_CHANGES: Final = "HoodieCDCFileIndex"
#: What reads a table's changes, its timeline or the versions of its files.
_BESIDE: Final = re.compile(r"CDC|Timeline|FileSystem")
_INSIDE: Final = re.compile(r"/\.hoodie(/.*)?$")
#: ``HoodieRecord.HOODIE_META_COLUMNS``.
OWN_COLUMNS: Final = frozenset(
    {
        "_hoodie_commit_time",
        "_hoodie_commit_seqno",
        "_hoodie_record_key",
        "_hoodie_partition_path",
        "_hoodie_file_name",
    }
)


def is_relation(record: Record, described: Mapping[str, Any]) -> bool:
    """Whether a described relation is one of Hudi's."""
    index = record.text(described.get("index")) or ""
    return index.startswith(_INDEX) or (record.text(described.get("class")) or "").startswith(
        _CLASS
    )


def relation(naming: Naming, node: PlanNode, described: dict[str, Any]) -> list[Dataset]:
    """The data set of a relation of Hudi's, by the catalog where it knows the table."""
    record = naming.record
    table = naming.catalog_table(node.raw("catalogTable"))
    if table is not None:
        return [table]
    schema: Schema = ()
    if made_columns(record, described) is not None:
        schema = user_columns(parse_schema(record.text(described.get("schema"))))
    roots = record.texts(described.get("rootPaths"))
    if roots:
        return naming.read_files(roots, schema, "hudi")
    path = record.mapping(described.get("options")).get("path")
    if not isinstance(path, str):
        return []
    return naming.read_files([_INSIDE.sub("", path.replace("%", "%25"))], schema, "hudi")


def made_columns(record: Record, described: Mapping[str, Any]) -> frozenset[str] | None:
    """The columns of a relation of Hudi's that are not the table's; None for all of them."""
    if record.text(described.get("index")) == _CHANGES:
        return None
    path = record.mapping(described.get("options")).get("path")
    inside = isinstance(path, str) and _INSIDE.search(path) is not None
    if inside or _BESIDE.search(record.class_of(described) or ""):
        return None
    return OWN_COLUMNS


def user_columns(schema: Schema) -> Schema:
    """A table's schema without the columns that Hudi keeps for itself."""
    return tuple(field for field in schema if field[0] not in OWN_COLUMNS)
