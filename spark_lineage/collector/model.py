"""An event as the store takes it: checked, cleaned and free of its producer's habits."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple

import orjson

TERMINAL = ("COMPLETE", "FAIL", "ABORT")
RANKS = {"OTHER": 0, "START": 1, "RUNNING": 2, "ABORT": 3, "FAIL": 4, "COMPLETE": 5}
# Times before the year 1 cannot be; this makes every time a positive number of one width.
_SHIFT = 10**17
# Stands on both sides of a reference in an event's text; JSON has it nowhere.
REFERENCE = b"\x01"


def canonical(value: Any) -> str:
    """JSON that is the same for equal values."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
    except TypeError:
        # What only Python's own writes: an integer of more than 64 bits, a deep nest.
        return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def digest(*parts: str | None) -> str:
    """A short fixed-width key of texts of any length (an index entry has a size limit)."""
    return hashlib.blake2b(canonical(parts).encode(), digest_size=16).hexdigest()


@lru_cache(maxsize=16_384)
def identity_digest(namespace: str, name: str) -> str:
    """The :func:`digest` of a namespace and a name, of which few are asked again and again."""
    return digest(namespace, name)


class Facet(NamedTuple):
    """A facet, and its text as it is kept."""

    content: dict[str, Any]
    text: str

    @classmethod
    def all(cls, facets: dict[str, Any]) -> dict[str, Facet]:
        """Those of a JSON object that are facets at all."""
        return {
            name: cls(content, canonical(content))
            for name, content in facets.items()
            if isinstance(content, dict)
        }


class Field(NamedTuple):
    """A column of a schema by its path; ``position`` counts from 0, nested ones too."""

    path: str
    root: str
    type: str | None
    position: int
    description: str | None = None


class Fields(tuple[Field, ...]):
    """The columns of a schema, in order; what is made of them is made once."""

    @property
    def body(self) -> str:
        """As it is kept; long, and seldom asked for."""
        known: str | None = self.__dict__.pop("_body", None)
        return self._written() if known is None else known

    def _written(self) -> str:
        # Its keys in order, as `canonical` has them.
        return orjson.dumps(
            [
                {
                    "description": one.description,
                    "path": one.path,
                    "position": one.position,
                    "root": one.root,
                    "type": one.type,
                }
                for one in self
            ]
        ).decode()

    @cached_property
    def hash(self) -> str:
        """What is the same for equal ones."""
        # What is new is kept next, and is not written twice.
        body = self.__dict__["_body"] = self._written()
        return digest(body)


class SourceEdge(NamedTuple):
    """One source of an output column, or of the whole result (``column`` None)."""

    column: str | None
    namespace: str
    name: str
    field: str
    kind: str
    masking: bool
    description: str | None = None

    def key(self) -> tuple[Any, ...]:
        """What makes it one source and not another."""
        column = (self.column is not None, self.column or "")
        return (*column, self.namespace, self.name, self.field, self.kind, self.masking)


class ColumnFacts(NamedTuple):
    """What a producer says of an output column as a whole."""

    name: str
    type: str | None = None
    origin: str | None = None
    expression: str | None = None
    availability: str | None = None
    opaque: tuple[str, ...] = ()
    via: tuple[str, ...] = ()


@dataclass(frozen=True)
class ColumnPart:
    """The column lineage of one output, in one order whatever the facet's was."""

    edges: tuple[SourceEdge, ...] = ()
    columns: tuple[ColumnFacts, ...] = ()
    availability: str | None = None
    issues: tuple[str, ...] = ()
    via: tuple[str, ...] = ()
    # The data sets that feed this output, where that is stated of it alone.
    inputs: tuple[tuple[str, str], ...] | None = None

    @property
    def known(self) -> bool:
        """Whether it says anything of columns."""
        return bool(self.edges or self.columns)

    @property
    def body(self) -> str:
        """As it is kept; long, and seldom asked for."""
        known: str | None = self.__dict__.pop("_body", None)
        return self._written() if known is None else known

    def _written(self) -> str:
        # All keys in order, as `canonical` has them.
        return orjson.dumps(
            {
                "availability": self.availability,
                "columns": [
                    {
                        "availability": one.availability,
                        "expression": one.expression,
                        "name": one.name,
                        "opaque": one.opaque,
                        "origin": one.origin,
                        "type": one.type,
                        "via": one.via,
                    }
                    for one in self.columns
                ],
                "edges": [
                    {
                        "column": one.column,
                        "description": one.description,
                        "field": one.field,
                        "kind": one.kind,
                        "masking": one.masking,
                        "name": one.name,
                        "namespace": one.namespace,
                    }
                    for one in self.edges
                ],
                "inputs": self.inputs,
                "issues": self.issues,
                "via": self.via,
            }
        ).decode()

    @classmethod
    def of_body(cls, body: str) -> ColumnPart:
        """What was kept."""
        told = orjson.loads(body)
        inputs = told.get("inputs")
        return cls(
            tuple(SourceEdge(**one) for one in told.get("edges") or ()),
            tuple(
                ColumnFacts(**{**one, "opaque": tuple(one["opaque"]), "via": tuple(one["via"])})
                for one in told.get("columns") or ()
            ),
            told.get("availability"),
            tuple(told.get("issues") or ()),
            tuple(told.get("via") or ()),
            None if inputs is None else tuple((one[0], one[1]) for one in inputs),
        )

    @cached_property
    def hash(self) -> str:
        """What is the same for equal ones."""
        # What is new is kept next, and is not written twice.
        body = self.__dict__["_body"] = self._written()
        return hashlib.sha256(body.encode()).hexdigest()

    @cached_property
    def sources(self) -> frozenset[tuple[str, str]]:
        """The data sets that it names."""
        return frozenset((edge.namespace, edge.name) for edge in self.edges) | set(
            self.inputs or ()
        )


