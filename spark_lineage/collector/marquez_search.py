"""Marquez's search: data sets and jobs by a pattern that stands anywhere in their names."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from sqlalchemy import Connection, Select, Table, func, select

from spark_lineage.collector import marquez_times
from spark_lineage.collector.marquez import Answer
from spark_lineage.collector.marquez_marks import Hidden
from spark_lineage.collector.store import schema, trigrams
from spark_lineage.collector.times import show

_d, _j, _names, _meanings = schema.datasets, schema.jobs, schema.names, schema.meanings
# The best fits of each kind, of which the answer is sorted and cut.
_MOST = 1_000
SORTS = ("NAME", "UPDATE_AT", "UPDATED_AT")
FILTERS = ("ALL", "DATASET", "JOB")


class Asked(NamedTuple):
    """What a search is to find, and in which order."""

    text: str
    only: str = "ALL"
    sort: str = "NAME"
    namespace: str | None = None
    # Spoken of last within these times, the first one included.
    after: int | None = None
    before: int | None = None


class _Hit(NamedTuple):
    kind: str
    id: int
    namespace: str
    name: str


def search(connection: Connection, asked: Asked, limit: int, hidden: Hidden) -> Answer:
    """The hits, by their names or the newest first; ``%`` and ``_`` stand for other letters."""
    hits: list[_Hit] = []
    if asked.only in ("ALL", "DATASET"):
        hits += _datasets(connection, asked, hidden)
    if asked.only in ("ALL", "JOB"):
        hits += _jobs(connection, asked, hidden)
    spans = {
        "DATASET": marquez_times.of_datasets(connection, _ids(hits, "DATASET")),
        "JOB": marquez_times.of_jobs(connection, _ids(hits, "JOB")),
    }
    told = [(hit, spans[hit.kind].get(hit.id, marquez_times.Span(0, 0)).last) for hit in hits]
    told = [
        (hit, last) for hit, last in told
        if (asked.after is None or last >= asked.after)
        and (asked.before is None or last < asked.before)
    ]  # fmt: skip
    by_name = sorted(told, key=lambda one: (one[0].name, one[0].namespace, one[0].kind))
    if asked.sort != "NAME":
        by_name.sort(key=lambda one: -one[1])
    return {
        "totalCount": len(by_name),
        "results": [
            {
                "type": hit.kind,
                "name": hit.name,
                "namespace": hit.namespace,
                "updatedAt": show(last),
                "nodeId": f"{hit.kind.lower()}:{hit.namespace}:{hit.name}",
            }
            for hit, last in by_name[:limit]
        ],
    }


def _ids(hits: list[_Hit], kind: str) -> list[int]:
    return [hit.id for hit in hits if hit.kind == kind]


def _datasets(connection: Connection, asked: Asked, hidden: Hidden) -> list[_Hit]:
    # By another name of it, too.
    query = (
        select(_d.c.id, _d.c.namespace, _d.c.name, func.length(_names.c.name))
        .select_from(_names)
        .join(_meanings, _meanings.c.name_id == _names.c.id)
        .join(_d, _d.c.id == _meanings.c.dataset_id)
        .where(~_d.c.ghost, _d.c.ended.is_(None))
    )
    if hidden.datasets:
        query = query.where(_d.c.id.not_in(hidden.datasets))
    return _hits(connection, query, _names, _d, "DATASET", asked)


def _jobs(connection: Connection, asked: Asked, hidden: Hidden) -> list[_Hit]:
    query = select(_j.c.id, _j.c.namespace, _j.c.name, func.length(_j.c.name))
    query = query.where(_j.c.name != "")
    if hidden.jobs:
        query = query.where(_j.c.id.not_in(hidden.jobs))
    return _hits(connection, query, _j, _j, "JOB", asked)


def _hits(
    connection: Connection, query: Select[Any], table: Table, of: Table, kind: str, asked: Asked
) -> list[_Hit]:
    pattern = asked.text.replace("\\", "\\\\")
    query = query.where(table.c.name.ilike(f"%{pattern}%", escape="\\"))
    if asked.namespace is not None:
        query = query.where(of.c.namespace == asked.namespace)
    # Whatever fits the pattern has its longest plain part.
    narrowed = trigrams.fits(connection, table, max(re.split("[%_]", asked.text), key=len))
    if narrowed is not None:
        query = query.where(narrowed)
    query = query.order_by(func.length(table.c.name), table.c.name).limit(_MOST)
    found = dict.fromkeys(_Hit(kind, *row[:3]) for row in connection.execute(query))
    return list(found)
