"""Schemas of a data set: each different one is a row, an unchanged one makes none."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from sqlalchemy import Connection, insert, select, update

from spark_lineage.collector.model import Field, canonical, digest
from spark_lineage.collector.store import schema

_versions = schema.schema_versions
_columns = schema.columns


def learn(
    connection: Connection, dataset: int, fields: tuple[Field, ...], output: bool, order: str
) -> None:
    """Note a schema that an event stated, and derive the columns anew if that changes them."""
    body = canonical([asdict(field) for field in fields])
    key = digest(body)
    query = select(_versions.c.id, _versions.c.hash, _versions.c.output, _versions.c.order)
    known = connection.execute(query.where(_versions.c.dataset_id == dataset)).all()
    same = next((row for row in known if (row.hash, row.output) == (key, output)), None)
    if same is None:
        row = {"dataset_id": dataset, "hash": key, "output": output, "order": order, "body": body}
        connection.execute(insert(_versions), row)
    elif same.order < order:
        change = update(_versions).where(_versions.c.id == same.id)
        connection.execute(change.values(order=order))
        if len(known) == 1:
            return
    else:
        return
    _derive(connection, dataset)


def _derive(connection: Connection, dataset: int) -> None:
    """Types by the newest schema that gives one; the order of columns by the newest.

    What a writer or a DatasetEvent says of which columns there are beats what a
    reader says, who may list only those that it read.
    """
    query = select(_versions.c.output, _versions.c.order, _versions.c.body)
    stated = connection.execute(query.where(_versions.c.dataset_id == dataset)).all()
    types: dict[str, str] = {}
    positions: dict[str, int] = {}
    for row in sorted(stated, key=lambda row: row.order):
        types.update((item["path"], item["type"]) for item in _fields(row.body) if item["type"])
    newest = max(stated, key=lambda row: (row.output, row.order))
    positions.update((item["path"], item["position"]) for item in _fields(newest.body))
    columns = select(_columns.c.id, _columns.c.path, _columns.c.type, _columns.c.position)
    of_dataset = columns.where(_columns.c.dataset_id == dataset, ~_columns.c.whole)
    for column in connection.execute(of_dataset).all():
        kind, position = types.get(column.path), positions.get(column.path)
        if (column.type, column.position) != (kind, position):
            change = update(_columns).where(_columns.c.id == column.id)
            connection.execute(change.values(type=kind, position=position))


def _fields(body: str) -> list[dict[str, Any]]:
    content: list[dict[str, Any]] = json.loads(body)
    return content
