"""What a JDBC relation reads: a table, or the tables and columns of a query's text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from spark_lineage.lineage.datasets.jdbc import Database, database_of, parts_of
from spark_lineage.lineage.datasets.schema import Schema
from spark_lineage.lineage.lanes import FIRST_INDIRECT, IDENTITY
from spark_lineage.lineage.model import Dataset
from spark_lineage.lineage.sqltext import SqlColumn, SqlLineage, resolve

_PREPARED: Final = "preparequery"


@dataclass(frozen=True)
class Remote:
    """The data sets behind a relation, and the lineage of its text.

    ``lineage`` is None for a plain table, whose columns are the relation's own; its tables
    are ``datasets`` by index. ``names`` are the relation's columns by position.
    """

    datasets: tuple[Dataset, ...]
    lineage: SqlLineage | None = None
    names: tuple[str, ...] = ()

    def column(self, name: str) -> SqlColumn | None:
        """The column that Spark calls so."""
        if self.lineage is None or name not in self.names:
            return None
        return self.lineage.columns[self.names.index(name)]

    def fields(self, name: str) -> list[tuple[str, str, str]]:
        """The data sets' columns that give this column its value: namespace, name, field."""
        if self.lineage is None:
            return [(each.namespace, each.name, name) for each in self.datasets]
        column = self.column(name)
        found = [
            (self.datasets[table].namespace, self.datasets[table].name, path[0])
            for lane, table, path in (column.edges if column else ())
            if lane < FIRST_INDIRECT
        ]
        return list(dict.fromkeys(found))


def remote_relation(
    options: Mapping[str, Any],
    schema: Schema,
    condition: str | None = None,
    masking: Sequence[str] = (),
    literals: bool = True,
) -> Remote:
    """What a JDBC relation with these options (any case) reads. Never raises.

    ``condition`` is what the relation's partitions were given by hand; the conditions that
    Spark makes of ``partitionColumn`` leave no row out, and count for nothing.
    """
    lowered = {key.lower(): str(value) for key, value in options.items() if value is not None}
    database = database_of(lowered.get("url", ""))
    table, query = lowered.get("dbtable", ""), lowered.get("query", "")
    prepared = lowered.get(_PREPARED, "")
    if "partitioncolumn" in lowered:
        condition = None
    parts = None if query else parts_of(table)
    if parts is not None and not prepared and not condition:
        return Remote((database.table(parts, schema),))
    text = _text(table, query, prepared, condition)
    remote = remote_query(database, text, schema, masking, literals)
    found = remote.lineage
    if found and parts is not None and not all(column.edges for column in found.columns):
        # The conditions were not understood, but the table is there.
        own, names = database.table(parts, schema), remote.names
        columns = tuple(SqlColumn(((IDENTITY, 0, (name,)),), text=name) for name in names)
        told = SqlLineage((), columns, (), found.issues)
        return Remote((own,), told, names)
    return remote


def remote_query(
    database: Database,
    text: str,
    schema: Schema,
    masking: Sequence[str] = (),
    literals: bool = True,
) -> Remote:
    """What a statement reads that a database answers, with the columns of ``schema``."""
    names = tuple(name for name, _, _ in schema)
    fold = database.engine.fold
    found = resolve(text, names, database.dialect, fold, frozenset(masking), literals)
    return Remote(_datasets(database, found, schema), found, names)


def _text(table: str, query: str, prepared: str, condition: str | None) -> str:
    """The statement that reads what Spark's own statements read."""
    text = query.strip().rstrip(";") if query else f"SELECT * FROM {table}"
    if query and (condition or prepared):
        text = f"SELECT * FROM ({text}) spark_gen_subq"
    if condition:
        text = f"{text} WHERE {condition}"
    if prepared:
        # A WITH clause stands right before; anything else is a statement of its own.
        mark = "" if re.match(r"(?i)\s*WITH\b", prepared) else ";"
        text = f"{prepared.strip().rstrip(';')}{mark}\n{text}"
    return text


def _datasets(database: Database, found: SqlLineage, schema: Schema) -> tuple[Dataset, ...]:
    known = dict(found.known)
    datasets = []
    for index, name in enumerate(found.tables):
        dataset = database.table(name)
        if index in known:
            fields = tuple(field for field in schema if field[0] in known[index])
            dataset = replace(dataset, schema=fields)
        datasets.append(dataset)
    return tuple(datasets)
