"""The HTTP side: parameters in, answers out; what is wrong as a status and a message."""

from __future__ import annotations

import json
from typing import Annotated, Any, Final

from fastapi import APIRouter, FastAPI, Path, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from sqlalchemy.exc import DataError
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from spark_lineage.collector import intake, resolve, respond
from spark_lineage.collector.graph import Bounds
from spark_lineage.collector.guard import Token
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
from spark_lineage.collector.service import Collector, ForbiddenError, QuarantinedError
from spark_lineage.collector.store.engine import BusyError, QueryTimeoutError
from spark_lineage.errors import ConfigError, NotFoundError

router = APIRouter()

Number = Annotated[int, Path(ge=1, lt=1 << 62)]
LINES: Final = frozenset({"application/x-ndjson", "application/jsonl", "application/x-jsonlines"})


def _collector(request: Request) -> Collector:
    collector: Collector = request.app.state.collector
    return collector


def _token(request: Request) -> Token | None:
    found: Token | None = getattr(request.state, "token", None)
    return found


@router.get("/readyz")
def readyz(request: Request) -> dict[str, Any]:
    """Whether the database answers."""
    with _collector(request).database.read() as connection:
        connection.exec_driver_sql("SELECT 1")
    return {"status": "ready"}


@router.get("/metrics")
def metrics(request: Request) -> Response:
    """Counters and gauges as Prometheus reads them."""
    lines = request.app.state.counters.lines()
    parts = request.app.state.parts
    for name, value in parts.totals.read().items():
        lines += [f"# TYPE spark_lineage_{name} gauge", f"spark_lineage_{name} {value}"]
    lines.append("# TYPE spark_lineage_alarm gauge")
    for text, rings in parts.alarms.ringing.items():
        lines.append(f'spark_lineage_alarm{{rule="{text}"}} {int(rings)}')
    kept = _collector(request).health()
    for name in ("events", "quarantined", "datasets", "edges"):
        lines += [f"# TYPE spark_lineage_kept_{name} gauge"]
        lines += [f"spark_lineage_kept_{name} {kept[name]}"]
    lines += parts.lines()
    return Response("\n".join(lines) + "\n", media_type="text/plain; version=0.0.4")


@router.get("/healthz")
def healthz(request: Request) -> dict[str, Any]:
    """Whether it works, how much it has, and what agents lost."""
    return _collector(request).health()


@router.post("/api/v1/lineage", status_code=201)
async def take(request: Request) -> Response:
    """Take one OpenLineage event: RunEvent, JobEvent or DatasetEvent.

    201 when it is kept, also if it was here already; 422 with all faults, and
    the body in quarantine, when it is malformed. A body whose content type says that
    it has an event a line is a batch, and is answered like one.
    """
    _refused(request)
    if _has_lines(request):
        return JSONResponse(await take_batch(request))
    body = await _body(request)
    encoding = request.headers.get("content-encoding")
    await run_in_threadpool(_collector(request).take, body, encoding, _token(request))
    return Response(status_code=201)


@router.post("/api/v1/lineage/batch")
async def take_batch(request: Request) -> dict[str, Any]:
    """Take an array of events, or one event a line.

    The answer is that of OpenLineage's specification: how many were taken, and
    for each that was not its index, the reason and whether to send it again.
    """
    body = await _body(request)
    encoding = request.headers.get("content-encoding")
    return await run_in_threadpool(
        _collector(request).take_batch, body, encoding, _has_lines(request), _token(request)
    )


def _refused(request: Request) -> None:
    """Raise what the quick way (``quick``) found already."""
    refused: Exception | None = getattr(request.state, "refused", None)
    if refused is not None:
        raise refused


