"""Rows found or made by their digests, many at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar

from sqlalchemy import Connection, Table, select
from sqlalchemy.dialects import postgresql, sqlite

T = TypeVar("T")
CHUNK = 1_000


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
    found = _find(connection, table, rows)
    missing = [{"digest": key, **row} for key, row in rows.items() if key not in found]
    if missing:
        insert_new(connection, table, missing)
        found.update(_find(connection, table, [row["digest"] for row in missing]))
    return found


def _find(connection: Connection, table: Table, keys: Iterable[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for some in chunks(keys):
        query = select(table.c.digest, table.c.id).where(table.c.digest.in_(some))
        found.update((row[0], row[1]) for row in connection.execute(query))
    return found
