"""Rows found or made by their digests, many at once."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar

from sqlalchemy import (
    ARRAY,
    BigInteger,
    ColumnElement,
    Connection,
    Table,
    any_,
    cast,
    func,
    select,
)
from sqlalchemy.dialects import postgresql, sqlite

T = TypeVar("T")
CHUNK = 1_000
# Before every time that an event can have.
BEGINNING = -(10**17)


def chunks(items: Iterable[T], size: int = CHUNK) -> Iterator[list[T]]:
    """``items`` in lists of at most ``size`` (a statement has a limit of parameters)."""
    everything = list(items)
    for start in range(0, len(everything), size):
        yield everything[start : start + size]


def insert_new(connection: Connection, table: Table, rows: Sequence[dict[str, Any]]) -> None:
    """Insert the rows that are not there yet, by any unique key."""
    if not rows:
        return
    dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
    connection.execute(dialect.insert(table).on_conflict_do_nothing(), list(rows))


def ids(connection: Connection, table: Table, rows: dict[str, dict[str, Any]]) -> dict[str, int]:
    """The id of each row by its digest, made where it is new."""
    found = find(connection, table, rows)
    missing = [{"digest": key, **row} for key, row in rows.items() if key not in found]
    if missing:
        insert_new(connection, table, missing)
        found.update(find(connection, table, [row["digest"] for row in missing]))
    return found


def find(connection: Connection, table: Table, keys: Iterable[str]) -> dict[str, int]:
    """The ids of the rows that are there, by their digests."""
    found: dict[str, int] = {}
    for some in chunks(keys):
        query = select(table.c.digest, table.c.id).where(table.c.digest.in_(some))
        found.update((row[0], row[1]) for row in connection.execute(query))
    return found


def upsert_newer(connection: Connection, table: Table, rows: Sequence[dict[str, Any]]) -> None:
    """Insert rows by their primary key; of two the one with the greater ``order`` stays."""
    if not rows:
        return
    dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
    statement = dialect.insert(table)
    keys = [column.name for column in table.primary_key]
    connection.execute(
        statement.on_conflict_do_update(
            index_elements=keys,
            set_={c.name: statement.excluded[c.name] for c in table.c if c.name not in keys},
            where=statement.excluded["order"] > table.c["order"],
        ),
        list(rows),
    )


def upsert_span(connection: Connection, table: Table, rows: Sequence[dict[str, Any]]) -> None:
    """Insert rows by their primary key; what was seen spans from the first to the last time."""
    if not rows:
        return
    dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
    statement = dialect.insert(table)
    new = statement.excluded
    least, most = (func.least, func.greatest) if dialect is postgresql else (func.min, func.max)
    connection.execute(
        statement.on_conflict_do_update(
            index_elements=[column.name for column in table.primary_key],
            set_={
                "first_seen": least(new.first_seen, table.c.first_seen),
                "last_seen": most(new.last_seen, table.c.last_seen),
            },
        ),
        list(rows),
    )


def among(connection: Connection, column: ColumnElement[int], ids: Iterable[int]) -> Any:
    """``column`` is one of ``ids``, sent as one value: a long list is costly to put together."""
    every = list(ids)
    if connection.dialect.name == "postgresql":
        return column == any_(cast(every, ARRAY(BigInteger)))
    given = func.json_each(json.dumps(every)).table_valued("value")
    return column.in_(select(given.c.value))
