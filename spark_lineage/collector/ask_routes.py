"""Questions beyond explain and impact: time, tags, changes, search, audit, one graph."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel
from pydantic import Field as Given
from starlette.responses import Response

from spark_lineage.collector import (
    checks,
    health,
    history,
    maps,
    questions,
    resolve,
    respond,
    schema_change,
    times,
)
from spark_lineage.collector.graph import Bounds
from spark_lineage.collector.parameters import (
    Depth,
    Fold,
    Follow,
    Kinds,
    Limit,
    Most,
    Name,
    Namespace,
    View,
    When,
    folding,
    moment,
)
from spark_lineage.collector.schema_diff import Field
from spark_lineage.collector.service import Collector
from spark_lineage.errors import NotFoundError

router = APIRouter(prefix="/api/v1")


def _collector(request: Request) -> Collector:
    found: Collector = request.app.state.collector
    return found


@router.get("/diff")
def diff(
    request: Request,
    since: When,
    until: When = None,
    dataset: str | None = None,
    namespace: Namespace = None,
) -> dict[str, Any]:
    """The edges that were open at one of two times only."""
    before, after = moment(since) or 0, moment(until) or times.now()
    collector = _collector(request)
    if dataset is None:
        return collector.ask(history.diff, before, after, None)
    return collector.of_dataset(
        lambda connection, found: history.diff(connection, before, after, found.id),
        dataset,
        namespace,
    )


@router.get("/lineage/graph", response_model=respond.ANSWER)
def one_graph(
    request: Request,
    dataset: Name,
    column: str | None = None,
    namespace: Namespace = None,
    direction: Annotated[str, Query(pattern="^(up|down|both)$")] = "both",
    depth: Depth = 20,
    limit: Limit = 5_000,
    follow: Follow = "all",
    unmasked: bool = False,
    kind: Kinds = (),
    via: View = None,
    fold: Fold = None,
    as_of: When = None,
) -> Response:
    """Columns, data sets and jobs around one of them, with the edges of each level."""
    some = frozenset(map(str.upper, kind))
    bounds = Bounds(depth, limit, follow == "direct", unmasked, some, moment(as_of))
    folded = folding(request, fold)
    collector = _collector(request)
    with collector.database.read() as connection:
        found = resolve.column(connection, dataset, column, namespace)
        return respond.answer(maps.around(connection, found, bounds, direction, folded, via))


@router.get("/tags/flow")
def tags_flow(
    request: Request, tag: Name, depth: Depth = 50, limit: Limit = 5_000, as_of: When = None
) -> dict[str, Any]:
    """The columns that hold what a tag marks, also further down where it is not masked."""
    bounds = Bounds(depth, limit, as_of=moment(as_of))
    return _collector(request).ask(questions.tagged, tag, bounds)


@router.get("/tags/of")
def tags_of(
    request: Request, dataset: Name, column: Name, namespace: Namespace = None, depth: Depth = 50
) -> dict[str, Any]:
    """The tags that reach a column."""
    collector = _collector(request)
    with collector.database.read() as connection:
        found = resolve.column(connection, dataset, column, namespace)
        return questions.tags_of(connection, found, Bounds(depth))


class ProposedField(BaseModel):
    """A column of a proposed schema."""

    name: str
    type: str | None = None


class Proposed(BaseModel):
    """A schema that a data set is to have."""

    dataset: str = Given(min_length=1)
    namespace: str | None = None
    fields: list[ProposedField]
    depth: int = Given(20, ge=1, le=200)


@router.post("/schema-change")
def propose(request: Request, proposed: Proposed) -> dict[str, Any]:
    """What a proposed schema would break."""
    fields = [Field(field.name, field.type) for field in proposed.fields]
    ask = _collector(request).of_dataset
    bounds = Bounds(proposed.depth)
    return ask(schema_change.proposed, proposed.dataset, proposed.namespace, fields, bounds)


@router.get("/find")
def find(request: Request, q: Name, limit: Most = 50) -> dict[str, Any]:
    """Data sets, columns and jobs by any part of a name."""
    return _collector(request).ask(questions.search, q, limit)


@router.get("/runs/audit")
def audit(request: Request, run: Name) -> dict[str, Any]:
    """One record of a run."""
    found = _collector(request).ask(questions.audit, run)
    if found is None:
        raise NotFoundError(f"no run {run!r} is known")
    return found


@router.get("/datasets/seen")
def seen(
    request: Request, dataset: Name, namespace: Namespace = None, at: When = None
) -> dict[str, Any]:
    """Which writes a read at a time saw: the last overwrite, and the appends since."""
    when = moment(at) or times.now()
    return _collector(request).of_dataset(questions.seen_by, dataset, namespace, when)


@router.get("/checks")
def failed_checks(request: Request, limit: Most = 100) -> dict[str, Any]:
    """The rule checks that fail now."""
    return {"failed": _collector(request).ask(checks.failed, limit)}


@router.get("/health")
def of_health(request: Request, since: When = None, until: When = None) -> dict[str, Any]:
    """How good the lineage is, by jobs, over a time (the last thirty days)."""
    return _collector(request).ask(health.health, *_span(since, until, 30 * health.DAY))


@router.get("/health/trend")
def trend(
    request: Request,
    since: When = None,
    until: When = None,
    step: Annotated[str, Query(pattern="^(hour|day|week)$")] = "day",
    job: str | None = None,
    namespace: Namespace = None,
) -> dict[str, Any]:
    """The same in steps of an hour, a day or a week, of all jobs or of one."""
    begin, end = _span(since, until, 30 * health.STEPS[step])
    with _collector(request).database.read() as connection:
        one = None if job is None else resolve.job(connection, job, namespace)
        told = health.trend(connection, begin, end, step, one)
        return {"job": None if one is None else resolve.named_job(connection, one), **told}


def _span(since: str | None, until: str | None, default: int) -> tuple[int, int]:
    end = moment(until) or times.now()
    begin = moment(since)
    return end - default if begin is None else begin, end
