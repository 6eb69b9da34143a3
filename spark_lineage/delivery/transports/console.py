"""Events in the log."""

from __future__ import annotations

import json
import logging
import sys
from typing import Any

LOGGER = "spark_lineage.console"


class _StderrHandler(logging.Handler):
    """Writes to what ``sys.stderr`` is when an event comes, not when this was made."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            sys.stderr.write(record.getMessage() + "\n")
            sys.stderr.flush()
        except Exception:
            self.handleError(record)


class ConsoleTransport:
    """Logs each event as one line of JSON to ``spark_lineage.console``.

    It goes to stderr unless that logger has handlers of its own: stdout belongs to
    the job, and in a sidecar nobody reads it.
    """

    description = "console"

    def __init__(self) -> None:
        self._logger = logging.getLogger(LOGGER)
        self._handler: logging.Handler | None = None
        if not self._logger.handlers:
            self._handler = _StderrHandler()
            self._logger.addHandler(self._handler)
            self._logger.setLevel(logging.INFO)
            self._logger.propagate = False

    def send(self, event: dict[str, Any], timeout: float | None = None) -> None:
        """Log the event."""
        self._logger.info("%s", json.dumps(event, separators=(",", ":")))

    def close(self) -> None:
        """Take the handler off again, if it is ours."""
        if self._handler is not None:
            self._logger.removeHandler(self._handler)
            self._logger.propagate = True
            self._handler = None


class NoTransport:
    """Takes every event and does nothing: OpenLineage's ``noop``."""

    description = "nowhere (OpenLineage is disabled)"

    def send(self, event: dict[str, Any], timeout: float | None = None) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""
