"""What happens to a failure inside the agent: counted and logged, never the job's.

Production code swallows what goes wrong here. Tests set :data:`on_failure` to
see each such exception again, so that none hides.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

logger = logging.getLogger("spark_lineage")

on_failure: Callable[[str, BaseException], None] | None = None

SUMMARY_SECONDS = 60.0


class Failures:
    """Counts failures by what was being done; logs the first, then at most one a minute."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()
        self._logged_at: float | None = None
        self._unlogged = 0

    def add(self, what: str, error: BaseException) -> None:
        """Count one failure and log it if it is its turn."""
        if on_failure is not None:
            on_failure(what, error)
        with self._lock:
            self._counts[what] += 1
            now = time.monotonic()
            if self._logged_at is not None and now - self._logged_at < SUMMARY_SECONDS:
                self._unlogged += 1
                return
            since, self._unlogged, self._logged_at = self._unlogged, 0, now
        more = f" ({since} more since the last message)" if since else ""
        logger.warning("%s failed: %s: %s%s", what, type(error).__name__, error, more)
        logger.debug("%s failed", what, exc_info=error)

    def counts(self) -> dict[str, int]:
        """How many failures there were, by what was being done."""
        with self._lock:
            return dict(self._counts)


@contextmanager
def guarded(failures: Failures, what: str) -> Iterator[None]:
    """Run a block whose failure must not go further."""
    try:
        yield
    except Exception as error:
        failures.add(what, error)
