"""The lineage of a statement against what the collector has recorded of its target."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from spark_lineage.collector import schema_diff

if TYPE_CHECKING:
    from spark_lineage.lineage.model import Output

Answer = dict[str, Any]
# A source as it is compared: table, column, kind and masking.
Edge = tuple[str, str, str, bool]
SAME, CHANGED, REMOVED, ADDED = "same", "changed", "removed", "added"


@dataclass
class Column:
    """One column (or with ``name`` None the rows) of a target: what it was and what it is."""

    name: str | None
    state: str
    added: list[Edge] = field(default_factory=list)
    removed: list[Edge] = field(default_factory=list)
    before: str | None = None
    after: str | None = None
    # Types, where they differ, and what the difference is.
    types: tuple[str | None, str | None] = (None, None)
    retyped: str | None = None
    hits: list[Answer] = field(default_factory=list)

    @property
    def breaking(self) -> bool:
        """Whether who reads the column may fail: it is gone, or holds other values."""
        return self.state == REMOVED or self.retyped in schema_diff.BREAKING

    def to_dict(self) -> Answer:
        """As JSON has it."""
        return {
            "column": self.name,
            "state": self.state,
            "breaking": self.breaking,
            "added": [_edge(one) for one in self.added],
            "removed": [_edge(one) for one in self.removed],
            "expression": {"before": self.before, "after": self.after},
            "type": {"before": self.types[0], "after": self.types[1], "change": self.retyped},
            "hits": self.hits,
        }


def _edge(one: Edge) -> Answer:
    return {"dataset": one[0], "column": one[1], "type": one[2], "masking": one[3]}


def recorded(answer: Answer, edges: set[tuple[str | None, Edge]], job: str | None) -> Answer | None:
    """The step by which the target was written, by each column; of the job that fits best.

    Several jobs may write a target: it is the one named, else the one whose
    edges are most like the statement's, the newest of equals.
    """
    by_job: dict[str, Answer] = {}
    for result in answer["results"]:
        name = (result["job"] or {}).get("name") or ""
        by_job.setdefault(name, {"job": name, "last": result["last_seen"], "columns": {},
                                 "rows": result["rows"]})  # fmt: skip
    for one in answer["columns"]:
        for step in one["steps"]:
            name = (step["job"] or {}).get("name") or ""
            known = by_job.setdefault(
                name, {"job": name, "last": step["last_seen"], "columns": {}, "rows": []}
            )
            known["columns"][one["column"]] = {**step, "data_type": one["data_type"]}
    if job is not None:
        return by_job.get(job)
    return max(
        by_job.values(),
        key=lambda one: (len(edges & _all(one)), len(one["columns"]), one["last"], one["job"]),
        default=None,
    )


def _all(record: Answer) -> set[tuple[str | None, Edge]]:
    found: set[tuple[str | None, Edge]] = {(None, edge) for edge in _sources(record["rows"])}
    for name, step in record["columns"].items():
        found.update((name, edge) for edge in _of_step(step))
    return found


def _of_step(step: Answer) -> set[Edge]:
    return _sources([*step["direct"], *step["indirect"]])


def _sources(sources: Iterable[Answer]) -> set[Edge]:
    return {(one["dataset"], one["column"], one["type"], one["masking"]) for one in sources}


def of_statement(
    output: Output, shown: Callable[[str], str]
) -> tuple[dict[str, set[Edge]], set[Edge]]:
    """The edges of a statement's output: of each column, and of its rows."""

    def edges(sources: Iterable[Any]) -> set[Edge]:
        found = set()
        for one in sources:
            told = one.to_dict()
            found.add((shown(told["name"]), told["field"], told["type"], told["masking"]))
        return found

    columns = {one.name: edges((*one.direct, *one.indirect)) for one in output.columns}
    return columns, edges(output.indirect)


def _simple(kind: str | None) -> str | None:
    """A type as schemas tell it; of a nested one (Spark's JSON) nothing is said here."""
    return None if kind is None or kind.startswith("{") else kind


def compare(output: Output, record: Answer, shown: Callable[[str], str]) -> list[Column]:
    """What differs, column by column; those that are the same are among them."""
    columns, rows = of_statement(output, shown)
    facts = {one.name: one for one in output.columns}
    folded = {name.lower(): name for name in columns}
    found: list[Column] = []
    for name, step in record["columns"].items():
        new = folded.pop(name.lower(), None)
        before = _of_step(step)
        if new is None:
            found.append(Column(name, REMOVED, removed=sorted(before), before=step["expression"]))
            continue
        after = columns[new]
        one = Column(name, SAME, sorted(after - before), sorted(before - after))
        one.before, one.after = step["expression"], facts[new].expression
        types = (step["data_type"], _simple(facts[new].data_type))
        one.retyped = schema_diff.of_types(*types)
        if one.retyped is not None:
            one.types = types
        told = one.before and one.after and one.before != one.after
        if one.added or one.removed or one.retyped or told:
            one.state = CHANGED
        found.append(one)
    found += [
        Column(name, ADDED, sorted(columns[name]), after=facts[name].expression)
        for name in columns
        if name.lower() in folded
    ]
    was = _sources(record["rows"])
    if was != rows:
        found.append(Column(None, CHANGED, sorted(rows - was), sorted(was - rows)))
    return found
