"""Marquez's read API: the paths of https://marquezproject.ai/openapi.html, unchanged.

Names in paths are percent-encoded and may hold an encoded slash, which a
framework decodes before it routes: the path is read here as it was sent.
"""

from __future__ import annotations

import json
from typing import Annotated, Any
from urllib.parse import unquote

from fastapi import APIRouter, Query, Request
from sqlalchemy import Connection, func, insert, select

from spark_lineage.collector import marquez, marquez_graph, owned, questions, times
from spark_lineage.collector.guard import Token
from spark_lineage.collector.service import Collector
from spark_lineage.collector.store import schema, texts
from spark_lineage.errors import NotFoundError

router = APIRouter(prefix="/api/v1", tags=["marquez"])
Count = Annotated[int, Query(ge=0, le=1_000)]
Offset = Annotated[int, Query(ge=0, lt=1 << 62)]
Levels = Annotated[int, Query(ge=0, le=200)]
Answer = dict[str, Any]


def _collector(request: Request) -> Collector:
    found: Collector = request.app.state.collector
    return found


def _parts(request: Request, after: str) -> list[str]:
    raw = request.scope.get("raw_path") or request.scope["path"].encode()
    text = raw.decode("latin-1").partition("?")[0]
    return [unquote(part) for part in text.partition(f"/{after}/")[2].split("/")]


def _page(items: list[Answer], limit: int, offset: int) -> list[Answer]:
    return items[offset : offset + limit]


@router.get("/namespaces")
def namespaces(request: Request, limit: Count = 100, offset: Offset = 0) -> Answer:
    """All namespaces."""
    return {"namespaces": _page(_collector(request).ask(marquez.namespaces), limit, offset)}


@router.get("/sources")
def sources(request: Request, limit: Count = 100, offset: Offset = 0) -> Answer:
    """A source for each namespace."""
    every = [marquez.source(one["name"]) for one in _collector(request).ask(marquez.namespaces)]
    return {"sources": _page(every, limit, offset)}


@router.get("/sources/{name:path}")
def source(request: Request, name: str) -> Answer:
    """One source."""
    del name
    return marquez.source("/".join(_parts(request, "sources")))


@router.get("/namespaces/{rest:path}")
def below(request: Request, rest: str, limit: Count = 100, offset: Offset = 0) -> Answer:
    """A namespace, or its data sets, jobs, versions and runs."""
    del rest
    parts = _parts(request, "namespaces")
    return _collector(request).ask(_below, parts, limit, offset)


def _below(connection: Connection, parts: list[str], limit: int, offset: int) -> Answer:
    if len(parts) == 1:
        if parts[0] not in {one["name"] for one in marquez.namespaces(connection)}:
            raise NotFoundError(f"no namespace {parts[0]!r} is known")
        return marquez.namespace(parts[0])
    name, kind, *more = parts
    if kind == "datasets" and not more:
        found, total = marquez.datasets(connection, name, limit, offset)
        return {"datasets": found, "totalCount": total}
    if kind == "jobs" and not more:
        found, total = marquez.jobs(connection, name, limit, offset)
        return {"jobs": found, "totalCount": total}
    if kind == "datasets":
        one = marquez.find_dataset(connection, name, more[0])
        if one is not None:
            return _of_dataset(connection, one, more[1:], limit, offset)
    if kind == "jobs":
        job = marquez.find_job(connection, name, more[0])
        if job is not None and len(more) == 1:
            return marquez.job(connection, job)
        if job is not None and more[1:] == ["runs"]:
            found, total = marquez.runs(connection, job, limit, offset)
            return {"runs": found, "totalCount": total}
        if job is not None and more[1:2] == ["versions"] and len(more) <= 3:
            every = marquez.job_versions(connection, job)
            if len(more) == 2:
                return {"versions": _page(every, limit, offset), "totalCount": len(every)}
            for version in every:
                if version["version"] == more[2]:
                    return version
    raise NotFoundError(f"nothing is known of {'/'.join(parts)!r}")


def _of_dataset(
    connection: Connection, one: int, more: list[str], limit: int, offset: int
) -> Answer:
    if not more:
        return marquez.dataset(connection, one)
    if more[0] == "versions":
        every = list(reversed(marquez.schemas(connection, one)))
        if len(more) == 1:
            return {"versions": _page(every, limit, offset), "totalCount": len(every)}
        for version in every:
            if version["version"] == more[1]:
                return version
    raise NotFoundError("no such version of it is known")


@router.post("/namespaces/{rest:path}")
def tag(request: Request, rest: str) -> Answer:
    """Tag a data set or one of its fields."""
    del rest
    parts = _parts(request, "namespaces")
    fits = len(parts) >= 5 and parts[1] == "datasets" and parts[-2] == "tags"
    if not fits or (len(parts) != 5 and (len(parts) != 7 or parts[3] != "fields")):
        raise NotFoundError(f"{'/'.join(parts)!r} cannot be written to here")
    return _collector(request).change(_tag, parts)


def _tag(connection: Connection, parts: list[str]) -> Answer:
    one = marquez.find_dataset(connection, parts[0], parts[2])
    if one is None:
        raise NotFoundError(f"no data set {parts[2]!r} is known")
    names, tags = schema.names, schema.tags
    query = select(names.c.id).where(names.c.namespace == parts[0], names.c.name == parts[2])
    field = parts[4] if len(parts) == 7 else ""
    row = {"name_id": connection.scalar(query), "field": field, "key": parts[-1]}
    known = select(tags.c.key).where(*(tags.c[key] == value for key, value in row.items()))
    if connection.scalar(known) is None:
        connection.execute(insert(tags), {**row, "value": "", "by": "API", "time": times.now()})
    return marquez.dataset(connection, one)


