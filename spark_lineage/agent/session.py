"""The agent as a thread in a PySpark process: ``enable``, ``disable``, ``flush``."""

from __future__ import annotations

import atexit
import logging
import os
import sys
import threading
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any

from spark_lineage import config
from spark_lineage.agent.guard import logger
from spark_lineage.agent.host import Host
from spark_lineage.agent.link import Link, check_version, connect, context_of
from spark_lineage.config import Settings
from spark_lineage.errors import BridgeError, ConfigError, RecordError
from spark_lineage.openlineage.run import RunError

JOINED_POLL_SECONDS = 0.05
ERROR_LIMIT = 2_000
# Jupyter sends a kernel that takes more than 2.5 s to end a signal to end.
KERNEL_EXIT_SECONDS = 2.0


@dataclass(frozen=True)
class Reporter:
    """Says what ``enable`` turned on; shown by a notebook as one line."""

    application: str
    target: str
    state: str

    def __repr__(self) -> str:
        return f"spark_lineage is {self.state} for {self.application}; events go to {self.target}"


@dataclass
class _Session:
    link: Link
    settings: Settings
    reporter: Reporter
    host: Host | None
    thread: threading.Thread | None


# By gateway, which is the JVM.
_sessions: dict[Any, _Session] = {}
_lock = threading.RLock()
_error: RunError | None = None
_hooked = False


def enable(spark: Any, options: Mapping[str, Any]) -> Reporter:
    """See :func:`spark_lineage.enable`."""
    context = context_of(active_session(spark))
    settings = config.load(dict(context.getConf().getAll()), options=options)
    application = str(context.applicationId)
    target = target_of(settings)
    if not settings.enabled:
        return Reporter(application, target, "off (spark.lineage.enabled is false)")
    with _lock:
        known = _sessions.get(context._gateway)
        link = known.link if known else connect(context)
        link.configure(_limits(settings))
        link.install(context._jsc.sc())
        try:
            check_version(link.status())
        except RecordError:
            link.uninstall()
            raise
        if known:
            if options and known.host and _changed(known.settings, settings):
                raise ConfigError(
                    "enable", dict(options), "the options it was enabled with; call disable() first"
                )
            known.reporter = replace(known.reporter, application=application)
            return known.reporter
        logging.getLogger("spark_lineage").setLevel(settings.log_level)
        session = _begin(link, settings, application, target, context._gateway)
        _sessions[context._gateway] = session
        _hook()
        return session.reporter


def _begin(link: Link, settings: Settings, application: str, target: str, gateway: Any) -> _Session:
    if not link.claim(f"driver:{os.getpid()}:{uuid.uuid4().hex[:8]}"):
        reporter = Reporter(application, "where the plugin's settings say", "on (by the plugin)")
        return _Session(link, settings, reporter, None, None)
    host = Host(link, settings, application, _program())
    host.start()
    thread = threading.Thread(
        target=_serve, args=(host, gateway), name="spark-lineage-agent", daemon=True
    )
    thread.start()
    return _Session(link, settings, Reporter(application, target, "on"), host, thread)


def _serve(host: Host, gateway: Any) -> None:
    """Take records until told to stop, or until the JVM has ended.

    Jupyter ends a kernel's JVM before the kernel, whose exit may then come by a
    signal: what ends with the JVM is told here, and not only at exit.
    """
    jvm = getattr(gateway, "proc", None)  # None: the JVM is the parent of this process

    def ended() -> bool:
        return jvm is not None and jvm.poll() is not None

    host.run(ended)
    if ended():
        host.end_applications(_error)


def _program() -> str | None:
    """The script that this process runs; None in a notebook or a shell."""
    main = sys.modules.get("__main__")
    file = getattr(main, "__file__", None)
    return os.path.abspath(file) if file and not hasattr(sys, "ps1") else None


def disable(spark: Any) -> None:
    """See :func:`spark_lineage.disable`."""
    with _lock:
        for key, session in list(_sessions.items()):
            if spark is not None and key is not context_of(spark)._gateway:
                continue
            del _sessions[key]
            if session.host is None:
                continue
            session.host.flush(session.settings.shutdown_timeout)
            session.link.uninstall()
            session.link.release()
            session.host.stop(session.settings.shutdown_timeout)


def flush(timeout: float) -> bool:
    """See :func:`spark_lineage.flush`."""
    deadline = time.monotonic() + timeout
    done = True
    for session in list(_sessions.values()):
        left = max(0.0, deadline - time.monotonic())
        if session.host is not None:
            done = session.host.flush(left) and done
        else:
            done = _flush_joined(session.link, left) and done
    return done


def _flush_joined(link: Link, timeout: float) -> bool:
    """Wait for the sidecar, whose state the bridge keeps."""
    deadline = time.monotonic() + timeout
    if not link.drain(timeout):
        return False
    acknowledged = link.status()["acknowledged"]
    while True:
        agent = link.status().get("agent") or {}
        if agent.get("acknowledged", -1) >= acknowledged and not agent.get("pending"):
            return True
        if time.monotonic() >= deadline:
            return False
        time.sleep(JOINED_POLL_SECONDS)


def target_of(settings: Settings) -> str:
    """Where events go, as a person reads it, without credentials."""
    from spark_lineage.delivery.transports import describe

    return describe(settings)


def _limits(settings: Settings) -> dict[str, str]:
    keys = ("queue.records", "queue.bytes", "record.bytes", "plan.nodes")
    return {key: str(getattr(settings, key.replace(".", "_"))) for key in keys}


def active_session(spark: Any) -> Any:
    """The session given, else the active one; raises :class:`BridgeError` without one."""
    if spark is not None:
        return spark
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    if active is None:
        raise BridgeError("there is no active SparkSession: pass one, enable(spark)")
    return active


def _changed(one: Settings, other: Settings) -> bool:
    return vars(one) != vars(other)


def _hook() -> None:
    """Once a process: deliver at exit, and know of an uncaught exception."""
    global _hooked
    if _hooked:
        return
    _hooked = True
    atexit.register(_at_exit)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_after_fork)
    previous = sys.excepthook

    def remember(
        kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        global _error
        if issubclass(kind, Exception):
            text = f"{kind.__name__}: {error}"[:ERROR_LIMIT]
            _error = RunError(text, None, "PYTHON")
        elif issubclass(kind, KeyboardInterrupt):
            _error = RunError(kind.__name__, None, "PYTHON", cancelled=True)
        previous(kind, error, trace)

    sys.excepthook = remember


def _at_exit() -> None:
    """Deliver what is there within the time set; what is left stays in the spool.

    The interpreter ends before the JVM tells the application's end, so it is told here.
    """
    for session in list(_sessions.values()):
        if session.host is None:
            continue
        patience = session.settings.shutdown_timeout
        if "ipykernel" in sys.modules:
            patience = min(patience, KERNEL_EXIT_SECONDS)
        deadline = time.monotonic() + patience
        try:
            session.host.drain(max(0.0, deadline - time.monotonic()))
            session.host.end_applications(_error)
            session.host.stop(max(0.0, deadline - time.monotonic()))
        except Exception as error:
            logger.debug("at exit: %s", error)
    _sessions.clear()


def _after_fork() -> None:
    """A child of fork has no agent thread and must not touch the parent's connections."""
    global _lock
    _lock = threading.RLock()
    _sessions.clear()
