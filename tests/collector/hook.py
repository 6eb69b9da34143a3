"""A webhook's receiver that keeps what it gets and answers as it is told."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any


class Receiver:
    """``answers`` are the next statuses, 204 when there are none left."""

    def __init__(self) -> None:
        self.got: list[dict[str, Any]] = []
        self.answers: list[int] = []
        self.url = ""

    def wait(self, count: int, seconds: float = 60) -> bool:
        """Until so many messages were taken; False where it took longer."""
        deadline = time.monotonic() + seconds
        while len(self.got) < count and time.monotonic() < deadline:
            time.sleep(0.01)
        return len(self.got) >= count


@contextmanager
def receiver() -> Iterator[Receiver]:
    """A receiver on loopback."""
    found = Receiver()

    class Hook(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status = found.answers.pop(0) if found.answers else 204
            if status < 400:
                found.got.append(body)
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Hook) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        found.url = f"http://127.0.0.1:{server.server_port}/"
        try:
            yield found
        finally:
            server.shutdown()
            thread.join()
