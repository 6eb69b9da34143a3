"""Each text in ``cases/<engine>.sql``: its lineage, worked out by hand.

A case is lines of comment and the text, with an empty line behind it. ``names`` are the
relation's columns; a line with a column's name holds its sources, ``rows`` those of the
rows, each as kind and ``table.column``, ``!`` for masked. What is not listed is not there.
``tables`` are all that are read (else: those of the sources), ``issue`` is a part of an
issue; without it there is none. ``origin`` and ``type`` are told for some columns.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from spark_lineage.lineage.column import AGGREGATE, BARE, DERIVED
from spark_lineage.lineage.datasets.jdbc_engines import ENGINES
from spark_lineage.lineage.lanes import FIRST_INDIRECT, KINDS, MASK
from spark_lineage.lineage.sqltext import Edge, SqlLineage, resolve

CASES = Path(__file__).parent / "cases"
WORDS = {"postgres": "postgresql", "tsql": "sqlserver"}
TYPES = {"IDENTITY": BARE, "TRANSFORMATION": DERIVED, "AGGREGATION": AGGREGATE}


@dataclass
class Case:
    engine: str
    id: str = ""
    sql: str = ""
    names: list[str] = field(default_factory=list)
    told: dict[str, list[str]] = field(default_factory=dict)


def read(path: Path) -> list[Case]:
    found = []
    for block in path.read_text().strip().split("\n\n"):
        case = Case(path.stem)
        text = []
        for line in block.splitlines():
            if line.startswith("-- ") and ":" in line:
                key, _, value = line[3:].partition(":")
                items = [item.strip() for item in value.split(",") if item.strip()]
                if key == "case":
                    case.id = value.strip()
                elif key == "names":
                    case.names = value.split()
                else:
                    assert key not in case.told, f"{case.id}: {key} twice"
                    case.told[key] = items
            else:
                text.append(line)
        case.sql = "\n".join(text)
        assert case.id, block
        assert case.sql, block
        known = {*case.names, "rows", "tables", "issue", "origin", "type", "opaque"}
        assert set(case.told) <= known, f"{case.id}: {set(case.told) - known}"
        found.append(case)
    return found


ALL = [case for path in sorted(CASES.glob("*.sql")) for case in read(path)]


def lineage(case: Case) -> SqlLineage:
    engine = ENGINES[WORDS.get(case.engine, case.engine)]
    return resolve(case.sql, case.names, engine.dialect, engine.fold)


def shown(edges: tuple[Edge, ...], found: SqlLineage) -> set[str]:
    def one(lane: int, table: int, path: tuple[str, ...]) -> str:
        name = ".".join(part for part, _ in found.tables[table])
        return f"{KINDS[lane >> 1].value}{'!' if lane & MASK else ''} {'.'.join((name, *path))}"

    return {one(*edge) for edge in edges}


@pytest.mark.parametrize("case", ALL, ids=lambda case: f"{case.engine}/{case.id}")
def test_case(case: Case) -> None:
    found = lineage(case)
    assert len(found.columns) == len(case.names)
    for name, column in zip(case.names, found.columns, strict=True):
        assert shown(column.edges, found) == set(case.told.get(name, ())), name
    assert shown(found.rows, found) == set(case.told.get("rows", ())), "rows"
    issues = set(found.issues).union(*(column.issues for column in found.columns))
    wanted = case.told.get("issue")
    if wanted:
        assert any(",".join(wanted) in issue for issue in issues), issues
    else:
        assert not issues
    if "tables" in case.told:
        assert {".".join(part for part, _ in name) for name in found.tables} == set(
            case.told["tables"]
        )
    else:
        used = {table for _, table, _ in found.rows}
        used |= {table for column in found.columns for _, table, _ in column.edges}
        assert used == set(range(len(found.tables)))
    columns = dict(zip(case.names, found.columns, strict=True))
    for item in case.told.get("origin", ()):
        name, origin = item.split()
        assert not any(lane < FIRST_INDIRECT for lane, _, _ in columns[name].edges)
        assert columns[name].system == (origin == "SYSTEM"), name
    for item in case.told.get("type", ()):
        name, kind = item.split()
        assert columns[name].type == TYPES[kind], name
    for item in case.told.get("opaque", ()):
        name, function = item.split()
        assert columns[name].opaque == {function}


def test_there_are_enough() -> None:
    assert len(ALL) >= 100
    assert len({(case.engine, case.id) for case in ALL}) == len(ALL)
