"""The collector as a server: in this process until a signal, or in a thread."""

from __future__ import annotations

import errno
import gc
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import uvicorn

from spark_lineage.collector.app import Settings, create
from spark_lineage.errors import CollectorError

DEFAULT_PORT = 8765
STOP_SECONDS = 5


class PortTakenError(CollectorError):
    """The port that was asked for is not free."""


def default_db() -> str:
    """The URL of the database where none is given: one file in the home directory."""
    path = Path.home() / ".spark_lineage" / "collector.db"
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    return f"sqlite:///{path}"


def bind(host: str, port: int, any_port: bool = False) -> socket.socket:
    """A listening socket; ``any_port`` takes another where ``port`` is taken.

    Raises :class:`PortTakenError`, and :class:`CollectorError` for a host that
    is not this machine's.
    """
    try:
        return _bind(host, port)
    except OSError as error:
        if error.errno in (errno.EADDRINUSE, errno.EACCES):
            if any_port:
                return _bind(host, 0)
            taken = "is taken" if error.errno == errno.EADDRINUSE else "is not allowed"
            raise PortTakenError(
                f"port {port} on {host} {taken}; choose another with --port,"
                " or let --any-port choose"
            ) from None
        raise CollectorError(f"cannot listen on {host}: {error.strerror or error}") from None


def _bind(host: str, port: int) -> socket.socket:
    info = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    listening = socket.socket(info[0], info[1])
    try:
        if os.name == "posix":
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(info[4])
        listening.listen(2048)
    except OSError:
        listening.close()
        raise
    listening.set_inheritable(True)
    return listening


def address(listening: socket.socket) -> str:
    """The URL at which a socket listens."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def serve(
    db_url: str,
    host: str = "127.0.0.1",
    port: int = DEFAULT_PORT,
    any_port: bool = False,
    announce: Callable[[str], None] = print,
    settings: Settings | None = None,
) -> None:
    """Serve until SIGINT or SIGTERM, then end cleanly.

    ``announce`` gets the URL as soon as requests are taken.
    """
    listening = bind(host, port, any_port)
    try:
        server = _server(db_url, settings)
        tune()
        with _ended_by_signals():
            thread = threading.Thread(target=_announce, args=(server, listening, announce))
            thread.start()
            try:
                server.run(sockets=[listening])
            finally:
                server.should_exit = True
                thread.join()
    finally:
        listening.close()


@contextmanager
def running(
    db_url: str, host: str = "127.0.0.1", port: int = 0, settings: Settings | None = None
) -> Iterator[str]:
    """A collector in a thread of this process, for as long as the context lasts: its URL."""
    listening = bind(host, port)
    server = _server(db_url, settings)
    thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
    thread.start()
    try:
        while not server.started and thread.is_alive():
            time.sleep(0.005)
        if not server.started:
            raise CollectorError("the collector did not start")
        yield address(listening)
    finally:
        server.should_exit = True
        thread.join(STOP_SECONDS * 2)
        listening.close()


def tune() -> None:
    """What makes a process that does nothing else quicker.

    All that is loaded by now stays: the garbage collector need not look at it. An
    answer makes thousands of objects and no cycles, which would start it time and again.
    The thread that writes and the one that answers take turns more often than by
    default, since each is waited for.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    sys.setswitchinterval(0.001)


def _server(db_url: str, settings: Settings | None) -> uvicorn.Server:
    return uvicorn.Server(
        uvicorn.Config(
            create(db_url, settings),
            log_level="warning",
            access_log=False,
            ws="none",
            timeout_graceful_shutdown=STOP_SECONDS,
        )
    )


def _announce(
    server: uvicorn.Server, listening: socket.socket, announce: Callable[[str], None]
) -> None:
    while not server.started and not server.should_exit:
        time.sleep(0.005)
    if server.started:
        announce(address(listening))


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """SIGINT and SIGTERM end the program with 0, whenever they come.

    uvicorn takes both while it runs and raises them again afterwards, which
    would end this process as a killed one.
    """

    def end(_signal: int, _frame: FrameType | None) -> None:
        sys.exit(0)

    before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
