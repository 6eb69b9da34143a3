"""One hook for this process that makes delivery inert in a forked child.

A child of ``fork`` has no worker thread, may have been forked while another
thread held a lock, and would send its parent's events a second time. What is
registered here drops all that in the child; the parent goes on.
"""

from __future__ import annotations

import os
import weakref
from typing import Any, Protocol


class Forkable(Protocol):
    """What must forget its threads, locks and files in a forked child."""

    def after_fork(self) -> None:
        """Become inert: take no lock that may be held, close nothing that is shared."""


_REGISTERED: weakref.WeakSet[Any] = weakref.WeakSet()


def register(thing: Forkable) -> None:
    """Have ``thing.after_fork`` called in each child that this process forks."""
    _REGISTERED.add(thing)


def _after_fork_in_child() -> None:
    for thing in list(_REGISTERED):
        thing.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
