"""The ``lineage`` facet 1-0-0: edges that are stated outright, at any level, as one form.

On a data set it says what feeds that data set and its fields; on a job it lists
entries for data sets and for jobs. A source may be a data set, one of its
fields, or a job that keeps no data set in between. An empty list of inputs says
that there is no source that is tracked, which is something else than silence.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from spark_lineage.collector import kinds
from spark_lineage.collector.model import ColumnFacts, ColumnPart, SourceEdge

Identity = tuple[str, str]


@dataclass
class Stated:
    """What the entries of a job's facet state, beside what they say of data sets.

    ``reads`` are data sets that the event's own job read; ``io`` says of other
    jobs which data sets they read (False) or wrote (True); ``feeds`` is which
    job feeds which.
    """

    outputs: dict[Identity, ColumnPart] = field(default_factory=dict)
    reads: set[Identity] = field(default_factory=set)
    io: set[tuple[Identity, Identity, bool]] = field(default_factory=set)
    feeds: set[tuple[Identity, Identity]] = field(default_factory=set)


def of_dataset(facet: dict[str, Any] | None) -> ColumnPart | None:
    """What a data set's facet, or an entry of a job's, says of what feeds it."""
    if facet is None or facet.get("_deleted") is True:
        return None
    inputs, fields = facet.get("inputs"), facet.get("fields") or {}
    if inputs is None and not fields:
        return None
    edges: list[SourceEdge] = []
    tables: set[Identity] = set()
    for source in _datasets(inputs):
        tables.add((source["namespace"], source["name"]))
        if source.get("field") is not None:
            edges.extend(_edges(None, source, "INDIRECT"))
    columns: list[ColumnFacts] = []
    for name, entry in fields.items():
        items = (entry or {}).get("inputs") or []
        made = [
            edge
            for source in _datasets(items)
            if source.get("field") is not None
            for edge in _edges(name, source, "DIRECT")
        ]
        for source in _datasets(items):
            tables.add((source["namespace"], source["name"]))
        edges.extend(made)
        columns.append(_column(name, made, [one for one in items if one and _is_job(one)]))
    return ColumnPart(
        tuple(sorted(set(edges), key=SourceEdge.key)),
        tuple(sorted(columns, key=lambda column: column.name)),
        inputs=tuple(sorted(tables)),
    )


def of_job(facet: dict[str, Any] | None, own: Identity) -> Stated:
    """What the entries of a job's facet say."""
    stated = Stated()
    if not isinstance(facet, dict) or facet.get("_deleted") is True:
        return stated
    for entry in facet.get("entries") or ():
        if not entry:
            continue
        inputs = [one for one in entry.get("inputs") or () if one]
        me = own
        if entry.get("namespace") is not None and entry.get("name") is not None:
            me = (entry["namespace"], entry["name"])
        if _is_job(entry):
            _into_job(stated, me, own, inputs)
            continue
        part = of_dataset({"inputs": [], **entry})
        if part is not None:
            stated.outputs[me] = part
        nested = [
            one
            for item in (entry.get("fields") or {}).values()
            for one in (item or {}).get("inputs") or ()
            if one
        ]
        for source in (*inputs, *nested):
            job = _job(source, own)
            if job is not None and job != own:
                stated.io.add((job, me, True))
    return stated


def _into_job(stated: Stated, me: Identity, own: Identity, inputs: list[dict[str, Any]]) -> None:
    for source in inputs:
        job = _job(source, own)
        if job is not None:
            if job != me:
                stated.feeds.add((job, me))
        elif me == own:
            stated.reads.add((source["namespace"], source["name"]))
        else:
            stated.io.add((me, (source["namespace"], source["name"]), False))


def _is_job(item: dict[str, Any]) -> bool:
    return str(item.get("type") or "").upper() == "JOB"


def _job(source: dict[str, Any], own: Identity) -> Identity | None:
    if not _is_job(source):
        return None
    if source.get("namespace") is None or source.get("name") is None:
        return own
    return source["namespace"], source["name"]


def _datasets(inputs: Any) -> Iterator[dict[str, Any]]:
    for source in inputs or ():
        if source and not _is_job(source) and source.get("namespace") is not None:
            yield source


def _edges(column: str | None, source: dict[str, Any], bare: str) -> Iterator[SourceEdge]:
    told = [one for one in source.get("transformations") or () if one]
    for item in told or [None]:
        kind = kinds.of_transformation(item) if item else bare
        masking = bool(item and item.get("masking"))
        text = item.get("description") if item else None
        namespace, name, field_ = source["namespace"], source["name"], source["field"]
        yield SourceEdge(column, namespace, name, field_, kind, masking, text or None)


def _column(name: str, edges: list[SourceEdge], jobs: list[dict[str, Any]]) -> ColumnFacts:
    direct = [edge.kind for edge in edges if kinds.is_direct(edge.kind)]
    texts = {edge.description for edge in edges if kinds.is_direct(edge.kind)}
    told = [one for job in jobs for one in job.get("transformations") or () if one]
    by_job = [kinds.of_transformation(one) for one in told]
    texts |= {one.get("description") for one in told}
    only = texts.pop() if len(texts) == 1 else None
    own = kinds.own_type([*direct, *by_job])
    # A field that only a job feeds is made there: nothing that is tracked goes into it.
    origin = "INPUT_FIELDS" if direct else ("SYSTEM" if jobs else None)
    return ColumnFacts(name, own, origin, only)
