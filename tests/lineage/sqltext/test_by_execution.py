"""The lineage of a text, proven by running it: change one column, and see what changes.

Each text of ``queries.sql`` is run on a real PostgreSQL, with the rows as they are and with
one column's values changed in several ways. What changes must be in the lineage; and what the
lineage says must show in some change.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from spark_lineage.lineage.sqltext import resolve
from tests.support.postgres import server

Rows = list[tuple[Any, ...]]
COLUMNS = {"t": ("k", "a", "b", "s"), "u": ("k", "c", "d")}
ROWS: dict[str, Rows] = {
    "t": [
        (1, 3, 2, "x"),
        (2, 1, 1, "y"),
        (3, None, 4, "x"),
        (4, 2, None, "y"),
        (5, 4, 3, "z"),
        (6, 5, 1, "z"),
        (7, 2, 5, "x"),
    ],
    "u": [(1, 2, 1), (2, 3, 5), (2, 1, 2), (4, 4, 3), (6, 1, 4), (9, 5, 1)],
}
TEXTS = [
    block
    for block in Path(__file__).with_name("queries.sql").read_text().split("\n\n")
    if block.strip()
]


def plain(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if not line.startswith("--")).strip()


@pytest.fixture(scope="module")
def cursor() -> Iterator[Any]:
    psycopg = pytest.importorskip("psycopg")
    with server() as found:
        url = found.url.replace("postgresql+psycopg", "postgresql")
        with psycopg.connect(f"{url}/postgres", autocommit=True) as connection:
            yield connection.cursor()


def load(cursor: Any, tables: dict[str, Rows]) -> None:
    for name, columns in COLUMNS.items():
        types = ", ".join(f"{c} {'text' if c == 's' else 'int'}" for c in columns)
        cursor.execute(f"DROP TABLE IF EXISTS {name}; CREATE TABLE {name} ({types})")
        marks = ", ".join(["%s"] * len(columns))
        cursor.executemany(f"INSERT INTO {name} VALUES ({marks})", tables[name])


def changed(table: str, column: str) -> Iterator[dict[str, Rows]]:
    """The tables with one column rotated, reversed, moved out of its domain, all alike."""
    place = COLUMNS[table].index(column)
    values = [row[place] for row in ROWS[table]]
    far = [f"q{i}" if column == "s" else 20 + 3 * i for i, _ in enumerate(values)]
    near = [
        ({"x": "y", "y": "z", "z": "x"}[v] if column == "s" else (v * 3 + 1) % 7) if v else v
        for v in values
    ]
    alike = [values[0]] * len(values)
    for ways in (values[1:] + values[:1], values[::-1], far, near, alike):
        rows = [
            (*row[:place], value, *row[place + 1 :])
            for row, value in zip(ROWS[table], ways, strict=True)
        ]
        yield {**ROWS, table: rows}


def run(cursor: Any, text: str) -> tuple[list[str], Rows]:
    cursor.execute(text)
    return [item.name for item in cursor.description], cursor.fetchall()


@pytest.mark.parametrize("text", [plain(text) for text in TEXTS])
def test_what_changes_is_told_and_what_is_told_changes(cursor: Any, text: str) -> None:
    load(cursor, ROWS)
    names, before = run(cursor, text)
    found = resolve(text, names, "postgres", "lower")
    assert not found.issues
    tables = [name[-1][0] for name in found.tables]
    rows = {(tables[table], path[0]) for _, table, path in found.rows}
    told = [
        {(tables[table], path[0]) for _, table, path in column.edges} for column in found.columns
    ]
    shown: set[tuple[str, str]] = set()
    for table, columns in COLUMNS.items():
        for column in columns:
            source = (table, column)
            for tables_now in changed(table, column):
                load(cursor, tables_now)
                _, after = run(cursor, text)
                if Counter(after) == Counter(before):
                    continue
                shown.add(source)
                assert source in rows.union(*told), f"{source} changes the result"
                for place, name in enumerate(names):
                    one = Counter(row[place] for row in before)
                    other = Counter(row[place] for row in after)
                    if one != other:
                        assert source in rows | told[place], f"{source} changes {name}"
    assert shown == rows.union(*told), "what is told shows in some change"


def test_there_are_enough() -> None:
    assert len(TEXTS) >= 18
