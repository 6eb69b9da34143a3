"""All targets of an application, each with a spool and a worker of its own.

One that is dead holds back no other, and fills no other's spool. This is what a
host puts its events into.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any

from spark_lineage.config import Settings
from spark_lineage.delivery import files, transports
from spark_lineage.delivery.archive import Archive
from spark_lineage.delivery.spool import Spool, adopt
from spark_lineage.delivery.worker import Losses, Worker, ending

ARCHIVE_SHARE = 0.4  # of a close's time, where there is an archive

Event = dict[str, Any]


class Delivery:
    """Takes events, keeps them in spools, and delivers them to each target.

    ``name`` names the spools' files (the application's id). Raises
    :class:`ConfigError` where the settings name no usable transport. All methods
    may be called from any thread; in a forked child they do nothing.
    """

    def __init__(
        self, settings: Settings, name: str, environ: Mapping[str, str] | None = None
    ) -> None:
        self._directory = settings.spool_dir
        self._bounds = (settings.spool_bytes, settings.spool_age)
        found = transports.targets(settings, environ)
        self._names = [target.name for target in found]
        self._spools = [
            Spool(self._directory, name, *self._bounds, target=target) for target in self._names
        ]
        self._workers = [
            Worker(spool, target.transport, partial(self._orphans, target.name))
            for spool, target in zip(self._spools, found, strict=True)
        ]
        self._archive = Archive(settings.spool_archive) if settings.spool_archive else None
        self.description = " and ".join(target.transport.description for target in found)

    def start(self) -> None:
        """Start to deliver, also what earlier agents on this machine have left."""
        if self._archive is not None:
            self._archive.start()
        for worker in self._workers:
            worker.start()

    def put(self, events: Sequence[Event], target: str | None = None) -> None:
        """Keep events for all targets, or for one by its name; then they survive a kill.

        A ``target`` that is not among them means the first. Raises
        :class:`DeliveryError` after :meth:`close`.
        """
        for number, spool in enumerate(self._spools):
            if target is None or number == self._number_of(target):
                spool.put(events)

    def wake(self) -> None:
        """Say that there is something new."""
        for worker in self._workers:
            worker.wake()

    def flush(self, timeout: float, everything: bool = False) -> bool:
        """Wait until each target has all; False if ``timeout`` seconds were not enough.

        With ``everything``, also what others had left.
        """
        deadline = time.monotonic() + timeout
        with ExitStack() as hurry:
            for worker in self._workers:
                hurry.enter_context(worker.hurried())
            return self._each(lambda worker, left: worker.flush(left, everything), deadline)

    def close(self, timeout: float) -> bool:
        """Flush, and let go of all within ``timeout`` seconds; gives what the flush gave.

        What is left stays in the spools, with a copy in the archive if there is one.
        """
        deadline = time.monotonic() + timeout
        share = ARCHIVE_SHARE if self._archive is not None else 0.0
        last = deadline - ending(timeout)
        done = self.flush((last - time.monotonic()) * (1 - share))
        if self._archive is not None:
            left = [spool for worker in self._workers for spool in worker.undelivered()]
            if left:
                self._archive.copy(left, max(0.0, last - time.monotonic()))
        for worker in self._workers:
            worker.stop()
        for worker in self._workers:
            worker.end(deadline)
        return done

    def counts(self) -> dict[str, Any]:
        """The counts of the worker, if there is one target.

        Of several: what all have had (``delivered``), what at least one has not
        (``pending``), the sums of the rest, and under ``targets`` those of each.
        """
        told = [worker.counts() for worker in self._workers]
        if len(told) == 1:
            return told[0]
        dropped: Losses = {}
        for each in told:
            for reason, number in each["dropped"].items():
                dropped[reason] = dropped.get(reason, 0) + number
        sums = {key: sum(each[key] for each in told) for key in told[0] if key != "dropped"}
        return {
            **sums,
            "delivered": min(each["delivered"] for each in told),
            "pending": max(each["pending"] for each in told),
            "dropped": dropped,
            "targets": dict(zip(self._names, told, strict=True)),
        }

    def totals(self) -> dict[str, int]:
        """``delivered``, ``refused`` and ``pending`` of all targets, with what others had left."""
        told = [worker.totals() for worker in self._workers]
        return {key: sum(each[key] for each in told) for key in told[0]}

    def _number_of(self, target: str) -> int:
        alike = (n for n, name in enumerate(self._names) if files.is_same(name, target))
        return next(alike, 0)

    def _each(self, act: Callable[[Worker, float], bool], deadline: float) -> bool:
        """Act on all workers. Those with a thread work side by side; others share the time."""
        done = True
        for number, worker in enumerate(self._workers):
            left = max(0.0, deadline - time.monotonic())
            if not worker.has_thread:
                left /= len(self._workers) - number
            done = act(worker, left) and done
        return done

    def _orphans(self, target: str, lost: Callable[[Losses], None]) -> Iterable[Spool]:
        """Spools of dead owners for a target; the first also takes those that name none."""

        def is_ours(other: str) -> bool:
            unnamed = other == "" and target == self._names[0]
            return unnamed or files.is_same(target, other)

        return adopt(self._directory, *self._bounds, is_ours=is_ours, lost=lost)
