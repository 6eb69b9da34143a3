"""What a transport is."""

from __future__ import annotations

from typing import Any, Protocol

ANSWER_LIMIT = 2_000  # characters of an answer that are kept


class Transport(Protocol):
    """Hands one event to its target, and says whether the target has it.

    It never retries: the worker owns retry. It is used by one thread at a time.
    """

    description: str
    """The target as a person reads it; without credentials."""

    def send(self, event: dict[str, Any], timeout: float | None = None) -> None:
        """Return once the target has the event; it takes at most ``timeout`` seconds.

        ``timeout`` None is the transport's own. Raises :class:`RetriableError`
        where later it may work (also where it is not known), :class:`RejectedError`
        where the target will never take this event.
        """

    def close(self) -> None:
        """Let go of connections and files."""
