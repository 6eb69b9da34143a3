"""Data sets and their versions in the shapes of Marquez's API; many are read at once."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import Connection, func, select

from spark_lineage.collector import (
    lifecycle,
    marquez_columns,
    marquez_runs,
    marquez_said,
    marquez_times,
    owned,
)
from spark_lineage.collector.marquez import Answer, uuid_of
from spark_lineage.collector.marquez_marks import Hidden
from spark_lineage.collector.model import time_of
from spark_lineage.collector.store import schema, versions
from spark_lineage.collector.store.names import meant_at
from spark_lineage.collector.store.rows import among
from spark_lineage.collector.store.versions import Stated
from spark_lineage.collector.times import show

_d, _c, _r, _claims = schema.datasets, schema.columns, schema.runs, schema.claims
_names, _meanings = schema.names, schema.meanings


def page(
    connection: Connection, namespace: str, limit: int, offset: int, hidden: Hidden
) -> tuple[list[Answer], int]:
    """The data sets of a namespace by their names, and how many there are."""
    where = [_d.c.namespace == namespace, ~_d.c.ghost, _d.c.ended.is_(None)]
    if hidden.datasets:
        where.append(_d.c.id.not_in(hidden.datasets))
    total = connection.scalar(select(func.count()).select_from(_d).where(*where))
    query = select(_d.c.id).where(*where).order_by(_d.c.name).limit(limit).offset(offset)
    return told(connection, list(connection.scalars(query))), int(total or 0)


def told(connection: Connection, ids: Sequence[int]) -> list[Answer]:
    """Data sets by their ids, in that order."""
    known = {
        row.id: row for row in connection.execute(select(_d).where(among(connection, _d.c.id, ids)))
    }
    facets, tags = owned.facets(connection, ids), owned.tags(connection, ids)
    spans = marquez_times.of_datasets(connection, ids)
    stated = versions.of_datasets(connection, ids)
    fields = _fields(connection, ids, stated, tags)
    made = marquez_columns.of_datasets(connection, ids)
    gone = lifecycle.dropped(connection, ids)
    found = []
    for one in ids:
        row, span, every = known[one], spans.get(one), facets.get(one, {})
        own = stated.get(one, [])
        found.append(
            {
                **_identity(row),
                "createdAt": show(span.first if span else 0),
                "updatedAt": show(span.last if span else 0),
                "fields": fields[one],
                "tags": sorted({tag["key"] for tag in tags.get(one, ()) if not tag["field"]}),
                "lastModifiedAt": show(span.written if span else None),
                "lastLifecycleState": _state(every),
                "description": (every.get("documentation") or {}).get("description"),
                "currentVersion": version_of(row.namespace, row.name, own),
                # Without any it is null: the page tells by that whether there is column lineage.
                "columnLineage": made.get(one) or None,
                "facets": every,
                "deleted": one in gone,
            }
        )
    return found


def one(connection: Connection, dataset: int, whole: bool = True) -> Answer:
    """One data set; ``whole``: with all the facets that the events of its last run have of it."""
    (found,) = told(connection, [dataset])
    run = _last_run(connection, dataset) if whole else None
    if run is not None:
        found["facets"] = {**_said(connection, run, dataset), **found["facets"]}
    return found


def _identity(row: Any) -> Answer:
    return {
        "id": {"namespace": row.namespace, "name": row.name},
        "type": "DB_TABLE",
        "name": row.name,
        "physicalName": row.name,
        "namespace": row.namespace,
        "sourceName": row.namespace,
    }


def _state(facets: dict[str, Any]) -> Any:
    return (facets.get("lifecycleStateChange") or {}).get("lifecycleStateChange")


def version_of(namespace: str, name: str, stated: list[Stated], at: int | None = None) -> str:
    """The id of the version of a data set, now or at a time; its versions are its schemas."""
    every = _of_writers(stated)
    if at is not None and every:
        # A schema may come again: it holds from each time that is known of it.
        said = [
            (time, one.hash)
            for one in every
            for time in (one.first, time_of(one.order))
            if time <= at
        ]
        return uuid_of(namespace, name, max(said)[1] if said else every[0].hash)
    return uuid_of(namespace, name, *([every[-1].hash] if every else []))


def _of_writers(stated: list[Stated]) -> list[Stated]:
    """What readers say of a schema counts where no writer says any: they may list a part."""
    return [one for one in stated if one.output] or stated


def _fields(
    connection: Connection,
    ids: Sequence[int],
    stated: dict[int, list[Stated]],
    tags: dict[int, list[dict[str, str]]],
) -> dict[int, list[Answer]]:
    found: dict[int, list[Answer]] = defaultdict(list)
    texts: dict[int, dict[str, str]] = {}
    for number, own in stated.items():
        items = [item for schema_ in own for item in json.loads(schema_.body)]
        texts[number] = {i["path"]: i["description"] for i in items if i["description"]}
    query = (
        select(_c.c.dataset_id, _c.c.path, _c.c.type)
        .where(among(connection, _c.c.dataset_id, ids), ~_c.c.whole, _c.c.path == _c.c.root)
        .order_by(_c.c.position.is_(None), _c.c.position, _c.c.path)
    )
    for row in connection.execute(query):
        of = tags.get(row.dataset_id, ())
        found[row.dataset_id].append(
            {
                "name": row.path,
                "type": row.type,
                "tags": sorted({tag["key"] for tag in of if tag["field"] == row.path}),
                "description": texts.get(row.dataset_id, {}).get(row.path),
            }
        )
    return found


def _last_run(connection: Connection, dataset: int) -> str | None:
    """The run that spoke last of a data set: that wrote it, else that read it."""
    writes = (
        select(_r.c.run_id)
        .join(_claims, _claims.c.run_id == _r.c.id)
        .where(_claims.c.output_id == dataset)
        .order_by(_claims.c.time.desc(), _r.c.run_id)
    )
    found: str | None = connection.scalar(writes.limit(1))
    if found is None:
        inputs = schema.run_inputs
        reads = (
            select(_r.c.run_id)
            .join(inputs, inputs.c.run_id == _r.c.id)
            .join(_meanings, _meanings.c.name_id == inputs.c.name_id)
            .where(_meanings.c.dataset_id == dataset, meant_at(_r.c.last))
            .order_by(_r.c.last.desc(), _r.c.run_id)
        )
        found = connection.scalar(reads.limit(1))
    return found


def _said(connection: Connection, run: str, dataset: int) -> dict[str, Any]:
    """What the events of a run say of a data set, by whichever of its names."""
    query = (
        select(_names.c.namespace, _names.c.name)
        .join(_meanings, _meanings.c.name_id == _names.c.id)
        .where(_meanings.c.dataset_id == dataset)
    )
    said = marquez_said.of_runs(connection, [run])[run].datasets
    found: dict[str, Any] = {}
    for namespace, name in sorted(tuple(row) for row in connection.execute(query)):
        found.update(said.get((namespace, name), {}))
    return found


def versions_of(connection: Connection, dataset: int, whole: bool = True) -> list[Answer]:
    """The versions of a data set, one for each schema, the newest first."""
    (now,) = told(connection, [dataset])
    every = _of_writers(versions.of_datasets(connection, [dataset]).get(dataset, []))
    field_tags = {field["name"]: field["tags"] for field in now["fields"]}
    found: dict[str, Stated] = {}
    for stated in every:
        # Under several names of it the same may be stated.
        known = found.pop(stated.hash, stated)
        found[stated.hash] = min(known, stated, key=lambda one: one.first)
    newest = [*found.values()][::-1]
    return [_version(connection, dataset, now, field_tags, one, whole) for one in newest]


def _version(
    connection: Connection,
    dataset: int,
    now: Answer,
    field_tags: dict[str, list[str]],
    stated: Stated,
    whole: bool,
) -> Answer:
    version = uuid_of(now["namespace"], now["name"], stated.hash)
    run = _maker(connection, dataset, stated) if stated.output else None
    facets = _said(connection, run, dataset) if run and whole else {}
    shared = ("type", "name", "physicalName", "namespace", "sourceName", "tags")
    return {
        "id": {**now["id"], "version": version},
        **{key: now[key] for key in shared},
        "createdAt": show(stated.first),
        "version": version,
        "fields": [
            {
                "name": item["path"],
                "type": item["type"],
                "tags": field_tags.get(item["path"], []),
                "description": item["description"],
            }
            for item in json.loads(stated.body)
            if item["path"] == item["root"]
        ],
        "lifecycleState": _change(connection, dataset, run) if run else None,
        "description": (facets.get("documentation") or {}).get("description"),
        "currentSchemaVersion": version,
        "createdByRun": marquez_runs.one(connection, run, whole) if run else None,
        "facets": facets,
    }


def _change(connection: Connection, dataset: int, run: str) -> Any:
    """How a run changed a data set, as it says: CREATE, OVERWRITE, …"""
    io = schema.io_facets
    query = (
        select(io.c.body)
        .join(_r, _r.c.id == io.c.run_id)
        .join(_meanings, _meanings.c.name_id == io.c.name_id)
        .where(_r.c.run_id == run, _meanings.c.dataset_id == dataset, io.c.output)
        .where(io.c.name == "lifecycleStateChange")
    )
    body = connection.scalar(query.limit(1))
    return None if body is None else json.loads(body).get("lifecycleStateChange")


def _maker(connection: Connection, dataset: int, stated: Stated) -> str | None:
    """The run that wrote a data set with a schema first: of its event, else of its time."""
    events = schema.events
    runs = (
        select(_r.c.run_id)
        .join(_claims, _claims.c.run_id == _r.c.id)
        .where(_claims.c.output_id == dataset, _r.c.kind == "RUN")
        .where(_r.c.first <= stated.first, _r.c.last >= stated.first)
    )
    exact = runs.join(events, events.c.run_id == _r.c.run_id)
    exact = exact.where(events.c.time == stated.first).order_by(_r.c.run_id)
    found: str | None = connection.scalar(exact.limit(1))
    return found or connection.scalar(runs.order_by(_r.c.last, _r.c.run_id).limit(1))


def ids_of(connection: Connection, namespace: str) -> list[int]:
    """All data sets of a namespace."""
    query = select(_d.c.id).where(_d.c.namespace == namespace, ~_d.c.ghost, _d.c.ended.is_(None))
    return list(connection.scalars(query))


def named(connection: Connection, datasets: Iterable[int]) -> dict[int, Answer]:
    """The ids of data sets as Marquez has them."""
    query = select(_d.c.id, _d.c.namespace, _d.c.name)
    rows = connection.execute(query.where(among(connection, _d.c.id, datasets)))
    return {row.id: {"namespace": row.namespace, "name": row.name} for row in rows}


def ended(connection: Connection, datasets: Iterable[int]) -> set[int]:
    """Those that lost their last names to others."""
    query = select(_d.c.id).where(among(connection, _d.c.id, datasets), _d.c.ended.is_not(None))
    return set(connection.scalars(query))