def _has_lines(request: Request) -> bool:
    """Whether the body is said to have an event a line."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    return kind in LINES


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


@router.get("/api/v1/columns/explain", response_model=respond.ANSWER)
def explain(
    request: Request,
    dataset: Name,
    column: str,
    namespace: Namespace = None,
    depth: Depth = 20,
    limit: Limit = 5_000,
    follow: Follow = "all",
    unmasked: bool = False,
    kind: Kinds = (),
    via: View = None,
    fold: Fold = None,
    as_of: When = None,
) -> Response:
    """Where a column comes from and how it is made, step by step."""
    bounds = Bounds(
        depth, limit, follow == "direct", unmasked, frozenset(map(str.upper, kind)), moment(as_of)
    )
    narrow = {"view": via, "fold": folding(request, fold)}
    found = _collector(request).explain_column(dataset, column, namespace, bounds, **narrow)
    return respond.answer(found)


@router.get("/api/v1/columns/impact", response_model=respond.ANSWER)
def impact(
    request: Request,
    dataset: Name,
    column: str | None = None,
    namespace: Namespace = None,
    depth: Depth = 20,
    limit: Limit = 5_000,
    follow: Follow = "all",
    unmasked: bool = False,
    kind: Kinds = (),
    via: View = None,
    fold: Fold = None,
    as_of: When = None,
) -> Response:
    """What depends on a column, or without one on the whole data set."""
    bounds = Bounds(
        depth, limit, follow == "direct", unmasked, frozenset(map(str.upper, kind)), moment(as_of)
    )
    narrow = {"view": via, "fold": folding(request, fold)}
    found = _collector(request).impact(dataset, column, namespace, bounds, **narrow)
    return respond.answer(found)


@router.get("/api/v1/datasets/explain")
def explain_dataset(
    request: Request, dataset: Name, namespace: Namespace = None, as_of: When = None
) -> dict[str, Any]:
    """How each column of a data set is made, and what decides its rows."""
    return _collector(request).explain_dataset(dataset, namespace, moment(as_of))


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
        return _told(422, message, quarantined=number, faults=faults)

    @app.exception_handler(intake.TooLargeError)
    async def too_large(_request: Request, error: intake.TooLargeError) -> Response:
        return _told(413, str(error))

    @app.exception_handler(intake.EncodingError)
    async def encoding(_request: Request, error: intake.EncodingError) -> Response:
        return _told(415, str(error), {"Accept-Encoding": "gzip, deflate"})

    @app.exception_handler(resolve.UnknownNameError)
    async def unknown(_request: Request, error: resolve.UnknownNameError) -> Response:
        return _told(404, str(error), near=error.near)

    @app.exception_handler(resolve.AmbiguousNameError)
    async def ambiguous(_request: Request, error: resolve.AmbiguousNameError) -> Response:
        return _told(409, str(error), candidates=error.near)

    @app.exception_handler(RequestValidationError)
    async def invalid(_request: Request, error: RequestValidationError) -> Response:
        # Without the values given: they may be of any size, and of text that is no JSON.
        detail = [
            {"loc": [str(part) for part in one["loc"]], "msg": one["msg"], "type": one["type"]}
            for one in error.errors()
        ]
        content = {"code": 422, "message": "the request is not as it must be", "detail": detail}
        body = json.dumps(content, ensure_ascii=True).encode()
        return Response(body, status_code=422, media_type="application/json")

    @app.exception_handler(DataError)
    async def no_value(_request: Request, _error: DataError) -> Response:
        message = "a value is none that the database can hold (a NUL, or a number too great)"
        return _told(422, message)

    @app.exception_handler(ForbiddenError)
    async def forbidden(_request: Request, error: ForbiddenError) -> Response:
        return _told(403, str(error))

    @app.exception_handler(ConfigError)
    async def wrong(_request: Request, error: ConfigError) -> Response:
        return _told(422, str(error))

    @app.exception_handler(QueryTimeoutError)
    async def slow(_request: Request, error: QueryTimeoutError) -> Response:
        return _told(504, f"the question takes too long ({error}); ask for less of it")

    @app.exception_handler(NotFoundError)
    async def not_found(_request: Request, error: NotFoundError) -> Response:
        return _told(404, str(error), near=[])

    @app.exception_handler(BusyError)
    async def busy(_request: Request, error: BusyError) -> Response:
        return _told(503, f"the database does not answer: {error}", {"Retry-After": "1"})

    @app.exception_handler(HTTPException)
    async def plain(request: Request, error: HTTPException) -> Response:
        message, headers = str(error.detail), dict(error.headers or {})
        if error.status_code == 405 and "Allow" in headers and message == "Method Not Allowed":
            message = f"{request.method} is not allowed here; allowed: {headers['Allow']}"
        return _told(error.status_code, message, headers)

    @app.exception_handler(ClientDisconnect)
    async def gone(_request: Request, _error: ClientDisconnect) -> Response:
        return Response(status_code=400)


def _told(
    status: int, message: str, headers: dict[str, str] | None = None, **more: Any
) -> Response:
    # The status stands in the body, too: so Marquez's clients read it.
    content = {"code": status, "message": message, **more}
    return JSONResponse(content, status_code=status, headers=headers)
