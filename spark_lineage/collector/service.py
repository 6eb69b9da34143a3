"""What the collector does, without HTTP: takes events, answers questions."""

from __future__ import annotations

import json
import logging
from typing import Any

from sqlalchemy import func, select

from spark_lineage.collector import answers, intake, resolve
from spark_lineage.collector.graph import Bounds
from spark_lineage.collector.shapes import Fault
from spark_lineage.collector.store import dump, schema, write
from spark_lineage.collector.store.engine import Database
from spark_lineage.collector.times import show
from spark_lineage.errors import CollectorError
from spark_lineage.version import __version__

logger = logging.getLogger(__name__)
Answer = dict[str, Any]


class QuarantinedError(intake.MalformedError):
    """A malformed event, put aside under ``number``."""

    def __init__(self, error: intake.MalformedError, number: int) -> None:
        super().__init__(error.faults)
        self.number = number


class Collector:
    """One collector on one database."""

    def __init__(self, url: str) -> None:
        self._database = Database(url)

    def take(self, body: bytes, encoding: str | None = None) -> bool:
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
        try:
            with self._database.write() as connection:
                return write.apply(connection, event)
        except CollectorError:
            raise
        except Exception as error:
            # A fault of ours. As a 500 the client would send it for ever; put aside, it
            # is named, counted and can be replayed when the fault is mended.
            logger.exception("an event could not be stored; it is in quarantine")
            fault = Fault("$", f"could not be stored: {type(error).__name__}: {error}")
            raise self._quarantined(unpacked, intake.MalformedError([fault])) from error

    def _quarantined(self, body: bytes, error: intake.MalformedError) -> QuarantinedError:
        with self._database.write() as connection:
            return QuarantinedError(error, write.quarantine(connection, body, error.faults))

    def resolve(self, name: str, namespace: str | None) -> Answer:
        """The data set or column that a name means; raises as ``resolve`` does."""
        with self._database.read() as connection:
            return resolve.column_or_dataset(connection, name, namespace).to_dict()

    def explain_column(
        self, dataset: str, column: str, namespace: str | None, bounds: Bounds
    ) -> Answer:
        """Upstream of a column."""
        with self._database.read() as connection:
            found = resolve.column(connection, dataset, column, namespace)
            return answers.explain_column(connection, found, bounds)

    def explain_dataset(self, dataset: str, namespace: str | None) -> Answer:
        """Each column of a data set, one step back."""
        with self._database.read() as connection:
            found = resolve.dataset(connection, dataset, namespace)
            return answers.explain_dataset(connection, found)

    def impact(
        self, dataset: str, column: str | None, namespace: str | None, bounds: Bounds
    ) -> Answer:
        """Downstream of a column, or of a whole data set."""
        with self._database.read() as connection:
            found = resolve.column(connection, dataset, column, namespace)
            return answers.impact(connection, found, bounds)

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
                "quarantined": count(schema.quarantine),
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
                }
                for row in connection.execute(query)
            ]

    def quarantine(self, limit: int) -> list[Answer]:
        """What was put aside, the newest first, each with its faults and its body's begin."""
        table = schema.quarantine
        query = select(table).order_by(table.c.id.desc()).limit(limit)
        with self._database.read() as connection:
            return [
                {
                    "number": row.id,
                    "received": show(row.received),
                    "times": row.times,
                    "faults": json.loads(row.faults),
                    "body": bytes(row.body[:10_000]).decode("utf-8", "replace"),
                }
                for row in connection.execute(query)
            ]

    def close(self) -> None:
        """Close the database."""
        self._database.close()
