"""The durable queue of events: one SQLite file for each application.

The file survives a kill of its process; the next agent on the machine takes
it over (:func:`adopt`). Several applications share nothing but the directory.
What cannot be on disk (a full or read-only disk, no home) is kept in memory
and still delivered; it then does not survive a kill.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import logging
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from spark_lineage.delivery import files, fork
from spark_lineage.delivery.lock import Held, OwnerLock
from spark_lineage.delivery.store import DROPPED, DeadLetter, Store, UnknownFormatError
from spark_lineage.errors import DeliveryError

MAX_BYTES = 256 << 20
MAX_AGE = 7 * 86400.0
MEMORY_BYTES = 16 << 20  # what may wait in memory while the disk takes nothing
MAX_NAMES = 100
MAX_ADOPTED = 100
CHUNK = 100

_LOGGER = logging.getLogger("spark_lineage.delivery")

Event = dict[str, Any]


@dataclass(frozen=True)
class Entry:
    """The event at the head of a spool, until it is ``done`` or buried."""

    event: Event
    id: int
    store: Store


class Spool:
    """A queue of events, first in first out, bounded by bytes and age. Thread-safe.

    ``directory`` is made if need be (mode 0700), ``application`` names the file
    (mode 0600). An existing file whose owner is dead is taken over with what is
    in it; one in use is left alone and another name taken. ``max_bytes`` bounds
    the events that wait: what comes on top is refused and counted, for an older
    event that was promised goes before a newer one. ``max_age`` is in seconds.
    ``target`` keeps apart the spools of one application that has several.
    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        application: str,
        max_bytes: int = MAX_BYTES,
        max_age: float = MAX_AGE,
        target: str = "",
    ) -> None:
        self._prepare(max_bytes, max_age)
        directory = os.fspath(directory)
        try:
            files.make_directory(directory)
            for number in range(MAX_NAMES):
                name = files.name_of(application, target, number)
                if self._take(os.path.join(directory, name)):
                    break
            else:
                raise OSError(f"{MAX_NAMES} spools of this application are in use")
        except (OSError, sqlite3.Error) as error:
            _LOGGER.warning(
                "no spool in %s (%s): lineage events wait in memory only", directory, error
            )
        fork.register(self)

    @classmethod
    def _open_orphan(cls, path: str, max_bytes: int, max_age: float) -> Spool | None:
        spool = cls.__new__(cls)
        spool._prepare(max_bytes, max_age)
        if not spool._take(path, only_if_free=True):
            return None
        fork.register(spool)
        return spool

    def _prepare(self, max_bytes: int, max_age: float) -> None:
        self._max_bytes, self._max_age = max_bytes, max_age
        self._mutex = threading.RLock()
        self._disk: Store | None = None
        self._memory: Store | None = None
        self._owner: OwnerLock | None = None
        self._path: str | None = None
        self._closed = self._inert = self._warned = self._unwritable = False
        # What no store counts: losses before one, and the counters of one that is gone.
        self._counters: dict[str, int] = {}
        self._before: dict[str, int] = {}  # what the file had counted when it was opened
        self._final: dict[str, Any] | None = None

    @property
    def path(self) -> str | None:
        """The spool's file, or None if it is in memory only."""
        return self._path

    def put(self, events: Sequence[Event]) -> None:
        """Append events, all in one transaction; once this returns they survive a kill.

        Raises :class:`DeliveryError` if the spool is closed. In a forked child it
        does nothing: the parent reports.
        """
        bodies: list[str] = []
        for event in events:
            try:
                # ASCII only: a text cut between surrogates must not spoil the event.
                bodies.append(json.dumps(event, separators=(",", ":"), allow_nan=False))
            except (TypeError, ValueError) as error:
                self._count(DROPPED + "not_serialisable")
                if not self._unwritable:
                    _LOGGER.warning("an event cannot be written as JSON: %s", error)
                self._unwritable = True
        with self._mutex:
            if self._inert:
                return
            if self._closed:
                raise DeliveryError("the spool is closed")
            if bodies:
                self._store(bodies)

    def _store(self, bodies: list[str]) -> None:
        if self._path is not None and self._disk is not None and not os.path.exists(self._path):
            self._restore()
        if self._memory is not None and self._memory.pending() == 0 and self._disk is not None:
            self._drop_memory()
        if self._disk is not None and self._memory is None:
            try:
                self._disk.put(bodies)
                return
            except sqlite3.DatabaseError as error:
                if self._is_corrupt(error) and self._set_aside(error):
                    self._disk.put(bodies)
                    return
                self._warn_disk(error)
        if self._memory is None:
            self._memory = Store(":memory:", min(self._max_bytes, MEMORY_BYTES), self._max_age)
        self._memory.put(bodies)

    def head(self) -> Entry | None:
        """The oldest event, or None; it stays until :meth:`done` or :meth:`bury`."""
        return next(iter(self.heads(1)), None)

    def heads(self, most: int, max_bytes: int = 1 << 62) -> list[Entry]:
        """The oldest events in their order: one if there is any, more up to ``max_bytes``."""
        with self._mutex:
            for store in self._stores():
                try:
                    waiting = store.heads(most, max_bytes)
                except sqlite3.DatabaseError as error:
                    if store is not self._disk or not self._is_corrupt(error):
                        raise
                    self._set_aside(error)
                    return self.heads(most, max_bytes)
                if waiting:
                    return [Entry(each.event, each.id, store) for each in waiting]
            return []

    def done(self, *entries: Entry) -> None:
        """The target has these events: take them away, in one transaction."""
        with self._mutex, self._healing():
            for store in self._stores():
                store.done(*(entry.id for entry in entries if entry.store is store))

    def bury(self, entry: Entry, reason: str, answer: str) -> None:
        """The target will never take this event: keep it as a dead letter with its answer."""
        with self._mutex, self._healing():
            if entry.store in self._stores():
                entry.store.bury(entry.id, reason, answer)

    def dead(self) -> list[DeadLetter]:
        """The dead letters, oldest first."""
        with self._mutex:
            return [letter for store in self._stores() for letter in store.dead()]

    def revive(self) -> int:
        """Send the dead letters again, after all that waits; gives how many."""
        with self._mutex:
            return sum(store.revive() for store in self._stores())

    def pending(self) -> int:
        """How many events wait, or at its end waited."""
        with self._mutex:
            if self._final is not None:
                return int(self._final["pending"])
            return sum(store.pending() for store in self._stores())

    def counts(self) -> dict[str, Any]:
        """``delivered``, ``pending``, ``dropped`` by reason, ``dead``, since the file was made."""
        with self._mutex:
            if self._final is not None:
                return {**self._final, "dropped": dict(self._final["dropped"])}
            told: dict[str, Any] = {"delivered": 0, "pending": self.pending(), "dead": 0}
            dropped: dict[str, int] = {}
            for counters in (self._counters, *(store.counters() for store in self._stores())):
                for name, value in counters.items():
                    if name.startswith(DROPPED):
                        reason = name.removeprefix(DROPPED)
                        dropped[reason] = dropped.get(reason, 0) + value
                    else:
                        told[name] += value
            return {**told, "dropped": dropped}

    def losses(self) -> dict[str, int]:
        """What was dropped since this process opened the file, by reason."""
        return {
            reason: lost
            for reason, number in self.counts()["dropped"].items()
            if (lost := number - self._before.get(reason, 0)) > 0
        }

    def bodies(self) -> Iterator[str]:
        """All events that wait as JSON, oldest first; those that come meanwhile may be in it."""
        for store in self._stores():
            after = 0
            while True:
                with self._mutex:
                    chunk = store.bodies(after, CHUNK) if store in self._stores() else []
                if not chunk:
                    break
                yield from (body for _, body in chunk)
                after = chunk[-1][0]

    def close(self) -> None:
        """Let go of the file; one with nothing left in it is removed."""
        with self._mutex:
            if self._closed or self._inert:
                return
            if self._memory is not None:
                self._save_memory()
            self._final = self.counts()  # readable after the end, for a last report
            self._closed = True
            disk, self._disk = self._disk, None
            if disk is not None:
                self._close_disk(disk)

    def _close_disk(self, disk: Store) -> None:
        empty = False
        with contextlib.suppress(sqlite3.Error):
            empty = disk.pending() == 0 and disk.dead_count() == 0
        disk.close()
        if empty and self._path is not None:
            files.remove(self._path)
        if self._owner is not None:
            self._owner.release(remove=empty)

    def after_fork(self) -> None:
        """Forget the file in a forked child, without closing what the parent uses."""
        self._mutex = threading.RLock()
        for store in (self._disk, self._memory):
            if store is not None:
                # SQLite forbids using, and even closing, a connection across a fork: closing
                # would fold and remove the log that the parent writes. So it must never be freed.
                ctypes.pythonapi.Py_IncRef(ctypes.py_object(store.connection))
        self._disk = self._memory = None
        self._inert = True
        if self._owner is not None:
            self._owner.forget()

    def _stores(self) -> list[Store]:
        return [store for store in (self._disk, self._memory) if store is not None]

    def _take(self, path: str, only_if_free: bool = False) -> bool:
        """Own and open ``path``; False if another has it or it is not ours to read."""
        owner = OwnerLock(path + ".lock")
        held = owner.acquire()
        if held is Held.ELSEWHERE or (only_if_free and held is not Held.HERE):
            owner.forget()
            return False
        self._path, self._owner = path, owner
        try:
            files.make_private(path)
            try:
                self._disk = Store(path, self._max_bytes, self._max_age)
                self._before = self.counts()["dropped"]
            except sqlite3.DatabaseError as error:
                if not self._is_corrupt(error):
                    raise
                self._set_aside(error)
        except UnknownFormatError:
            owner.forget()
        except BaseException as error:
            owner.forget()
            self._path = self._owner = None
            if not (isinstance(error, sqlite3.OperationalError) and "locked" in str(error)):
                raise
        if self._disk is None:
            self._path = self._owner = None
        return self._disk is not None

    @staticmethod
    def _is_corrupt(error: sqlite3.DatabaseError) -> bool:
        # Python maps SQLITE_CORRUPT and SQLITE_NOTADB to the base class, all else to others.
        return type(error) is sqlite3.DatabaseError

    @contextlib.contextmanager
    def _healing(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.DatabaseError as error:
            if not self._is_corrupt(error):
                raise
            self._set_aside(error)

    def _set_aside(self, error: Exception) -> bool:
        """Rename a corrupted file and start anew; False if that fails too."""
        assert self._path is not None
        broken, self._disk = self._disk, None
        with contextlib.suppress(sqlite3.Error):
            if broken is not None:
                broken.close()
        self._before = {}
        try:
            aside = files.set_aside(self._path)
            _LOGGER.warning("spool corrupted (%s): set aside as %s, starting anew", error, aside)
            files.make_private(self._path)
            self._disk = Store(self._path, self._max_bytes, self._max_age)
            self._disk.count_dropped("spool_corrupted")
        except (OSError, sqlite3.Error) as second:
            self._count(DROPPED + "spool_corrupted")
            self._warn_disk(second)
            return False
        return True

    def _restore(self) -> None:
        """The file was removed while it is open: write it again, with all that it has."""
        assert self._path is not None
        assert self._disk is not None
        gone, path, owner = self._disk, self._path, self._owner
        try:
            files.make_directory(os.path.dirname(path))
            again = OwnerLock(path + ".lock")
            if again.acquire() is Held.ELSEWHERE:
                raise OSError("another application has its name now")
            files.make_private(path)
            gone.copy_to(path)
            self._disk = Store(path, self._max_bytes, self._max_age)
        except (OSError, sqlite3.Error) as error:
            # What is open still works, but does not survive a kill.
            self._warn_disk(error)
            return
        _LOGGER.warning("the spool %s was removed: it has been written again", path)
        self._owner = again
        if owner is not None:
            owner.forget()
        gone.close()

    def _count(self, name: str, number: int = 1) -> None:
        with self._mutex:
            self._counters[name] = self._counters.get(name, 0) + number

    def _warn_disk(self, error: Exception) -> None:
        if not self._warned:
            self._warned = True
            _LOGGER.warning(
                "the spool %s takes nothing (%s): lineage events wait in memory", self._path, error
            )

    def _drop_memory(self) -> None:
        """Nothing waits in memory any more: back to the disk, keeping the counters."""
        assert self._memory is not None
        for name, value in self._memory.counters().items():
            self._count(name, value)
        self._memory.close()
        self._memory = None

    def _save_memory(self) -> None:
        """At the end: what waits in memory goes to disk if it can, else it is lost, and counted."""
        assert self._memory is not None
        bodies = [body for _, body in self._memory.bodies(0, -1)]
        try:
            if bodies and self._disk is not None:
                self._disk.put(bodies)
                bodies = []
        except sqlite3.Error as error:
            self._warn_disk(error)
        if bodies:
            self._count(DROPPED + "memory_at_end", len(bodies))
            _LOGGER.warning("%d lineage events were in memory only and are lost", len(bodies))
        self._drop_memory()


def adopt(
    directory: str | os.PathLike[str],
    max_bytes: int = MAX_BYTES,
    max_age: float = MAX_AGE,
    is_ours: Callable[[str], bool] = lambda target: True,
    lost: Callable[[dict[str, int]], None] = lambda losses: None,
) -> Iterator[Spool]:
    """Give the spools in ``directory`` whose owners are dead and which have events waiting.

    Each is locked for this process and must be closed. Spools that are empty are
    removed on the way; those of others, in use, unreadable or of a newer format are
    left alone, as are those for a target that ``is_ours`` refuses. ``lost`` is told
    what one of those that are not given has lost: what was too old, or corrupted.
    At most ``MAX_ADOPTED`` at a time.
    """
    directory = os.fspath(directory)
    try:
        names = sorted(os.listdir(directory))
    except OSError:
        return
    adopted = 0
    for name in names:
        path = os.path.join(directory, name)
        if name.endswith(".db.lock") and not os.path.exists(path.removesuffix(".lock")):
            files.remove_stale_lock(path)
        target = files.target_of(name)
        if target is None or not is_ours(target) or adopted >= MAX_ADOPTED:
            continue
        try:
            spool = Spool._open_orphan(path, max_bytes, max_age)
            if spool is None:
                continue
            if spool.head() is None:  # which also drops what waited too long
                spool.close()
                if losses := spool.losses():
                    lost(losses)
                continue
        except (OSError, sqlite3.Error) as error:
            _LOGGER.debug("spool %s is left alone: %s", path, error)
            continue
        adopted += 1
        yield spool


def revive(
    directory: str | os.PathLike[str], is_ours: Callable[[str], bool] = lambda target: True
) -> int:
    """Have the dead letters in ``directory`` sent again, by the next that adopts; gives how many.

    Those of running applications are left alone.
    """
    directory = os.fspath(directory)
    revived = 0
    for name in sorted(os.listdir(directory)) if os.path.isdir(directory) else []:
        target = files.target_of(name)
        if target is None or not is_ours(target):
            continue
        try:
            spool = Spool._open_orphan(os.path.join(directory, name), MAX_BYTES, MAX_AGE)
            if spool is not None:
                revived += spool.revive()
                spool.close()
        except (OSError, sqlite3.Error) as error:
            _LOGGER.debug("spool %s is left alone: %s", name, error)
    return revived
