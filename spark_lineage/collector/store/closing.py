"""What is closed, and since when: only ever by a newer success that says otherwise."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, func, select, update

from spark_lineage.collector import kinds
from spark_lineage.collector.store import rows, schema

_claims = schema.claims
_definitions = schema.definitions
_edges = schema.edges
_definition_edges = schema.definition_edges


# A job and what it writes.
Place = tuple[int, int]


@dataclass
class Touched:
    """What the claims of a transaction say newly of one place."""

    definitions: set[int] = field(default_factory=set)
    # From when on, and whether any of them closes what it does not have.
    since: int = 1 << 62
    closes_columns: bool = False
    closes_datasets: bool = False
    # Whether something was taken back, so that all must be looked at.
    taken_back: bool = False


def read(connection: Connection, places: Iterable[Place]) -> dict[Place, dict[int, Any]]:
    """The definitions of these places: by id when each was last seen, and since when closed."""
    found: dict[Place, dict[int, Any]] = defaultdict(dict)
    query = """
        SELECT d.job_id, d.output_id, d.id, d.last_seen, d.closed FROM pairs
        CROSS JOIN definitions d WHERE d.job_id = pairs.a AND d.output_id = pairs.b"""
    for job, output, number, last, closed in rows.fetched_pairs(connection, query, places):
        found[job, output][number] = (last, closed)
    return found


def close_all(
    connection: Connection, places: dict[Place, Touched], before: dict[Place, dict[int, Any]]
) -> None:
    """Close and open what the claims of a transaction may have; ``before`` it was as read."""
    query = """
        SELECT a, b FROM pairs WHERE EXISTS (
            SELECT 1 FROM edges e
            WHERE e.closed IS NOT NULL AND e.output_id = pairs.b AND e.job_id = pairs.a)"""
    shut = {(job, output) for job, output in rows.fetched_pairs(connection, query, places)}
    for place in sorted(places):
        known = before.get(place, {})
        # Where there is one definition, nothing can close it.
        alone = len(known) <= 1 and all(closed is None for _, closed in known.values())
        if alone and place not in shut:
            continue
        if not _goes_on(connection, place, places[place], known):
            close(connection, *place)


def _goes_on(connection: Connection, place: Place, touched: Touched, known: dict[int, Any]) -> bool:
    """Whether the newest definition was only seen again, so that nothing opens or closes.

    It was the newest before, and what others had was closed by an earlier claim
    that closes as much as those of now.
    """
    if touched.taken_back or len(touched.definitions) != 1:
        return False
    (newest,) = touched.definitions
    last, closed = known.get(newest, (None, None))
    others = [seen for number, (seen, _) in known.items() if number != newest]
    if last is None or closed is not None or None in others:
        return False
    latest = max(others, default=rows.BEGINNING)
    if not latest < min(last, touched.since):
        return False
    query = (
        select(_claims.c.id)
        .where(_claims.c.job_id == place[0], _claims.c.output_id == place[1])
        .where(_claims.c.time > latest, _claims.c.time < touched.since)
        .order_by(_claims.c.time)
        .limit(1)
    )
    if touched.closes_columns:
        query = query.where(_claims.c.closes_columns)
    if touched.closes_datasets:
        query = query.where(_claims.c.closes_datasets)
    closes = touched.closes_columns or touched.closes_datasets
    return not closes or connection.scalar(query) is not None


def close(connection: Connection, job: int, output: int) -> None:
    """Set what is closed, and since when, of all that the job ever made this output of."""
    found = connection.execute(
        select(
            _definitions.c.id,
            _definitions.c.columns_known,
            _definitions.c.last_seen,
            _definitions.c.closed,
        ).where(_definitions.c.job_id == job, _definitions.c.output_id == output)
    ).all()
    closings = _Closings(connection, job, output)
    for row in found:
        closed = closings.after(row.last_seen, column_level=row.columns_known)
        if closed != row.closed:
            connection.execute(
                update(_definitions).where(_definitions.c.id == row.id).values(closed=closed)
            )
    seen = func.max(_definitions.c.last_seen)
    if len(found) == 1:
        # All edges were seen when the definition was: that closes none of them.
        open_again = update(_edges).where(
            _edges.c.job_id == job, _edges.c.output_id == output, _edges.c.closed.is_not(None)
        )
        connection.execute(open_again.values(closed=None))
        return
    query = (
        select(_edges.c.id, _edges.c.kind, _edges.c.closed, seen.label("seen"))
        .join(_definition_edges, _definition_edges.c.edge_id == _edges.c.id)
        .join(_definitions, _definitions.c.id == _definition_edges.c.definition_id)
        .where(_edges.c.job_id == job, _edges.c.output_id == output)
        .group_by(_edges.c.id, _edges.c.kind, _edges.c.closed)
    )
    changes: dict[int | None, list[int]] = defaultdict(list)
    for edge in connection.execute(query):
        closed = closings.after(edge.seen, column_level=edge.kind not in kinds.TABLE_LEVEL)
        if closed != edge.closed:
            changes[closed].append(edge.id)
    for when, which in changes.items():
        for some in rows.chunks(which):
            connection.execute(update(_edges).where(_edges.c.id.in_(some)).values(closed=when))


class _Closings:
    """The first run after a time that closes what it does not have."""

    def __init__(self, connection: Connection, job: int, output: int) -> None:
        self._connection = connection
        self._where = (_claims.c.job_id == job, _claims.c.output_id == output)
        self._known: dict[tuple[int, bool], int | None] = {}

    def after(self, seen: int, column_level: bool) -> int | None:
        key = (seen, column_level)
        if key not in self._known:
            closes = _claims.c.closes_columns if column_level else _claims.c.closes_datasets
            self._known[key] = self._connection.scalar(
                select(func.min(_claims.c.time)).where(*self._where, closes, _claims.c.time > seen)
            )
        return self._known[key]
