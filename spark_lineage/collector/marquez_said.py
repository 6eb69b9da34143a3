"""What the kept events of some runs say: all facets, also those that nothing is derived from."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import orjson
from sqlalchemy import Connection, select

from spark_lineage.collector.store import schema, texts
from spark_lineage.collector.store.rows import chunks

Facets = dict[str, Any]
# So many events' texts are held at once: one may have a megabyte.
_FEW = 20


@dataclass
class Said:
    """The facets of one run by what they are of; a later one replaces one of the same name."""

    run: Facets = field(default_factory=dict)
    job: Facets = field(default_factory=dict)
    # Of a data set by its namespace and name.
    datasets: dict[tuple[str, str], Facets] = field(default_factory=lambda: defaultdict(dict))

    def take(self, event: dict[str, Any]) -> None:
        """Add what an event says."""
        _merge(self.run, event.get("run"))
        _merge(self.job, event.get("job"))
        for one in (*(event.get("inputs") or ()), *(event.get("outputs") or ())):
            self._dataset(one)
        self._dataset(event.get("dataset"))

    def _dataset(self, told: Any) -> None:
        if isinstance(told, dict):
            _merge(self.datasets[str(told.get("namespace")), str(told.get("name"))], told)


def _merge(found: Facets, told: Any) -> None:
    facets = told.get("facets") if isinstance(told, dict) else None
    for name, facet in (facets or {}).items():
        if isinstance(facet, dict) and facet.get("_deleted") is not True:
            found[name] = facet
        else:
            found.pop(name, None)


def of_runs(connection: Connection, run_ids: Iterable[str]) -> dict[str, Said]:
    """What the events of runs say, in the order of their times; nothing of those pruned."""
    events = schema.events
    found: dict[str, Said] = defaultdict(Said)
    for some in chunks(run_ids):
        listed = select(events.c.id, events.c.run_id).where(events.c.run_id.in_(some))
        every = connection.execute(listed.order_by(events.c.time, events.c.id)).all()
        for few in chunks(every, _FEW):
            ids = [row.id for row in few]
            query = select(events.c.id, events.c.body).where(events.c.id.in_(ids))
            bodies = {row.id: row.body for row in connection.execute(query)}
            for row, body in zip(
                few, texts.whole(connection, (bodies[one] for one in ids)), strict=True
            ):
                found[row.run_id].take(orjson.loads(body))
    return found
