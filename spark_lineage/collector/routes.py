"""The HTTP side: parameters in, answers out; what is wrong as a status and a message."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, FastAPI, Path, Query, Request
from fastapi.responses import JSONResponse, Response
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect

from spark_lineage.collector import intake, resolve
from spark_lineage.collector.graph import Bounds
from spark_lineage.collector.service import Collector, QuarantinedError
from spark_lineage.collector.store.engine import BusyError
from spark_lineage.errors import NotFoundError

router = APIRouter()

MOST_DEPTH = 200
MOST_COLUMNS = 100_000

Name = Annotated[str, Query(min_length=1, description="whole, or a suffix that is unique")]
Namespace = Annotated[str | None, Query(description="only in this namespace")]
Depth = Annotated[int, Query(ge=1, le=MOST_DEPTH, description="hops from column to column")]
Limit = Annotated[int, Query(ge=1, le=MOST_COLUMNS, description="the most columns")]
Follow = Annotated[
    str, Query(pattern="^(all|direct)$", description="all edges, or those of values only")
]
Number = Annotated[int, Path(ge=1, lt=1 << 62)]
Most = Annotated[int, Query(ge=1, le=1_000, description="the most rows")]


def _collector(request: Request) -> Collector:
    collector: Collector = request.app.state.collector
    return collector


@router.get("/healthz")
def healthz(request: Request) -> dict[str, Any]:
    """Whether it works, how much it has, and what agents lost."""
    return _collector(request).health()


@router.post("/api/v1/lineage", status_code=201)
async def take(request: Request) -> Response:
    """Take one OpenLineage event: RunEvent, JobEvent or DatasetEvent.

    201 when it is kept, also if it was here already; 422 with all faults, and
    the body in quarantine, when it is malformed.
    """
    body = await _body(request)
    encoding = request.headers.get("content-encoding")
    await run_in_threadpool(_collector(request).take, body, encoding)
    return Response(status_code=201)


@router.post("/api/v1/lineage/batch")
async def take_batch(request: Request) -> dict[str, Any]:
    """Take an array of events, or one event a line.

    The answer is that of OpenLineage's specification: how many were taken, and
    for each that was not its index, the reason and whether to send it again.
    """
    body = await _body(request)
    encoding = request.headers.get("content-encoding")
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    lines = kind in ("application/x-ndjson", "application/jsonl", "application/x-jsonlines")
    return await run_in_threadpool(_collector(request).take_batch, body, encoding, lines)


async def _body(request: Request) -> bytes:
    received = bytearray()
    async for some in request.stream():
        received += some
        if len(received) > intake.MOST_BYTES:
            raise intake.TooLargeError(f"the body is over {intake.MOST_BYTES} bytes")
    return bytes(received)


@router.get("/api/v1/resolve")
def resolve_name(request: Request, name: Name, namespace: Namespace = None) -> dict[str, Any]:
    """The one data set or column that ``NAME`` or ``NAME.COLUMN`` means."""
    return _collector(request).resolve(name, namespace)


@router.get("/api/v1/columns/explain")
def explain(
    request: Request,
    dataset: Name,
    column: str,
    namespace: Namespace = None,
    depth: Depth = 20,
    limit: Limit = 5_000,
    follow: Follow = "all",
) -> dict[str, Any]:
    """Where a column comes from and how it is made, step by step."""
    bounds = Bounds(depth, limit, follow == "direct")
    return _collector(request).explain_column(dataset, column, namespace, bounds)


@router.get("/api/v1/columns/impact")
def impact(
    request: Request,
    dataset: Name,
    column: str | None = None,
    namespace: Namespace = None,
    depth: Depth = 20,
    limit: Limit = 5_000,
    follow: Follow = "all",
) -> dict[str, Any]:
    """What depends on a column, or without one on the whole data set."""
    bounds = Bounds(depth, limit, follow == "direct")
    return _collector(request).impact(dataset, column, namespace, bounds)


@router.get("/api/v1/datasets/explain")
def explain_dataset(request: Request, dataset: Name, namespace: Namespace = None) -> dict[str, Any]:
    """How each column of a data set is made, and what decides its rows."""
    return _collector(request).explain_dataset(dataset, namespace)


@router.get("/api/v1/runs")
def runs(
    request: Request,
    namespace: Namespace = None,
    job: str | None = None,
    run: str | None = None,
    limit: Most = 100,
) -> dict[str, Any]:
    """Runs, the newest first."""
    return {"runs": _collector(request).runs(namespace, job, run, limit)}


@router.get("/api/v1/quarantine")
def quarantine(request: Request, limit: Most = 100, state: str | None = "OPEN") -> dict[str, Any]:
    """Events that were put aside, the newest first; ``state=`` (empty) for those of any state."""
    return {"quarantined": _collector(request).quarantine(limit, state or None)}


@router.get("/api/v1/quarantine/{number}")
def quarantined(request: Request, number: Number) -> dict[str, Any]:
    """One of them, with the whole body."""
    return _collector(request).quarantined(number)


@router.post("/api/v1/quarantine/{number}/replay")
def replay(request: Request, number: Number) -> dict[str, Any]:
    """Take it again; its state says whether it is in the store now."""
    return _collector(request).replay(number)


@router.get("/api/v1/graph")
def graph(request: Request) -> dict[str, Any]:
    """All that is derived from the events, sorted, free of internal ids."""
    return _collector(request).graph()


def add_errors(app: FastAPI) -> None:
    """Give each error its status: never a 500 for what a client sent."""

    @app.exception_handler(intake.MalformedError)
    async def malformed(_request: Request, error: intake.MalformedError) -> Response:
        number = error.number if isinstance(error, QuarantinedError) else None
        count = len(error.faults)
        message = f"malformed event: {count} fault{'s' if count != 1 else ''}; it is in quarantine"
        faults = [fault.to_dict() for fault in error.faults]
        content = {"message": message, "quarantined": number, "faults": faults}
        return JSONResponse(content, status_code=422)

    @app.exception_handler(intake.TooLargeError)
    async def too_large(_request: Request, error: intake.TooLargeError) -> Response:
        return JSONResponse({"message": str(error)}, status_code=413)

    @app.exception_handler(intake.EncodingError)
    async def encoding(_request: Request, error: intake.EncodingError) -> Response:
        headers = {"Accept-Encoding": "gzip, deflate"}
        return JSONResponse({"message": str(error)}, status_code=415, headers=headers)

    @app.exception_handler(resolve.UnknownNameError)
    async def unknown(_request: Request, error: resolve.UnknownNameError) -> Response:
        return JSONResponse({"message": str(error), "near": error.near}, status_code=404)

    @app.exception_handler(resolve.AmbiguousNameError)
    async def ambiguous(_request: Request, error: resolve.AmbiguousNameError) -> Response:
        return JSONResponse({"message": str(error), "candidates": error.near}, status_code=409)

    @app.exception_handler(NotFoundError)
    async def not_found(_request: Request, error: NotFoundError) -> Response:
        return JSONResponse({"message": str(error), "near": []}, status_code=404)

    @app.exception_handler(BusyError)
    async def busy(_request: Request, error: BusyError) -> Response:
        content = {"message": f"the database does not answer: {error}"}
        return JSONResponse(content, status_code=503, headers={"Retry-After": "1"})

    @app.exception_handler(ClientDisconnect)
    async def gone(_request: Request, _error: ClientDisconnect) -> Response:
        return Response(status_code=400)
