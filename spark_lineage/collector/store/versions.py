"""Schemas of a data set: each different one is a row, an unchanged one makes none."""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import Connection, select

from spark_lineage.collector.model import Event, Fields, time_of
from spark_lineage.collector.store import rows, schema
from spark_lineage.collector.store.batch import Batch, Version
from spark_lineage.collector.store.names import Names

_versions = schema.schema_versions
_columns = schema.columns


def learn(batch: Batch, name: int, fields: Fields, output: bool, event: Event) -> bool:
    """Note a schema that an event stated; True if the columns must be derived anew."""
    key, order, time = fields.hash, event.schema_order, event.time
    known = batch.versions(name)
    for same in known:
        if same.hash == key and same.output == output:
            break
    else:
        known.append(Version(key, output, order, time, fields.body))
        return True
    before = same.order
    if before >= order and same.first <= time:
        return False
    same.order, same.first = max(before, order), min(same.first, time)
    same.changed = True
    if len(batch.names.of(name)) > 1:
        return True
    # Types come from the newest schema that has one: there is something to derive only if this
    # one is newer now than another that says otherwise.
    return any(one.hash != key and before <= one.order <= order for one in batch.rivals(name))


def derive(connection: Connection, names: Names, dataset: int) -> None:
    """Types by the newest schema that gives one; the order of columns by the newest.

    What a writer or a DatasetEvent says of which columns there are beats what a
    reader says, who may list only those that it read.
    """
    stated = of_dataset(connection, dataset)
    types: dict[str, str] = {}
    positions: dict[str, int] = {}
    paths: set[str] = set()
    for row in stated:
        fields = _fields(row.body)
        paths.update(item["path"] for item in fields)
        types.update((item["path"], item["type"]) for item in fields if item["type"])
    if stated:
        newest = max(stated, key=lambda row: (row.output, row.order))
        positions.update((item["path"], item["position"]) for item in _fields(newest.body))
    names.columns((dataset, path) for path in paths)
    query = """
        SELECT id, path, type, position, stated FROM columns
        WHERE whole = FALSE AND dataset_id """
    changed = []
    for number, path, *old in rows.fetched(connection, query, [dataset]):
        new = [types.get(path), positions.get(path), path in paths]
        if old != new:
            changed.append((*new, number))
    rows.change(connection, _columns, ("type", "position", "stated"), ("id",), changed)


def of_dataset(connection: Connection, dataset: int) -> list[Any]:
    """The schemas that were stated of a data set under any of its names, the oldest first."""
    meanings = schema.meanings
    query = (
        select(meanings.c.name_id, meanings.c.since)
        .where(meanings.c.name_id.in_(
            select(meanings.c.name_id).where(meanings.c.dataset_id == dataset)
        ))
        .order_by(meanings.c.name_id, meanings.c.since)
    )  # fmt: skip
    found: dict[tuple[str, bool, str], Any] = {}
    names = Names(connection)
    every = list({row.name_id for row in connection.execute(query)})
    for row in connection.execute(select(_versions).where(_versions.c.name_id.in_(every))):
        for time in (row.first, time_of(row.order)):
            if names.dataset(row.name_id, time) == dataset:
                found[row.hash, row.output, row.order] = row
    return sorted(found.values(), key=lambda row: (row.order, row.output))


def _fields(body: str) -> list[dict[str, Any]]:
    content: list[dict[str, Any]] = json.loads(body)
    return content
