"""Every error of this package, as one tree.

::

    SparkLineageError
    ├── ConfigError          a setting is wrong
    ├── RecordError          a record of the bridge cannot be read
    ├── LineageError         a plan's lineage cannot be derived
    ├── DeliveryError        an event cannot be delivered (now, or ever)
    │   ├── RetriableError   later it may work
    │   └── RejectedError    the target will never take this event
    ├── BridgeError          the bridge cannot be loaded or does not answer
    └── CollectorError       a question to the collector has no answer
        └── NotFoundError    the named thing is not known
"""

from __future__ import annotations


class SparkLineageError(Exception):
    """The base of every error that this package raises."""


class ConfigError(SparkLineageError):
    """A setting is wrong: says which key, its value, and what is allowed."""

    def __init__(self, key: str, value: object, allowed: str) -> None:
        super().__init__(f"{key} is {value!r}; allowed: {allowed}")
        self.key = key
        self.value = value
        self.allowed = allowed


class RecordError(SparkLineageError):
    """A record of the bridge is of an unknown version or malformed."""


class LineageError(SparkLineageError):
    """The lineage of a plan cannot be derived."""


class DeliveryError(SparkLineageError):
    """An event could not be delivered."""


class RetriableError(DeliveryError):
    """The target did not take the event now; ``retry_after`` is in seconds, if it said."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class RejectedError(DeliveryError):
    """The target will never take this event; ``answer`` is what it said."""

    def __init__(self, message: str, answer: str = "") -> None:
        super().__init__(message)
        self.answer = answer


class BridgeError(SparkLineageError):
    """The bridge cannot be loaded into the JVM, or does not answer."""


class CollectorError(SparkLineageError):
    """A question to the collector could not be answered."""


class NotFoundError(CollectorError):
    """The named data set, column or run is not known; says what is near."""
