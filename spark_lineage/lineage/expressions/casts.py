"""Casts, and what the engine puts around a value without changing it."""

from __future__ import annotations

from typing import Any

from spark_lineage.lineage.column import BARE, DERIVED
from spark_lineage.lineage.gather import Gather
from spark_lineage.lineage.handlers import expression, transparent
from spark_lineage.lineage.lanes import VALUE

transparent(
    "Alias",
    "AssertNotNull",
    "CheckOverflowInTableInsert",
    "Collate",
    "KnownFloatingPointNormalized",
    "KnownNotContainsNull",
    "KnownNotNull",
    "KnownNullable",
    "NamedArgumentExpression",
    "NormalizeNaNAndZero",
    "PromotePrecision",
    "TempResolvedColumn",
    "UnresolvedAlias",
)

#: Functions that check or pad CHAR and VARCHAR; the value is the user's.
_LENGTH_CHECKS = frozenset(
    {
        "charTypeWriteSideCheck",
        "varcharTypeWriteSideCheck",
        "readSidePadding",
        "charTypeReadSideCheck",
        "varcharTypeReadSideCheck",
    }
)


@expression("Cast", "AnsiCast", "TryCast", "UpCast")
def cast(gather: Gather, row: list[Any], lane: int) -> int:
    """A cast to the type that the value has is no step; any other transforms."""
    position = gather.fold.shapes[row[0]].position
    target = position.get("dataType", position.get("target"))
    source = position.get("fromType")
    child = row[1][0]
    if (
        target is not None
        and source is not None
        and gather.fold.same_type(row[target], row[source])
    ):
        gather.push(child, lane)
        return BARE
    gather.push(child, VALUE[lane])
    return DERIVED


@expression("StaticInvoke")
def static_invoke(gather: Gather, row: list[Any], lane: int) -> int:
    """A call of a Java method: generic, but for CHAR and VARCHAR checks."""
    position = gather.fold.shapes[row[0]].position.get("functionName")
    name = gather.fold.record.text(row[position]) if position is not None else None
    children = row[1] or []
    if name in _LENGTH_CHECKS and children:
        gather.push(children[0], lane)
        return BARE
    gather.push_all(children, VALUE[lane])
    return DERIVED
