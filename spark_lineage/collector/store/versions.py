"""Schemas of a data set: each different one is a row, an unchanged one makes none."""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import Connection, select, update

from spark_lineage.collector.model import Event, Fields, time_of
from spark_lineage.collector.store import schema
from spark_lineage.collector.store.batch import Batch, Version
from spark_lineage.collector.store.names import Names

_versions = schema.schema_versions
_columns = schema.columns


def learn(batch: Batch, name: int, fields: Fields, output: bool, event: Event) -> bool:
    """Note a schema that an event stated; True if the columns must be derived anew."""
    key = fields.hash
    order, time = event.schema_order, event.time
    known = batch.versions(name)
    same = next((one for one in known if (one.hash, one.output) == (key, output)), None)
    if same is None:
        known.append(Version(key, output, order, time, fields.body))
        return True
    if same.order >= order and same.first <= time:
        return False
    before = same.order
    same.order, same.first = max(same.order, order), min(same.first, time)
    same.changed = True
    if len(batch.names.meanings([name])[name]) > 1:
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
    columns = select(
        _columns.c.id, _columns.c.path, _columns.c.type, _columns.c.position, _columns.c.stated
    )
    for column in connection.execute(
        columns.where(_columns.c.dataset_id == dataset, ~_columns.c.whole)
    ).all():
        new = (types.get(column.path), positions.get(column.path), column.path in paths)
        if (column.type, column.position, column.stated) != new:
            change = update(_columns).where(_columns.c.id == column.id)
            connection.execute(change.values(type=new[0], position=new[1], stated=new[2]))


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
