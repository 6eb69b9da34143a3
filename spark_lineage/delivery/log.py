"""What a worker says: a line at the first failure, then a summary at most each minute."""

from __future__ import annotations

import logging
import time

from spark_lineage.delivery.spool import Spool
from spark_lineage.errors import RetriableError

SUMMARY_SECONDS = 60.0

_LOGGER = logging.getLogger("spark_lineage.delivery")


class DeliveryLog:
    """The log of one target."""

    def __init__(self, target: str) -> None:
        self._target = target
        self._failing_since: float | None = None
        self._told_at = 0.0
        self._refused_told_at = 0.0
        self._refused = 0
        self._shrunk_told_at: float | None = None
        self._shrunk = 0

    def failure(self, what: str, error: Exception, spool: Spool) -> None:
        """An attempt failed that will be repeated."""
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
        """An attempt succeeded."""
        if self._failing_since is not None:
            _LOGGER.info("lineage events are delivered to %s again", self._target)
            self._failing_since = None

    def rejected(self, error: Exception) -> None:
        """An event became a dead letter."""
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

    def shrunk(self, without: list[str]) -> None:
        """An event was taken after facets were left out."""
        now = time.monotonic()
        self._shrunk += 1
        if self._shrunk_told_at is None or now - self._shrunk_told_at >= SUMMARY_SECONDS:
            self._shrunk_told_at = now
            _LOGGER.warning(
                "%s found lineage events too large, %d so far; the last went without %s",
                self._target,
                self._shrunk,
                ", ".join(without),
            )
