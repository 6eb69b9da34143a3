"""Collectors that do what collectors should not, and our own; each on a port of its own."""

from __future__ import annotations

import contextlib
import gzip
import json
import socket
import sqlite3
import ssl
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Protocol

from tests.support.ports import free_port

Event = dict[str, Any]

HOLE_SECONDS = 30.0
START_SECONDS = 60.0


class Post(BaseHTTPRequestHandler):
    """A request with its event."""

    event: Event


Answer = Callable[[Post], bool]
"""Answers a post; gives whether it has said that it has the event."""


class Target(Protocol):
    """Where events go: its address, and what it has."""

    url: str

    def taken(self) -> list[Event]: ...


def says(status: int, **headers: str) -> Answer:
    """An answer with this status."""

    def answer(handler: Post) -> bool:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.send_header("Content-Length", "0")
        handler.end_headers()
        return status < 300

    return answer


def black_hole(handler: Post) -> bool:
    time.sleep(HOLE_SECONDS)
    return False


def byte_by_byte(handler: Post) -> bool:
    handler.close_connection = True
    for byte in b"HTTP/1.1 201 Created\r\nX-Slow: " + b"x" * 600:
        handler.wfile.write(bytes([byte]))
        handler.wfile.flush()
        time.sleep(0.1)
    return False


def garbage(handler: Post) -> bool:
    handler.close_connection = True
    handler.wfile.write(b"\x00\xff\x00 no HTTP \r\n\r\n")
    return False


def dies(handler: Post) -> bool:
    handler.close_connection = True
    handler.connection.shutdown(socket.SHUT_RDWR)
    return False


def poisoned(handler: Post) -> bool:
    """Fails at the events of one job, always, and takes all others."""
    return says(500 if "poison" in handler.event["job"]["name"] else 201)(handler)


ANSWERS: dict[str, Answer] = {
    "healthy": says(201),
    "500": says(500),
    "503": says(503, Retry_After="120"),
    "401": says(401),
    "413": says(413),
    "422": says(422),
    "redirect": says(302, Location="http://elsewhere.invalid/login"),
    "black hole": black_hole,
    "byte by byte": byte_by_byte,
    "garbage": garbage,
    "dies": dies,
    "poisoned": poisoned,
}


class Collector:
    """A server on loopback that has what it said that it has."""

    def __init__(self, behaviour: str, tls: ssl.SSLContext | None = None) -> None:
        taken: list[Event] = []
        answer = ANSWERS[behaviour]

        class Handler(Post):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                if self.path.endswith("/batch"):
                    # A target that takes single events only.
                    says(404)(self)
                    return
                self.event = json.loads(gzip.decompress(body) if body[:1] == b"\x1f" else body)
                if answer(self):
                    taken.append(self.event)

            def log_message(self, *_: Any) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_: Any) -> None:
                pass  # a client that gave up

        self._taken = taken
        self._server = Server(("127.0.0.1", 0), Handler)
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        scheme = "https" if tls else "http"
        self.url = f"{scheme}://localhost:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def taken(self) -> list[Event]:
        return list(self._taken)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class Nobody:
    """An address without a collector."""

    def __init__(self, url: str) -> None:
        self.url = url

    def taken(self) -> list[Event]:
        return []


class Ours:
    """Our own collector as a process, with SQLite in ``folder``; away until it is started."""

    def __init__(self, folder: Path) -> None:
        self._port = free_port()
        self.url = f"http://127.0.0.1:{self._port}"
        self._db = folder / "collector.db"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and wait until it answers."""
        self._process = subprocess.Popen(
            [
                sys.executable, "-m", "spark_lineage.cli", "collector",
                "--port", str(self._port), "--db", f"sqlite:///{self._db}",
            ],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                urllib.request.urlopen(self.url + "/healthz", timeout=5).close()
                return
            except OSError:
                assert time.monotonic() < deadline, "our collector did not start"
                time.sleep(0.1)

    def taken(self) -> list[Event]:
        """What is in its store, each row of it; of the facets nothing."""
        if not self._db.exists():
            return []
        with contextlib.closing(sqlite3.connect(self._db)) as store:
            rows = store.execute("SELECT run_id, type FROM events ORDER BY id").fetchall()
        return [{"run": {"runId": run, "facets": {}}, "eventType": kind} for run, kind in rows]

    def close(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(30)


@contextlib.contextmanager
def collector(behaviour: str, folder: Path) -> Iterator[Target]:
    """A collector of this kind; ``folder`` is for what it keeps."""
    if behaviour == "refuses":
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            # Bound and not listening: each connection is refused, and no other takes the port.
            yield Nobody(f"http://127.0.0.1:{free.getsockname()[1]}")
        return
    if behaviour == "absent":
        # TEST-NET-1 (RFC 5737): no machine is there.
        yield Nobody("http://192.0.2.1:8765")
        return
    if behaviour == "no name":
        yield Nobody("http://no-such-host.invalid:8765")
        return
    tls = None
    if behaviour == "wrong certificate":
        import trustme

        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        trustme.CA().issue_cert("localhost").configure_cert(tls)
        behaviour = "healthy"
    server = Ours(folder) if behaviour == "ours" else Collector(behaviour, tls)
    try:
        yield server
    finally:
        server.close()
