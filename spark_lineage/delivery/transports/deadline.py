"""HTTP connections that end a slow answer at a deadline.

The timeout of ``requests`` is one of each read from the socket: a server that
answers a byte at a time, also in its headers, could hold a request for ever.
Here each read gets only the time that is left, without a watchdog thread
(none can be started at interpreter exit).
"""

from __future__ import annotations

import http.client
import io
import logging
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from requests.adapters import HTTPAdapter
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.util.retry import Retry

_now = threading.local()


@contextmanager
def until(deadline: float) -> Iterator[None]:
    """Within, what this thread reads over an adapter's connections ends at ``deadline``.

    ``deadline`` is a ``time.monotonic()``.
    """
    _now.deadline = deadline
    try:
        yield
    finally:
        _now.deadline = None


def left() -> float:
    """The seconds that are left within :func:`until`; never quite none."""
    deadline = getattr(_now, "deadline", None)
    return 60.0 if deadline is None else max(0.001, float(deadline) - time.monotonic())


def _is_not_ours(record: logging.LogRecord) -> bool:
    """Keep our addresses, which may hold keys in their query, out of urllib3's log."""
    return getattr(_now, "deadline", None) is None


logging.getLogger("urllib3.connectionpool").addFilter(_is_not_ours)


class _Reader(io.RawIOBase):
    """Reads from a socket, each time with what is left of the time."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._raw = sock.makefile("rb", buffering=0)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        deadline = getattr(_now, "deadline", None)
        if deadline is not None:
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError("the answer took too long")
            self._sock.settimeout(left)
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()


class _Response(http.client.HTTPResponse):
    def __init__(self, sock: socket.socket, *args: Any, **kwargs: Any) -> None:
        super().__init__(sock, *args, **kwargs)
        self.fp.close()
        self.fp = io.BufferedReader(_Reader(sock))


class _HTTPConnection(HTTPConnection):
    response_class = _Response
    debuglevel = 0  # one that is set on the base class would print our headers


class _HTTPSConnection(HTTPSConnection):
    response_class = _Response
    debuglevel = 0


class _HTTPPool(HTTPConnectionPool):
    ConnectionCls = _HTTPConnection


class _HTTPSPool(HTTPSConnectionPool):
    ConnectionCls = _HTTPSConnection


class DeadlineAdapter(HTTPAdapter):
    """An adapter of ``requests`` that honours :func:`until` and never retries."""

    def __init__(self) -> None:
        super().__init__(max_retries=Retry(0, read=False))

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        """Make the pools, with connections that know the deadline."""
        super().init_poolmanager(*args, **kwargs)
        self.poolmanager.pool_classes_by_scheme = {"http": _HTTPPool, "https": _HTTPSPool}

    def proxy_manager_for(self, proxy: Any, **kwargs: Any) -> Any:
        """Give the pools of a proxy, likewise."""
        manager = super().proxy_manager_for(proxy, **kwargs)
        manager.pool_classes_by_scheme = {"http": _HTTPPool, "https": _HTTPSPool}
        return manager
