"""The fields of a struct that an expression builds, each as a column of its own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from spark_lineage.lineage.column import Column

if TYPE_CHECKING:
    from spark_lineage.lineage.fold import Fold

#: Deeper nesting is told as a whole: each level walks its fields once more.
_MAX_DEPTH = 12


def struct_parts(
    fold: Fold, ref: int, columns: Mapping[int, Column], depth: int = 0
) -> dict[str, Column] | None:
    """The columns of the fields, by name; None if the expression builds no struct."""
    row = fold.rows[ref]
    name = fold.shapes[row[0]].name
    if name == "GetStructField":
        return _of_field(fold, ref, columns)
    if depth >= _MAX_DEPTH or name not in ("CreateNamedStruct", "UpdateFields"):
        return None
    if name == "CreateNamedStruct":
        children = row[1] or []
        parts: dict[str, Column] = {}
        for index in range(0, len(children) - 1, 2):
            field = fold.literal(children[index])
            if field is None:
                return None
            parts[field] = fold.column(children[index + 1], columns, None, depth + 1)
        return parts
    return _updated(fold, ref, columns, depth)


def _of_field(fold: Fold, ref: int, columns: Mapping[int, Column]) -> dict[str, Column] | None:
    """The fields of a field (``s.a``) of a struct that was built below."""
    path: list[str] = []
    row = fold.rows[ref]
    while fold.shapes[row[0]].name == "GetStructField":
        name = fold.field_name(row)
        if name is None:
            return None
        path.append(name)
        row = fold.rows[row[1][0]]
    if fold.shapes[row[0]].name != "AttributeReference":
        return None
    column = columns.get(row[fold.id_position[row[0]]]["#"])
    for name in reversed(path):
        if column is None or column.parts is None:
            return None
        column = column.field(name, fold.sources)
    return dict(column.parts) if column is not None and column.parts is not None else None


def _updated(
    fold: Fold, ref: int, columns: Mapping[int, Column], depth: int
) -> dict[str, Column] | None:
    base_ref, *_ = fold.rows[ref][1]
    base = fold.column(base_ref, columns, None, depth + 1)
    if base.parts is not None:
        parts = dict(base.parts)
    else:
        names = _field_names(fold, base_ref)
        if names is None:
            return None
        parts = {name: base.field(name, fold.sources) for name in names}
    update = fold.record.expression(ref)
    for operation in fold.record.refs(update.raw("fieldOps")):
        shape = fold.record.shape(operation)
        field = fold.record.name(operation)
        known = next((name for name in parts if name.lower() == field.lower()), field)
        if shape.name == "WithField":
            value = fold.record.expression(operation).children[0]
            parts[known] = fold.column(value, columns, None, depth + 1)
        elif shape.name == "DropField":
            parts.pop(known, None)
        else:
            return None
    return parts


def _field_names(fold: Fold, ref: int) -> list[str] | None:
    """The field names of a struct-typed attribute."""
    view = fold.record.expression(ref)
    text = view.data_type()
    if text is None or not text.startswith("{"):
        return None
    try:
        fields = json.loads(text).get("fields")
        return [field["name"] for field in fields]
    except (ValueError, TypeError, KeyError):
        return None


@lru_cache(maxsize=4096)
def field_at(text: str | None, ordinals: tuple[int, ...]) -> str | None:
    """The name of the field that ordinals lead to in a struct type's JSON."""
    if text is None or not text.startswith("{"):
        return None
    name = None
    try:
        current = json.loads(text)
        for ordinal in ordinals:
            field = current["fields"][ordinal]
            name, current = field["name"], field["type"]
    except (ValueError, TypeError, KeyError, IndexError):
        return None
    return name
