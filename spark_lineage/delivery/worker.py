"""The one thread that takes events out of the spool and to their target.

First in first out, one event at a time: a START is with the target before its
run's end is tried. It owns all retry; no wait of it is longer than its deadline,
and each can be interrupted.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from typing import Any

from spark_lineage.delivery import fork
from spark_lineage.delivery.spool import Entry, Spool
from spark_lineage.delivery.transports.base import Transport
from spark_lineage.errors import RejectedError, RetriableError

FIRST_PAUSE = 0.5
LONGEST_PAUSE = 60.0
URGENT_PAUSE = 0.25  # while somebody waits in `flush`
SUMMARY_SECONDS = 60.0
ENDING_SECONDS = 0.25  # of a close's time, kept for the thread to end
UNEXPECTED_LIMIT = 5  # attempts at one event that fail by a fault of our own

_LOGGER = logging.getLogger("spark_lineage.delivery")


class Worker:
    """Delivers what is in ``spool`` through ``transport``; owns both from now on.

    All public methods may be called from any thread. In a forked child they do
    nothing: the parent delivers.
    """

    def __init__(self, spool: Spool, transport: Transport) -> None:
        self._spool = spool
        self._transport = transport
        self._orphans: list[Spool] = []
        self._failures = 0  # in a row
        self._unexpected: tuple[int, int] = (0, 0)  # the event's id, attempts
        self._attempts = self._failed = 0
        self._log = _Log(transport.description)
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
        with self._condition:
            self._flushing += 1
            self._woken = True
            self._condition.notify_all()
            try:
                while self._is_alive():
                    if self._waiting(everything) == 0:
                        return True
                    left = deadline - time.monotonic()
                    if left <= 0:
                        return False
                    self._condition.wait(min(left, 0.5))
            finally:
                self._flushing -= 1
        self._drain(deadline, everything)
        return self._waiting(everything) == 0

    def close(self, timeout: float) -> bool:
        """Flush, end the thread, let go of spool and transport, within ``timeout`` seconds.

        Gives what :meth:`flush` gave; what is left stays in the spool for the next
        agent. A post under way at the deadline ends by itself, behind our back.
        """
        if self._inert:
            return True
        deadline = time.monotonic() + timeout
        done = self.flush(timeout - min(ENDING_SECONDS, timeout / 4))
        with self._condition:
            self._stopping = True
            self._condition.notify_all()
            thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(max(0.0, deadline - time.monotonic()))
        if not self._is_alive():
            self._release()
        return done

    def counts(self) -> dict[str, Any]:
        """The spool's counts, and ``attempts`` and ``failed`` posts of this worker."""
        return {**self._spool.counts(), "attempts": self._attempts, "failed": self._failed}

    def after_fork(self) -> None:
        """In a forked child: no thread, no spool, no locks of the parent's."""
        self._inert = True
        self._orphans = []
        self._reset()

    def _is_alive(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def _run(self) -> None:
        while not self._stopping:
            try:
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
        """Try one event. Gives how long to pause (None: nothing waits), and whether it must be."""
        left = None if deadline is None else max(0.0, deadline - time.monotonic())
        if not self._sending.acquire(timeout=-1 if left is None else left):
            return 0.0, False
        try:
            found = self._next()
            if found is None:
                return None, False
            spool, entry = found
            self._attempts += 1
            try:
                self._transport.send(entry.event, left)
            except RejectedError as error:
                self._failed += 1
                spool.bury(entry, str(error), error.answer)
                self._log.rejected(error)
            except RetriableError as error:
                return self._retry(error, error.retry_after)
            except Exception as error:
                if not self._is_hopeless(entry):
                    return self._retry(error, None)
                spool.bury(entry, f"{type(error).__name__}: {error}", "")
                self._log.rejected(error)
            else:
                spool.done(entry)
            if self._failures:
                self._failures = 0
                self._log.recovered()
        finally:
            self._sending.release()
        with self._condition:
            self._condition.notify_all()
        return 0.0, False

    def _next(self) -> tuple[Spool, Entry] | None:
        entry = self._spool.head()
        if entry is not None:
            return self._spool, entry
        while self._orphans:
            orphan = self._orphans[0]
            entry = orphan.head()
            if entry is not None:
                return orphan, entry
            self._orphans.pop(0).close()
        return None

    def _retry(self, error: Exception, retry_after: float | None) -> tuple[float, bool]:
        self._failed += 1
        self._failures += 1
        self._log.failure(self._transport.description, error, self._spool)
        if retry_after is not None:
            return max(0.01, retry_after * random.uniform(1.0, 1.1)), True
        return self._back_off(), False

    def _is_hopeless(self, entry: Entry) -> bool:
        """Whether an event failed so often by a fault of ours that it must not block the rest."""
        number, attempts = self._unexpected
        attempts = attempts + 1 if number == entry.id else 1
        self._unexpected = (entry.id, attempts)
        return attempts >= UNEXPECTED_LIMIT

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
        spools = [self._spool, *self._orphans] if everything else [self._spool]
        return sum(spool.pending() for spool in spools)

    def _drain(self, deadline: float, everything: bool) -> None:
        """Deliver in the caller's thread until the spool is empty or time is up."""
        while self._waiting(everything) and not self._released:
            try:
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
            orphans, self._orphans = self._orphans, []
        for spool in (self._spool, *orphans):
            spool.close()
        self._transport.close()


class _Log:
    """One line at the first failure, then a summary at most each minute."""

    def __init__(self, target: str) -> None:
        self._target = target
        self._failing_since: float | None = None
        self._told_at = 0.0
        self._refused_told_at = 0.0
        self._refused = 0

    def failure(self, what: str, error: Exception, spool: Spool) -> None:
        now = time.monotonic()
        text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        if self._failing_since is None:
            self._failing_since = self._told_at = now
            _LOGGER.warning(
                "lineage events cannot be delivered to %s (%s); they wait in %s until they can",
                what,
                error if isinstance(error, RetriableError) else text,
                spool.path or "memory",
            )
        elif now - self._told_at >= SUMMARY_SECONDS:
            self._told_at = now
            _LOGGER.warning(
                "for %.0f s lineage events could not be delivered to %s (%s); %d wait",
                now - self._failing_since,
                what,
                error if isinstance(error, RetriableError) else text,
                spool.pending(),
            )

    def recovered(self) -> None:
        if self._failing_since is not None:
            _LOGGER.info("lineage events are delivered to %s again", self._target)
            self._failing_since = None

    def rejected(self, error: Exception) -> None:
        now = time.monotonic()
        self._refused += 1
        if self._refused == 1 or now - self._refused_told_at >= SUMMARY_SECONDS:
            self._refused_told_at = now
            _LOGGER.warning(
                "%s refused lineage events, %d so far (%s); they are kept as dead letters",
                self._target,
                self._refused,
                error,
            )
