"""What the collector does, without HTTP: takes events, answers questions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, Concatenate, ParamSpec, TypeVar

from sqlalchemy import Connection, func, select

from spark_lineage.collector import answers, intake, resolve
from spark_lineage.collector.graph import Bounds
from spark_lineage.collector.guard import Token
from spark_lineage.collector.model import Event
from spark_lineage.collector.shapes import Fault
from spark_lineage.collector.store import aliases, dump, quarantine, schema
from spark_lineage.collector.store.engine import QUERY_SECONDS, BusyError, Database
from spark_lineage.collector.times import show
from spark_lineage.collector.writer import Outcome, Writer
from spark_lineage.errors import CollectorError, NotFoundError
from spark_lineage.version import __version__

Answer = dict[str, Any]
P = ParamSpec("P")
T = TypeVar("T")


class QuarantinedError(intake.MalformedError):
    """A malformed event, put aside under ``number``."""

    def __init__(self, error: intake.MalformedError, number: int) -> None:
        super().__init__(error.faults)
        self.number = number


class ForbiddenError(CollectorError):
    """The token does not reach to these namespaces."""

    def __init__(self, namespaces: set[str]) -> None:
        super().__init__(f"this token may not write to {', '.join(sorted(namespaces))}")


def _namespaces(event: Event) -> set[str]:
    """Where an event says something: its job's namespace, or those of what it declares."""
    if event.kind != "DATASET":
        return {event.job_namespace}
    return {facts.namespace for facts in event.outputs}


def _allowed(event: Event, token: Token | None) -> bool:
    return token is None or all(token.writes(one) for one in _namespaces(event))


def _ours(error: Exception) -> intake.MalformedError:
    return intake.MalformedError(
        [Fault("$", f"could not be stored: {type(error).__name__}: {error}")]
    )


