"""A record of the bridge: tables of rows, and views of single rows.

A plan may have a million expression nodes, so the rows stay as they were
parsed: an expression *is* the number of its row. :class:`PlanNode` and
:class:`Expression` are views made where a rule wants to read fields by name.
Nothing here is changed after :func:`spark_lineage.plan.decode.decode`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

#: How many values of a row come before its fields, by kind.
_OFFSET: Final = {"P": 3, "E": 2, "O": 1}

Raw = Any
"""A value as it stands in a row (docs/record.md, "What a value means")."""


class Shape:
    """One class of rows: its names, its kind (``P``, ``E`` or ``O``), where its fields stand."""

    __slots__ = ("class_name", "fields", "kind", "name", "position")

    def __init__(self, name: str, class_name: str, kind: str, fields: tuple[str, ...]) -> None:
        self.name = name
        self.class_name = class_name
        self.kind = kind
        self.fields = fields
        offset = _OFFSET[kind]
        self.position: Mapping[str, int] = {
            field: offset + index for index, field in enumerate(fields)
        }

    def __repr__(self) -> str:
        return f"Shape({self.name}, {self.kind})"


class Record:
    """A decoded record: the envelope's parts and the tables of its plans."""

    __slots__ = (
        "analyzed",
        "app",
        "bridge",
        "envelope",
        "execution",
        "kind",
        "optimized",
        "phase",
        "rows",
        "scans",
        "sequence",
        "session",
        "shapes",
        "strings",
        "writes",
    )

    def __init__(
        self,
        envelope: Mapping[str, Any],
        strings: list[str],
        shapes: list[Shape],
        rows: list[list[Any]],
        analyzed: int | None,
        optimized: int | None,
    ) -> None:
        self.envelope = envelope
        self.strings = strings
        self.shapes = shapes
        self.rows = rows
        self.analyzed = analyzed
        self.optimized = optimized
        self.kind: str = envelope.get("kind", "execution")
        self.phase: str | None = envelope.get("phase")
        self.sequence: int | None = envelope.get("sequence")
        self.app: Mapping[str, Any] = envelope.get("app") or {}
        self.bridge: Mapping[str, Any] = envelope.get("bridge") or {}
        self.execution: Mapping[str, Any] = envelope.get("execution") or {}
        self.session: Mapping[str, Any] = envelope.get("session") or {}
        self.scans: list[dict[str, Any]] = envelope.get("scans") or []
        self.writes: list[dict[str, Any]] = envelope.get("writes") or []

    @property
    def conf(self) -> Mapping[str, str]:
        """The session's settings that lineage needs."""
        return self.session.get("conf") or {}

    def shape(self, ref: int) -> Shape:
        """The shape of a row."""
        index: int = self.rows[ref][0]
        return self.shapes[index]

    def node(self, ref: int) -> PlanNode:
        """A view of a plan row."""
        return PlanNode(self, ref)

    def expression(self, ref: int) -> Expression:
        """A view of an expression row."""
        return Expression(self, ref)

    def text(self, raw: Raw) -> str | None:
        """The text that a value stands for; None if it is none."""
        if isinstance(raw, str):
            return raw
        if type(raw) is int and raw < 0:
            return self.strings[-1 - raw]
        return None

    def texts(self, raw: Raw) -> list[str]:
        """The texts of a list value."""
        found = [self.text(item) for item in raw] if isinstance(raw, list) else []
        return [item for item in found if item is not None]

    def mapping(self, raw: Raw) -> dict[str, Raw]:
        """A map value with text keys; texts among its values are resolved."""
        if not isinstance(raw, dict) or "map" not in raw:
            return {}
        found: dict[str, Raw] = {}
        for key, value in raw["map"]:
            name = self.text(key)
            if name is not None:
                resolved = self.text(value)
                found[name] = value if resolved is None else resolved
        return found

    def refs(self, raw: Raw) -> list[int]:
        """All row references in a value, in order, however nested in lists."""
        if type(raw) is int:
            return [raw] if raw >= 0 else []
        found: list[int] = []
        stack = [raw]
        while stack:
            item = stack.pop()
            if type(item) is int:
                if item >= 0:
                    found.append(item)
            elif isinstance(item, list):
                stack.extend(reversed(item))
            elif isinstance(item, dict) and "map" in item:
                stack.extend(reversed(item["map"]))
        return found

    def class_of(self, raw: Raw) -> str | None:
        """The simple class name of a described object."""
        return self.text(raw.get("c")) if isinstance(raw, dict) else None

    def expr_id(self, ref: int) -> int | None:
        """The expression id of an attribute, an alias or another named expression."""
        row = self.rows[ref]
        position = self.shapes[row[0]].position.get("exprId")
        return number(row[position]) if position is not None else None

    def type_text(self, raw: Raw) -> str | None:
        """A data type: the simple name, or the JSON object of a nested type."""
        text = self.text(raw)
        return text.strip('"') if text else text

    def name(self, ref: int) -> str:
        """The name of a named expression."""
        row = self.rows[ref]
        position = self.shapes[row[0]].position.get("name")
        return (self.text(row[position]) or "") if position is not None else ""


def number(raw: Raw) -> int | None:
    """The whole number that a value stands for; None if it is none."""
    if isinstance(raw, dict):
        found = raw.get("#")
        if isinstance(found, (int, float)):
            return int(found)
    return None


class _View:
    __slots__ = ("record", "ref", "row", "shape")

    def __init__(self, record: Record, ref: int) -> None:
        self.record = record
        self.ref = ref
        self.row = record.rows[ref]
        self.shape: Shape = record.shapes[self.row[0]]

    @property
    def class_name(self) -> str:
        """Spark's simple class name."""
        return self.shape.name

    @property
    def children(self) -> list[int]:
        """The children's rows."""
        return self.row[1] or []

    def has(self, field: str) -> bool:
        """Whether this class has the field."""
        return field in self.shape.position

    def raw(self, field: str) -> Raw:
        """A field's value as it stands; None if this class has no such field."""
        position = self.shape.position.get(field)
        return None if position is None or position >= len(self.row) else self.row[position]

    def text(self, field: str) -> str | None:
        """A field's text."""
        return self.record.text(self.raw(field))

    def data_type(self, field: str = "dataType") -> str | None:
        """A field's data type."""
        return self.record.type_text(self.raw(field))

    def refs(self, field: str) -> list[int]:
        """The rows that a field refers to, in order."""
        return self.record.refs(self.raw(field))

    def ref_of(self, field: str) -> int | None:
        """The one row that a field refers to, or None."""
        raw = self.raw(field)
        return raw if type(raw) is int and raw >= 0 else None

    def fields(self) -> Iterator[tuple[str, Raw]]:
        """All fields with their values."""
        for field, position in self.shape.position.items():
            if position < len(self.row):
                yield field, self.row[position]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.class_name}#{self.ref})"


class PlanNode(_View):
    """A view of a plan row."""

    __slots__ = ()

    def output(self) -> list[int]:
        """The attributes that this node gives, by row; follows "the same as the only child's"."""
        record, row = self.record, self.row
        while row[2] == -1:
            row = record.rows[row[1][0]]
        found: list[int] = row[2]
        return found


class Expression(_View):
    """A view of an expression row."""

    __slots__ = ()
