"""The way of most requests: events that are well formed, kept and acknowledged.

It needs nothing of what the routes do for parameters and answers, which for one event costs
more than the event itself. Whatever is unusual goes on to the routes.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import orjson
from starlette.concurrency import run_in_threadpool
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from spark_lineage.collector import intake
from spark_lineage.collector.guard import Token
from spark_lineage.collector.routes import LINES
from spark_lineage.collector.service import Collector, ForbiddenError, QuarantinedError
from spark_lineage.collector.store.engine import BusyError

# Gives the messages of the answer.
_Take = Callable[[bytes, Token | None], Awaitable[tuple[Message, Message]]]

PATH, BATCH_PATH = "/api/v1/lineage", "/api/v1/lineage/batch"
# A body that is read in less time than it takes to hand it to another thread.
MOST_BYTES = 64 << 10
MOST_BATCH_BYTES = 16 << 20
_LINES = frozenset(kind.encode() for kind in LINES)
_CREATED: Message = {
    "type": "http.response.start",
    "status": 201,
    "headers": [(b"content-length", b"0")],
}


@dataclass(frozen=True)
class _Route:
    path: str


class Quick:
    """ASGI middleware; behind the guard, which has let the request through."""

    def __init__(self, app: ASGIApp, collector: Collector) -> None:
        self._app = app
        self._collector = collector

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Take a small event or a batch, or let the routes answer."""
        path = scope["path"] if scope["type"] == "http" else ""
        if path == PATH and _plain(scope, MOST_BYTES):
            await self._take(scope, receive, send, self._one)
        elif path == BATCH_PATH and _plain(scope, MOST_BATCH_BYTES):
            await self._take(scope, receive, send, self._batch)
        else:
            await self._app(scope, receive, send)

    async def _take(self, scope: Scope, receive: Receive, send: Send, take: _Take) -> None:
        parts = []
        message = await receive()
        while message["type"] == "http.request" and message.get("more_body"):
            parts.append(message["body"])
            message = await receive()
        if message["type"] == "http.request":
            body = b"".join((*parts, message["body"]))
            try:
                answer = await take(body, scope["state"].get("token"))
            except (BusyError, ForbiddenError, QuarantinedError) as error:
                scope["state"]["refused"] = error
            except intake.MalformedError:
                pass  # to be put aside, which takes the disk
            else:
                scope["route"] = _Route(scope["path"])
                for part in answer:
                    await send(part)
                return
            message = {"type": "http.request", "body": body, "more_body": False}
        await self._app(scope, _again(message, receive), send)

    async def _one(self, body: bytes, token: Token | None) -> tuple[Message, Message]:
        await self._collector.take_soon(body, token)
        return _CREATED, {"type": "http.response.body", "body": b""}

    async def _batch(self, body: bytes, token: Token | None) -> tuple[Message, Message]:
        found = await run_in_threadpool(self._collector.take_batch, body, None, False, token)
        content = orjson.dumps(found)
        headers = [
            (b"content-length", b"%d" % len(content)),
            (b"content-type", b"application/json"),
        ]
        start = {"type": "http.response.start", "status": 200, "headers": headers}
        return start, {"type": "http.response.body", "body": content}


def _plain(scope: Scope, most: int) -> bool:
    """Whether a request has JSON of a length that is told, and nothing that is unusual."""
    if scope["method"] != "POST":
        return False
    size = None
    for name, value in scope["headers"]:
        if name == b"content-encoding":
            return False
        if name == b"content-type" and value.partition(b";")[0].strip().lower() in _LINES:
            return False
        if name == b"content-length":
            size = int(value) if value.isdigit() else None
    return size is not None and size <= most


def _again(first: Message, receive: Receive) -> Receive:
    """What was received already, then what is received."""
    waiting: list[Any] = [first]

    async def received() -> Message:
        return waiting.pop() if waiting else await receive()

    return received
