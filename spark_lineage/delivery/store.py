"""The tables of a spool: events in order, dead letters, counters.

SQLite in WAL mode. ``synchronous=NORMAL`` does not wait for the disk at each
commit: what a transaction wrote is with the operating system and survives any
death of this process, which is what a driver's or sidecar's kill is; only a
crash of the machine can cost the last transactions, and never the file.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from spark_lineage.errors import DeliveryError

FORMAT = 1
DEAD_SHARE = 4  # dead letters may take a quarter of the spool's bytes
EXPIRY_SECONDS = 60.0  # how often what is too old is looked for

_TABLES = """
CREATE TABLE IF NOT EXISTS events (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    created REAL NOT NULL,
    size INTEGER NOT NULL,
    body TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS dead (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    created REAL NOT NULL,
    died REAL NOT NULL,
    size INTEGER NOT NULL,
    reason TEXT NOT NULL,
    answer TEXT NOT NULL,
    body TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS counters (
    name TEXT PRIMARY KEY,
    value INTEGER NOT NULL
);
"""

DROPPED = "dropped:"


class UnknownFormatError(DeliveryError):
    """The file is of a newer version of this package."""


@dataclass(frozen=True)
class Waiting:
    """An event that waits: its place in the store, and itself."""

    id: int
    event: dict[str, Any]


@dataclass(frozen=True)
class DeadLetter:
    """An event that its target refused: why, what it answered, when (epoch seconds)."""

    id: int
    died: float
    reason: str
    answer: str
    event: dict[str, Any]


class Store:
    """One SQLite database. Not thread-safe: the spool holds its lock around each call."""

    def __init__(self, path: str, max_bytes: int, max_age: float) -> None:
        """Open or create ``path``; raises ``sqlite3.Error`` or :class:`UnknownFormatError`."""
        self._max_bytes = max_bytes
        self._max_age = max_age
        self._expired_at = 0.0
        self._removed: set[int] = set()  # delivered, but the disk did not take the removal
        # No waiting for a lock (timeout 0): the owner is alone, another one is a reason to leave.
        self.connection = sqlite3.connect(
            path, timeout=0, isolation_level=None, check_same_thread=False
        )
        try:
            self._open()
        except BaseException:
            self.connection.close()
            raise

    def _open(self) -> None:
        run = self.connection.execute
        # One owner: no shared-memory file, and the database itself is locked while it is open.
        run("PRAGMA locking_mode=EXCLUSIVE")
        version = run("PRAGMA user_version").fetchone()[0]
        if version > FORMAT:
            raise UnknownFormatError(f"spool of format {version}, this package knows {FORMAT}")
        run("PRAGMA journal_mode=WAL")
        run("PRAGMA synchronous=NORMAL")
        with self._transaction():
            for statement in _TABLES.split(";"):
                run(statement)
            run(f"PRAGMA user_version={FORMAT}")
        self._bytes = int(run("SELECT coalesce(sum(size), 0) FROM events").fetchone()[0])
        self._dead_bytes = int(run("SELECT coalesce(sum(size), 0) FROM dead").fetchone()[0])
        self._count = int(run("SELECT count(*) FROM events").fetchone()[0])

    def put(self, bodies: Iterable[str]) -> dict[str, int]:
        """Append all in one transaction; gives what was refused, by reason."""
        now = time.time()
        refused: dict[str, int] = {}
        size, count = self._bytes, self._count
        with self._transaction() as run:
            for body in bodies:
                if size + len(body) > self._max_bytes:
                    refused["spool_full"] = refused.get("spool_full", 0) + 1
                    continue
                run(
                    "INSERT INTO events (created, size, body) VALUES (?, ?, ?)",
                    (now, len(body), body),
                )
                size += len(body)
                count += 1
            for reason, number in refused.items():
                self._add(DROPPED + reason, number)
        self._bytes, self._count = size, count
        return refused

    def heads(self, most: int, max_bytes: int) -> list[Waiting]:
        """The oldest events that wait, without taking them away: one if there is any.

        More only as long as all are within ``max_bytes``.
        """
        self._expire()
        found: list[Waiting] = []
        unreadable: list[tuple[int, int]] = []
        rows = self.connection.execute("SELECT id, size, body FROM events ORDER BY id")
        try:
            for number, size, body in rows:
                if number in self._removed:
                    continue
                max_bytes -= size
                if found and (max_bytes < 0 or len(found) >= most):
                    break
                try:
                    found.append(Waiting(number, json.loads(body)))
                except ValueError:
                    unreadable.append((number, size))
        finally:
            rows.close()
        self._drop("unreadable", unreadable)
        return found

    def done(self, *numbers: int) -> None:
        """Take away events that the target has."""
        sizes = {number: self._size_of(number) for number in numbers}
        gone = {n: size for n, size in sizes.items() if size is not None and n not in self._removed}
        if not gone:
            return
        try:
            with self._transaction() as run:
                for number in (*gone, *self._removed):
                    run("DELETE FROM events WHERE id = ?", (number,))
                self._add("delivered", len(gone) + len(self._removed))
            self._removed.clear()
        except sqlite3.OperationalError:
            # A full disk cannot even forget: remember it here, so as not to send it again.
            self._removed.update(gone)
        self._bytes -= sum(gone.values())
        self._count -= len(gone)

    def bury(self, number: int, reason: str, answer: str) -> None:
        """Move an event that the target refuses to the dead letters."""
        size = self._size_of(number)
        if size is None:
            return
        with self._transaction() as run:
            run(
                "INSERT INTO dead (created, died, size, reason, answer, body)"
                " SELECT created, ?, size, ?, ?, body FROM events WHERE id = ?",
                (time.time(), reason, answer, number),
            )
            run("DELETE FROM events WHERE id = ?", (number,))
            self._add("dead", 1)
        self._bytes -= size
        self._count -= 1
        self._dead_bytes += size
        self._bound_dead()

    def revive(self) -> int:
        """Put all dead letters at the end of the queue again; gives how many."""
        number = self.dead_count()
        with self._transaction() as run:
            run(
                "INSERT INTO events (created, size, body)"
                " SELECT ?, size, body FROM dead ORDER BY id",
                (time.time(),),
            )
            run("DELETE FROM dead")
        self._count += number
        self._bytes += self._dead_bytes
        self._dead_bytes = 0
        return number

    def dead(self) -> Iterator[DeadLetter]:
        """The dead letters, oldest first."""
        rows = self.connection.execute(
            "SELECT id, died, reason, answer, body FROM dead ORDER BY id"
        ).fetchall()
        for number, died, reason, answer, body in rows:
            yield DeadLetter(number, died, reason, answer, json.loads(body))

    def bodies(self, after: int, most: int) -> list[tuple[int, str]]:
        """What waits behind an event's id, oldest first, with ids; all if ``most`` is -1."""
        rows = self.connection.execute(
            "SELECT id, body FROM events WHERE id > ? ORDER BY id LIMIT ?", (after, most)
        ).fetchall()
        return [(number, body) for number, body in rows if number not in self._removed]

    def pending(self) -> int:
        """How many events wait."""
        return self._count

    def dead_count(self) -> int:
        """How many dead letters are kept."""
        return int(self.connection.execute("SELECT count(*) FROM dead").fetchone()[0])

    def counters(self) -> dict[str, int]:
        """What happened since this file was made: ``delivered``, ``dead``, ``dropped:...``."""
        return dict(self.connection.execute("SELECT name, value FROM counters").fetchall())

    def count_dropped(self, reason: str, number: int = 1) -> None:
        """Count a loss that happened before the store."""
        with self._transaction():
            self._add(DROPPED + reason, number)

    def copy_to(self, path: str) -> None:
        """Write all of it into the empty file ``path``."""
        self.connection.execute("VACUUM INTO ?", (path,))

    def close(self) -> None:
        """Close the file; the write-ahead log is folded into it."""
        self.connection.close()

    @contextmanager
    def _transaction(self) -> Iterator[Any]:
        run = self.connection.execute
        run("BEGIN IMMEDIATE")
        try:
            yield run
            run("COMMIT")
        except BaseException:
            if self.connection.in_transaction:
                self.connection.rollback()
            raise

    def _add(self, name: str, number: int) -> None:
        self.connection.execute(
            "INSERT INTO counters VALUES (?, ?)"
            " ON CONFLICT (name) DO UPDATE SET value = value + excluded.value",
            (name, number),
        )

    def _expire(self) -> None:
        """Drop what waited too long. A clock that jumps back makes nothing old."""
        now = time.time()
        if 0 <= now - self._expired_at < min(EXPIRY_SECONDS, self._max_age):
            return
        self._expired_at = now
        oldest = now - self._max_age
        run = self.connection.execute
        old = run("SELECT id, size FROM events WHERE created < ?", (oldest,)).fetchall()
        with suppress(sqlite3.OperationalError):  # a full disk cannot forget; later, then
            self._drop("too_old", [row for row in old if row[0] not in self._removed])
            run("DELETE FROM dead WHERE died < ?", (oldest,))
        self._dead_bytes = int(run("SELECT coalesce(sum(size), 0) FROM dead").fetchone()[0])

    def _drop(self, reason: str, rows: list[tuple[int, int]]) -> None:
        if not rows:
            return
        with self._transaction() as run:
            for number, _ in rows:
                run("DELETE FROM events WHERE id = ?", (number,))
            self._add(DROPPED + reason, len(rows))
        self._count -= len(rows)
        self._bytes -= sum(size for _, size in rows)

    def _size_of(self, number: int) -> int | None:
        row = self.connection.execute("SELECT size FROM events WHERE id = ?", (number,)).fetchone()
        return None if row is None else int(row[0])

    def _bound_dead(self) -> None:
        while self._dead_bytes > self._max_bytes // DEAD_SHARE:
            number, size = self.connection.execute(
                "SELECT id, size FROM dead ORDER BY id LIMIT 1"
            ).fetchone()
            with self._transaction() as run:
                run("DELETE FROM dead WHERE id = ?", (number,))
                self._add(DROPPED + "dead_letters_full", 1)
            self._dead_bytes -= size
