"""Events into the store, many in one transaction: who waits is written with who is ahead.

Each caller returns when its events are on the disk. Whoever gets the lock writes
for all that wait, so that sixteen clients cost one flush of the disk and not
sixteen.
"""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass, field

from spark_lineage.collector.model import Event
from spark_lineage.collector.store import write
from spark_lineage.collector.store.engine import BusyError, Database

logger = logging.getLogger(__name__)
MOST_EVENTS = 500
# Of one event: False if it was here already, True if it is new, else what went wrong.
Outcome = bool | Exception


@dataclass
class _Ticket:
    events: list[Event]
    outcomes: list[Outcome] = field(default_factory=list)
    done: bool = False


class Writer:
    """Writes events to one database, in groups. Safe to use from several threads."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._waiting: list[_Ticket] = []
        self._queue = threading.Lock()
        self._turn = threading.Lock()

    def put(self, events: list[Event]) -> list[Outcome]:
        """Write events; for each whether it is new, or the exception that kept it out."""
        ticket = _Ticket(events)
        with self._queue:
            self._waiting.append(ticket)
        with self._turn:
            if not ticket.done:
                self._write(self._next(ticket))
        return ticket.outcomes

    def _next(self, mine: _Ticket) -> list[_Ticket]:
        """The tickets to write now: mine and those that wait, up to a limit."""
        with self._queue:
            group = [mine]
            self._waiting.remove(mine)
            count = len(mine.events)
            while self._waiting and count < MOST_EVENTS:
                group.append(self._waiting.pop(0))
                count += len(group[-1].events)
        return group

    def _write(self, group: list[_Ticket]) -> None:
        every = [event for ticket in group for event in ticket.events]
        outcomes = self._all_or_each(every)
        place = 0
        for ticket in group:
            ticket.outcomes = outcomes[place : place + len(ticket.events)]
            place += len(ticket.events)
            ticket.done = True

    def _all_or_each(self, events: list[Event]) -> list[Outcome]:
        try:
            with self._database.write() as connection:
                return list(write.apply_all(connection, events))
        except BusyError as error:
            return [error] * len(events)
        except Exception as error:
            if len(events) == 1:
                logger.exception("an event could not be stored")
                return [error]
        # One of them is at fault: it must not take the others with it.
        return [outcome for event in events for outcome in self._all_or_each([event])]
