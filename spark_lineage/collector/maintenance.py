"""Keeping the store small, and taking all of it elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlalchemy import delete, func, select

from spark_lineage.collector.store import quarantine, schema, texts
from spark_lineage.collector.store.engine import Database
from spark_lineage.collector.times import now, show

_DAY = 86_400_000_000
_CHUNK = 5_000


def prune(database: Database, days: float, dry_run: bool) -> dict[str, Any]:
    """Delete raw events that were received more than ``days`` ago, and settled quarantine.

    The graph, the runs and all that was derived stay. Deletes in pieces, so that
    intake goes on meanwhile.
    """
    before = now() - int(days * _DAY)
    events, aside = schema.events, schema.quarantine
    old_events = (events.c.received < before) & (events.c.kind != "OVERRIDE")
    old_quarantine = (aside.c.received < before) & (aside.c.state != quarantine.OPEN)
    counts: dict[str, int] = {}
    with database.read() as connection:
        for table, old in ((events, old_events), (aside, old_quarantine)):
            number = connection.scalar(select(func.count()).select_from(table).where(old))
            counts[table.name] = int(number or 0)
    if not dry_run:
        for table, old in ((events, old_events), (aside, old_quarantine)):
            _delete(database, table, old)
        with database.write() as connection:
            texts.forget(connection, before)
    return {"before": show(before), "dry_run": dry_run, **counts}


def _delete(database: Database, table: Any, old: Any) -> None:
    while True:
        with database.write() as connection:
            some = select(table.c.id).where(old).limit(_CHUNK)
            if not connection.execute(delete(table).where(table.c.id.in_(some))).rowcount:
                return


def export(database: Database) -> Iterator[str]:
    """The raw events, one JSON text each, by their times; in pieces, each one state."""
    events = schema.events
    place: tuple[int, int] | None = None
    while True:
        query = select(events.c.time, events.c.id, events.c.body)
        query = query.where(events.c.kind != "OVERRIDE")
        if place is not None:
            after = (events.c.time == place[0]) & (events.c.id > place[1])
            query = query.where((events.c.time > place[0]) | after)
        with database.read() as connection:
            rows = connection.execute(query.order_by(events.c.time, events.c.id).limit(1_000)).all()
            bodies = texts.whole(connection, (row.body for row in rows))
        if not rows:
            return
        yield from bodies
        place = (rows[-1].time, rows[-1].id)
