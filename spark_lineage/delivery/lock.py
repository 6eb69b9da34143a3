"""Who owns a spool: a lock on a side file, gone when its process is gone."""

from __future__ import annotations

import contextlib
import os
from enum import Enum

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


class Held(Enum):
    """What came of asking for a lock."""

    HERE = "held by us"
    ELSEWHERE = "held by another"
    UNKNOWN = "this file system has no locks"


class OwnerLock:
    """A lock on ``path``, held until :meth:`release` or the end of this process.

    Where files cannot be locked (Windows, some network file systems) the answer
    is ``UNKNOWN``: then SQLite's own exclusive lock keeps two owners apart, and
    nobody takes over another's spool.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._file: int | None = None

    def acquire(self) -> Held:
        """Ask for the lock, without waiting. Raises ``OSError`` where the file cannot be made."""
        if fcntl is None:
            return Held.UNKNOWN
        while True:
            file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(file)
                return Held.ELSEWHERE
            except OSError:
                os.close(file)
                return Held.UNKNOWN
            if self._is_current(file):
                self._file = file
                return Held.HERE
            # An owner that finished has removed the file between our two steps.
            os.close(file)

    def release(self, remove: bool = False) -> None:
        """Give the lock up; with ``remove``, its file goes too."""
        if remove:
            with contextlib.suppress(OSError):
                os.unlink(self.path)
        self.forget()

    def forget(self) -> None:
        """Close the file. In a forked child this leaves the parent's lock alone."""
        file, self._file = self._file, None
        if file is not None:
            with contextlib.suppress(OSError):
                os.close(file)

    def _is_current(self, file: int) -> bool:
        try:
            there = os.stat(self.path)
        except FileNotFoundError:
            return False
        here = os.fstat(file)
        return (here.st_dev, here.st_ino) == (there.st_dev, there.st_ino)
