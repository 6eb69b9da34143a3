"""Small tables, the same tables with one column changed, and what running a query shows.

Lineage is taken over real tables; what is run reads the same rows from inline
tables, in a session of its own whose settings make tiny queries quick.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from tests.lineage.oracle.programs import TABLES

Rows = list[tuple[Any, ...]]
DATABASE = "properties"

ROWS: Mapping[str, Rows] = {
    "t1": [
        (1, 0, 3, "a"),
        (2, 1, 1, "b"),
        (3, 1, None, "a"),
        (4, 2, 4, "c"),
        (5, None, 2, "b"),
        (6, 3, 0, None),
        (7, 2, 3, "b"),
        (8, 4, 1, "a"),
    ],
    "t2": [(0, 2, "a"), (1, 0, "b"), (1, 3, "c"), (2, None, "b"), (3, 4, None), (None, 1, "a")],
    "t3": [(0, 1, "b"), (1, 3, "a"), (2, 2, None), (2, 0, "c"), (4, None, "a")],
}


def _rotate(values: list[Any], kind: str) -> list[Any]:
    return values[1:] + values[:1]


def _swap(values: list[Any], kind: str) -> list[Any]:
    """Other values of the same domain, and no NULL."""
    if kind == "int":
        return [2 if value is None else (value * 3 + 1) % 5 for value in values]
    return ["b" if value is None else {"a": "c", "b": "a", "c": "b"}[value] for value in values]


def _shift(values: list[Any], kind: str) -> list[Any]:
    """Values of another domain, every third NULL."""
    changed = [9 + i if kind == "int" else f"z{i}" for i, _ in enumerate(values)]
    return [None if i % 3 == 1 else value for i, value in enumerate(changed)]


_WAYS: Mapping[str, Callable[[list[Any], str], list[Any]]] = {
    "rotate": _rotate,
    "swap": _swap,
    "shift": _shift,
}


def _inline(rows: Rows, columns: tuple[tuple[str, str], ...]) -> str:
    def literal(value: Any, kind: str) -> str:
        if value is None:
            return f"CAST(NULL AS {'INT' if kind == 'int' else 'STRING'})"
        return str(value) if kind == "int" else f"'{value}'"

    kinds = [kind for _, kind in columns]
    listed = ", ".join(
        "(" + ", ".join(literal(v, k) for v, k in zip(row, kinds, strict=True)) + ")"
        for row in rows
    )
    return f"SELECT * FROM VALUES {listed} AS t({', '.join(name for name, _ in columns)})"


class Laboratory:
    """The tables, and runs of programs over them with and without a change."""

    def __init__(self, spark: Any) -> None:
        self.spark = spark
        #: The tables that lineage is taken over.
        self.tables = {table: f"{DATABASE}.{table}" for table in TABLES}
        spark.sql(f"CREATE DATABASE IF NOT EXISTS {DATABASE}")
        self.runner = spark.newSession()
        for key, value in (
            ("spark.sql.adaptive.enabled", "false"),
            ("spark.sql.codegen.wholeStage", "false"),
            ("spark.sql.codegen.factoryMode", "NO_CODEGEN"),
            ("spark.sql.shuffle.partitions", "1"),
            ("spark.sql.leafNodeDefaultParallelism", "1"),
            ("spark.sql.crossJoin.enabled", "true"),
        ):
            self.runner.conf.set(key, value)
        for table, columns in TABLES.items():
            spark.sql(
                f"CREATE TABLE {self.tables[table]} USING parquet AS "
                + _inline(ROWS[table], columns)
            )
            self._view(f"run_{table}", ROWS[table], columns)
            for index, (name, kind) in enumerate(columns):
                for way, change in _WAYS.items():
                    changed = change([row[index] for row in ROWS[table]], kind)
                    rows = [
                        (*row[:index], value, *row[index + 1 :])
                        for row, value in zip(ROWS[table], changed, strict=True)
                    ]
                    self._view(f"run_{table}_{name}_{way}", rows, columns)

    def _view(self, name: str, rows: Rows, columns: tuple[tuple[str, str], ...]) -> None:
        self.runner.sql(f"CREATE TEMPORARY VIEW {name} AS {_inline(rows, columns)}")

    def close(self) -> None:
        self.spark.sql(f"DROP DATABASE IF EXISTS {DATABASE} CASCADE")

    def run(self, build: Callable[[Any, Mapping[str, str]], Any], changed: str = "") -> Rows:
        """The rows of a query over the tables; ``changed`` is ``table_column_way``."""
        names = {table: f"run_{table}" for table in TABLES}
        if changed:
            names[changed.split("_", 1)[0]] = f"run_{changed}"
        return [tuple(row) for row in build(self.runner, names).collect()]

    def changes(
        self,
        build: Callable[[Any, Mapping[str, str]], Any],
        base: Rows,
        column: str,
        outputs: list[int],
    ) -> str | None:
        """How a change of ``table.column`` shows in these outputs taken together, or None."""
        before = Counter(tuple(row[i] for i in outputs) for row in base)
        for way in _WAYS:
            rows = self.run(build, f"{column.replace('.', '_')}_{way}")
            after = Counter(tuple(row[i] for i in outputs) for row in rows)
            if after != before:
                return f"{way}: {dict(before - after)} became {dict(after - before)}"
        return None
