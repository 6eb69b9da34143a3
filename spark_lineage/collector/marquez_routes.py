"""Marquez's API: the paths of https://marquezproject.ai/openapi.html, unchanged.

All that reads, and what its web page writes: tags, and what is to be shown no more. What
Marquez made by its own calls before there was OpenLineage comes by events alone; those
calls are answered by 405 and a text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, HTTPException, Query, Request
from fastapi.responses import Response
from pydantic import BaseModel
from sqlalchemy import Connection, func, select

from spark_lineage.collector import (
    marquez,
    marquez_columns,
    marquez_datasets,
    marquez_graph,
    marquez_jobs,
    marquez_marks,
    marquez_paths,
    marquez_runs,
    marquez_search,
    marquez_stats,
    respond,
    times,
)
from spark_lineage.collector.guard import Token
from spark_lineage.collector.parameters import moment
from spark_lineage.collector.service import Collector
from spark_lineage.collector.store import schema, texts
from spark_lineage.errors import NotFoundError

router = APIRouter(prefix="/api/v1", tags=["marquez"])
beta = APIRouter(prefix="/api/v2beta")
Count = Annotated[int, Query(ge=0, le=1_000)]
Offset = Annotated[int, Query(ge=0, lt=1 << 62)]
Levels = Annotated[int, Query(ge=0, le=200)]
_STATE = "^(NEW|RUNNING|COMPLETED|FAILED|ABORTED)$"
States = Annotated[Sequence[Annotated[str, Query(pattern=_STATE)]], Query()]
Moment = Annotated[str, Query(description="a time, ISO 8601")]
Day = Annotated[str | None, Query(description="a day such as 2026-01-31")]
Answer = dict[str, Any]
_EVENTS = "send OpenLineage events to /api/v1/lineage instead"


def _collector(request: Request) -> Collector:
    found: Collector = request.app.state.collector
    return found


def _whole(request: Request) -> bool:
    """Whether what events say in their own words may be told: it cannot be narrowed."""
    token: Token | None = getattr(request.state, "token", None)
    return token is None or not token.namespaces


def _unsupported(what: str, allow: str = "") -> HTTPException:
    return HTTPException(405, f"{what} is not done here: {_EVENTS}", {"Allow": allow})


@router.get("/namespaces")
def namespaces(request: Request, limit: Count = 100, offset: Offset = 0) -> Answer:
    """All namespaces."""

    def read(connection: Connection) -> Answer:
        hidden = marquez_marks.hidden(connection)
        found, total = marquez.namespaces(connection, limit, offset, hidden)
        return {"namespaces": found, "totalCount": total}

    return _collector(request).ask(read)


@router.get("/sources")
def sources(request: Request, limit: Count = 100, offset: Offset = 0) -> Answer:
    """A source for each namespace of data sets."""
    found, total = _collector(request).ask(marquez.sources, limit, offset)
    return {"sources": found, "totalCount": total}


@router.get("/sources/{name:path}")
def source(request: Request, name: str) -> Answer:
    """One source."""
    name = "/".join(marquez_paths.parts(request, "sources"))
    found = _collector(request).ask(marquez.source, name)
    if found is None:
        raise NotFoundError(f"no source {name!r} is known")
    return found


@router.put("/sources/{name:path}", include_in_schema=False)
def put_source(name: str) -> None:
    """Say how a source is made known."""
    raise _unsupported(f"the making of the source {name!r}", "GET")


@router.get("/namespaces/{rest:path}", response_model=respond.ANSWER)
def below(
    request: Request,
    rest: str,
    lastRunStates: States = (),
    limit: Count = 100,
    offset: Offset = 0,
) -> Response:
    """A namespace, or its data sets, jobs, versions and runs."""
    del rest
    given = marquez_paths.parts(request, "namespaces")

    def read(connection: Connection) -> Answer:
        target = marquez_paths.target(connection, given)
        pages = (lastRunStates, limit, offset)
        return _below(connection, target, pages, _whole(request))

    return respond.answer(_collector(request).ask(read))


def _below(
    connection: Connection,
    target: marquez_paths.Target,
    pages: tuple[Sequence[str], int, int],
    whole: bool,
) -> Answer:
    states, limit, offset = pages
    hidden = marquez_marks.hidden(connection)
    if not target.name:
        if not target.kind:
            return marquez.namespace(connection, target.namespace, hidden) or {}
        if target.kind == "datasets":
            some = marquez_datasets.page(connection, target.namespace, limit, offset, hidden)
        else:
            where = (target.namespace, states)
            some = marquez_jobs.page(connection, *where, limit, offset, hidden)
        return {target.kind: some[0], "totalCount": some[1]}
    _seen(target, hidden)
    if target.kind == "datasets":
        if not target.tail:
            return marquez_datasets.one(connection, target.id, whole)
        every = marquez_datasets.versions_of(connection, target.id, whole)
    else:
        if not target.tail:
            return marquez_jobs.told(connection, [target.id], whole=whole)[0]
        if target.form == ("runs",):
            some = marquez_runs.page(connection, target.id, limit, offset, whole)
            return {"runs": some[0], "totalCount": some[1]}
        every = marquez_jobs.versions_of(connection, target.id, whole)
    if target.tail == ("versions",):
        return {"versions": every[offset : offset + limit], "totalCount": len(every)}
    for version in every:
        if target.form == ("versions",) and version["version"] == target.tail[1]:
            return version
    raise NotFoundError(f"{target.name!r} has no {' '.join(target.tail)!r} to read")


def _seen(target: marquez_paths.Target, hidden: marquez_marks.Hidden) -> None:
    gone = hidden.datasets if target.kind == "datasets" else hidden.jobs
    if target.id in gone:
        raise NotFoundError(f"{target.name!r} was deleted, and no event has named it since")


@router.post("/namespaces/{rest:path}")
def tag(request: Request, rest: str) -> Answer:
    """Tag a data set, one of its fields, or a job."""
    del rest
    return _change(request, removed=False)


@router.delete("/namespaces/{rest:path}")
def delete(request: Request, rest: str) -> Answer:
    """Take a tag away, or show a data set, a job or all of a namespace no more.

    What is deleted is known still, and comes back with the next event that names it.
    """
    del rest
    return _change(request, removed=True)


@router.put("/namespaces/{rest:path}", include_in_schema=False)
def put(rest: str) -> None:
    """Say how namespaces, data sets and jobs are made known."""
    raise _unsupported(f"the making of {rest!r}", "GET, POST, DELETE")


def _change(request: Request, removed: bool) -> Answer:
    given = marquez_paths.parts(request, "namespaces")

    def write(connection: Connection) -> Answer:
        target = marquez_paths.target(connection, given)
        hidden = marquez_marks.hidden(connection)
        if target.name:
            _seen(target, hidden)
        if target.form[-1:] == ("tags",):
            _tag(connection, target, removed)
            return _told(connection, target)
        if not removed or target.tail or (target.kind and not target.name):
            raise _unsupported("a change of this kind", "GET")
        if not target.kind:
            datasets = marquez_datasets.ids_of(connection, target.namespace)
            marquez_marks.hide(
                connection, datasets, marquez_jobs.ids_of(connection, target.namespace)
            )
            hidden = marquez_marks.hidden(connection)
            return marquez.namespace(connection, target.namespace, hidden) or {}
        told = _told(connection, target)
        is_job = target.kind == "jobs"
        marquez_marks.hide(connection, *(([], [target.id]) if is_job else ([target.id], [])))
        return told

    return _collector(request).change(write)


def _told(connection: Connection, target: marquez_paths.Target) -> Answer:
    if target.kind == "jobs":
        return marquez_jobs.told(connection, [target.id])[0]
    return marquez_datasets.told(connection, [target.id])[0]


def _tag(connection: Connection, target: marquez_paths.Target, removed: bool) -> None:
    key = target.tail[-1]
    if target.kind == "jobs":
        marquez_marks.tag_job(connection, target.id, key, removed)
        return
    field = target.tail[1] if target.form[0] == "fields" else ""
    if field and not marquez_graph.columns(connection, [target.id], field):
        raise NotFoundError(f"{target.name!r} has no field {field!r}")
    name = marquez.find_name(connection, target.namespace, target.name)
    marquez_marks.tag_dataset(connection, target.id, name or 0, field, key, removed)


@router.get("/jobs", response_model=respond.ANSWER)
def jobs(
    request: Request,
    lastRunStates: States = (),
    limit: Count = 100,
    offset: Offset = 0,
) -> Response:
    """All jobs, those of the newest events first."""

    def read(connection: Connection) -> Answer:
        hidden = marquez_marks.hidden(connection)
        found, total = marquez_jobs.page(connection, None, lastRunStates, limit, offset, hidden)
        return {"jobs": found, "totalCount": total}

    return respond.answer(_collector(request).ask(read))


@router.get("/jobs/runs/{run}")
def run(request: Request, run: str) -> Answer:
    """One run."""
    found = _collector(request).ask(marquez_runs.one, run, _whole(request))
    if found is None:
        raise NotFoundError(f"no run {run!r} is known")
    return found


@router.get("/jobs/runs/{run}/facets")
def run_facets(
    request: Request,
    run: str,
    type: Annotated[str, Query(pattern="(?i)^(run|job)$")] = "run",
) -> Answer:
    """The facets of a run, or those that it had of its job."""
    found = _collector(request).ask(
        marquez_runs.facets, run, type.lower() == "job", _whole(request)
    )
    if found is None:
        raise NotFoundError(f"no run {run!r} is known")
    return {"runId": run, "facets": found}


@router.post("/jobs/runs/{run}/{change}", include_in_schema=False)
def change_run(run: str, change: str) -> None:
    """Say how a run's state is made known."""
    raise _unsupported(f"to {change} the run {run!r}")


