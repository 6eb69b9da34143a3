"""Events as lines of a file."""

from __future__ import annotations

import contextlib
import json
import os
from typing import Any

from spark_lineage.errors import RetriableError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


class FileTransport:
    """Appends each event as one line of JSON to ``path``.

    Several processes may append to one file: a line is one write, under a lock
    where the file system has one, and is taken back if only part of it fits.
    """

    def __init__(self, path: str) -> None:
        self._path = os.path.expanduser(path.removeprefix("file://"))
        self.description = f"file {self._path}"

    def send(self, event: dict[str, Any], timeout: float | None = None) -> None:
        """Append one line; any fault of the disk may pass, so it is retriable."""
        line = json.dumps(event, separators=(",", ":")).encode("ascii") + b"\n"
        try:
            folder = os.path.dirname(self._path)
            if folder:
                os.makedirs(folder, exist_ok=True)
            # Opened each time, so that a file may be rotated away.
            file = os.open(
                self._path,
                os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0),
                0o666,
            )
            try:
                self._append(file, line)
            finally:
                os.close(file)
        except OSError as error:
            raise RetriableError(
                f"cannot append to {self._path}: {error.strerror or error}"
            ) from error

    def _append(self, file: int, line: bytes) -> None:
        if fcntl is not None:
            with contextlib.suppress(OSError):  # no locks on this file system
                fcntl.flock(file, fcntl.LOCK_EX)
        before = os.fstat(file).st_size
        if before and hasattr(os, "pread") and os.pread(file, 1, before - 1) != b"\n":
            line = b"\n" + line  # an earlier writer died in the middle of its line
        written = os.write(file, line)
        if written != len(line):
            os.ftruncate(file, before)
            raise OSError(f"only {written} of {len(line)} bytes could be written")

    def close(self) -> None:
        """Nothing is held open."""
