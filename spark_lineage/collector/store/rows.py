"""Rows found or made by their digests, many at once."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any, TypeVar

import orjson
from sqlalchemy import (
    ARRAY,
    BigInteger,
    Column,
    ColumnElement,
    Connection,
    Table,
    any_,
    cast,
    func,
    select,
)
from sqlalchemy.dialects import postgresql
from sqlalchemy.exc import DBAPIError

T = TypeVar("T")
CHUNK = 1_000
_POSTGRESQL = postgresql.dialect()  # type: ignore[no-untyped-call]
# Before every time that an event can have.
BEGINNING = -(10**17)


def chunks(items: Iterable[T], size: int = CHUNK) -> Iterator[list[T]]:
    """``items`` in lists of at most ``size`` (a statement has a limit of parameters)."""
    everything = list(items)
    for start in range(0, len(everything), size):
        yield everything[start : start + size]


def ids(connection: Connection, table: Table, rows: dict[str, dict[str, Any]]) -> dict[str, int]:
    """The id of each row by its digest, made where it is new: all have the same columns."""
    found = find(connection, table, rows)
    missing = {key: row for key, row in rows.items() if key not in found}
    found.update(make(connection, table, missing))
    return found


def make(connection: Connection, table: Table, rows: dict[str, dict[str, Any]]) -> dict[str, int]:
    """Insert rows whose digests are not there; the id of each."""
    numbers = new_ids(connection, table, len(rows))
    made = dict(zip(rows, numbers, strict=True))
    if made:
        columns = ("id", "digest", *next(iter(rows.values())))
        values = [(made[key], key, *row.values()) for key, row in rows.items()]
        put(connection, table, columns, values)
    return made


def find(connection: Connection, table: Table, keys: Iterable[str]) -> dict[str, int]:
    """The ids of the rows that are there, by their digests."""
    query = f"SELECT digest, id FROM {table.name} WHERE digest "
    return {row[0]: row[1] for row in fetched(connection, query, keys)}


# What becomes of a row whose key is there already.
IGNORE, NEWER, SPAN = "ignore", "newer", "span"
# So many rows go into one statement of SQLite: few different statements, each made ready once.
_SIZES = (256, 64, 16, 4, 1)
_Row = tuple[Any, ...]


def put(
    connection: Connection,
    table: Table,
    names: tuple[str, ...],
    values: Sequence[_Row],
    conflict: str = "",
) -> None:
    """Insert many rows at once, by the driver alone: ``names`` are the columns of ``values``.

    With ``IGNORE`` a row that is there stays as it is; with ``NEWER`` the one of
    the greater ``order`` stays; with ``SPAN`` what was seen spans from the first
    to the last time. But for ``IGNORE`` each key stands once in ``values``.
    """
    if values:
        if connection.dialect.name == "postgresql":
            if conflict:
                _run(connection, _insertion(table, names, conflict, 0), _columns(values))
            else:
                _copy(connection, table, names, values)
            return
        for some in _some(values):
            statement = _insertion(table, names, conflict, len(some))
            _run(connection, statement, [*chain.from_iterable(some)])


def change(
    connection: Connection,
    table: Table,
    names: tuple[str, ...],
    keys: tuple[str, ...],
    values: Sequence[_Row],
    condition: str = "TRUE",
) -> None:
    """Change many rows at once: ``values`` have the columns ``names``, then those of ``keys``.

    Each key stands once in ``values``. ``condition`` may name the row ``t`` and
    the values ``v`` (their columns are ``c1``, ``c2``, …).
    """
    if values:
        if connection.dialect.name == "postgresql":
            _run(connection, _update(table, names, keys, condition, 0), _columns(values))
            return
        for some in _some(values):
            statement = _update(table, names, keys, condition, len(some))
            _run(connection, statement, [*chain.from_iterable(some)])


def _some(values: Sequence[_Row]) -> Iterator[Sequence[_Row]]:
    place = 0
    for size in _SIZES:
        while len(values) - place >= size:
            yield values[place : place + size]
            place += size


def _columns(values: Sequence[_Row]) -> list[str]:
    """PostgreSQL's arrays, one a column, written here: the driver takes ten times as long."""
    return [
        "{" + ",".join([_element(value) for value in column]) + "}"
        for column in zip(*values, strict=True)
    ]


def _element(value: object) -> str:
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return "NULL" if value is None else str(value)


def _copy(
    connection: Connection, table: Table, names: tuple[str, ...], values: Sequence[_Row]
) -> None:
    columns = ", ".join(f'"{name}"' for name in names)
    statement = f"COPY {table.name} ({columns}) FROM STDIN"
    lines = ["\t".join([_written(value) for value in row]) for row in values]
    # A dialect for two kinds of driver: only this one has COPY.
    cursor: Any = connection.connection.cursor()
    try:
        with cursor.copy(statement) as copy:
            copy.write("\n".join(lines) + "\n")
    except connection.dialect.loaded_dbapi.Error as error:
        raise _wrapped(connection, statement, error) from error
    finally:
        cursor.close()


