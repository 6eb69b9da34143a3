"""Struct fields by path, structs built field by field."""

from __future__ import annotations

from typing import Any

from spark_lineage.lineage.column import BARE, DERIVED
from spark_lineage.lineage.gather import Gather
from spark_lineage.lineage.handlers import ATTRIBUTE, TRANSPARENT, expression
from spark_lineage.lineage.lanes import VALUE


@expression("GetStructField", "GetArrayStructFields")
def struct_field(gather: Gather, row: list[Any], lane: int) -> int:
    """``s.a.b`` of a column is the path, not the whole column; of a struct built here, one part."""
    fold = gather.fold
    path: list[str] = []
    ref = -1
    current = row
    while True:
        handler = fold.handlers[current[0]]
        if handler is struct_field:
            name = fold.field_name(current)
            if name is None:
                gather.push(current[1][0], VALUE[lane])
                return DERIVED
            path.append(name)
            ref = current[1][0]
        elif not path:
            gather.push(ref, lane)
            return BARE
        elif handler == ATTRIBUTE:
            column = gather.columns.get(current[fold.id_position[current[0]]]["#"])
            if column is None:
                fold.unknown_attribute(gather, ref, lane)
                return DERIVED
            for name in reversed(path):
                column = column.field(name, fold.sources)
            gather.take(column, lane)
            return BARE
        elif handler == TRANSPARENT:
            ref = current[1][0]
        elif fold.shapes[current[0]].name == "CreateNamedStruct":
            part = fold.struct_part(current, path[-1])
            if part is None:
                gather.push(ref, VALUE[lane])
                return DERIVED
            path.pop()
            ref = part
        else:
            # Something else makes the struct: all of it may be in the field.
            gather.push(ref, VALUE[lane])
            return DERIVED
        current = fold.rows[ref]
