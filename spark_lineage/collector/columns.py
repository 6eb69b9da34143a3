"""Column lineage as producers report it, in each version of the facets, as one form.

``columnLineage`` 1-0-1 has ``transformationType`` on the field, 1-1-0 and later
``transformations`` on each source, 1-2-0 the ``dataset`` list for the whole
result. ``sparkLineage_columns`` adds what it has no place for. Both were
checked for structure before; what is odd beyond that is left out, not refused.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from sys import intern
from typing import Any

from spark_lineage.collector import kinds, lineage_facet
from spark_lineage.collector.model import ColumnFacts, ColumnPart, SourceEdge


def column_part(facets: dict[str, Any], own: str = "sparkLineage_columns") -> ColumnPart | None:
    """The column lineage in the facets of one output; None if there is none."""
    lineage = _facet(facets, "columnLineage")
    extra = _facet(facets, own)
    explicit = lineage_facet.of_dataset(_facet(facets, "lineage"))
    if lineage is None and extra is None:
        return explicit
    edges = _unique(_edges(lineage or {}))
    told = {facts.name: facts for facts in _told(extra or {})}
    names = sorted({*((lineage or {}).get("fields") or {}), *told})
    of_column: dict[str | None, list[SourceEdge]] = defaultdict(list)
    for edge in edges:
        of_column[edge.column].append(edge)
    columns = tuple(_column(name, told.get(name), of_column[name]) for name in names)
    via = _texts((extra or {}).get("via"))
    part = ColumnPart(edges, columns, _availability(extra or {}, columns), via=via)
    return merge(part, explicit)


def judged(
    part: ColumnPart | None, quality: dict[str, Any], key: tuple[str, str]
) -> ColumnPart | None:
    """``part`` with what the run's ``sparkLineage_quality`` says of that output."""
    outputs = quality.get("outputs")
    for output in outputs if isinstance(outputs, list) else ():
        if _dict(output) and (output.get("namespace"), output.get("name")) == key:
            said = _worst([output.get("availability"), part.availability if part else None])
            issues = _texts(output.get("issues"))
            if said or issues:
                return _with(part, said, issues)
    return part


@lru_cache(maxsize=1_024)
def _judgements(key: tuple[str | None, str | None, tuple[str, ...]]) -> list[ColumnPart]:
    return []


def _with(part: ColumnPart | None, said: str | None, issues: tuple[str, ...]) -> ColumnPart:
    """The same part for the same judgement, so that what is made of it is made once."""
    known = _judgements((part.hash if part else None, said, issues))
    if not known:
        known.append(replace(part or ColumnPart(), availability=said, issues=issues))
    return known[0]


def merge(one: ColumnPart | None, other: ColumnPart | None) -> ColumnPart | None:
    """Two statements of one event about the same output (a multi-insert)."""
    if one is None or other is None:
        return one or other
    columns = {facts.name: facts for facts in (*other.columns, *one.columns)}
    return ColumnPart(
        _unique((*one.edges, *other.edges)),
        tuple(columns[name] for name in sorted(columns)),
        _worst([one.availability, other.availability]),
        via=tuple(sorted({*one.via, *other.via})),
        inputs=_all_inputs(one.inputs, other.inputs),
    )


def _all_inputs(
    one: tuple[tuple[str, str], ...] | None, other: tuple[tuple[str, str], ...] | None
) -> tuple[tuple[str, str], ...] | None:
    if one is None or other is None:
        return one if other is None else other
    return tuple(sorted({*one, *other}))


def taken_back(part: ColumnPart | None, facets: dict[str, Any]) -> ColumnPart | None:
    """What a DatasetEvent says that takes back what others of it stated: nothing feeds it.

    A run says of what it did itself: there a deleted facet is as none.
    """
    deleted = any(
        _dict(facets.get(name)) and facets[name].get("_deleted") is True
        for name in ("columnLineage", "lineage")
    )
    return ColumnPart(inputs=()) if part is None and deleted else part


