"""The one walk over an expression: from its root inward, each node once for each lane.

Walking inward needs no result from children, so a tree of any depth is a loop
over a stack, and a shared subtree is walked at most once for each of the 18
lanes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from spark_lineage.lineage.column import AGGREGATE, BARE, DERIVED, NOTHING, Column, Origin
from spark_lineage.lineage.handlers import ATTRIBUTE, CONSTANT, GENERIC, TRANSPARENT
from spark_lineage.lineage.lanes import COMPOSE, FIRST_INDIRECT, VALUE, Lanes, add

if TYPE_CHECKING:
    from spark_lineage.lineage.fold import Fold

_SHIFT = 5
_LANE = (1 << _SHIFT) - 1


class Gather:
    """What one walk found so far."""

    __slots__ = (
        "bindings",
        "columns",
        "fold",
        "issues",
        "lanes",
        "opaque",
        "stack",
        "system",
        "type",
        "uses",
    )

    def __init__(self, fold: Fold, columns: Mapping[int, Column], uses: list[int]) -> None:
        self.fold = fold
        self.columns = columns
        self.uses = uses
        self.lanes: Lanes = {}
        self.type = BARE
        self.system = False
        self.opaque: frozenset[str] = NOTHING
        self.issues: frozenset[str] = NOTHING
        self.stack: list[int] = []
        self.bindings: dict[Any, list[int]] = {}

    def push(self, ref: int, lane: int) -> None:
        """Walk this row, seen in this lane."""
        self.stack.append(ref << _SHIFT | lane)

    def push_all(self, refs: Iterable[int], lane: int) -> None:
        """Walk these rows, seen in this lane."""
        self.stack.extend([ref << _SHIFT | lane for ref in refs])

    def take(self, column: Column, lane: int) -> None:
        """Depend on a column, seen in this lane."""
        add(self.lanes, column.lanes, lane)
        if column.type > self.type:
            self.type = column.type
        if column.system and lane < FIRST_INDIRECT:
            self.system = True
        if column.opaque and lane < FIRST_INDIRECT:
            self.opaque |= column.opaque
        if column.issues:
            self.issues |= column.issues

    def miss(self, what: str) -> None:
        """Note that something could not be followed."""
        self.issues |= {what}

    def run(self) -> None:
        """Walk until nothing is left."""
        fold = self.fold
        rows, handlers, id_position = fold.rows, fold.handlers, fold.id_position
        columns = self.columns
        stack, lanes = self.stack, self.lanes
        pop, push = stack.pop, stack.append
        seen: set[int] = set()
        type_ = self.type
        while stack:
            key = pop()
            if key in seen:
                continue
            seen.add(key)
            lane = key & _LANE
            row = rows[key >> _SHIFT]
            handler = handlers[row[0]]
            if handler == GENERIC:
                children = row[1]
                if children:
                    inner = VALUE[lane]
                    for child in children:
                        push(child << _SHIFT | inner)
                if not type_:
                    type_ = DERIVED
            elif handler == ATTRIBUTE:
                column = columns.get(row[id_position[row[0]]]["#"])
                if column is None:
                    fold.unknown_attribute(self, key >> _SHIFT, lane)
                    continue
                compose = COMPOSE[lane]
                for at, bits in column.lanes.items():
                    there = compose[at]
                    if there in lanes:
                        lanes[there] |= bits
                    else:
                        lanes[there] = bits
                if column.type > type_:
                    type_ = column.type
                if lane < FIRST_INDIRECT:
                    if column.system:
                        self.system = True
                    if column.opaque:
                        self.opaque |= column.opaque
                if column.issues:
                    self.issues |= column.issues
            elif handler == TRANSPARENT:
                push(row[1][0] << _SHIFT | lane)
            elif handler == CONSTANT:
                if not type_:
                    type_ = DERIVED
            else:
                self.type = type_
                least = handler(self, row, lane)
                type_ = max(type_, least, self.type)
        self.type = type_

    def column(self, origin: Origin | None, parts: Mapping[str, Column] | None = None) -> Column:
        """What was found, as a column."""
        system = self.system
        return Column(self.lanes, self.type, origin, system, self.opaque, self.issues, parts)


__all__ = ["AGGREGATE", "BARE", "DERIVED", "Gather"]
