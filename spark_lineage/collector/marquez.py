"""The store in the shapes of Marquez's API, for clients that know that one: what all share."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable
from typing import Any

from sqlalchemy import ColumnElement, Connection, Table, func, select

from spark_lineage.collector import marquez_times
from spark_lineage.collector.marquez_marks import Hidden
from spark_lineage.collector.store import schema
from spark_lineage.collector.times import show

Answer = dict[str, Any]
_d, _j = schema.datasets, schema.jobs
_names, _meanings = schema.names, schema.meanings
_SPACE = uuid.uuid5(uuid.NAMESPACE_URL, "https://github.com/spark-lineage/collector")
_Ends = dict[str, tuple[int, int]]
_NOTHING = Hidden(frozenset(), frozenset())


def uuid_of(*parts: str) -> str:
    """An id of the form that Marquez has, the same for the same parts."""
    return str(uuid.uuid5(_SPACE, json.dumps(parts)))


def namespaces(
    connection: Connection, limit: int, offset: int, hidden: Hidden = _NOTHING
) -> tuple[list[Answer], int]:
    """The namespaces of data sets and of jobs by their names, and how many there are."""
    datasets, jobs = _ends(connection, _d), _ends(connection, _j)
    every = sorted({*datasets, *jobs})
    some = every[offset : offset + limit]
    spans = _spans(connection, some, datasets, jobs)
    gone = _hidden(connection, some, hidden)
    return [_namespace(one, spans[one], one in gone) for one in some], len(every)


def namespace(connection: Connection, name: str, hidden: Hidden = _NOTHING) -> Answer | None:
    """One of them; None if nothing is in it."""
    datasets, jobs = _ends(connection, _d, name), _ends(connection, _j, name)
    if not (datasets or jobs):
        return None
    span = _spans(connection, [name], datasets, jobs)[name]
    return _namespace(name, span, name in _hidden(connection, [name], hidden))


def _shown(table: Table) -> list[ColumnElement[bool]]:
    return [~_d.c.ghost, _d.c.ended.is_(None)] if table is _d else [_j.c.name != ""]


def _ends(connection: Connection, table: Table, name: str | None = None) -> _Ends:
    """The first and the newest thing in each namespace: ids rise in the order of arrival."""
    query = select(table.c.namespace, func.min(table.c.id), func.max(table.c.id))
    query = query.where(*_shown(table)).group_by(table.c.namespace)
    if name is not None:
        query = query.where(table.c.namespace == name)
    return {row[0]: (row[1], row[2]) for row in connection.execute(query)}


def _spans(
    connection: Connection, names: Iterable[str], datasets: _Ends, jobs: _Ends
) -> dict[str, tuple[int, int]]:
    """When the first thing in a namespace came, and when the newest one."""
    wanted = list(names)
    ids = [{end for one in wanted for end in ends.get(one, ())} for ends in (datasets, jobs)]
    of_datasets = marquez_times.of_datasets(connection, ids[0])
    of_jobs = marquez_times.of_jobs(connection, ids[1])
    found = {}
    for one in wanted:
        spans = [of_datasets[end] for end in datasets.get(one, ()) if end in of_datasets]
        spans += [of_jobs[end] for end in jobs.get(one, ()) if end in of_jobs]
        firsts = [span.first for span in spans]
        found[one] = (min(firsts, default=0), max(firsts, default=0))
    return found


def _namespace(name: str, span: tuple[int, int], hidden: bool) -> Answer:
    return {
        "name": name,
        "createdAt": show(span[0]),
        "updatedAt": show(span[1]),
        "ownerName": "anonymous",
        "description": None,
        "isHidden": hidden,
    }


def _hidden(connection: Connection, names: list[str], hidden: Hidden) -> set[str]:
    """The namespaces of which all is hidden."""
    if not (hidden.datasets or hidden.jobs):
        return set()
    seen: set[str] = set()
    for table, gone in ((_d, hidden.datasets), (_j, hidden.jobs)):
        query = select(table.c.namespace).where(*_shown(table), table.c.id.not_in(gone))
        seen.update(connection.scalars(query.where(table.c.namespace.in_(names)).distinct()))
    return set(names) - seen


def sources(connection: Connection, limit: int, offset: int) -> tuple[list[Answer], int]:
    """A source for each namespace of data sets, and how many there are."""
    ends = _ends(connection, _d)
    some = sorted(ends)[offset : offset + limit]
    spans = _spans(connection, some, ends, {})
    return [_source(one, spans[one]) for one in some], len(ends)


def source(connection: Connection, name: str) -> Answer | None:
    """One source; None if no data set is of it."""
    ends = _ends(connection, _d, name)
    return _source(name, _spans(connection, [name], ends, {})[name]) if ends else None


def _source(name: str, span: tuple[int, int]) -> Answer:
    return {
        "type": name.partition(":")[0].upper() if ":" in name else "DB",
        "name": name,
        "createdAt": show(span[0]),
        "updatedAt": show(span[1]),
        "connectionUrl": name,
        "description": None,
    }


def find_name(connection: Connection, namespace: str, name: str) -> int | None:
    """The id of a data set's name."""
    query = select(_names.c.id).where(_names.c.namespace == namespace, _names.c.name == name)
    return connection.scalar(query)


def find_dataset(connection: Connection, namespace: str, name: str) -> int | None:
    """The data set that a name means now, or that it meant last if it was given away."""
    query = (
        select(_meanings.c.dataset_id)
        .join(_names, _names.c.id == _meanings.c.name_id)
        .join(_d, _d.c.id == _meanings.c.dataset_id)
        .where(_names.c.namespace == namespace, _names.c.name == name, ~_d.c.ghost)
        .order_by(_meanings.c.since.desc())
    )
    return connection.scalar(query.limit(1))


def find_job(connection: Connection, namespace: str, name: str) -> int | None:
    """A job by its name."""
    query = select(_j.c.id).where(_j.c.namespace == namespace, _j.c.name == name)
    return connection.scalar(query) if name else None
