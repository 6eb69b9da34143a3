"""The one thread that takes events out of the spool and to their target.

First in first out: a START is with the target before its run's end is tried, or
in one batch with it. It owns all retry; no wait of it is longer than its
deadline, and each can be interrupted.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from spark_lineage.delivery import fork
from spark_lineage.delivery.log import DeliveryLog
from spark_lineage.delivery.sender import Sender
from spark_lineage.delivery.spool import Spool
from spark_lineage.delivery.transports.base import Transport
from spark_lineage.errors import RetriableError

FIRST_PAUSE = 0.5
LONGEST_PAUSE = 60.0
URGENT_PAUSE = 0.25  # while somebody waits in `flush`
ENDING_SECONDS = 0.25  # of a close's time, kept for the thread to end
ORPHAN_SECONDS = 300.0  # how often spools of dead owners are looked for

Losses = dict[str, int]
Find = Callable[[Callable[[Losses], None]], Iterable[Spool]]
"""Gives spools whose owners are dead; is given a function that takes what they have lost."""

_LOGGER = logging.getLogger("spark_lineage.delivery")


def ending(timeout: float) -> float:
    """What of a close's time is kept for threads to end."""
    return min(ENDING_SECONDS, timeout / 4)


class Worker:
    """Delivers what is in ``spool`` through ``transport``; owns both from now on.

    ``find`` is asked for spools that others have left, at the start and every
    five minutes, as long as the target takes events.

    All public methods may be called from any thread. In a forked child they do
    nothing: the parent delivers.
    """

    def __init__(self, spool: Spool, transport: Transport, find: Find | None = None) -> None:
        self._spool = spool
        self._transport = transport
        self._find = find
        self._look_at = 0.0
        self._orphans: list[Spool] = []
        self._lost: Losses = {}  # of orphans that are closed
        self._failures = 0  # in a row
        self._log = DeliveryLog(transport.description)
        self._sender = Sender(transport, self._log)
        self._inert = False
        self._reset()
        fork.register(self)

    def _reset(self) -> None:
        self._condition = threading.Condition()
        self._sending = threading.Lock()
        self._thread: threading.Thread | None = None
        self._started = self._stopping = self._released = self._woken = False
        self._flushing = 0

    def start(self) -> None:
        """Start the thread. Where none can be started (interpreter exit), ``flush`` delivers."""
        with self._condition:
            if self._inert or self._started or self._stopping:
                return
            self._started = True
            thread = threading.Thread(target=self._run, name="spark-lineage-delivery", daemon=True)
            try:
                thread.start()
            except RuntimeError as error:
                _LOGGER.debug("no delivery thread: %s", error)
                return
            self._thread = thread

    def wake(self) -> None:
        """Say that the spool has something new. It does not cut a back-off short."""
        with self._condition:
            self._woken = True
            self._condition.notify_all()

    def take_over(self, orphan: Spool) -> None:
        """Deliver another's spool too (see ``spool.adopt``), whenever our own is empty."""
        with self._condition:
            if not (self._inert or self._stopping):
                self._orphans.append(orphan)
                self._woken = True
                self._condition.notify_all()
                return
        orphan.close()

    def flush(self, timeout: float, everything: bool = False) -> bool:
        """Wait until our own spool is empty; False if ``timeout`` seconds were not enough.

        With ``everything``, until the spools that were taken over are empty too.
        It tries at once and often what is backing off, unless the target named a
        time by ``Retry-After``. Without a thread it delivers in this one.
        """
        if self._inert:
            return True
        deadline = time.monotonic() + timeout
        with self.hurried(), self._condition:
            while self.has_thread:
                if self._waiting(everything) == 0:
                    return True
                left = deadline - time.monotonic()
                if left <= 0:
                    return False
                self._condition.wait(min(left, 0.5))
        self._drain(deadline, everything)
        return self._waiting(everything) == 0

    @contextmanager
    def hurried(self) -> Iterator[None]:
        """Within, no back-off is longer than a moment, unless the target named a time."""
        with self._condition:
            self._flushing += 1
            self._woken = True
            self._condition.notify_all()
        try:
            yield
        finally:
            with self._condition:
                self._flushing -= 1

    def close(self, timeout: float) -> bool:
        """Flush, end the thread, let go of spool and transport, within ``timeout`` seconds.

        Gives what :meth:`flush` gave; what is left stays in the spool for the next
        agent. A post under way at the deadline ends by itself, behind our back.
        """
        if self._inert:
            return True
        deadline = time.monotonic() + timeout
        done = self.flush(timeout - ending(timeout))
        self.end(deadline)
        return done

    def stop(self) -> None:
        """Have the thread end, without a wait."""
        with self._condition:
            self._stopping = True
            self._condition.notify_all()

    def end(self, deadline: float) -> None:
        """End the thread, with a wait up to ``deadline`` (a ``time.monotonic()``), and let go."""
        if self._inert:
            return
        self.stop()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(max(0.0, deadline - time.monotonic()))
        if not self.has_thread:
            self._release()

    def counts(self) -> dict[str, Any]:
        """The spool's counts, and ``attempts``, ``failed`` posts and ``shrunk`` events.

        ``dropped`` has in it what spools that were taken over have lost since.
        """
        counts, sender = self._spool.counts(), self._sender
        with self._condition:
            lost, orphans = dict(self._lost), list(self._orphans)
        for losses in (lost, *(orphan.losses() for orphan in orphans)):
            _add(counts["dropped"], losses)
        told = {"attempts": sender.attempts, "failed": sender.failed, "shrunk": sender.shrunk}
        return {**counts, **told}

    def totals(self) -> dict[str, int]:
        """``delivered``, ``refused`` by this worker and ``pending``, of all spools it has had."""
        return {
            "delivered": self._sender.delivered,
            "refused": self._sender.refused,
            "pending": sum(spool.pending() for spool in self._spools()),
        }

    def undelivered(self) -> list[Spool]:
        """The spools in which something waits or lies dead, our own first."""
        return [spool for spool in self._spools() if spool.pending() or spool.counts()["dead"]]

    def after_fork(self) -> None:
        """In a forked child: no thread, no spool, no locks of the parent's."""
        self._inert = True
        self._orphans = []
        self._reset()

    @property
    def has_thread(self) -> bool:
        """Whether a thread delivers; else :meth:`flush` does."""
        return self._thread is not None and self._thread.is_alive()

    def _run(self) -> None:
        while not self._stopping:
            try:
                self._look_for_orphans()
                pause, patient = self._step(None)
            except Exception as error:  # a fault of the spool, such as a disk's
                self._failures += 1
                self._log.failure("spool", error, self._spool)
                pause, patient = self._back_off(), False
            if pause is None:
                self._idle()
            elif pause > 0:
                self._pause(pause, patient)
        self._release()

    def _step(self, deadline: float | None) -> tuple[float | None, bool]:
        """Try once. Gives how long to pause (None: nothing waits), and whether it must be."""
        left = None if deadline is None else max(0.0, deadline - time.monotonic())
        if not self._sending.acquire(timeout=-1 if left is None else left):
            return 0.0, False
        try:
            if not self._send(deadline):
                return None, False
            if self._failures:
                self._failures = 0
                self._log.recovered()
        except RetriableError as error:
            return self._retry(error, error.retry_after)
        except Exception as error:
            return self._retry(error, None)
        finally:
            self._sending.release()
        with self._condition:
            self._condition.notify_all()
        return 0.0, False

    def _send(self, deadline: float | None) -> bool:
        """Send from our own spool, else from one that was taken over; False if nothing waits."""
        if self._sender.send(self._spool, deadline):
            return True
        while self._orphans:
            orphan = self._orphans[0]
            try:
                if self._sender.send(orphan, deadline):
                    return True
            except Exception:
                with self._condition:  # it may be this one's fault
                    self._orphans.sort(key=lambda each: each is orphan)
                raise
            self._let_go(orphan)
        return False

    def _look_for_orphans(self) -> None:
        now = time.monotonic()
        if self._find is None or self._failures or now < self._look_at:
            return
        for orphan in self._find(self._lose):
            self.take_over(orphan)
        self._look_at = now + ORPHAN_SECONDS * random.uniform(0.8, 1.2)

    def _let_go(self, orphan: Spool) -> None:
        losses = orphan.losses()
        with self._condition:
            # Both at once: who counts meanwhile finds the losses in one of the two places.
            self._orphans = [each for each in self._orphans if each is not orphan]
            _add(self._lost, losses)
        orphan.close()

    def _lose(self, losses: Losses) -> None:
        with self._condition:
            _add(self._lost, losses)

    def _spools(self) -> list[Spool]:
        """Our own first, then those that were taken over."""
        with self._condition:
            return [self._spool, *self._orphans]

    def _retry(self, error: Exception, retry_after: float | None) -> tuple[float, bool]:
        self._failures += 1
        self._log.failure(self._transport.description, error, self._spool)
        if retry_after is not None:
            return max(0.01, retry_after * random.uniform(1.0, 1.1)), True
        return self._back_off(), False

    def _back_off(self) -> float:
        longest = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(self._failures - 1, 10))
        return longest * random.uniform(0.5, 1.0)

    def _idle(self) -> None:
        with self._condition:
            while not (self._woken or self._stopping):
                # Woken by `wake`; the limit only heals a wake-up that was forgotten.
                if not self._condition.wait(LONGEST_PAUSE):
                    break
            self._woken = False

    def _pause(self, seconds: float, patient: bool) -> None:
        began = time.monotonic()
        with self._condition:
            while not self._stopping:
                hurried = self._flushing and not patient
                limit = min(seconds, URGENT_PAUSE) if hurried else seconds
                left = began + limit - time.monotonic()
                if left <= 0:
                    return
                self._condition.wait(left)

    def _waiting(self, everything: bool) -> int:
        if not everything:
            return self._spool.pending()
        unknown = self._find is not None and self._look_at == 0.0
        return unknown + sum(spool.pending() for spool in self._spools())

    def _drain(self, deadline: float, everything: bool) -> None:
        """Deliver in the caller's thread until the spool is empty or time is up."""
        while self._waiting(everything) and not self._released:
            try:
                if everything:
                    self._look_for_orphans()
                pause, patient = self._step(deadline)
            except Exception as error:
                self._failures += 1
                self._log.failure("spool", error, self._spool)
                pause, patient = self._back_off(), False
            left = deadline - time.monotonic()
            if pause is None or left <= 0:
                return
            if pause > 0:
                wait = pause if patient else min(pause, URGENT_PAUSE)
                time.sleep(min(wait, left))

    def _release(self) -> None:
        with self._condition:
            if self._released:
                return
            self._released = True
            orphans = list(self._orphans)
        self._spool.close()
        for orphan in orphans:
            self._let_go(orphan)
        self._transport.close()


def _add(counts: Losses, more: Losses) -> None:
    for reason, number in more.items():
        counts[reason] = counts.get(reason, 0) + number
