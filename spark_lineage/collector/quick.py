"""The way of most requests: one small event that is well formed, kept and acknowledged.

It needs nothing of what the routes do for parameters and answers, which costs
more than the event itself. Whatever is unusual goes on to the routes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from spark_lineage.collector import intake
from spark_lineage.collector.service import Collector, ForbiddenError, QuarantinedError
from spark_lineage.collector.store.engine import BusyError

PATH = "/api/v1/lineage"
# A body that is read in less time than it takes to hand it to another thread.
MOST_BYTES = 64 << 10
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
        """Take a small event, or let the routes answer."""
        if scope["type"] != "http" or scope["path"] != PATH or not _small(scope):
            await self._app(scope, receive, send)
            return
        body = b""
        message = await receive()
        while message["type"] == "http.request" and message.get("more_body"):
            body += message["body"]
            message = await receive()
        if message["type"] == "http.request":
            body += message["body"]
            try:
                await self._collector.take_soon(body, scope["state"].get("token"))
            except (BusyError, ForbiddenError, QuarantinedError) as error:
                scope["state"]["refused"] = error
            except intake.MalformedError:
                pass  # to be put aside, which takes the disk
            else:
                scope["route"] = _Route(PATH)
                await send(_CREATED)
                await send({"type": "http.response.body", "body": b""})
                return
            message = {"type": "http.request", "body": body, "more_body": False}
        await self._app(scope, _again(message, receive), send)


def _small(scope: Scope) -> bool:
    if scope["method"] != "POST":
        return False
    size = None
    for name, value in scope["headers"]:
        if name == b"content-encoding":
            return False
        if name == b"content-length":
            size = int(value) if value.isdigit() else None
    return size is not None and size <= MOST_BYTES


def _again(first: Message, receive: Receive) -> Receive:
    """What was received already, then what is received."""
    waiting: list[Any] = [first]

    async def received() -> Message:
        return waiting.pop() if waiting else await receive()

    return received