class Collector:
    """One collector on one database."""

    def __init__(self, url: str, query_seconds: float = QUERY_SECONDS) -> None:
        self._database = Database(url, query_seconds)
        self._writer = Writer(self._database)
        # Gets the events that are new in the store; it must be quick.
        self.on_new: Callable[[list[Event]], None] | None = None

    @property
    def database(self) -> Database:
        """Where all is kept."""
        return self._database

    def ask(
        self, question: Callable[Concatenate[Connection, P], T], *a: P.args, **k: P.kwargs
    ) -> T:
        """Put a question that is a function of a connection, on one state of the store."""
        with self._database.read() as connection:
            return question(connection, *a, **k)

    def change(self, what: Callable[Concatenate[Connection, P], T], *a: P.args, **k: P.kwargs) -> T:
        """Make a change that is a function of a connection, in one transaction."""
        with self._database.write() as connection:
            return what(connection, *a, **k)

    def of_dataset(
        self,
        question: Callable[Concatenate[Connection, resolve.Dataset, P], T],
        name: str,
        namespace: str | None,
        *a: P.args,
        **k: P.kwargs,
    ) -> T:
        """Put a question about a data set that is named as a person does."""
        with self._database.read() as connection:
            found = resolve.dataset(connection, name, namespace)
            return question(connection, found, *a, **k)

    def take(self, body: bytes, encoding: str | None = None, token: Token | None = None) -> bool:
        """Take one event; False if it is here already.

        Raises :class:`QuarantinedError` for one that cannot be used, and
        ``TooLargeError``, ``EncodingError`` and ``BusyError`` for what is no
        fault of the event.
        """
        unpacked = body
        try:
            unpacked = intake.unpack(body, encoding)
            event = intake.read(unpacked)
        except intake.MalformedError as error:
            raise self._quarantined(unpacked, error) from None
        if not _allowed(event, token):
            raise ForbiddenError(_namespaces(event))
        (outcome,) = self._writer.put([event])
        return self._taken(event, unpacked, outcome)

    async def take_soon(self, body: bytes, token: Token | None = None) -> bool:
        """The same as :meth:`take` for a coroutine and a body without an encoding.

        The loop goes on while the event is written; for one that is malformed it
        raises ``MalformedError`` and keeps nothing.
        """
        event = intake.read(body)
        if not _allowed(event, token):
            raise ForbiddenError(_namespaces(event))
        (outcome,) = await self._writer.put_soon([event])
        if isinstance(outcome, Exception) and not isinstance(outcome, BusyError):
            return await asyncio.to_thread(self._taken, event, body, outcome)
        return self._taken(event, body, outcome)

    def _taken(self, event: Event, unpacked: bytes, outcome: Outcome) -> bool:
        if isinstance(outcome, BusyError):
            raise outcome
        if isinstance(outcome, Exception):
            # A fault of ours. As a 500 the client would send it for ever; put aside, it
            # is named, counted and can be replayed when the fault is mended.
            raise self._quarantined(unpacked, _ours(outcome)) from outcome
        if outcome and self.on_new is not None:
            self.on_new([event])
        return outcome

    def take_batch(
        self,
        body: bytes,
        encoding: str | None = None,
        lines: bool = False,
        token: Token | None = None,
    ) -> Answer:
        """Take an array of events, or one a line; the answer of OpenLineage's specification.

        What is malformed is quarantined and told with its index, the rest is
        taken. Raises :class:`QuarantinedError` for a body that is no batch, and
        as :meth:`take` for what is no fault of the events.
        """
        unpacked = body
        try:
            unpacked = intake.unpack(body, encoding)
            items = intake.read_batch(unpacked, lines)
        except intake.MalformedError as error:
            raise self._quarantined(unpacked, error) from None
        failed = self._take_each(items, token)
        retriable = sum(one["retriable"] for one in failed.values())
        return {
            "status": "partial_success" if failed else "success",
            "summary": {
                "received": len(items),
                "successful": len(items) - len(failed),
                "failed": len(failed),
                "retriable": retriable,
                "non_retriable": len(failed) - retriable,
            },
            "failed_events": [failed[index] for index in sorted(failed)],
        }

    def take_each(self, bodies: list[bytes]) -> int:
        """Take events one by one, without an answer for each; how many were put aside.

        Raises ``BusyError`` where any must be sent again; the others are in the store.
        """
        failed = self._take_each(intake.read_each(bodies), None)
        for one in failed.values():
            if one["retriable"]:
                raise BusyError(one["reason"])
        return len(failed)

    def _take_each(self, items: Sequence[intake.Read], token: Token | None) -> dict[int, Answer]:
        """Take events; what became of those that were not taken, by their place."""
        events: dict[int, Event] = {}
        failed: dict[int, Answer] = {}
        for index, (item, event) in enumerate(items):
            if isinstance(event, intake.MalformedError):
                failed[index] = self._failed(index, item, event)
            elif _allowed(event, token):
                events[index] = event
            else:
                reason = str(ForbiddenError(_namespaces(event)))
                failed[index] = {"index": index, "reason": reason, "retriable": False}
        new: list[Event] = []
        for index, outcome in zip(events, self._writer.put([*events.values()]), strict=True):
            if isinstance(outcome, BusyError):
                failed[index] = {"index": index, "reason": str(outcome), "retriable": True}
            elif isinstance(outcome, Exception):
                failed[index] = self._failed(index, items[index][0], _ours(outcome))
            elif outcome:
                new.append(events[index])
        if new and self.on_new is not None:
            self.on_new(new)
        return failed

    def _failed(self, index: int, body: intake.Item, error: intake.MalformedError) -> Answer:
        quarantined = self._quarantined(bytes(body), error)
        return {
            "index": index,
            "reason": str(error),
            "retriable": False,
            "quarantined": quarantined.number,
            "faults": [fault.to_dict() for fault in error.faults],
        }

    def _quarantined(self, body: bytes, error: intake.MalformedError) -> QuarantinedError:
        with self._database.write() as connection:
            return QuarantinedError(error, quarantine.put(connection, body, error.faults))

    def quarantine(self, limit: int, state: str | None = quarantine.OPEN) -> list[Answer]:
        """What was put aside, the newest first, each with its faults and its body's begin."""
        with self._database.read() as connection:
            return quarantine.rows(connection, limit, state)

    def quarantined(self, number: int) -> Answer:
        """One of them, whole. Raises ``NotFoundError``."""
        with self._database.read() as connection:
            return quarantine.to_dict(self._one(connection, number))

    def replay(self, number: int) -> Answer:
        """Take a quarantined body again: ``REPLAYED``, or ``OPEN`` with its faults of today."""
        with self._database.read() as connection:
            body = bytes(self._one(connection, number).body)
        error: intake.MalformedError | None = None
        try:
            (outcome,) = self._writer.put([intake.read(body)])
            if isinstance(outcome, BusyError):
                raise outcome
            if isinstance(outcome, Exception):
                error = _ours(outcome)
        except intake.MalformedError as found:
            error = found
        state = quarantine.OPEN if error else quarantine.REPLAYED
        with self._database.write() as connection:
            quarantine.settle(connection, number, state, error.faults if error else None)
            return quarantine.to_dict(self._one(connection, number))

    @staticmethod
    def _one(connection: Connection, number: int) -> Any:
        row = quarantine.one(connection, number)
        if row is None:
            raise NotFoundError(f"nothing with the number {number} is in quarantine")
        return row

    def set_alias(self, pattern: str, target: str) -> None:
        """Let namespaces that fit a regular expression stand for one; also those known already.

        ``target`` may use the groups of ``pattern``. Raises ``ConfigError`` for a
        pattern that is none.
        """
        with self._database.write() as connection:
            aliases.put(connection, pattern, target)

    def remove_alias(self, pattern: str) -> bool:
        """Take an alias back: what it joined is parted again. False if there is none."""
        with self._database.write() as connection:
            return aliases.remove(connection, pattern)

    def resolve(self, name: str, namespace: str | None) -> Answer:
        """The data set or column that a name means; raises as ``resolve`` does."""
        with self._database.read() as connection:
            return resolve.column_or_dataset(connection, name, namespace).to_dict()

    def explain_column(
        self, dataset: str, column: str, namespace: str | None, bounds: Bounds, **narrow: Any
    ) -> Answer:
        """Upstream of a column; ``narrow`` is as ``answers.explain_column`` takes it."""
        with self._database.read() as connection:
            found = resolve.column(connection, dataset, column, namespace)
            return answers.explain_column(connection, found, bounds, **narrow)

    def explain_dataset(
        self, dataset: str, namespace: str | None, as_of: int | None = None
    ) -> Answer:
        """Each column of a data set, one step back."""
        with self._database.read() as connection:
            found = resolve.dataset(connection, dataset, namespace)
            return answers.explain_dataset(connection, found, as_of)

    def impact(
        self,
        dataset: str,
        column: str | None,
        namespace: str | None,
        bounds: Bounds,
        **narrow: Any,
    ) -> Answer:
        """Downstream of a column, or of a whole data set; as ``answers.impact`` takes it."""
        with self._database.read() as connection:
            found = resolve.column(connection, dataset, column, namespace)
            return answers.impact(connection, found, bounds, **narrow)

    def graph(self) -> dict[str, list[Answer]]:
        """All that is derived, sorted, by names: equal for equal sets of events."""
        with self._database.read() as connection:
            return dump.graph(connection)

    def health(self) -> Answer:
        """How much is kept, and what agents report of their own losses."""
        with self._database.read() as connection:

            def count(table: Any, *where: Any) -> int:
                query = select(func.count()).select_from(table).where(*where)
                return int(connection.scalar(query) or 0)

            losses, runs = schema.losses, schema.runs
            total = func.sum(losses.c["count"])
            dropped = connection.execute(
                select(losses.c.reason, total).group_by(losses.c.reason).order_by(losses.c.reason)
            ).all()
            unexplained = runs.c.unexplained
            return {
                "status": "ok",
                "version": __version__,
                "events": count(schema.events),
                "quarantined": count(
                    schema.quarantine, schema.quarantine.c.state == quarantine.OPEN
                ),
                "datasets": count(schema.datasets),
                "edges": count(schema.edges, schema.edges.c.closed.is_(None)),
                "agents": {
                    "dropped": {reason: int(number) for reason, number in dropped},
                    "unexplained_columns": int(
                        connection.scalar(select(func.sum(unexplained)).where(unexplained > 0)) or 0
                    ),
                    "unexplained_runs": count(runs, unexplained > 0),
                },
            }

    def runs(
        self, namespace: str | None, job: str | None, run: str | None, limit: int
    ) -> list[Answer]:
        """Runs, the newest first, of all jobs or of one, or one by its id."""
        r, j = schema.runs, schema.jobs
        query = (
            select(r.c.run_id, r.c.state, r.c.started, r.c.first, r.c.last, r.c.ended,
                   j.c.namespace, j.c.name)
            .join(j, j.c.id == r.c.job_id)
            .where(r.c.kind == "RUN")
            .order_by(r.c.last.desc(), r.c.run_id)
            .limit(limit)
        )  # fmt: skip
        for column, wanted in ((j.c.namespace, namespace), (j.c.name, job), (r.c.run_id, run)):
            if wanted is not None:
                query = query.where(column == wanted)
        with self._database.read() as connection:
            return [
                {
                    "id": row.run_id,
                    "job": {"namespace": row.namespace, "name": row.name},
                    "state": row.state,
                    "started": show(row.first if row.started is None else row.started),
                    "ended": show(row.ended),
                    "last_event": show(row.last),
                    "duration_ms": None
                    if row.ended is None
                    else (row.ended - (row.first if row.started is None else row.started)) // 1000,
                }
                for row in connection.execute(query)
            ]

    def close(self) -> None:
        """Write what waits, and close the database."""
        self._writer.close()
        self._database.close()
