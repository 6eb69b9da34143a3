"""Struct fields by path, structs built field by field."""

from __future__ import annotations

from typing import Any

from spark_lineage.lineage.column import BARE, DERIVED
from spark_lineage.lineage.expressions.conditionals import branches
from spark_lineage.lineage.gather import Gather
from spark_lineage.lineage.handlers import ATTRIBUTE, TRANSPARENT, expression
from spark_lineage.lineage.lanes import VALUE

_Path = tuple[str, ...]


@expression("GetStructField", "GetArrayStructFields")
def struct_field(gather: Gather, row: list[Any], lane: int) -> int:
    """``s.a.b`` of a column is the path, not the whole column; of a struct built here, one part."""
    name = gather.fold.field_name(row)
    child = row[1][0]
    if name is None:
        gather.push(child, VALUE[lane])
        return DERIVED
    return follow(gather, child, (name,), lane)


def follow(gather: Gather, ref: int, path: _Path, lane: int) -> int:
    """Walk one field of an expression, its path from the outermost name inward."""
    least = BARE
    stack = [(ref, path, lane)]
    seen = set(stack)
    while stack:
        here, names, lane = stack.pop()
        # Wrappers and built structs lead on to one expression, a choice to one for each branch.
        found, step = _one_step(gather, here, names, lane)
        least = max(least, step)
        for item in found:
            if item not in seen:
                seen.add(item)
                stack.append(item)
    return least


def _one_step(
    gather: Gather, ref: int, path: _Path, lane: int
) -> tuple[list[tuple[int, _Path, int]], int]:
    fold = gather.fold
    row = fold.rows[ref]
    handler = fold.handlers[row[0]]
    if not path:
        gather.push(ref, lane)
        return [], BARE
    if handler is struct_field:
        name = fold.field_name(row)
        if name is not None:
            return [(row[1][0], (name, *path), lane)], BARE
    elif handler == ATTRIBUTE:
        column = gather.columns.get(row[fold.id_position[row[0]]]["#"])
        if column is None:
            fold.unknown_attribute(gather, ref, lane)
            return [], DERIVED
        for name in path:
            column = column.field(name, fold.sources)
        gather.take(column, lane)
        return [], BARE
    elif handler == TRANSPARENT:
        return [(row[1][0], path, lane)], BARE
    elif fold.shapes[row[0]].name == "CreateNamedStruct":
        part = fold.struct_part(row, path[0])
        if part is not None:
            return [(part, path[1:], lane)], BARE
    else:
        choice = branches(fold, row, lane)
        if choice is not None:
            for test, tested in choice.tests:
                gather.push(test, tested)
            values = [v for v in choice.values if not fold.is_null(v)]
            return [(value, path, choice.lane) for value in values], choice.type
    # Something else makes the struct: all of it may be in the field.
    gather.push(ref, VALUE[lane])
    return [], DERIVED