def _facet(facets: dict[str, Any], name: str) -> dict[str, Any] | None:
    facet = facets.get(name)
    if not isinstance(facet, dict) or facet.get("_deleted") is True:
        return None
    return facet


def _edges(facet: dict[str, Any]) -> Iterator[SourceEdge]:
    for column, content in (facet.get("fields") or {}).items():
        content = content or {}
        kind, masking = kinds.of_field(content.get("transformationType"))
        text = content.get("transformationDescription")
        for source in content.get("inputFields") or ():
            transformations = source.get("transformations") or ()
            if transformations:
                yield from _transformed(column, source, transformations)
            else:
                yield _edge(column, source, kind, masking, text)
    for source in facet.get("dataset") or ():
        transformations = source.get("transformations") or ()
        if transformations:
            yield from _transformed(None, source, transformations)
        else:
            yield _edge(None, source, "INDIRECT", False, None)


def _transformed(
    column: str | None, source: dict[str, Any], transformations: Iterable[dict[str, Any] | None]
) -> Iterator[SourceEdge]:
    for item in transformations:
        if item is not None:
            kind = kinds.of_transformation(item)
            yield _edge(column, source, kind, bool(item.get("masking")), item.get("description"))


def _edge(
    column: str | None, source: dict[str, Any], kind: str, masking: bool, text: Any
) -> SourceEdge:
    description = text if isinstance(text, str) and text else None
    # The same few names in each edge, which are kept for long: each is one text.
    namespace, name = intern(source["namespace"]), intern(source["name"])
    return SourceEdge(column, namespace, name, intern(source["field"]), kind, masking, description)


def _unique(edges: Iterable[SourceEdge]) -> tuple[SourceEdge, ...]:
    # One source may be told twice with two descriptions: keep the least, in any order.
    kept: dict[tuple[Any, ...], SourceEdge] = {}
    for edge in edges:
        key = edge.key()
        known = kept.get(key)
        if known is None or (edge.description or "") < (known.description or ""):
            kept[key] = edge
    return tuple(kept[key] for key in sorted(kept))


def _told(facet: dict[str, Any]) -> Iterator[ColumnFacts]:
    columns = facet.get("columns", facet.get("fields"))
    if isinstance(columns, dict):
        items = [{**content, "name": name} for name, content in columns.items() if _dict(content)]
    else:
        items = [item for item in columns or () if _dict(item)] if _list(columns) else []
    for item in items:
        name = item.get("name")
        if isinstance(name, str):
            yield ColumnFacts(
                name,
                _text(item.get("type")),
                _text(item.get("origin")),
                _text(item.get("expression")),
                _text(item.get("availability")),
                _texts(item.get("opaque")),
                _texts(item.get("via")),
            )


def _column(name: str, told: ColumnFacts | None, edges: list[SourceEdge]) -> ColumnFacts:
    direct = [edge.kind for edge in edges if kinds.is_direct(edge.kind)]
    if told is None:
        told = ColumnFacts(name)
    texts = {edge.description for edge in edges if kinds.is_direct(edge.kind)}
    only = texts.pop() if len(texts) == 1 else None
    return ColumnFacts(
        name,
        told.type or kinds.own_type(direct),
        told.origin or ("INPUT_FIELDS" if direct else None),
        told.expression or only,
        told.availability,
        told.opaque,
        told.via,
    )


_BADNESS = ("AVAILABLE", "PARTIAL", "UNAVAILABLE")


def _availability(extra: dict[str, Any], columns: tuple[ColumnFacts, ...]) -> str | None:
    told = _text(extra.get("availability"))
    return told or _worst(facts.availability for facts in columns)


def _worst(said: Iterable[str | None]) -> str | None:
    known = [word for word in said if word in _BADNESS]
    return max(known, key=_BADNESS.index, default=None)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        return ()
    return tuple(sorted({item for item in value if isinstance(item, str)}))


def _dict(value: Any) -> bool:
    return isinstance(value, dict)


def _list(value: Any) -> bool:
    return isinstance(value, list)
