"""Rows found or made by their digests, many at once."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
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
from sqlalchemy.exc import OperationalError

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


# What becomes of a row whose key is there already.
IGNORE, NEWER, SPAN = "ignore", "newer", "span"


def put(
    connection: Connection,
    table: Table,
    names: tuple[str, ...],
    values: Sequence[tuple[Any, ...]],
    conflict: str = "",
) -> None:
    """Insert many rows at once, by the driver alone: ``names`` are the columns of ``values``.

    With ``IGNORE`` a row that is there stays as it is; with ``NEWER`` the one of
    the greater ``order`` stays; with ``SPAN`` what was seen spans from the first
    to the last time.
    """
    if values:
        connection.exec_driver_sql(
            _insertion(connection.dialect.name, table, names, conflict), list(values)
        )


def change(
    connection: Connection,
    table: Table,
    names: tuple[str, ...],
    keys: tuple[str, ...],
    values: Sequence[tuple[Any, ...]],
) -> None:
    """Change many rows at once: ``values`` have the columns ``names``, then those of ``keys``."""
    if not values:
        return
    sign = _sign(connection.dialect.name)
    sets = ", ".join(f'"{name}" = {sign}' for name in names)
    where = " AND ".join(f'"{key}" = {sign}' for key in keys)
    statement = f"UPDATE {table.name} SET {sets} WHERE {where}"
    connection.exec_driver_sql(statement, list(values))


def _sign(dialect: str) -> str:
    return "%s" if dialect == "postgresql" else "?"


@lru_cache(maxsize=100)
def _insertion(dialect: str, table: Table, names: tuple[str, ...], conflict: str) -> str:
    columns = ", ".join(f'"{name}"' for name in names)
    signs = ", ".join([_sign(dialect)] * len(names))
    statement = f"INSERT INTO {table.name} ({columns}) VALUES ({signs})"
    if not conflict:
        return statement
    if conflict == IGNORE:
        return f"{statement} ON CONFLICT DO NOTHING"
    keys = [column.name for column in table.primary_key]
    others = [name for name in names if name not in keys]
    if conflict == NEWER and table.c.get("id") is not None:
        keys = ["run_id", "name"]
        others = [name for name in names if name not in keys]
    told = ", ".join(f'"{key}"' for key in keys)
    if conflict == SPAN:
        least, most = ("least", "greatest") if dialect == "postgresql" else ("min", "max")
        sets = (
            f"first_seen = {least}(excluded.first_seen, {table.name}.first_seen),"
            f" last_seen = {most}(excluded.last_seen, {table.name}.last_seen)"
        )
        return f"{statement} ON CONFLICT ({told}) DO UPDATE SET {sets}"
    sets = ", ".join(f'"{name}" = excluded."{name}"' for name in others)
    where = f'excluded."order" > {table.name}."order"'
    return f"{statement} ON CONFLICT ({told}) DO UPDATE SET {sets} WHERE {where}"


def new_ids(connection: Connection, table: Table, count: int) -> list[int]:
    """Ids for so many new rows. Only for who holds the writer's lock."""
    if not count:
        return []
    if connection.dialect.name == "postgresql":
        numbers = connection.exec_driver_sql(
            f"SELECT nextval(pg_get_serial_sequence('{table.name}', 'id'))"
            f" FROM generate_series(1, {count})"
        )
        return sorted(int(row[0]) for row in numbers)
    last = connection.scalar(select(func.max(table.c.id))) or 0
    return list(range(int(last) + 1, int(last) + 1 + count))


def among(connection: Connection, column: ColumnElement[int], ids: Iterable[int]) -> Any:
    """``column`` is one of ``ids``, sent as one value: a long list is costly to put together."""
    every = list(ids)
    if connection.dialect.name == "postgresql":
        return column == any_(cast(every, ARRAY(BigInteger)))
    given = func.json_each(json.dumps(every)).table_valued("value")
    return column.in_(select(given.c.value))


def fetched(
    connection: Connection, statement: str, keys: Iterable[int] | Iterable[str]
) -> list[tuple[Any, ...]]:
    """The rows of a statement that ends in a column which is one of ``keys``, as the driver's.

    For where thousands of rows are read at once: without SQLAlchemy's own rows
    and types they cost a third. Booleans may come as 0 and 1.
    """
    every: Any = list(keys)
    if not every:
        return []
    if connection.dialect.name == "postgresql":
        statement += f"= ANY(%s::{'text' if isinstance(every[0], str) else 'bigint'}[])"
    else:
        statement += "IN (SELECT value FROM json_each(?))"
        every = json.dumps(every)
    result = connection.exec_driver_sql(statement, (every,))
    try:
        return list(result.cursor.fetchall())
    except connection.dialect.loaded_dbapi.Error as error:
        # SQLite reads while it fetches, and may be interrupted then.
        raise OperationalError(statement, None, error) from error
    finally:
        result.close()