@router.get("/tags")
def tags(request: Request, limit: Count = 100, offset: Offset = 0) -> Answer:
    """The tags that anything has, and those that were made."""
    token: Token | None = getattr(request.state, "token", None)
    only = token.namespaces if token else ()
    every = _collector(request).ask(marquez_marks.tags, only)
    return {"tags": every[offset : offset + limit], "totalCount": len(every)}


class TagText(BaseModel):
    """What a tag means."""

    description: str | None = None


@router.put("/tags/{name:path}")
def put_tag(request: Request, name: str, text: TagText) -> Answer:
    """Make a tag, or say anew what one means."""
    name = "/".join(marquez_paths.parts(request, "tags"))
    _collector(request).change(marquez_marks.describe, name, text.description)
    return {"name": name, "description": text.description}


@router.get("/search")
def search(
    request: Request,
    q: Annotated[str, Query(min_length=1)],
    filter: Annotated[str, Query(pattern="(?i)^(all|dataset|job)$")] = "ALL",
    sort: Annotated[str, Query(pattern="(?i)^(name|updated?_at)$")] = "NAME",
    namespace: str | None = None,
    before: Day = None,
    after: Day = None,
    limit: Count = 10,
) -> Answer:
    """Data sets and jobs by a part of their names, in which ``%`` and ``_`` stand for others."""
    asked = marquez_search.Asked(
        q, filter.upper(), sort.upper(), namespace, _day(after), _day(before)
    )

    def read(connection: Connection) -> Answer:
        hidden = marquez_marks.hidden(connection)
        return marquez_search.search(connection, asked, limit, hidden)

    return _collector(request).ask(read)


