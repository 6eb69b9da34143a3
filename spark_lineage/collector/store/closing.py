"""What is closed, and since when: only ever by a newer success that says otherwise."""

from __future__ import annotations

from collections import defaultdict

from sqlalchemy import Connection, func, select, update

from spark_lineage.collector import kinds
from spark_lineage.collector.store import rows, schema

_claims = schema.claims
_definitions = schema.definitions
_edges = schema.edges
_definition_edges = schema.definition_edges


def close_all(connection: Connection, places: set[tuple[int, int]]) -> None:
    """The same for all that jobs ever made some outputs of, as pairs of a job and an output."""
    outputs = {output for _, output in places}
    open_ones: dict[tuple[int, int], list[bool]] = defaultdict(list)
    query = "SELECT job_id, output_id, closed FROM definitions WHERE output_id "
    for job, output, closed in rows.fetched(connection, query, outputs):
        open_ones[job, output].append(closed is None)
    query = "SELECT DISTINCT job_id, output_id FROM edges WHERE closed IS NOT NULL AND output_id "
    shut = {(job, output) for job, output in rows.fetched(connection, query, outputs)}
    for place in sorted(places):
        # Where there is one definition, nothing can close it.
        if open_ones[place] not in ([], [True]) or place in shut:
            close(connection, *place)


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
