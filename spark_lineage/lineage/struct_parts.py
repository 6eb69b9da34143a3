"""The fields of a struct that an expression builds, each as a column of its own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from spark_lineage.lineage.column import Column
from spark_lineage.lineage.expressions.conditionals import branches
from spark_lineage.lineage.expressions.structs import follow
from spark_lineage.lineage.gather import Gather
from spark_lineage.lineage.handlers import TRANSPARENT
from spark_lineage.lineage.lanes import IDENTITY

if TYPE_CHECKING:
    from spark_lineage.lineage.fold import Fold

#: Deeper nesting is told as a whole: each level walks its fields once more.
_MAX_DEPTH = 12
_CHOOSING = frozenset({"CaseWhen", "Coalesce", "If"})


def struct_parts(
    fold: Fold, ref: int, columns: Mapping[int, Column], depth: int = 0
) -> dict[str, Column] | None:
    """The columns of the fields, by name; None if the expression builds no struct."""
    row = fold.rows[ref]
    name = fold.shapes[row[0]].name
    if name == "GetStructField":
        return _of_field(fold, ref, columns)
    if name in _CHOOSING:
        return _chosen_parts(fold, ref, (), columns)
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


def _chosen_parts(
    fold: Fold, ref: int, path: tuple[str, ...], columns: Mapping[int, Column]
) -> dict[str, Column] | None:
    """The fields of a CASE, IF or COALESCE of structs: of each, that of every branch."""
    names = _chosen_names(fold, ref, path) if len(path) < _MAX_DEPTH else None
    if names is None:
        return None
    parts: dict[str, Column] = {}
    for name in names:
        below = (*path, name)
        gather = Gather(fold, columns, [])
        gather.type = follow(gather, ref, below, IDENTITY)
        gather.run()
        # As deep as the types are nested, at most _MAX_DEPTH.
        parts[name] = gather.column(None, _chosen_parts(fold, ref, below, columns))
    return parts


def _chosen_names(fold: Fold, root: int, path: tuple[str, ...]) -> list[str] | None:
    """The field names at a path that all branches agree on; None where one is not known."""
    agreed: list[str] | None = None
    stack = [(root, path)]
    seen = set(stack)
    while stack:
        ref, left = stack.pop()
        row = fold.rows[ref]
        shape = fold.shapes[row[0]].name
        choice = branches(fold, row, IDENTITY)
        part = fold.struct_part(row, left[0]) if left and shape == "CreateNamedStruct" else None
        if choice is not None:
            found = [(value, left) for value in choice.values if not fold.is_null(value)]
        elif fold.handlers[row[0]] == TRANSPARENT:
            found = [(row[1][0], left)]
        elif part is not None:
            found = [(part, left[1:])]
        else:
            names = _names_at(fold, ref, left)
            if not names or (agreed is not None and names != agreed):
                return None
            agreed = names
            continue
        new = [item for item in found if item not in seen]
        seen.update(new)
        stack.extend(new)
    return agreed


def _names_at(fold: Fold, ref: int, path: tuple[str, ...]) -> list[str] | None:
    """The field names at a path of a built struct or of an attribute."""
    row = fold.rows[ref]
    if fold.shapes[row[0]].name == "CreateNamedStruct":
        literals = [fold.literal(child) for child in (row[1] or [])[::2]]
        return [name for name in literals if name is not None]
    above: list[str] = []
    while fold.shapes[row[0]].name == "GetStructField":
        name = fold.field_name(row)
        if name is None:
            return None
        above.insert(0, name)
        ref = row[1][0]
        row = fold.rows[ref]
    return _field_names(fold, ref, (*above, *path))


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


def _field_names(fold: Fold, ref: int, path: tuple[str, ...] = ()) -> list[str] | None:
    """The field names of a struct-typed attribute, or of a struct inside it."""
    found = names_in(fold.record.expression(ref).data_type(), path)
    return None if found is None else list(found)


@lru_cache(maxsize=4096)
def names_in(text: str | None, path: tuple[str, ...]) -> tuple[str, ...] | None:
    """The fields of a struct type's JSON, or of a struct or an array of structs inside it."""
    if text is None or not text.startswith("{"):
        return None
    try:
        current = json.loads(text)
        for name in path:
            fields = {field["name"].lower(): field["type"] for field in current["fields"]}
            current = fields[name.lower()]
        if current["type"] == "array":
            current = current["elementType"]
        return tuple(field["name"] for field in current["fields"])
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
