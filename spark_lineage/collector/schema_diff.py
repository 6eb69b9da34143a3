"""How two schemas of a data set differ, and which differences can break a reader.

A removed column, a renamed one, and a type that holds fewer values than before
can; an added column and a wider type cannot, but for those who read by ``*``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from spark_lineage.collector import checks

REMOVED, RENAMED, NARROWED, TYPE, WIDENED, ADDED = (
    "removed", "renamed", "narrowed", "type", "widened", "added",
)  # fmt: skip
BREAKING = (REMOVED, RENAMED, NARROWED, TYPE)


@dataclass(frozen=True)
class Field:
    """A column by its path; nested ones are named ``a.b``."""

    path: str
    type: str | None = None


@dataclass(frozen=True)
class Change:
    """One difference: ``column`` is its name before, ``to`` a new type or a new name."""

    column: str
    change: str
    before: str | None
    after: str | None
    renamed_to: str | None = None

    @property
    def breaking(self) -> bool:
        """Whether it can break who reads the column."""
        return self.change in BREAKING


def compare(old: Sequence[Field], new: Sequence[Field]) -> list[Change]:
    """The changes from one schema to another, those of old columns first, each by its order.

    A column that went while another of the same type came in its place is a
    rename. What is below a column that went or came is not told once more; a
    struct whose fields are told is compared by them, not by its type's text.
    """
    before = {one.path: one for one in old}
    after = {one.path: one for one in new}
    places = _places(old), _places(new)
    came = [path for path in after if path not in before]
    found: list[Change] = []
    renamed: dict[str, str] = {}
    for path, one in before.items():
        if _below(path, renamed) or any(_below(path, [c.column]) for c in found if _gone(c)):
            continue
        if path not in after:
            other = next(
                (c for c in came if c not in renamed.values() and _replaces(
                    one, after[c], places[0][path], places[1][c])), None
            )  # fmt: skip
            if other is None:
                found.append(Change(path, REMOVED, one.type, None))
            else:
                renamed[path] = other
                found.append(Change(path, RENAMED, one.type, after[other].type, other))
        elif not (_parent(path, before) and _parent(path, after)):
            kind = of_types(one.type, after[path].type)
            if kind is not None:
                found.append(Change(path, kind, one.type, after[path].type))
    new_ones = [path for path in came if path not in renamed.values()]
    found += [
        Change(path, ADDED, None, after[path].type)
        for path in new_ones
        if not _below(path, [*new_ones, *renamed.values()])
    ]
    return found


def _gone(change: Change) -> bool:
    return change.change in (REMOVED, RENAMED)


def _below(path: str, others: Sequence[str] | dict[str, str]) -> bool:
    return any(path.startswith(other + ".") for other in others)


def _parent(path: str, fields: dict[str, Field]) -> bool:
    return any(other.startswith(path + ".") for other in fields)


def _places(fields: Sequence[Field]) -> dict[str, tuple[str, int]]:
    """Of each column what holds it, and its place there."""
    counts: dict[str, int] = {}
    found = {}
    for one in fields:
        holder = one.path.rpartition(".")[0]
        found[one.path] = (holder, counts.get(holder, 0))
        counts[holder] = counts.get(holder, 0) + 1
    return found


def _replaces(
    old: Field, new: Field, old_place: tuple[str, int], new_place: tuple[str, int]
) -> bool:
    return old_place == new_place and _fold(old.type) == _fold(new.type)


def _fold(kind: str | None) -> str:
    return "".join((kind or "").lower().split())


# Decimal digits that always fit, and bits, of the whole numbers; by each name that engines use.
_WHOLE = {
    **dict.fromkeys(("tinyint", "byte", "int8"), (2, 7)),
    **dict.fromkeys(("smallint", "short", "int16", "int2"), (4, 15)),
    **dict.fromkeys(("int", "integer", "int32", "int4", "mediumint"), (9, 31)),
    **dict.fromkeys(("bigint", "long", "int64"), (18, 63)),
}
# Bits of the mantissa: whole numbers up to that are exact.
_FLOATING = {**dict.fromkeys(("float", "real", "float4", "float32"), 24),
             **dict.fromkeys(("double", "doubleprecision", "float8", "float64"), 53)}  # fmt: skip
_DECIMAL = ("decimal", "numeric", "dec", "number")
_BITS, _DIGITS = math.log2(10), math.log10(2)
_TEXT = ("varchar", "char", "character", "charactervarying", "nvarchar", "nchar")


def of_types(old: str | None, new: str | None) -> str | None:
    """What a change of type is: ``narrowed``, ``widened`` or ``type``; None where it is none.

    ``type`` is a change of which neither holds: to another sort of values, or
    one that is not known. Where a type is not told, nothing is said.
    """
    before, after = _fold(old), _fold(new)
    if not before or not after or before == after:
        return None
    one, other = _ranges(before), _ranges(after)
    if one is None or other is None:
        return TYPE
    if one[0] != other[0]:
        return TYPE
    if one == other:
        return None
    wider = all(a <= b for a, b in zip(one[1], other[1], strict=True))
    return WIDENED if wider else NARROWED


def _ranges(kind: str) -> tuple[str, tuple[float, ...]] | None:
    """The sort of a type, and its bounds: the greater each is, the more it holds."""
    match = re.fullmatch(r"([a-z0-9_]+)(?:\((\d+)(?:,(-?\d+))?\))?([a-z]*)", kind)
    if match is None:
        return None
    word = match[1]
    first, second = (int(part) if part else None for part in (match[2], match[3]))
    if word in _WHOLE:
        digits, bits = _WHOLE[word]
        # Whole digits, digits after the point, bits that are exact, range.
        return "number", (digits, 0, bits, bits)
    if word in _DECIMAL:
        precision, scale = first or 10, second or 0
        whole = precision - scale
        return "number", (whole, scale, _BITS * precision, _BITS * whole)
    if word in _FLOATING:
        bits = _FLOATING[word]
        return "number", (bits * _DIGITS, bits * _DIGITS, bits, 1_000)
    if word in ("string", "text", "clob") or (word in _TEXT and first is None):
        return "text", (float("inf"),)
    if word in _TEXT:
        return "text", (float(first or 0),)
    if word == "date":
        return "time", (1,)
    if word in ("timestamp", "timestamp_ltz", "datetime"):
        return "time", (2,)
    family = checks.family(kind)
    return None if family is None else (family + word, ())
