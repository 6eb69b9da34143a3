"""Small made-up data in the shape of the schema: the same each time, keys that meet.

The values are no TPC data. Queries over them take as long as small jobs do,
which is what an overhead is told beside; what they return means nothing.
"""

from __future__ import annotations

from typing import Any

from tpc import Schema

#: Columns whose values queries look for, as expressions over ``id``.
_KNOWN = {
    "d_year": "1998 + CAST(id % 6 AS INT)",
    "d_moy": "1 + CAST(id % 12 AS INT)",
    "d_month_seq": "1176 + CAST(id % 60 AS INT)",
}


def expression(column: str, kind: str, position: int) -> str:
    """The value of a column in row ``id``."""
    if column in _KNOWN:
        return _KNOWN[column]
    if kind in ("int", "bigint"):
        return f"CAST((id * {2 * position + 1}) % 97 AS {kind})"
    if kind == "date":
        return f"date_add(DATE'1998-01-01', CAST((id * {position + 1}) % 1900 AS INT))"
    if kind.startswith("decimal"):
        return f"CAST((id * {2 * position + 3}) % 900 / 10 AS {kind})"
    return f"concat('{column[:2]}', CAST((id * {position + 1}) % 23 AS STRING))"


def fill(spark: Any, schema: Schema, rows: int) -> None:
    """Create the databases with their tables, each of so many rows in one file."""
    for database, tables in schema.items():
        spark.sql(f"CREATE DATABASE IF NOT EXISTS {database}")
        for table, columns in tables.items():
            values = ", ".join(
                f"{expression(name, kind, position)} AS `{name}`"
                for position, (name, kind) in enumerate(columns)
            )
            spark.sql(
                f"CREATE TABLE {database}.{table} USING parquet AS"
                f" SELECT {values} FROM range(0, {rows}, 1, 1)"
            )
