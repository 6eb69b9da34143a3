"""An index over the parts of names, so that a search need not look at each name.

It is derived of the tables and kept by the database itself: FTS5 in SQLite,
``pg_trgm`` in PostgreSQL. Where the database has neither (an old SQLite, no right to
make the extension) a search looks at each name.
"""

from __future__ import annotations

import logging

from sqlalchemy import ColumnElement, Connection, Table, column, inspect, literal_column, select
from sqlalchemy import table as plain_table
from sqlalchemy.exc import DBAPIError

from spark_lineage.collector.store import schema

logger = logging.getLogger(__name__)
_INDEXED = ((schema.names, "name"), (schema.columns, "path"), (schema.jobs, "name"))
# A part of a name that so many have is no search: the rest of them is left out.
MOST = 20_000
_MOST_PARTS = 40


def prepare(connection: Connection) -> None:
    """Make the index where there is none yet and the database can."""
    sqlite = connection.dialect.name == "sqlite"
    for table, name in _INDEXED:
        if _there(connection, table):
            continue
        try:
            with connection.begin_nested():
                for statement in _sqlite(table, name) if sqlite else _postgresql(table, name):
                    connection.exec_driver_sql(statement)
        except DBAPIError as error:
            logger.info("no index over parts of names: %s", error.orig)
            return


def _there(connection: Connection, table: Table) -> bool:
    name = _named(table)
    if connection.dialect.name == "sqlite":
        return inspect(connection).has_table(name)
    query = "SELECT to_regclass(%s)"
    return connection.exec_driver_sql(query, (name,)).scalar() is not None


def _named(table: Table) -> str:
    return f"{table.name}_trigrams"


def _sqlite(table: Table, name: str) -> list[str]:
    index, of = _named(table), table.name
    return [
        f"CREATE VIRTUAL TABLE {index} USING fts5({name}, content='{of}', content_rowid='id',"
        " tokenize='trigram', detail='none')",
        f"INSERT INTO {index}({index}) VALUES ('rebuild')",
        f"CREATE TRIGGER {index}_new AFTER INSERT ON {of} BEGIN"
        f" INSERT INTO {index}(rowid, {name}) VALUES (new.id, new.{name}); END",
        f"CREATE TRIGGER {index}_gone AFTER DELETE ON {of} BEGIN"
        f" INSERT INTO {index}({index}, rowid, {name}) VALUES ('delete', old.id, old.{name}); END",
    ]


def _postgresql(table: Table, name: str) -> list[str]:
    return [
        "CREATE EXTENSION IF NOT EXISTS pg_trgm",
        f"CREATE INDEX {_named(table)} ON {table.name} USING gin ({name} gin_trgm_ops)"
        # New ones wait in a short list, which a search reads through: many of them have the
        # same parts, and are put in place together for a fraction of what each would cost.
        " WITH (fastupdate = on, gin_pending_list_limit = 256)",
    ]


def fits(connection: Connection, table: Table, text: str) -> ColumnElement[bool] | None:
    """A condition that rows fit whose name has ``text`` in it; not only they may fit it.

    None where there is no use of it: a text of under three letters or with a NUL, no index,
    or PostgreSQL, which finds it by itself.
    """
    sqlite = connection.dialect.name == "sqlite"
    if len(text) < 3 or "\0" in text or not sqlite or not _there(connection, table):
        return None
    parts = list(dict.fromkeys(text[n : n + 3] for n in range(len(text) - 2)))[:_MOST_PARTS]
    wanted = " AND ".join('"' + part.replace('"', '""') + '"' for part in parts)
    index = plain_table(_named(table), column("rowid"))
    hits = select(index.c.rowid).where(literal_column(_named(table)).op("MATCH")(wanted))
    found: ColumnElement[bool] = table.c.id.in_(hits.limit(MOST))
    return found
