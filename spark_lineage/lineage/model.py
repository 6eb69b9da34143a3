"""What the engine says of a query: sources of columns and of the whole result.

The words are OpenLineage's (columnLineage facet 1-2-0): a *direct* source gives
a column its value, an *indirect* one decides which rows there are or which
value is chosen.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any


class Kind(str, Enum):
    """How a source column acts on what depends on it."""

    IDENTITY = "IDENTITY"
    TRANSFORMATION = "TRANSFORMATION"
    AGGREGATION = "AGGREGATION"
    JOIN = "JOIN"
    FILTER = "FILTER"
    GROUP_BY = "GROUP_BY"
    SORT = "SORT"
    WINDOW = "WINDOW"
    CONDITIONAL = "CONDITIONAL"

    @property
    def direct(self) -> bool:
        """Whether this kind is of a value (else it is indirect)."""
        return self in _DIRECT


_DIRECT = frozenset({Kind.IDENTITY, Kind.TRANSFORMATION, Kind.AGGREGATION})


class Origin(str, Enum):
    """Where a column's value comes from."""

    INPUT_FIELDS = "INPUT_FIELDS"
    SYSTEM = "SYSTEM"
    CONSTANT = "CONSTANT"


class Availability(str, Enum):
    """How much of the lineage could be told."""

    AVAILABLE = "AVAILABLE"
    PARTIAL = "PARTIAL"
    UNAVAILABLE = "UNAVAILABLE"


@dataclass(frozen=True)
class Dataset:
    """A data set by its OpenLineage identity, with the facts known of it.

    ``schema`` holds ``(name, Spark type as JSON text or simple string, comment)``
    for each top-level field; ``symlinks`` holds ``(namespace, name, type)``.
    Two data sets are equal if namespace and name are.
    """

    namespace: str
    name: str
    schema: tuple[tuple[str, str, str | None], ...] = field(default=(), compare=False)
    symlinks: tuple[tuple[str, str, str], ...] = field(default=(), compare=False)
    facts: dict[str, Any] = field(default_factory=dict, compare=False, hash=False)


@dataclass(frozen=True, order=True)
class Source:
    """One source column: data set, field path, how it acts, whether masked."""

    namespace: str
    name: str
    field: str
    kind: Kind
    masking: bool = False
    via: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The SOURCE of ``Lineage.to_dict``."""
        return {
            "namespace": self.namespace,
            "name": self.name,
            "field": self.field,
            "type": self.kind.value,
            "masking": self.masking,
            "via": list(self.via),
        }


@dataclass(frozen=True)
class OutputColumn:
    """One column of an output, with all that it is made of."""

    name: str
    type: Kind
    origin: Origin
    expression: str | None
    direct: tuple[Source, ...] = ()
    indirect: tuple[Source, ...] = ()
    availability: Availability = Availability.AVAILABLE
    opaque: tuple[str, ...] = ()
    data_type: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The column of ``Lineage.to_dict``."""
        return {
            "name": self.name,
            "type": self.type.value,
            "origin": self.origin.value,
            "expression": self.expression,
            "availability": self.availability.value,
            "opaque": list(self.opaque),
            "direct": [source.to_dict() for source in self.direct],
            "indirect": [source.to_dict() for source in self.indirect],
        }


@dataclass(frozen=True)
class Input:
    """A data set that the query reads; ``read`` is false if this run did not scan it."""

    dataset: Dataset
    read: bool = True

    def to_dict(self) -> dict[str, Any]:
        """The input of ``Lineage.to_dict``."""
        return {
            "namespace": self.dataset.namespace,
            "name": self.dataset.name,
            "read": self.read,
        }


@dataclass(frozen=True)
class Output:
    """What a query writes, or its result where it writes nothing (``dataset`` None).

    ``lifecycle`` is OpenLineage's word for what becomes of the data set as a
    whole (CREATE, ALTER, DROP, OVERWRITE, RENAME, TRUNCATE), None for an append;
    ``previous`` is its namespace and name before a RENAME. ``written`` is False
    where the command names the data set but left it as it was (IF NOT EXISTS on
    what exists), None where only its nested executions can tell.
    """

    dataset: Dataset | None
    columns: tuple[OutputColumn, ...] = ()
    indirect: tuple[Source, ...] = ()
    availability: Availability = Availability.AVAILABLE
    issues: tuple[str, ...] = ()
    lifecycle: str | None = None
    previous: tuple[str, str] | None = None
    written: bool | None = True

    def to_dict(self) -> dict[str, Any]:
        """The OUTPUT of ``Lineage.to_dict``."""
        return {
            "namespace": self.dataset.namespace if self.dataset else None,
            "name": self.dataset.name if self.dataset else None,
            "availability": self.availability.value,
            "issues": list(self.issues),
            "columns": [column.to_dict() for column in self.columns],
            "indirect": [source.to_dict() for source in self.indirect],
        }


@dataclass(frozen=True)
class Unexplained:
    """A column that the query reads and that no edge and no named reason explains."""

    namespace: str
    name: str
    field: str

    def to_dict(self) -> dict[str, str]:
        """The unexplained column of ``Lineage.to_dict``."""
        return {"namespace": self.namespace, "name": self.name, "field": self.field}


@dataclass(frozen=True)
class Lineage:
    """The lineage of one query."""

    inputs: tuple[Input, ...] = ()
    outputs: tuple[Output, ...] = ()
    unknown_nodes: dict[str, int] = field(default_factory=dict)
    unexplained: tuple[Unexplained, ...] = ()
    explained: dict[str, int] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """The lineage as plain data, sorted, the same for the same query."""
        return {
            "inputs": [item.to_dict() for item in self.inputs],
            "outputs": [item.to_dict() for item in self.outputs],
            "unknown_nodes": dict(sorted(self.unknown_nodes.items())),
            "unexplained": [item.to_dict() for item in self.unexplained],
        }
