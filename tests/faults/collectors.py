"""Collectors that do what collectors should not; each on a port of its own."""

from __future__ import annotations

import contextlib
import gzip
import json
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = Callable[[BaseHTTPRequestHandler], bool]
"""Answers a post; gives whether it has said that it has the event."""

HOLE_SECONDS = 30.0


def says(status: int, **headers: str) -> Answer:
    """An answer with this status."""

    def answer(handler: BaseHTTPRequestHandler) -> bool:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.send_header("Content-Length", "0")
        handler.end_headers()
        return status < 300

    return answer


def black_hole(handler: BaseHTTPRequestHandler) -> bool:
    time.sleep(HOLE_SECONDS)
    return False


def byte_by_byte(handler: BaseHTTPRequestHandler) -> bool:
    handler.close_connection = True
    for byte in b"HTTP/1.1 201 Created\r\nX-Slow: " + b"x" * 600:
        handler.wfile.write(bytes([byte]))
        handler.wfile.flush()
        time.sleep(0.1)
    return False


def garbage(handler: BaseHTTPRequestHandler) -> bool:
    handler.close_connection = True
    handler.wfile.write(b"\x00\xff\x00 no HTTP \r\n\r\n")
    return False


def dies(handler: BaseHTTPRequestHandler) -> bool:
    handler.close_connection = True
    handler.connection.shutdown(socket.SHUT_RDWR)
    return False


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
}


class Collector:
    """A server on loopback; ``taken`` are the events that it said it has."""

    def __init__(self, behaviour: str, tls: ssl.SSLContext | None = None) -> None:
        self.taken: list[dict[str, Any]] = []
        answer = ANSWERS[behaviour]
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                if self.path.endswith("/batch"):
                    # A target that takes single events only.
                    says(404)(self)
                    return
                plain = gzip.decompress(body) if body[:1] == b"\x1f" else body
                if answer(self):
                    outer.taken.append(json.loads(plain))

            def log_message(self, *_: Any) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_: Any) -> None:
                pass  # a client that gave up

        self._server = Server(("127.0.0.1", 0), Handler)
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        scheme = "https" if tls else "http"
        self.url = f"{scheme}://localhost:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@contextlib.contextmanager
def collector(behaviour: str) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The address of a collector of this kind, and what it has taken."""
    if behaviour == "refuses":
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            # Bound and not listening: each connection is refused, and no other takes the port.
            yield f"http://127.0.0.1:{free.getsockname()[1]}", []
        return
    if behaviour == "absent":
        # TEST-NET-1 (RFC 5737): no machine is there.
        yield "http://192.0.2.1:8765", []
        return
    if behaviour == "no name":
        yield "http://no-such-host.invalid:8765", []
        return
    tls = None
    if behaviour == "wrong certificate":
        import trustme

        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        trustme.CA().issue_cert("localhost").configure_cert(tls)
        behaviour = "healthy"
    server = Collector(behaviour, tls)
    try:
        yield server.url, server.taken
    finally:
        server.close()
