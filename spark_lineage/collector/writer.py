"""Events into the store, many in one transaction: who waits is written with who is ahead.

One thread writes. Each caller is answered when its events are on the disk; what
comes in while the disk is waited for goes into the next transaction, so that
sixteen clients cost one flush of the disk and not sixteen.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import defaultdict
from concurrent.futures import Future
from dataclasses import dataclass

from spark_lineage.collector.model import Event
from spark_lineage.collector.store import write
from spark_lineage.collector.store.engine import BusyError, Database

logger = logging.getLogger(__name__)
MOST_EVENTS = 500
# So long is waited for as many callers as came together before: a transaction costs far
# more than one of its events.
GATHER_SECONDS = 0.003
# Not for as many events as these: they are worth a transaction, and while it is written the
# next ones are read.
MANY_EVENTS = 50
# Of one event: False if it was here already, True if it is new, else what went wrong.
Outcome = bool | Exception


@dataclass
class _Ticket:
    """Events, and who waits for them: a thread, or a coroutine of a loop."""

    events: list[Event]
    waiting: Future[list[Outcome]] | asyncio.Future[list[Outcome]]


class Writer:
    """Writes events to one database, in groups. Safe to use from several threads."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._waiting: list[_Ticket] = []
        self._events = 0
        self._changed = threading.Condition()
        # How many tickets are worth a transaction now: as many as the one before had.
        self._enough = 1
        self._thread: threading.Thread | None = None
        self._closed = False

    def put(self, events: list[Event]) -> list[Outcome]:
        """Write events; for each whether it is new, or the exception that kept it out."""
        waiting: Future[list[Outcome]] = Future()
        self._add(_Ticket(events, waiting))
        return waiting.result()

    async def put_soon(self, events: list[Event]) -> list[Outcome]:
        """The same for a coroutine: its loop goes on meanwhile."""
        waiting: asyncio.Future[list[Outcome]] = asyncio.get_running_loop().create_future()
        self._add(_Ticket(events, waiting))
        return await waiting

    def close(self) -> None:
        """Write what waits, and end."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join()

    def _add(self, ticket: _Ticket) -> None:
        with self._changed:
            if self._closed:
                raise BusyError("the collector is ending")
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._work, name="spark-lineage-writer", daemon=True
                )
                self._thread.start()
            self._waiting.append(ticket)
            self._events += len(ticket.events)
            if len(self._waiting) in (1, self._enough) or len(ticket.events) >= MANY_EVENTS:
                self._changed.notify()

    def _work(self) -> None:
        while True:
            with self._changed:
                while not self._waiting:
                    if self._closed:
                        return
                    self._changed.wait()
                if not self._is_enough():
                    self._changed.wait_for(self._is_enough, GATHER_SECONDS)
                group = self._next()
                self._enough = len(group)
            self._write(group)

    def _is_enough(self) -> bool:
        many = self._events >= MANY_EVENTS
        return many or self._closed or len(self._waiting) >= self._enough

    def _next(self) -> list[_Ticket]:
        """The tickets to write now: those that wait, up to a limit."""
        count = size = 0
        for ticket in self._waiting:
            if size and size + len(ticket.events) > MOST_EVENTS:
                break
            count += 1
            size += len(ticket.events)
        group, self._waiting = self._waiting[:count], self._waiting[count:]
        self._events -= size
        return group

    def _write(self, group: list[_Ticket]) -> None:
        outcomes = self._all_or_each([event for ticket in group for event in ticket.events])
        place = 0
        loops: dict[asyncio.AbstractEventLoop, list[tuple[_Ticket, list[Outcome]]]]
        loops = defaultdict(list)
        for ticket in group:
            found = outcomes[place : place + len(ticket.events)]
            place += len(ticket.events)
            if isinstance(ticket.waiting, Future):
                ticket.waiting.set_result(found)
            else:
                loops[ticket.waiting.get_loop()].append((ticket, found))
        for loop, done in loops.items():
            try:
                loop.call_soon_threadsafe(_answer, done)
            except RuntimeError:
                logger.debug("the loop ended before its answers")

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


def _answer(done: list[tuple[_Ticket, list[Outcome]]]) -> None:
    for ticket, found in done:
        # Who waited may have gone: its client hung up.
        if isinstance(ticket.waiting, asyncio.Future) and not ticket.waiting.done():
            ticket.waiting.set_result(found)
