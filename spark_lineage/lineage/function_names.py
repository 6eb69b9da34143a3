"""What a user calls a function that is no class of Spark's own."""

from __future__ import annotations

from typing import Any

from spark_lineage.plan.node import Record

_FIELDS = ("udfName", "udafName", "aggregatorName", "name", "function")


def known_name(record: Record, row: list[Any]) -> str | None:
    """The name under which a function was registered, if its expression says one."""
    shape = record.shapes[row[0]]
    for field in _FIELDS:
        position = shape.position.get(field)
        raw = row[position] if position is not None and position < len(row) else None
        if field == "function" and type(raw) is int and raw >= 0:
            # A function written in SQL is described by a product that has an identifier.
            described = record.rows[raw]
            inner = record.shapes[described[0]]
            at = inner.position.get("name") if inner.kind == "O" else None
            raw = described[at] if at is not None else None
            raw = raw.get("name") if isinstance(raw, dict) else None
        name = record.text(raw)
        if name:
            return name
    return None
