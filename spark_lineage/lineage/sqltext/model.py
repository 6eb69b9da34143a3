"""What the text of a query in another engine's SQL says of its result."""

from __future__ import annotations

from dataclasses import dataclass, field

Edge = tuple[int, int, tuple[str, ...]]
"""A lane (see ``lanes``), the index of a table, and the path of a field in it."""

Name = tuple[tuple[str, bool], ...]
"""A table's name as it stands: its parts, and whether each was in quotes."""


@dataclass(frozen=True)
class SqlColumn:
    """One column of the result, by position.

    ``type`` is that of ``column.Column``; ``text`` the expression as it stands in the query.
    """

    edges: tuple[Edge, ...] = ()
    type: int = 0
    system: bool = False
    opaque: frozenset[str] = frozenset()
    issues: frozenset[str] = frozenset()
    text: str | None = None


@dataclass(frozen=True)
class SqlLineage:
    """The tables that a query reads, its columns, and what its rows depend on."""

    tables: tuple[Name, ...] = ()
    columns: tuple[SqlColumn, ...] = ()
    rows: tuple[Edge, ...] = ()
    issues: frozenset[str] = field(default_factory=frozenset)
    #: For each table whose columns are all known: their names.
    known: tuple[tuple[int, tuple[str, ...]], ...] = ()
