"""The fields of a data set, as Spark writes a struct type down."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import lru_cache

from spark_lineage.plan.node import Record

Schema = tuple[tuple[str, str, str | None], ...]


def schema_of(record: Record, attributes: Iterable[int]) -> Schema:
    """The fields that a plan's output has, in its order."""
    return tuple(
        (record.name(ref), record.expression(ref).data_type() or "", None) for ref in attributes
    )


@lru_cache(maxsize=512)
def parse_schema(text: str | None) -> Schema:
    """The top-level fields of a struct type's JSON: name, type, comment."""
    if not text or not text.startswith("{"):
        return ()
    try:
        fields = json.loads(text).get("fields") or []
    except ValueError:
        return ()
    found = []
    for field in fields:
        kind = field.get("type")
        comment = (field.get("metadata") or {}).get("comment")
        found.append((field["name"], kind if isinstance(kind, str) else json.dumps(kind), comment))
    return tuple(found)
