"""What a transport is, and how it says that a target has not got an event."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from spark_lineage.errors import RejectedError, RetriableError

ANSWER_LIMIT = 2_000  # characters of an answer that are kept

Event = dict[str, Any]


class Transport(Protocol):
    """Hands one event to its target, and says whether the target has it.

    It never retries: the worker owns retry. It is used by one thread at a time.
    """

    description: str
    """The target as a person reads it; without credentials."""

    def send(self, event: Event, timeout: float | None = None) -> None:
        """Return once the target has the event; it takes at most ``timeout`` seconds.

        ``timeout`` None is the transport's own. Raises :class:`RetriableError`
        where later it may work (also where it is not known), :class:`RejectedError`
        where the target will never take this event.
        """

    def close(self) -> None:
        """Let go of connections and files."""


@dataclass(frozen=True)
class Target:
    """One place where events go. It has a spool of its own, of which ``name`` is a part."""

    name: str
    """Empty where there is but one."""
    transport: Transport


@runtime_checkable
class BatchTransport(Protocol):
    """A transport that can hand over several events at once."""

    description: str
    most: int
    """How many events at once, at most; 1 where the target takes no batch."""

    def send(self, event: Event, timeout: float | None = None) -> None:
        """See :meth:`Transport.send`."""

    def send_batch(
        self, events: Sequence[Event], timeout: float | None = None
    ) -> list[RejectedError | None]:
        """Hand over events in their order; give what became of the first of them.

        None stands for one that the target has. A list that is shorter than
        ``events`` says nothing of the rest: it is to be sent again, the first
        of it alone. Raises :class:`RetriableError` where all are to be sent again.
        """

    def close(self) -> None:
        """See :meth:`Transport.close`."""


class UnsettledError(RetriableError):
    """The target was reached and did not take this event; it may be the event's fault."""


class TooLargeError(RejectedError):
    """The target takes no event of this size; a smaller one it may take."""
