"""From the bridge's JSON to a :class:`Record`, checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from spark_lineage.errors import RecordError
from spark_lineage.plan.node import Record, Shape

#: The version of the record that this package reads (docs/record.md).
FORMAT_VERSION: Final = 1


def decode(record: Mapping[str, Any]) -> Record:
    """Check a record of the bridge and give it as a :class:`Record`.

    ``record`` is the parsed JSON object; its lists are kept, not copied.
    Raises :class:`RecordError` if the format version is not known (naming
    both) or a row refers to a row that is not before it.
    """
    if not isinstance(record, Mapping):
        raise RecordError(f"a record is a JSON object, not {type(record).__name__}")
    version = record.get("formatVersion")
    if version != FORMAT_VERSION:
        raise RecordError(
            f"the record has format version {version!r}; this reader knows {FORMAT_VERSION}"
        )
    strings = record.get("strings") or []
    shapes = [_shape(raw) for raw in record.get("shapes") or []]
    rows = record.get("nodes") or []
    _check(rows, shapes)
    plans = record.get("plans") or {}
    return Record(
        record,
        strings,
        shapes,
        rows,
        _root(plans.get("analyzed"), rows, shapes, "analyzed"),
        _root(plans.get("optimized"), rows, shapes, "optimized"),
    )


def _shape(raw: Any) -> Shape:
    try:
        name, class_name, kind, fields = raw
        return Shape(name, class_name, kind, tuple(fields))
    except (KeyError, TypeError, ValueError):
        raise RecordError(f"a shape is [name, class, kind, [field, ...]], not {raw!r}") from None


def _check(rows: list[list[Any]], shapes: list[Shape]) -> None:
    """Refuse rows that would send a reader in a circle or out of the tables."""
    needed = [(1 if shape.kind == "O" else 2 if shape.kind == "E" else 3) for shape in shapes]
    leaf_kind = [shape.kind == "O" for shape in shapes]
    try:
        for index, row in enumerate(rows):
            shape = row[0]
            if shape < 0 or len(row) < needed[shape]:
                raise RecordError(f"row {index} is too short or of no shape")
            if leaf_kind[shape]:
                continue
            children = row[1]
            if children:
                # The common case is one or two children: max() of a list is the cheap test.
                if max(children) >= index or min(children) < 0:
                    raise RecordError(f"row {index} refers to a row that is not before it")
            elif children != 0 and children != []:
                raise RecordError(f"row {index} has no list of children")
            if needed[shape] == 3 and row[2] == -1 and (not children or len(children) != 1):
                raise RecordError(f"row {index} has its child's output but not one child")
    except (TypeError, IndexError, KeyError) as error:
        raise RecordError(f"the plan's rows cannot be read: {error}") from None


def _root(raw: Any, rows: list[list[Any]], shapes: list[Shape], what: str) -> int | None:
    if raw is None:
        return None
    if type(raw) is not int or not 0 <= raw < len(rows) or shapes[rows[raw][0]].kind != "P":
        raise RecordError(f"the {what} plan is {raw!r}, which is no row of a plan")
    return raw
