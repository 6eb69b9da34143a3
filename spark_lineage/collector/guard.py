"""What stands before the routes: tokens, the rate limit, counters and the access log."""

from __future__ import annotations

import hashlib
import json
import logging
import secrets
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from sqlalchemy import Connection, delete, insert, select
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from spark_lineage.collector import narrow
from spark_lineage.collector.store import schema
from spark_lineage.collector.times import now, show

access = logging.getLogger("spark_lineage.collector.access")
_table = schema.tokens
SCOPES = ("read", "write", "admin")
_OPEN = ("/healthz", "/readyz")
# Sent with POST, and yet only questions.
_QUESTIONS = ("/api/v1/schema-change", "/api/v1/check")
_CACHE_SECONDS = 5.0


@dataclass(frozen=True)
class Token:
    """What the bearer of a token may do; no namespaces: in all.

    One with namespaces sends events of jobs in these, and sees of data sets and
    jobs only those in these.
    """

    name: str
    scope: str
    namespaces: tuple[str, ...] = ()

    def may(self, scope: str) -> bool:
        """Whether the token reaches that far."""
        return SCOPES.index(self.scope) >= SCOPES.index(scope)

    def writes(self, namespace: str) -> bool:
        """Whether events of this namespace may come with it."""
        return not self.namespaces or namespace in self.namespaces


def create(connection: Connection, name: str, scope: str, namespaces: list[str]) -> str:
    """Make a token: it is shown this once, only its hash is kept."""
    if scope not in SCOPES:
        raise ValueError(f"no scope {scope!r}")
    secret = "slt_" + secrets.token_urlsafe(32)
    row = {
        "hash": _hash(secret),
        "name": name,
        "scope": scope,
        "namespaces": json.dumps(sorted(namespaces)),
        "created": now(),
    }
    connection.execute(insert(_table), row)
    return secret


def revoke(connection: Connection, name: str) -> bool:
    """Take a token back; False if there is none of that name."""
    return connection.execute(delete(_table).where(_table.c.name == name)).rowcount > 0


def listed(connection: Connection) -> list[dict[str, Any]]:
    """All tokens without what is secret of them."""
    return [
        {
            "name": row.name,
            "scope": row.scope,
            "namespaces": json.loads(row.namespaces),
            "created": show(row.created),
        }
        for row in connection.execute(select(_table).order_by(_table.c.name))
    ]


def read(connection: Connection) -> dict[str, Token]:
    """All tokens by their hashes."""
    return {
        row.hash: Token(row.name, row.scope, tuple(json.loads(row.namespaces)))
        for row in connection.execute(select(_table))
    }


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def needed(method: str, path: str) -> str | None:
    """The scope that a request needs; None for those that need none."""
    if path in _OPEN or method == "OPTIONS":
        return None
    if method in ("GET", "HEAD") or path in _QUESTIONS:
        return "read"
    return "write" if path in ("/api/v1/lineage", "/api/v1/lineage/batch") else "admin"


def _fits(token: Token, want: str, scope: Scope) -> bool:
    """Whether a token of some namespaces may ask this: what it may not see is left out later."""
    path = scope["path"]
    if want == "admin" or narrow.whole(path):
        return False
    for place in ("/api/v1/namespaces/", "/api/v1/sources/"):
        if path.startswith(place):
            raw = (scope.get("raw_path") or path.encode()).decode("latin-1").partition("?")[0]
            name = unquote(raw.partition(place)[2])
            inside = name if place.endswith("sources/") else unquote(
                raw.partition(place)[2].partition("/")[0]
            )  # fmt: skip
            return inside in token.namespaces
    return True


