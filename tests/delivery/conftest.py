from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tests.delivery.doubles import Target

Answer = Callable[[BaseHTTPRequestHandler], None]


class HttpTarget:
    """A real server on loopback. ``answers`` are used up in order; the last one stays.

    What is posted to ``.../batch`` is kept and answered apart, at first as by a
    target that knows no batches.
    """

    def __init__(self) -> None:
        self.answers: list[Answer | int] = [201]
        self.requests: list[tuple[str, dict[str, str], bytes]] = []
        self.batch_answers: list[Answer | int] = [404]
        self.batches: list[list[Any]] = []
        self.released = threading.Event()
        target = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                if self.path.endswith("/batch"):
                    plain = gzip.decompress(body) if body[:1] == b"\x1f" else body
                    target.batches.append(json.loads(plain))
                    answers = target.batch_answers
                else:
                    target.requests.append((self.path, dict(self.headers), body))
                    answers = target.answers
                answer = answers[0]
                if len(answers) > 1:
                    answers.pop(0)
                if isinstance(answer, int):
                    reply(self, answer)
                else:
                    answer(self)

            def log_message(self, *args: Any) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *args: Any) -> None:
                pass  # a client that gave up

        self._server = Server(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()


def reply(
    handler: BaseHTTPRequestHandler,
    status: int,
    headers: dict[str, str] | None = None,
    body: bytes = b"",
) -> None:
    handler.send_response(status)
    for name, value in (headers or {}).items():
        handler.send_header(name, value)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


@pytest.fixture
def http_target() -> Iterator[HttpTarget]:
    target = HttpTarget()
    yield target
    target.close()


@pytest.fixture
def target() -> Target:
    return Target()
