"""Questions beyond explain and impact: time, tags, changes, search, audit, one graph."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, Field

from spark_lineage.collector import checks, history, maps, operations, questions, resolve, times
from spark_lineage.collector.graph import Bounds
from spark_lineage.collector.parameters import Depth, Limit, Most, Name, Namespace, When, moment
from spark_lineage.collector.service import Collector
from spark_lineage.errors import NotFoundError

router = APIRouter(prefix="/api/v1")
_DAY = 86_400_000_000


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


@router.get("/lineage/graph")
def one_graph(
    request: Request,
    dataset: Name,
    column: str | None = None,
    namespace: Namespace = None,
    direction: Annotated[str, Query(pattern="^(up|down|both)$")] = "both",
    depth: Depth = 20,
    limit: Limit = 5_000,
    follow: Annotated[str, Query(pattern="^(all|direct)$")] = "all",
    fold: Annotated[str | None, Query(max_length=500, description="names to fold away")] = None,
    as_of: When = None,
) -> dict[str, Any]:
    """Columns, data sets and jobs around one of them, with the edges of each level."""
    bounds = Bounds(depth, limit, follow == "direct", as_of=moment(as_of))
    collector = _collector(request)
    with collector.database.read() as connection:
        found = resolve.column(connection, dataset, column, namespace)
        return maps.around(connection, found, bounds, direction, fold)


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

    dataset: str = Field(min_length=1)
    namespace: str | None = None
    fields: list[ProposedField]
    depth: int = Field(20, ge=1, le=200)


@router.post("/schema-change")
def schema_change(request: Request, proposed: Proposed) -> dict[str, Any]:
    """What a proposed schema would break."""
    fields = [(field.name, field.type) for field in proposed.fields]
    return _collector(request).of_dataset(
        questions.change, proposed.dataset, proposed.namespace, fields, Bounds(proposed.depth)
    )


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
def health(request: Request, since: When = None, until: When = None) -> dict[str, Any]:
    """How good the lineage is, by jobs, over a time (the last thirty days)."""
    end = moment(until) or times.now()
    begin = moment(since)
    return _collector(request).ask(
        operations.health, end - 30 * _DAY if begin is None else begin, end
    )
