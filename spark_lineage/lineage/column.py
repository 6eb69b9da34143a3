"""What is known of one column, and of the rows, at one node of the plan."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from spark_lineage.lineage.lanes import IDENTITY, TRANSFORMATION, Lanes, add, union

if TYPE_CHECKING:
    from spark_lineage.lineage.sources import Sources

#: A column's own type, in the order in which the stronger wins.
BARE: Final = 0
DERIVED: Final = 1
AGGREGATE: Final = 2

NOTHING: Final[frozenset[str]] = frozenset()


class Origin:
    """How a column's text is made when it is asked for: an expression over columns, or words."""

    __slots__ = ("branches", "columns", "expression", "words")

    def __init__(
        self,
        words: str | None = None,
        expression: int | None = None,
        columns: Mapping[int, Column] | None = None,
        branches: list[Column] | None = None,
    ) -> None:
        self.branches = branches
        self.words = words
        self.expression = expression
        self.columns = columns


class Column:
    """The sources of one column by lane, and how it is made. Never changed after it is built."""

    __slots__ = ("issues", "lanes", "opaque", "origin", "parts", "system", "type")

    def __init__(
        self,
        lanes: Lanes,
        type_: int,
        origin: Origin | None = None,
        system: bool = False,
        opaque: frozenset[str] = NOTHING,
        issues: frozenset[str] = NOTHING,
        parts: Mapping[str, Column] | None = None,
    ) -> None:
        self.lanes = lanes
        self.type = type_
        self.origin = origin
        #: Whether the row set, the clock, chance or the engine has a share in the value.
        self.system = system
        self.opaque = opaque
        #: Why it may be incomplete; empty if it is complete.
        self.issues = issues
        #: The columns of its fields, where a struct was built field by field.
        self.parts = parts

    def field(self, name: str, sources: Sources) -> Column:
        """The column of one struct field: its own sources, or the same ones, one path deeper."""
        if self.parts is not None:
            found = self.parts.get(name)
            if found is None:
                lowered = name.lower()
                for known, part in self.parts.items():
                    if known.lower() == lowered:
                        found = part
                        break
            if found is not None:
                return found
        lanes = {
            lane: sources.deeper(bits, name) if lane < TRANSFORMATION else bits
            for lane, bits in self.lanes.items()
        }
        return Column(lanes, self.type, None, self.system, self.opaque, self.issues)


class Element(Column):
    """An element of an array's column: its fields are those of the elements, by their path."""

    __slots__ = ("array",)

    def __init__(self, array: Column, origin: Origin | None = None) -> None:
        lanes: Lanes = {}
        add(lanes, array.lanes, TRANSFORMATION)
        type_ = max(array.type, DERIVED)
        super().__init__(lanes, type_, origin, array.system, array.opaque, array.issues)
        self.array = array

    def field(self, name: str, sources: Sources) -> Column:
        """The same field of all elements is an array too, which this is an element of."""
        return Element(self.array.field(name, sources))


def merge(columns: list[Column], origin: Origin | None = None) -> Column:
    """One column that may come from any of these (a union's branches)."""
    first = columns[0]
    if len(columns) == 1:
        return first
    lanes: Lanes = {}
    type_ = BARE
    system = False
    opaque = issues = NOTHING
    for column in columns:
        add(lanes, column.lanes, IDENTITY)
        type_ = max(type_, column.type)
        system = system or column.system
        if column.opaque:
            opaque |= column.opaque
        if column.issues:
            issues |= column.issues
    parts = None
    if all(column.parts is not None for column in columns):
        names = list(first.parts or ())
        if all(list(column.parts or ()) == names for column in columns):
            parts = _merge_parts(columns, names)
    origin = origin or Origin(branches=columns)
    return Column(lanes, type_, origin, system, opaque, issues, parts)


def _merge_parts(columns: list[Column], names: list[str]) -> dict[str, Column]:
    """One level of fields: deeper ones are told as wholes, which bounds the work."""
    merged = {}
    for name in names:
        parts = [(column.parts or {})[name] for column in columns]
        merged[name] = merge([Column(p.lanes, p.type, p.origin, p.system) for p in parts])
    return merged


class State:
    """What is known at one plan node: its columns by expression id, and what its rows depend on."""

    __slots__ = ("columns", "issues", "order", "outputs", "rows", "uses")

    def __init__(
        self,
        columns: Mapping[int, Column],
        rows: Lanes,
        order: list[int] | None = None,
        issues: frozenset[str] = NOTHING,
    ) -> None:
        self.columns = columns
        self.rows = rows
        #: Expression ids in the order of the output, where a rule had to work it out.
        self.order = order
        self.issues = issues
        self.outputs: list[object] = []
        #: The plan rows that this state was made from.
        self.uses: list[int] = []

    def with_rows(self, rows: Lanes) -> State:
        """The same columns with more row dependencies."""
        if not rows:
            return self
        return State(self.columns, union(self.rows, rows), self.order, self.issues)
