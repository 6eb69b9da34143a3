"""Tells a webhook when a writer's schema of a data set changes, and what that hits.

Intake only notes the names that events wrote; all else is done in a thread of
its own. Which schema was last told is kept in the store, so that a restart
neither repeats a message nor skips a change.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable
from typing import Any

from sqlalchemy import Connection, insert, select, update

from spark_lineage.collector import schema_change, schema_diff
from spark_lineage.collector.graph import Bounds
from spark_lineage.collector.model import Event, digest, time_of
from spark_lineage.collector.resolve import Dataset
from spark_lineage.collector.schema_diff import Field
from spark_lineage.collector.store import schema
from spark_lineage.collector.store.engine import Database
from spark_lineage.collector.store.names import Names
from spark_lineage.collector.times import show

logger = logging.getLogger(__name__)
Answer = dict[str, Any]
Identity = tuple[str, str]
MOST_PENDING = 10_000
# Of each change so many columns, data sets and jobs are named; the rest are counted.
MOST_NAMED = 100
BOUNDS = Bounds(depth=20, limit=2_000)
_versions, _told = schema.schema_versions, schema.told_schemas


class SchemaWatch:
    """Looks at the schemas of names that were written; ``tell`` gets what changed."""

    def __init__(self, database: Database, tell: Callable[[Answer], object]) -> None:
        self._database = database
        self._tell = tell
        self._pending: dict[Identity, None] = {}
        self._changed = threading.Condition()
        self._busy = False
        self._ended = False
        self.dropped = 0

    def note(self, events: list[Event]) -> None:
        """Events that are in the store now."""
        names = [
            (one.namespace, one.name)
            for event in events
            for one in event.outputs
            if one.schema is not None
        ]
        if not names:
            return
        with self._changed:
            for name in names:
                if name in self._pending or len(self._pending) < MOST_PENDING:
                    self._pending[name] = None
                else:
                    self.dropped += 1
            self._changed.notify_all()

    def start(self) -> None:
        """Begin to look."""
        threading.Thread(target=self._run, daemon=True, name="schema-watch").start()

    def stop(self) -> None:
        """End; what is pending is looked at when it is written again."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def flush(self, seconds: float) -> bool:
        """Wait until all that was noted has been looked at; False where it took longer."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._pending and not self._busy, seconds)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._pending or self._ended)
                if self._ended:
                    return
                name = next(iter(self._pending))
                del self._pending[name]
                self._busy = True
            try:
                self.look(*name)
            except Exception:
                logger.exception("a changed schema could not be looked at")
            with self._changed:
                self._busy = False
                self._changed.notify_all()

    def look(self, namespace: str, name: str) -> Answer | None:
        """What changed in a data set's schema since it was last told; tells it, too."""
        with self._database.read() as connection:
            found = _news(connection, namespace, name)
            message = None if found is None else _message(connection, found)
        if found is None:
            return None
        if message is not None:
            self._tell({"schema_change": message})
        with self._database.write() as connection:
            known = select(_told.c.hash).where(_told.c.name_id == found.name)
            row = {"name_id": found.name, "hash": found.new.hash}
            if connection.scalar(known) is None:
                connection.execute(insert(_told), row)
            else:
                change = update(_told).where(_told.c.name_id == found.name)
                connection.execute(change.values(hash=found.new.hash))
        return message


class _News:
    """A name's newest schema, and the one that was told before (None: there was none)."""

    def __init__(self, name: int, new: Any, old: Any | None) -> None:
        self.name = name
        self.new = new
        self.old = old


def _news(connection: Connection, namespace: str, name: str) -> _News | None:
    names = schema.names
    key = names.c.digest == digest(namespace, name)
    number = connection.scalar(select(names.c.id).where(key))
    if number is None:
        return None
    # A reader may list only what it read: only what writers state is the schema.
    query = select(_versions).where(_versions.c.name_id == number, _versions.c.output)
    stated = connection.execute(query.order_by(_versions.c.order.desc())).all()
    if not stated:
        return None
    newest = stated[0]
    told = connection.scalar(select(_told.c.hash).where(_told.c.name_id == number))
    if told == newest.hash:
        return None
    if told is None and len(stated) > 1 and newest.first == time_of(newest.order):
        # Never told of this data set, and this schema was only stated now.
        return _News(int(number), newest, stated[1])
    return _News(int(number), newest, next((row for row in stated if row.hash == told), None))


def _message(connection: Connection, news: _News) -> Answer | None:
    if news.old is None:
        return None
    changes = schema_diff.compare(_fields(news.old), _fields(news.new))
    if not changes:
        return None
    when = time_of(news.new.order)
    number = Names(connection).dataset(news.name, when)
    row = connection.execute(select(schema.datasets).where(schema.datasets.c.id == number)).one()
    told = schema_change.hit(
        connection, Dataset(number, row.namespace, row.name), changes, BOUNDS
    )  # fmt: skip
    return {**_bounded(told), "time": show(when)}


def _fields(row: Any) -> list[Field]:
    return [Field(item["path"], item["type"]) for item in json.loads(row.body)]


def _bounded(told: Answer) -> Answer:
    for one in told["changes"]:
        for key in ("columns", "datasets", "jobs"):
            more = len(one[key]) - MOST_NAMED
            if more > 0:
                one[key] = one[key][:MOST_NAMED]
                one["truncated"] = True
                one["left_out"] += more if key == "columns" else 0
    return told
