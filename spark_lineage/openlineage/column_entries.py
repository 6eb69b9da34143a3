"""The edges of an output by input column, as OpenLineage's facets list them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from spark_lineage.lineage.model import Output, Source

# A description is repeated for each source; the whole expression is in our facet once.
DESCRIPTION_LIMIT = 4_096


@dataclass
class Entry:
    """One input column with all that it does: the words of OpenLineage's transformations."""

    namespace: str
    name: str
    column: str
    transformations: list[dict[str, Any]] = field(default_factory=list)


def entries_of(output: Output) -> tuple[dict[str, list[Entry]], list[Entry]]:
    """The entries of each column that has any, and those of the whole output.

    Columns of one name (allowed in some sinks) share an entry.
    """
    columns: dict[str, _Entries] = {}
    for column in output.columns:
        if column.direct or column.indirect:
            found = columns.setdefault(column.name, _Entries())
            found.add(column.direct, column.expression)
            found.add(column.indirect, None)
    whole = _Entries()
    whole.add(output.indirect, None)
    return {name: found.told() for name, found in columns.items()}, whole.told()


class _Entries:
    def __init__(self) -> None:
        self._sources: dict[tuple[str, str, str], dict[Any, dict[str, Any]]] = {}

    def add(self, sources: Iterable[Source], description: str | None) -> None:
        for source in sources:
            kinds = self._sources.setdefault((source.namespace, source.name, source.field), {})
            told = _capped(description) if source.kind.direct else None
            kinds.setdefault(
                (source.kind, source.masking, told),
                {
                    "type": "DIRECT" if source.kind.direct else "INDIRECT",
                    "subtype": source.kind.value,
                    "description": told,
                    "masking": source.masking,
                },
            )

    def told(self) -> list[Entry]:
        return [Entry(*key, list(kinds.values())) for key, kinds in self._sources.items()]


def _capped(expression: str | None) -> str | None:
    if expression is None or len(expression) <= DESCRIPTION_LIMIT:
        return expression
    return expression[: DESCRIPTION_LIMIT - 1] + "…"