def _day(text: str | None) -> int | None:
    """The begin of a day; a time is itself."""
    return moment(f"{text}T00:00:00Z" if text and len(text) == 10 else text or None)


@router.get("/lineage", response_model=respond.ANSWER)
def lineage(request: Request, nodeId: str, depth: Levels = 20) -> Response:
    """Data sets and jobs around one of them."""

    def read(connection: Connection) -> Answer:
        hidden = marquez_marks.hidden(connection)
        kind, one, _ = marquez_graph.find(connection, nodeId)
        if kind == "datasetField":
            raise NotFoundError(f"the node {nodeId!r} is of a field: ask /column-lineage for it")
        _seen(marquez_paths.Target("", f"{kind}s", nodeId, (), one), hidden)
        return marquez_graph.lineage(connection, kind, one, depth, hidden)

    return respond.answer(_collector(request).ask(read))


@router.get("/column-lineage", response_model=respond.ANSWER)
def column_lineage(
    request: Request,
    nodeId: str,
    depth: Levels = 20,
    withDownstream: bool = False,
) -> Response:
    """Columns around a column, or around those of a data set or of a job's outputs."""

    def read(connection: Connection) -> Answer:
        kind, one, path = marquez_graph.find(connection, nodeId)
        datasets = [one]
        if kind == "job":
            datasets = [output for _, output in marquez_jobs.io_of(connection, [one])[1]]
        starts = marquez_graph.columns(connection, datasets, path)
        return marquez_columns.lineage(connection, starts, depth, withDownstream)

    return respond.answer(_collector(request).ask(read))


@router.get("/runlineage/upstream", include_in_schema=False)
def run_lineage() -> None:
    """Say where to ask for what a run saw."""
    raise HTTPException(404, "ask /api/v1/runs/audit?run=… for what a run read and which writes")


@router.get("/events/lineage", response_model=respond.ANSWER)
@router.get("/events", response_model=respond.ANSWER)
def events(
    request: Request,
    before: Moment = "",
    after: Moment = "",
    sortDirection: Annotated[str, Query(pattern="(?i)^(asc|desc)$")] = "desc",
    limit: Count = 100,
    offset: Offset = 0,
) -> Response:
    """The events of runs as they came, by their times; ``before`` is not itself of the span."""
    first, last = moment(after or None), moment(before or None)

    def read(connection: Connection) -> Answer:
        table = schema.events
        where = [table.c.kind == "RUN"]
        if first is not None:
            where.append(table.c.time >= first)
        if last is not None:
            where.append(table.c.time < last)
        order: tuple[Any, ...] = (table.c.time, table.c.id)
        if sortDirection.lower() == "desc":
            order = (table.c.time.desc(), table.c.id.desc())
        total = connection.scalar(select(func.count()).select_from(table).where(*where))
        query = select(table.c.body).where(*where).order_by(*order)
        kept = connection.scalars(query.limit(limit).offset(offset))
        bodies = texts.whole(connection, kept)
        return {"events": [orjson.loads(body) for body in bodies], "totalCount": total}

    return respond.answer(_collector(request).ask(read))


@router.get("/stats/{what}")
def stats(request: Request, what: str, period: str = "DAY", timezone: str = "UTC") -> list[Answer]:
    """Events of each hour of a day or each day of a week; or how many things there were."""
    span = marquez_stats.Span(period, timezone, times.now())
    if what == "lineage-events":
        return _collector(request).ask(marquez_stats.events, span)
    return _collector(request).ask(marquez_stats.counts, what, span)


@beta.get("/search/{what}", include_in_schema=False)
def beta_search(what: str) -> None:
    """Say that Marquez's second search, which needs an OpenSearch server, is not there."""
    raise HTTPException(404, f"there is no search of {what!r} here: ask /api/v1/search")
