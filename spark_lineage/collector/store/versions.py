"""Schemas of a data set: each different one is a row, an unchanged one makes none."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import orjson
from sqlalchemy import Connection

from spark_lineage.collector.model import Event, Fields, time_of
from spark_lineage.collector.store import rows, schema
from spark_lineage.collector.store.batch import Batch
from spark_lineage.collector.store.claims import Version
from spark_lineage.collector.store.names import NOTHING, Names

_columns = schema.columns
# Path, type and position of each.
_Fields = list[tuple[str, str | None, int]]


def learn(batch: Batch, name: int, fields: Fields, output: bool, event: Event) -> bool:
    """Note a schema that an event stated; True if the columns must be derived anew."""
    key, order, time = fields.hash, event.schema_order, event.time
    known = batch.versions(name)
    for same in known:
        if same.hash == key and same.output == output:
            break
    else:
        version = Version(key, output, order, time, fields.body)
        known.append(version)
        if name in batch.names.fresh:
            batch.stated[name].append((version, fields))
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


def derive(
    connection: Connection,
    names: Names,
    datasets: Iterable[int],
    new: Mapping[int, list[tuple[Version, Fields]]] = NOTHING,
) -> None:
    """Types by the newest schema that gives one; the order of columns by the newest.

    What a writer or a DatasetEvent says of which columns there are beats what a
    reader says, who may list only those that it read. ``new`` are schemas of names
    that are new in this transaction.
    """
    stated: dict[tuple[int, str | None], tuple[str | None, int | None]] = {}
    every = set(datasets)
    # All that was stated of a data set that came now is known, and it gets its columns as
    # they are to be.
    fresh = every & names.without_columns
    told: dict[int, list[tuple[str, bool, _Fields]]] = defaultdict(list)
    for name, versions in new.items():
        dataset = names.of(name)[0][1]
        if dataset in fresh:
            told[dataset] += [
                (
                    one.order,
                    one.output,
                    [(field.path, field.type, field.position) for field in fields],
                )
                for one, fields in versions
            ]
    for dataset, some in _stated(connection, names, every - fresh).items():
        told[dataset] = [(one.order, one.output, _fields(one.body)) for one in some]
    for dataset, of_dataset in told.items():
        types: dict[str, str | None] = {}
        for _, _, fields in sorted(of_dataset, key=lambda one: one[:2]):
            for path, kind, _ in fields:
                types[path] = kind or types.get(path)
        newest = max(of_dataset, key=lambda one: (one[1], one[0]))
        positions = {path: position for path, _, position in newest[2]}
        for path, kind in types.items():
            stated[dataset, path] = (kind, positions.get(path))
    names.columns(stated, stated)
    query = """
        SELECT dataset_id, path, id, type, position, stated FROM columns
        WHERE whole = FALSE AND dataset_id """
    changed = []
    for dataset, path, number, *old in rows.fetched(connection, query, every - fresh):
        kind, position = stated.get((dataset, path), (None, None))
        wanted = [kind, position, (dataset, path) in stated]
        if old != wanted:
            changed.append((*wanted, number))
    rows.change(connection, _columns, ("type", "position", "stated"), ("id",), changed)


class Stated(NamedTuple):
    """A schema that was stated of a data set."""

    order: str
    output: bool
    hash: str
    first: int
    body: str


def of_datasets(connection: Connection, datasets: Iterable[int]) -> dict[int, list[Stated]]:
    """The schemas that were stated of data sets under any of their names, the oldest first."""
    return _stated(connection, Names(connection), datasets)


def _stated(
    connection: Connection, names: Names, datasets: Iterable[int]
) -> dict[int, list[Stated]]:
    wanted = set(datasets)
    query = "SELECT DISTINCT name_id FROM meanings WHERE dataset_id "
    every = [row[0] for row in rows.fetched(connection, query, wanted)]
    names.meanings(every)
    found: dict[int, set[Stated]] = defaultdict(set)
    query = 'SELECT name_id, "order", output, hash, first, body FROM schema_versions WHERE name_id '
    for name, order, output, *more in rows.fetched(connection, query, every):
        one = Stated(order, bool(output), *more)
        for time in (one.first, time_of(order)):
            dataset = names.dataset(name, time)
            if dataset in wanted:
                found[dataset].add(one)
    return {dataset: sorted(some) for dataset, some in found.items()}


def _fields(body: str) -> _Fields:
    return [(one["path"], one["type"], one["position"]) for one in orjson.loads(body)]
