"""A copy of what is not delivered at the end, where the machine's disk does not outlive it.

One file of JSON lines for each spool, in a directory or at any URL that fsspec
knows (``s3://bucket/lineage``). Dead letters go into a file of their own, which is
for people and not sent again.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import logging
import os
import queue
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import PurePath
from typing import Any, Protocol
from urllib.parse import urlsplit, urlunsplit

from spark_lineage.delivery import files, fork
from spark_lineage.delivery.spool import Spool
from spark_lineage.errors import ConfigError

SUFFIX = ".jsonl"
DEAD_SUFFIX = ".dead-letters"
CHUNK = 200

_LOGGER = logging.getLogger("spark_lineage.delivery")

Event = dict[str, Any]


class Place(Protocol):
    """A directory, wherever it is."""

    def write(self, name: str, lines: Iterable[str]) -> None:
        """Write a file, whole or not at all where that can be had."""

    def names(self) -> list[str]:
        """The names of its files."""

    def read(self, name: str) -> Iterator[str]:
        """The lines of a file."""

    def remove(self, name: str) -> None:
        """Remove a file."""


class _Directory:
    def __init__(self, path: str) -> None:
        self._path = os.path.expanduser(path)

    def write(self, name: str, lines: Iterable[str]) -> None:
        files.make_directory(self._path)
        path = os.path.join(self._path, name)
        files.make_private(path + ".part")
        with open(path + ".part", "w", encoding="utf-8") as file:
            file.writelines(line + "\n" for line in lines)
        os.replace(path + ".part", path)

    def names(self) -> list[str]:
        with contextlib.suppress(FileNotFoundError):
            return sorted(os.listdir(self._path))
        return []

    def read(self, name: str) -> Iterator[str]:
        with open(os.path.join(self._path, name), encoding="utf-8") as file:
            yield from file

    def remove(self, name: str) -> None:
        os.unlink(os.path.join(self._path, name))


class _Remote:
    def __init__(self, url: str) -> None:
        try:
            core: Any = importlib.import_module("fsspec.core")
            # Made once and early: some need a thread, and none can be started at exit.
            self._files, self._path = core.url_to_fs(url)
        except (ImportError, ValueError) as error:
            raise ConfigError("spark.lineage.spool.archive", describe(url), str(error)) from None

    def _at(self, name: str) -> str:
        return f"{self._path.rstrip('/')}/{name}"

    def write(self, name: str, lines: Iterable[str]) -> None:
        with contextlib.suppress(Exception):  # a bucket is not made, nor need it be
            self._files.makedirs(self._path, exist_ok=True)
        with self._files.open(self._at(name), "w", encoding="utf-8") as file:
            for line in lines:
                file.write(line + "\n")

    def names(self) -> list[str]:
        self._files.invalidate_cache()
        with contextlib.suppress(FileNotFoundError):
            found = self._files.ls(self._path, detail=False)
            return sorted(PurePath(path).name for path in found)
        return []

    def read(self, name: str) -> Iterator[str]:
        with self._files.open(self._at(name), "r", encoding="utf-8") as file:
            yield from file

    def remove(self, name: str) -> None:
        self._files.rm(self._at(name))


def place(url: str) -> Place:
    """The place at ``url``; raises :class:`ConfigError` where fsspec or its part is missing."""
    if url.startswith("file://"):
        return _Directory(urlsplit(url).path)
    return _Remote(url) if "://" in url else _Directory(url)


def describe(url: str) -> str:
    """A URL without the credentials that may stand in it."""
    parts = urlsplit(url)
    if not parts.netloc:
        return url
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


class _Job:
    def __init__(self, spools: Sequence[Spool]) -> None:
        self.spools = spools
        self.done = False
        self.ended = threading.Event()


class Archive:
    """Writes spools to ``url`` from a thread of its own, so that no wait for it is unbounded."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._jobs: queue.SimpleQueue[_Job] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self.written = 0  # events, dead letters included
        fork.register(self)

    def start(self) -> None:
        """Start the thread, which also finds out whether there is such a place."""
        thread = threading.Thread(target=self._run, name="spark-lineage-archive", daemon=True)
        try:
            thread.start()
        except RuntimeError as error:
            _LOGGER.debug("no archive thread: %s", error)
            return
        self._thread = thread

    def copy(self, spools: Sequence[Spool], timeout: float) -> bool:
        """Copy what is in ``spools``, which must stay open; False if it was not done in time."""
        if self._thread is None or not self._thread.is_alive():
            _LOGGER.warning("undelivered lineage events are not in %s", describe(self._url))
            return False
        job = _Job(spools)
        self._jobs.put(job)
        if job.ended.wait(timeout):
            return job.done
        _LOGGER.warning("%s did not take lineage events in time", describe(self._url))
        return False

    def after_fork(self) -> None:
        """A forked child has no thread, and copies nothing."""
        self._thread = None

    def _run(self) -> None:
        try:
            there = place(self._url)
        except Exception as error:
            _LOGGER.warning("no archive of undelivered lineage events: %s", error)
            return
        while True:
            job = self._jobs.get()
            try:
                for spool in job.spools:
                    self._write(there, spool)
                job.done = True
            except Exception as error:
                _LOGGER.warning(
                    "%s takes no lineage events (%s: %s)",
                    describe(self._url),
                    type(error).__name__,
                    error,
                )
            finally:
                job.ended.set()

    def _write(self, there: Place, spool: Spool) -> None:
        name = os.path.basename(spool.path or files.name_of("memory", "", 0)).removesuffix(".db")
        unique = uuid.uuid4().hex[:12]
        if spool.pending():
            there.write(f"{name}.{unique}{SUFFIX}", self._counted(spool.bodies()))
        dead = spool.dead()
        if dead:
            lines = (
                json.dumps({"reason": each.reason, "answer": each.answer, "event": each.event})
                for each in dead
            )
            there.write(f"{name}.{unique}{DEAD_SUFFIX}", self._counted(lines))

    def _counted(self, lines: Iterable[str]) -> Iterator[str]:
        for line in lines:
            self.written += 1
            yield line


def restore(url: str, put: Callable[[str, list[Event]], None]) -> int:
    """Take the events out of the archive at ``url``; gives how many.

    ``put`` gets the name of their target, empty if there was but one, and events in
    their order; a file is removed once all of its events are put. Raises what the
    place raises, and :class:`ConfigError` where there is no such place.
    """
    there = place(url)
    count = 0
    for name in there.names():
        if not name.endswith(SUFFIX):
            continue
        stem = name.removesuffix(SUFFIX).rpartition(".")[0]
        target = files.target_of(stem + ".db")
        if target is None:
            continue
        chunk: list[Event] = []
        for line in there.read(name):
            chunk.append(json.loads(line))
            if len(chunk) >= CHUNK:
                put(target, chunk)
                count, chunk = count + len(chunk), []
        put(target, chunk)
        count += len(chunk)
        there.remove(name)
    return count