def _written(value: object) -> str:
    if isinstance(value, str):
        # What COPY reads otherwise than it is written.
        value = value.replace("\\", r"\\").replace("\n", r"\n")
        return value.replace("\t", r"\t").replace("\r", r"\r")
    return r"\N" if value is None else str(value)


def _run(connection: Connection, statement: str, parameters: Sequence[Any]) -> None:
    # One step of the driver: it lets other threads go on for as long, and no longer. With a
    # step for each row the writer would wait its turn again and again.
    cursor = connection.connection.cursor()
    try:
        cursor.execute(statement, parameters)
    except connection.dialect.loaded_dbapi.Error as error:
        raise _wrapped(connection, statement, error) from error
    finally:
        cursor.close()


def _wrapped(connection: Connection, statement: str, error: Exception) -> Exception:
    base = connection.dialect.loaded_dbapi.Error
    found = DBAPIError.instance(statement, None, error, base, dialect=connection.dialect)
    return found if isinstance(found, Exception) else error


def _values(table: Table, names: tuple[str, ...], count: int) -> str:
    """So many rows of SQLite's parameters, or with 0 PostgreSQL's: an array for each column."""
    if not count:
        arrays = (f"%s::{_postgresql_type(table.c[name])}[]" for name in names)
        return f"SELECT * FROM unnest({', '.join(arrays)})"
    signs = ", ".join(["?"] * len(names))
    return "VALUES " + ", ".join([f"({signs})"] * count)


def _postgresql_type(column: Column[Any]) -> str:
    return column.type.compile(_POSTGRESQL).partition(" COLLATE")[0]


@lru_cache(maxsize=500)
def _update(
    table: Table, names: tuple[str, ...], keys: tuple[str, ...], condition: str, count: int
) -> str:
    every = (*names, *keys)
    given = ", ".join(f"c{n}" for n in range(1, len(every) + 1))
    sets = ", ".join(f'"{name}" = v.c{n}' for n, name in enumerate(names, 1))
    where = " AND ".join(f't."{key}" = v.c{n}' for n, key in enumerate(keys, len(names) + 1))
    return (
        f"WITH v({given}) AS ({_values(table, every, count)})"
        f" UPDATE {table.name} AS t SET {sets} FROM v WHERE {where} AND {condition}"
    )


@lru_cache(maxsize=500)
def _insertion(table: Table, names: tuple[str, ...], conflict: str, count: int) -> str:
    columns = ", ".join(f'"{name}"' for name in names)
    statement = f"INSERT INTO {table.name} ({columns}) {_values(table, names, count)}"
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
        least, most = ("min", "max") if count else ("least", "greatest")
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
        # No one else takes any between the two.
        taken = f"""
            SELECT setval(s.name, nextval(s.name) + {count - 1})
            FROM (SELECT pg_get_serial_sequence('{table.name}', 'id') AS name) s"""
        ((last,),) = read(connection, taken)
        return list(range(last - count + 1, last + 1))
    ((last,),) = read(connection, f"SELECT coalesce(max(id), 0) FROM {table.name}")
    return list(range(last + 1, last + 1 + count))


def read(connection: Connection, statement: str) -> list[tuple[Any, ...]]:
    """The rows of a statement, as the driver's."""
    return _fetched(connection, statement, ())


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
        if isinstance(every[0], str):
            statement += "= ANY(%s::text[])"
        else:
            statement += "= ANY(%s::bigint[])"
            every = _numbers(every)
    else:
        statement += "IN (SELECT value FROM json_each(?))"
        every = orjson.dumps(every).decode()
    return _fetched(connection, statement, (every,))


def fetched_pairs(
    connection: Connection,
    statement: str,
    pairs: Iterable[tuple[int, int]] | Iterable[tuple[int, str]],
) -> list[tuple[Any, ...]]:
    """The rows of a statement that reads ``pairs``, a table of these with columns a and b."""
    every: list[Any] = list(pairs)
    if not every:
        return []
    parameters: list[Any]
    if connection.dialect.name == "postgresql":
        text = isinstance(every[0][1], str)
        given = f"SELECT * FROM unnest(%s::bigint[], %s::{'text' if text else 'bigint'}[])"
        one, other = zip(*every, strict=True)
        parameters = [_numbers(one), list(other) if text else _numbers(other)]
    else:
        given = "SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(?)"
        parameters = [orjson.dumps(every).decode()]
    return _fetched(connection, f"WITH pairs(a, b) AS ({given}) {statement}", parameters)


def _numbers(every: Iterable[int]) -> str:
    # Written here: the driver would look at each number twice.
    return "{" + ",".join(map(str, every)) + "}"


def _fetched(
    connection: Connection, statement: str, parameters: Sequence[Any]
) -> list[tuple[Any, ...]]:
    cursor = connection.connection.cursor()
    try:
        cursor.execute(statement, parameters)
        return list(cursor.fetchall())
    except connection.dialect.loaded_dbapi.Error as error:
        # SQLite reads while it fetches, and may be interrupted then.
        raise _wrapped(connection, statement, error) from error
    finally:
        cursor.close()