@router.get("/jobs")
def jobs(request: Request, limit: Count = 100, offset: Offset = 0) -> Answer:
    """All jobs."""
    found, total = _collector(request).ask(marquez.jobs, None, limit, offset)
    return {"jobs": found, "totalCount": total}


@router.get("/jobs/runs/{run}")
def run(request: Request, run: str) -> Answer:
    """One run."""
    found = _collector(request).ask(marquez.run, run)
    if found is None:
        raise NotFoundError(f"no run {run!r} is known")
    return found


@router.get("/jobs/runs/{run}/facets")
def run_facets(request: Request, run: str, type: str = "run") -> Answer:
    """The facets of a run."""
    del type
    found = _collector(request).ask(marquez.run, run)
    if found is None:
        raise NotFoundError(f"no run {run!r} is known")
    return {"runId": run, "job": found["job"], "facets": found["facets"]}


@router.get("/tags")
def tags(request: Request, limit: Count = 100, offset: Offset = 0) -> Answer:
    """The tags that anything has."""
    token: Token | None = getattr(request.state, "token", None)
    only = token.namespaces if token else ()
    return {"tags": _page(_collector(request).ask(_tags, only), limit, offset)}


def _tags(connection: Connection, namespaces: tuple[str, ...]) -> list[Answer]:
    query = select(schema.datasets.c.id)
    if namespaces:
        query = query.where(schema.datasets.c.namespace.in_(namespaces))
    every = list(connection.scalars(query))
    keys = {tag["key"] for some in owned.tags(connection, every).values() for tag in some}
    return [{"name": key, "description": None} for key in sorted(keys)]


@router.get("/search")
def search(request: Request, q: Annotated[str, Query(min_length=1)], limit: Count = 10) -> Answer:
    """Data sets and jobs by a part of their names."""
    told = _collector(request).ask(questions.search, q, 1_000)["results"]
    found = [one for one in told if one["type"] in ("DATASET", "JOB")]
    return {
        "totalCount": len(found),
        "results": [
            {
                "type": one["type"],
                "name": one["name"],
                "namespace": one["namespace"],
                "updatedAt": None,
                "nodeId": f"{one['type'].lower()}:{one['namespace']}:{one['name']}",
            }
            for one in found[:limit]
        ],
    }


@router.get("/lineage")
def lineage(request: Request, nodeId: str, depth: Levels = 20) -> Answer:
    """Data sets and jobs around one of them."""
    with _collector(request).database.read() as connection:
        found = marquez_graph.find(connection, nodeId)
        if found is None or found[0] == "datasetField":
            raise NotFoundError(f"no node {nodeId!r} is known")
        return marquez_graph.lineage(connection, found[0], found[1], depth)


@router.get("/column-lineage")
def column_lineage(
    request: Request,
    nodeId: str,
    depth: Levels = 20,
    withDownstream: bool = False,
) -> Answer:
    """Columns around a column, or around those of a data set or of a job's outputs."""
    with _collector(request).database.read() as connection:
        found = marquez_graph.find(connection, nodeId)
        if found is None:
            raise NotFoundError(f"no node {nodeId!r} is known")
        kind, one, path = found
        datasets = [*marquez.io_of(connection, one)[1]] if kind == "job" else [one]
        columns = schema.columns
        query = select(columns.c.id).where(columns.c.dataset_id.in_(datasets), ~columns.c.whole)
        if path is not None:
            query = query.where(columns.c.path == path)
        starts = sorted(connection.scalars(query))
        return marquez_graph.column_lineage(connection, starts, max(1, depth), withDownstream)


@router.get("/events/lineage")
@router.get("/events")
def events(request: Request, limit: Count = 100, offset: Offset = 0) -> Answer:
    """The raw events, the newest first."""

    def read(connection: Connection) -> Answer:
        table = schema.events
        query = select(table.c.body).where(table.c.kind == "RUN")
        newest = query.order_by(table.c.time.desc(), table.c.id.desc())
        total = connection.scalar(select(func.count()).select_from(table))
        kept = connection.scalars(newest.limit(limit).offset(offset))
        bodies = texts.whole(connection, kept)
        return {"events": [json.loads(body) for body in bodies], "totalCount": total}

    return _collector(request).ask(read)


@router.get("/stats/{what}")
def stats(request: Request, what: str, period: str = "DAY") -> list[Answer]:
    """How many events came in each hour of a day, or each day of a week."""
    step, count = (3_600_000_000, 24) if period.upper() == "DAY" else (86_400_000_000, 7)
    end = times.now()

    def read(connection: Connection) -> list[Answer]:
        table, found = schema.events, []
        for number in range(count, 0, -1):
            begin = end - number * step
            query = select(table.c.type, func.count()).where(
                table.c.received >= begin, table.c.received < begin + step
            )
            by_type = {row[0]: row[1] for row in connection.execute(query.group_by(table.c.type))}
            found.append(
                {
                    "startInterval": times.show(begin),
                    "endInterval": times.show(begin + step),
                    **{key.lower(): by_type.get(key, 0)
                       for key in ("FAIL", "START", "COMPLETE", "ABORT")},
                }
            )  # fmt: skip
        return found

    if what == "lineage-events":
        return _collector(request).ask(read)
    tables = {"jobs": schema.jobs, "datasets": schema.datasets}
    if what not in tables:
        raise NotFoundError(f"there are no statistics of {what!r}")
    table = tables[what]
    total = _collector(request).ask(lambda c: c.scalar(select(func.count()).select_from(table)))
    return [
        {
            "startInterval": times.show(end - number * step),
            "endInterval": times.show(end - (number - 1) * step),
            "count": total,
        }
        for number in range(count, 0, -1)
    ]
