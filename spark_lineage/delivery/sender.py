"""One attempt: the oldest event of a spool, or several, to the target, and what came of it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from spark_lineage.delivery.log import DeliveryLog
from spark_lineage.delivery.spool import Entry, Spool
from spark_lineage.delivery.transports.base import (
    BatchTransport,
    TooLargeError,
    Transport,
    UnsettledError,
)
from spark_lineage.errors import DeliveryError, RejectedError, RetriableError
from spark_lineage.openlineage import shrink

BATCH_BYTES = 1 << 20
GROWTH = 4  # after a success that many times more events at once, up to the ceiling
CEILING = 1 << 20
UNEXPECTED_LIMIT = 5  # attempts at one event that fail by a fault of our own
SUSPECT_ATTEMPTS = 8  # at one event, until it is asked whether the target takes others
LOOK_AHEAD = 200


class Sender:
    """Hands events over in their order. Not thread-safe: the worker holds its lock.

    Of several events that go at once, what follows the first one that has to be
    repeated is repeated too: so a run's start is never told after its end.
    """

    def __init__(self, transport: Transport, log: DeliveryLog) -> None:
        self._transport = transport
        self._log = log
        self._together = CEILING  # how many events may go at once, next time
        # Half of what failed at once; it rises by a tenth with each batch that is taken, so
        # that a slow target gets as many as it can take in the time of one post.
        self._ceiling = CEILING
        self._failing: tuple[Any, int] = (None, 0)  # which event, attempts in a row
        self.attempts = self.failed = self.shrunk = 0
        self.delivered = self.refused = 0  # from all spools

    def send(self, spool: Spool, deadline: float | None) -> bool:
        """Send what is oldest in ``spool``; False if nothing waits there.

        It ends at ``deadline``, a ``time.monotonic()``. Raises what is to be tried
        again later; nothing has left the spool then.
        """
        transport = self._transport
        batch = transport if isinstance(transport, BatchTransport) else None
        most = min(self._together, batch.most) if batch else 1
        entries = spool.heads(most, BATCH_BYTES)
        if not entries:
            return False
        if batch is None or len(entries) == 1 or not self._several(batch, spool, entries, deadline):
            self._one(spool, entries[0], deadline)
            self._together = min(self._together * GROWTH, self._ceiling)
        return True

    def _several(
        self, transport: BatchTransport, spool: Spool, entries: list[Entry], deadline: float | None
    ) -> bool:
        """Send a batch; False if it settled nothing, so that the first has to go alone."""
        self.attempts += 1
        try:
            verdicts = transport.send_batch([entry.event for entry in entries], _left(deadline))
        except Exception:
            self.failed += 1
            self._together = 1
            self._ceiling = max(1, len(entries) // 2)
            raise
        if len(verdicts) < len(entries):
            self._together = 1
        else:
            if len(entries) >= self._ceiling:
                self._ceiling = min(CEILING, self._ceiling + max(1, self._ceiling // 10))
            self._together = min(len(entries) * GROWTH, self._ceiling)
        taken: list[Entry] = []
        for entry, verdict in zip(entries, verdicts, strict=False):
            if verdict is None:
                taken.append(entry)
                continue
            self._done(spool, *taken)
            taken.clear()
            self._bury(spool, entry, verdict)
        self._done(spool, *taken)
        return bool(verdicts)

    def _one(self, spool: Spool, entry: Entry, deadline: float | None) -> None:
        try:
            self._fitted(spool, entry, deadline)
        except RejectedError as error:
            self._bury(spool, entry, error)
        except UnsettledError as error:
            if not self._is_to_blame(spool, entry, deadline):
                raise
            reason = f"{error}, {self._failing[1]} times, while the target takes other events"
            self._bury(spool, entry, RejectedError(reason))
        except RetriableError:
            raise
        except Exception as error:
            if self._repeated(entry) < UNEXPECTED_LIMIT:
                raise
            self._bury(spool, entry, RejectedError(f"{type(error).__name__}: {error}"))

    def _fitted(self, spool: Spool, entry: Entry, deadline: float | None) -> None:
        """Send an event; as long as it is too large, a smaller one in its place."""
        event = entry.event
        while True:
            try:
                self._try(event, deadline)
            except TooLargeError as error:
                smaller = shrink.smaller(event)
                if smaller is None:
                    raise
                if _left(deadline) == 0.0:
                    raise RetriableError(f"{error}; no time left to make it smaller") from error
                event = smaller
                continue
            if event is not entry.event:
                self.shrunk += 1
            self._done(spool, entry)
            if event is not entry.event:
                self._log.shrunk(event["run"]["facets"][shrink.QUALITY][shrink.DROPPED])
            return

    def _try(self, event: dict[str, Any], deadline: float | None) -> None:
        self.attempts += 1
        try:
            self._transport.send(event, _left(deadline))
        except Exception:
            self.failed += 1
            raise

    def _done(self, spool: Spool, *entries: Entry) -> None:
        # Counted first: who sees that nothing waits any more must find these delivered.
        self.delivered += len(entries)
        try:
            spool.done(*entries)
        except BaseException:
            self.delivered -= len(entries)
            raise

    def _bury(self, spool: Spool, entry: Entry, error: RejectedError) -> None:
        self.refused += 1
        try:
            spool.bury(entry, str(error), error.answer)
        except BaseException:
            self.refused -= 1
            raise
        self._log.rejected(error)

    def _repeated(self, entry: Entry) -> int:
        """How often in a row this event has failed, this time included."""
        which, attempts = self._failing
        this = (id(entry.store), entry.id)
        self._failing = (this, attempts + 1 if which == this else 1)
        return self._failing[1]

    def _is_to_blame(self, spool: Spool, entry: Entry, deadline: float | None) -> bool:
        """Whether it is this event that the target cannot take, since it takes another.

        The other is the first of any other run, so that no order is broken; it stays
        in the spool and goes again when it is its turn. Only what fails before and
        after is to blame: between the two the target may have come back.
        """
        if self._repeated(entry) < SUSPECT_ATTEMPTS:
            return False
        other = _of_another_run(spool.heads(LOOK_AHEAD, BATCH_BYTES), entry)
        if other is None:
            return False
        try:
            self._try(other.event, deadline)
        except DeliveryError:
            return False
        try:
            self._try(entry.event, deadline)
        except UnsettledError:
            return True
        except DeliveryError:
            return False
        return False  # it is taken after all, and goes again when it is retried


def _of_another_run(entries: Sequence[Entry], entry: Entry) -> Entry | None:
    run = _run(entry)
    return next((other for other in entries if _run(other) != run), None)


def _run(entry: Entry) -> Any:
    return (entry.event.get("run") or {}).get("runId")


def _left(deadline: float | None) -> float | None:
    return None if deadline is None else max(0.0, deadline - time.monotonic())
