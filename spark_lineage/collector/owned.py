"""What is stated of data sets and jobs: owners, tags, descriptions, by whatever name."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from sqlalchemy import Connection, select

from spark_lineage.collector.model import time_of
from spark_lineage.collector.store import schema
from spark_lineage.collector.store.names import Names, meant_at
from spark_lineage.collector.store.rows import among, chunks

_facets, _meanings = schema.facets, schema.meanings


def facets(
    connection: Connection, datasets: Iterable[int], name: str | None = None
) -> dict[int, dict[str, dict[str, Any]]]:
    """The newest facets of data sets, stated under any name that meant them at that time."""
    found: dict[int, dict[str, tuple[str, bool, str]]] = defaultdict(dict)
    names = Names(connection)
    wanted = set(datasets)
    query = (
        select(_facets)
        .join(_meanings, _meanings.c.name_id == _facets.c.owner)
        .where(among(connection, _meanings.c.dataset_id, wanted), _facets.c.kind == "DATASET")
        .distinct()
    )
    if name is not None:
        query = query.where(_facets.c.name == name)
    rows = connection.execute(query).all()
    names.meanings({row.owner for row in rows})
    for row in rows:
        dataset = names.dataset(row.owner, time_of(row.order))
        said = (row.order, row.deleted, row.body)
        if dataset in wanted and said > found[dataset].get(row.name, ("",)):
            found[dataset][row.name] = said
    return {
        dataset: {
            key: json.loads(body) for key, (_, deleted, body) in sorted(said.items()) if not deleted
        }
        for dataset, said in found.items()
    }


def job_facets(
    connection: Connection, jobs: Iterable[int], name: str | None = None
) -> dict[int, dict[str, dict[str, Any]]]:
    """The newest facets of jobs."""
    found: dict[int, dict[str, dict[str, Any]]] = defaultdict(dict)
    query = select(_facets).where(among(connection, _facets.c.owner, jobs), _facets.c.kind == "JOB")
    if name is not None:
        query = query.where(_facets.c.name == name)
    for row in connection.execute(query.where(~_facets.c.deleted)):
        found[row.owner][row.name] = json.loads(row.body)
    return found


def of_datasets(connection: Connection, datasets: Iterable[int]) -> dict[int, list[str]]:
    """The owners of data sets."""
    every = facets(connection, datasets, "ownership")
    return {one: _owners(said["ownership"]) for one, said in every.items() if "ownership" in said}


def of_jobs(connection: Connection, jobs: Iterable[int]) -> dict[int, list[str]]:
    """The owners of jobs."""
    every = job_facets(connection, jobs, "ownership")
    return {one: _owners(said["ownership"]) for one, said in every.items()}


def _owners(facet: dict[str, Any]) -> list[str]:
    return sorted({owner["name"] for owner in facet.get("owners") or () if owner})


def tags(connection: Connection, datasets: Iterable[int]) -> dict[int, list[dict[str, str]]]:
    """The tags of data sets and of their columns (``field`` empty: of all of it)."""
    wanted = sorted(set(datasets))
    found: dict[int, list[dict[str, str]]] = defaultdict(list)
    for one, said in facets(connection, wanted, "tags").items():
        for tag in (said.get("tags") or {}).get("tags") or ():
            if isinstance(tag, dict) and isinstance(tag.get("key"), str):
                found[one].append(
                    {
                        "field": str(tag.get("field") or ""),
                        "key": tag["key"],
                        "value": str(tag.get("value") or ""),
                        "source": str(tag.get("source") or ""),
                    }
                )
    own = schema.tags
    for some in chunks(wanted):
        query = (
            select(_meanings.c.dataset_id, own)
            .join(_meanings, _meanings.c.name_id == own.c.name_id)
            .where(_meanings.c.dataset_id.in_(some), meant_at(own.c.time))
            .order_by(own.c.field, own.c.key, own.c.time)
        )
        for row in connection.execute(query):
            here = found[row.dataset_id]
            if row.removed:
                here[:] = [
                    one for one in here if (one["field"], one["key"]) != (row.field, row.key)
                ]
            else:
                here.append(
                    {"field": row.field, "key": row.key, "value": row.value, "source": row.by}
                )
    return found


def job_tags(connection: Connection, jobs: Iterable[int]) -> dict[int, list[str]]:
    """The tags of jobs, sorted: those that producers state and those that people set."""
    wanted = sorted(set(jobs))
    found: dict[int, set[str]] = defaultdict(set)
    for one, said in job_facets(connection, wanted, "tags").items():
        every = said["tags"].get("tags")
        for tag in every if isinstance(every, list) else ():
            if isinstance(tag, dict) and isinstance(tag.get("key"), str):
                found[one].add(tag["key"])
    own = schema.job_tags
    for row in connection.execute(select(own).where(among(connection, own.c.job_id, wanted))):
        change = found[row.job_id].discard if row.removed else found[row.job_id].add
        change(row.key)
    return {one: sorted(keys) for one, keys in found.items()}