class Counters:
    """How many requests had which outcome, and how long they took."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.requests: dict[tuple[str, str, int], int] = defaultdict(int)
        self.seconds: dict[tuple[str, str], float] = defaultdict(float)

    def add(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count one request."""
        with self._lock:
            self.requests[method, route, status] += 1
            self.seconds[method, route] += seconds

    def lines(self) -> list[str]:
        """As Prometheus reads them."""
        with self._lock:
            found = ["# TYPE spark_lineage_requests_total counter"]
            found += [
                f'spark_lineage_requests_total{{method="{m}",route="{r}",status="{s}"}} {count}'
                for (m, r, s), count in sorted(self.requests.items())
            ]
            found.append("# TYPE spark_lineage_request_seconds_total counter")
            found += [
                f'spark_lineage_request_seconds_total{{method="{m}",route="{r}"}} {seconds:.6f}'
                for (m, r), seconds in sorted(self.seconds.items())
            ]
            return found


class _Buckets:
    """A bucket of requests for each client, filled at a rate. Forgets whom it does not see."""

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self._lock = threading.Lock()
        self._level: dict[str, tuple[float, float]] = {}

    def wait(self, client: str) -> float:
        """0 if a request may pass, else the seconds until one may."""
        if not self._rate:
            return 0.0
        present, most = time.monotonic(), max(1.0, self._rate)
        with self._lock:
            if len(self._level) > 10_000:
                self._level.clear()
            level, last = self._level.get(client, (most, present))
            level = min(most, level + (present - last) * self._rate)
            if level >= 1.0:
                self._level[client] = (level - 1.0, present)
                return 0.0
            self._level[client] = (level, present)
            return (1.0 - level) / self._rate


class Guard:
    """ASGI middleware. ``tokens`` reads them all; without any, everything is open."""

    def __init__(
        self,
        app: ASGIApp,
        tokens: Callable[[], dict[str, Token]],
        counters: Counters,
        rate: float = 0.0,
    ) -> None:
        self._app = app
        self._read = tokens
        self._counters = counters
        self._buckets = _Buckets(rate)
        self._known: tuple[float, dict[str, Token]] = (-1e9, {})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or answer it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begin, status = time.perf_counter(), 500

        async def counted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        client = (scope.get("client") or ("",))[0]
        try:
            refusal, token = self._judge(scope, client)
            scope.setdefault("state", {})["token"] = token
            narrowed: Send = counted
            if refusal is None and token is not None and token.namespaces:
                narrowed = narrow.Sender(counted, token.namespaces, scope["path"])
            await (refusal or self._app)(scope, receive, narrowed)
        finally:
            spent = time.perf_counter() - begin
            route = getattr(scope.get("route"), "path", "other")
            self._counters.add(scope["method"], route, status, spent)
            if access.isEnabledFor(logging.INFO):
                # The path alone: parameters may hold names that are no one's business.
                line = {"method": scope["method"], "path": scope["path"], "status": status,
                        "ms": round(spent * 1000, 3), "client": client,
                        "token": token.name if token else None}  # fmt: skip
                access.info(json.dumps(line))

    def _judge(self, scope: Scope, client: str) -> tuple[ASGIApp | None, Token | None]:
        headers = {key.lower(): value for key, value in scope["headers"]}
        want = needed(scope["method"], scope["path"])
        token: Token | None = None
        tokens = self._tokens() if want else {}
        if tokens and want:
            given = headers.get(b"authorization", b"").decode("latin-1")
            kind, _, secret = given.partition(" ")
            token = tokens.get(_hash(secret.strip())) if kind.lower() == "bearer" else None
            if token is None:
                told = {"WWW-Authenticate": "Bearer"}
                return _refused(401, "a valid bearer token is needed", told), None
            if not token.may(want):
                return _refused(403, f"this needs the scope {want}"), token
            if token.namespaces and not _fits(token, want, scope):
                return _refused(403, "this needs a token of all namespaces"), token
        wait = self._buckets.wait(token.name if token else client) if want else 0.0
        if wait:
            retry = {"Retry-After": str(max(1, round(wait + 0.5)))}
            return _refused(429, "too many requests", retry), token
        return None, token

    def _tokens(self) -> dict[str, Token]:
        present = time.monotonic()
        if present - self._known[0] > _CACHE_SECONDS:
            self._known = (present, self._read())
        return self._known[1]


def _refused(status: int, message: str, headers: dict[str, str] | None = None) -> JSONResponse:
    return JSONResponse({"message": message}, status_code=status, headers=headers)