class DatasetFacts(NamedTuple):
    """A data set as one event speaks of it."""

    namespace: str
    name: str
    output: bool
    schema: Fields | None = None
    symlinks: tuple[tuple[str, str, str], ...] = ()
    columns: ColumnPart | None = None
    lifecycle: str | None = None
    renamed_from: tuple[str, str] | None = None
    facets: Mapping[str, Facet] = MappingProxyType({})
    io_facets: Mapping[str, Facet] = MappingProxyType({})


@dataclass(frozen=True)
class Event:
    """One event. ``kind`` is RUN, JOB or DATASET; times are microseconds, UTC.

    ``run_id`` of a JOB or DATASET event is made of its content, since each is a
    statement of its own; a DATASET event has the job of no name. ``hash`` is of
    the whole text; ``body`` is the text in which parts that other events have,
    too, may stand as references to ``pieces``, by their hashes.
    """

    kind: str
    hash: str
    body: str = field(compare=False)
    time: int
    type: str | None
    run_id: str
    job_namespace: str
    job_name: str
    producer: str
    inputs: tuple[DatasetFacts, ...] = ()
    outputs: tuple[DatasetFacts, ...] = ()
    facets: dict[str, Facet] = field(default_factory=dict)
    job_facets: dict[str, Facet] = field(default_factory=dict)
    # What tells one version of the job from another, and where that was told.
    job_version: tuple[str, str] | None = None
    # Jobs that feed a job, as (namespace, name) of the source and of the target.
    job_edges: tuple[tuple[tuple[str, str], tuple[str, str]], ...] = ()
    # Data sets that other jobs read (False) or wrote (True).
    job_io: tuple[tuple[tuple[str, str], tuple[str, str], bool], ...] = ()
    pieces: dict[bytes, bytes] = field(default_factory=dict, compare=False)

    def again(self, **changes: Any) -> Event:
        """The same but for what is given, which are no names: quicker than ``replace``."""
        made = object.__new__(Event)
        made.__dict__.update({**self.__dict__, **changes})
        for name in ("order", "schema_order"):
            made.__dict__.pop(name, None)
        return made

    @property
    def terminal(self) -> bool:
        """Whether it ends its run; a JOB or DATASET event is final in itself."""
        return self.kind != "RUN" or self.type in TERMINAL

    @cached_property
    def names(self) -> tuple[set[tuple[str, str]], set[tuple[str, str]]]:
        """The data sets that it speaks of, and those that it only links to."""
        used: set[tuple[str, str]] = set()
        linked: set[tuple[str, str]] = set()
        for one in (*self.inputs, *self.outputs):
            used.add((one.namespace, one.name))
            if one.columns is not None:
                used |= one.columns.sources
            linked.update(link[:2] for link in one.symlinks)
            if one.renamed_from:
                linked.add(one.renamed_from)
        used.update(dataset for _, dataset, _ in self.job_io)
        return used, linked

    @cached_property
    def order(self) -> str:
        """A text by which the newest of two statements is the greater.

        Not the order of arrival: what ends a run (or is added after its end)
        beats what began it, then the event's time, then the rank of its state;
        the content decides where all else is equal.
        """
        late = int(self.terminal or self.type == "OTHER")
        rank = RANKS.get(self.type or "OTHER", 0)
        return f"{late}:{self.time + _SHIFT:018d}:{rank}:{self.hash}"

    @cached_property
    def schema_order(self) -> str:
        """The same for schemas, over all runs: time, then content."""
        return f"{self.time + _SHIFT:018d}:{self.hash}"


def time_of(schema_order: str) -> int:
    """The time in an :attr:`Event.schema_order`."""
    return int(schema_order.partition(":")[0]) - _SHIFT
