"""The files of a spool: private, removed together, found by their names."""

from __future__ import annotations

import contextlib
import os
import re

from spark_lineage.delivery.lock import Held, OwnerLock

NAME = re.compile(r"events-[^@]+(?:@(?P<target>[^@]+))?\.db")


def name_of(application: str, target: str, number: int) -> str:
    """The name of a spool's file: that of the application, and of the target if there are many."""
    words = f"events-{_safe(application)}" + (f"-{number}" if number else "")
    return words + (f"@{_safe(target)}" if target else "") + ".db"


def target_of(name: str) -> str | None:
    """The target that a spool's file is for, empty if it names none; None if it is no spool."""
    match = NAME.fullmatch(name)
    return None if match is None else match["target"] or ""


def is_same(target: str, other: str) -> bool:
    """Whether two names of targets stand for the same in a file's name."""
    return target == other or bool(target and other and _safe(target) == _safe(other))


def _safe(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]", "_", name)[:150] or "_"


def make_private(path: str) -> None:
    """Make the file, readable by its owner only; SQLite's side files take its mode."""
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
    file = os.open(path, flags, 0o600)
    try:
        if hasattr(os, "fchmod"):
            os.fchmod(file, 0o600)
    finally:
        os.close(file)


def make_directory(path: str) -> None:
    """Make the directory of spools, for its owner only, if it is not there."""
    if not os.path.isdir(path):
        os.makedirs(path, mode=0o700, exist_ok=True)


def remove(path: str) -> None:
    """Remove a spool's file and SQLite's beside it."""
    for suffix in ("", "-wal", "-shm", "-journal"):
        with contextlib.suppress(OSError):
            os.unlink(path + suffix)


def set_aside(path: str) -> str:
    """Rename a spool's file, so that it can be looked at; gives the new name."""
    aside, number = path + ".corrupt", 1
    while os.path.exists(aside) and number < 100:
        aside, number = f"{path}.corrupt-{number}", number + 1
    for suffix in ("", "-wal"):
        with contextlib.suppress(FileNotFoundError):
            os.replace(path + suffix, aside + suffix)
    remove(path)
    return aside


def remove_stale_lock(path: str) -> None:
    """Remove a lock's file whose spool is gone."""
    with contextlib.suppress(OSError):
        lock = OwnerLock(path)
        if lock.acquire() is Held.HERE:
            lock.release(remove=not os.path.exists(path.removesuffix(".lock")))
