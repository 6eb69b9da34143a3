"""Schemas of a data set: each different one is a row, an unchanged one makes none."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from sqlalchemy import Connection, insert, select, update

from spark_lineage.collector.model import Event, Field, canonical, digest, time_of
from spark_lineage.collector.store import schema
from spark_lineage.collector.store.names import Names

_versions = schema.schema_versions
_columns = schema.columns


def learn(
    connection: Connection, name: int, fields: tuple[Field, ...], output: bool, event: Event
) -> bool:
    """Note a schema that an event stated; True if the columns must be derived anew."""
    body = canonical([asdict(field) for field in fields])
    key = digest(body)
    order, time = event.schema_order, event.time
    query = select(
        _versions.c.id, _versions.c.hash, _versions.c.output, _versions.c.order, _versions.c.first
    )
    known = connection.execute(query.where(_versions.c.name_id == name)).all()
    same = next((row for row in known if (row.hash, row.output) == (key, output)), None)
    if same is None:
        row = {
            "name_id": name,
            "hash": key,
            "output": output,
            "first": time,
            "order": order,
            "body": body,
        }
        connection.execute(insert(_versions), row)
        return True
    if same.order >= order and same.first <= time:
        return False
    change = update(_versions).where(_versions.c.id == same.id)
    new = {"order": max(same.order, order), "first": min(same.first, time)}
    connection.execute(change.values(**new))
    return len(known) > 1


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
