"""Walks over a record's rows, none of them recursive."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from spark_lineage.plan.node import Record


def plan_rows(record: Record, root: int) -> Iterator[int]:
    """The plan rows up to ``root``, children before parents."""
    is_plan = [shape.kind == "P" for shape in record.shapes]
    rows = record.rows
    for ref in range(root + 1):
        if is_plan[rows[ref][0]]:
            yield ref


def reachable(record: Record, roots: Iterable[int], into_fields: bool = True) -> set[int]:
    """All rows that can be reached from ``roots``, through children and (if asked) fields."""
    seen: set[int] = set()
    stack = list(roots)
    rows = record.rows
    offset = [{"P": 2, "E": 2, "O": 1}[shape.kind] for shape in record.shapes]
    while stack:
        ref = stack.pop()
        if ref in seen:
            continue
        seen.add(ref)
        row = rows[ref]
        if offset[row[0]] != 1 and row[1]:
            stack.extend(row[1])
        if into_fields:
            _push_values(row, offset[row[0]], stack)
    return seen


def _push_values(row: list[Any], start: int, stack: list[int]) -> None:
    values = row[start:]
    while values:
        value = values.pop()
        if type(value) is int:
            if value >= 0:
                stack.append(value)
        elif isinstance(value, list):
            values.extend(value)
        elif isinstance(value, dict) and "#" not in value and "cut" not in value:
            values.extend(value["map"] if "map" in value else value.values())
