"""Struct fields by path, structs built field by field."""

from __future__ import annotations

from typing import Any

from spark_lineage.lineage.column import BARE, DERIVED
from spark_lineage.lineage.expressions.table import ATTRIBUTE, TRANSPARENT, expression
from spark_lineage.lineage.gather import Gather
from spark_lineage.lineage.lanes import VALUE


@expression("GetStructField", "GetArrayStructFields")
def struct_field(gather: Gather, row: list[Any], lane: int) -> int:
    """``s.a.b`` of a column is the path, not the whole column; of a struct built here, one part."""
    fold = gather.fold
    path: list[str] = []
    current: list[Any] = row
    while True:
        shape = fold.shapes[current[0]]
        if shape.name in ("GetStructField", "GetArrayStructFields"):
            name = fold.field_name(current)
            if name is None:
                gather.push(current[1][0], VALUE[lane])
                return DERIVED
            path.append(name)
        elif fold.handlers[current[0]] == ATTRIBUTE:
            column = gather.columns.get(current[fold.id_position[current[0]]]["#"])
            if column is None:
                gather.miss(f"no column for {fold.attribute_text(current)}")
                return DERIVED
            for name in reversed(path):
                column = column.field(name, fold.sources)
            gather.take(column, lane)
            return BARE
        elif shape.name == "CreateNamedStruct" and path:
            part = fold.struct_part(current, path[-1])
            if part is None:
                break
            path.pop()
            if not path:
                gather.push(part, lane)
                return BARE
            current = fold.rows[part]
            continue
        elif fold.handlers[current[0]] != TRANSPARENT:
            break
        current = fold.rows[current[1][0]]
    # Something else makes the struct: all of it may be in the field.
    gather.push_all(current[1] or (), VALUE[lane])
    handler = fold.handlers[current[0]]
    return handler(gather, current, VALUE[lane]) if callable(handler) else DERIVED
