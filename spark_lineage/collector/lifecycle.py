"""Which data sets are gone: dropped by a run that succeeded, and not written since.

A DROP closes no edge: what a table that is no more was made of, and what was
made of it, stays true. It is asked of the runs' statements, so the order in
which events arrive does not matter: a late write before the drop changes
nothing, a write after it brings the data set back.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sqlalchemy import Connection, Select, and_, exists, select

from spark_lineage.collector.store import schema
from spark_lineage.collector.store.rows import among

_claims, _r, _io, _d = schema.claims, schema.runs, schema.io_facets, schema.drops
_DONE = ("COMPLETE", "DECLARED")
_DROP = '%"lifecycleStateChange":"DROP"%'


def _drops() -> Select[Any]:
    """The drops that succeeded: which data set, when, by which run."""
    return (
        select(_claims.c.output_id, _claims.c.time, _claims.c.run_id)
        .join(_d, and_(_d.c.run_id == _claims.c.run_id, _d.c.name_id == _claims.c.name_id))
        .join(_r, _r.c.id == _claims.c.run_id)
        .join(
            # What the run said last of it: its start may have said otherwise.
            _io,
            and_(
                _io.c.run_id == _claims.c.run_id,
                _io.c.name_id == _claims.c.name_id,
                _io.c.output,
                _io.c.name == "lifecycleStateChange",
            ),
        )
        .where(_r.c.state.in_(_DONE), _io.c.body.ilike(_DROP))
    )


def standing(as_of: int | None = None) -> Select[Any]:
    """The drops after which nothing that succeeded wrote the data set."""
    query = _drops()
    later, run = _claims.alias("later"), _r.alias("later_run")
    written = (
        exists()
        .where(later.c.output_id == _claims.c.output_id, later.c.time > _claims.c.time)
        .where(run.c.id == later.c.run_id, run.c.state.in_(_DONE))
    )
    if as_of is not None:
        query = query.where(_claims.c.time <= as_of)
        written = written.where(later.c.time <= as_of)
    return query.where(~written)


def gone() -> Any:
    """A query of the ids of the data sets that are gone now."""
    return select(standing().subquery().c.output_id)


def dropped(
    connection: Connection, datasets: Iterable[int], as_of: int | None = None
) -> dict[int, int]:
    """Of these data sets those that are gone, and when they were dropped."""
    found: dict[int, int] = {}
    if connection.scalar(select(_d.c.run_id).limit(1)) is None:
        return found
    query = standing(as_of).where(among(connection, _claims.c.output_id, set(datasets)))
    for row in connection.execute(query):
        found[row.output_id] = max(row.time, found.get(row.output_id, row.time))
    return found
