"""When data sets and jobs were spoken of first and last, as Marquez's answers tell of each."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from sqlalchemy import Connection, Select, case, func, select

from spark_lineage.collector.store import schema
from spark_lineage.collector.store.names import meant_at
from spark_lineage.collector.store.rows import among

_claims, _r, _m = schema.claims, schema.runs, schema.meanings
_DONE = ("COMPLETE", "DECLARED")


class Span(NamedTuple):
    """The first and the last time, and the last at which a run that succeeded wrote it."""

    first: int
    last: int
    written: int | None = None


class _Spans(dict[int, Span]):
    """Spans by ids, each as wide as all that is added to it."""

    def add(
        self, one: int, first: int | None, last: int | None, written: int | None = None
    ) -> None:
        if first is None or last is None:
            return
        known = self.get(one)
        if known is not None:
            first, last = min(first, known.first), max(last, known.last)
            written = max((t for t in (written, known.written) if t is not None), default=None)
        self[one] = Span(first, last, written)


def of_datasets(connection: Connection, datasets: Iterable[int]) -> dict[int, Span]:
    """The spans of data sets: of the runs that wrote or read them, else of what names them."""
    wanted = set(datasets)
    found = _Spans()
    done = case((_r.c.state.in_(_DONE), _claims.c.time))
    writes = (
        select(
            _claims.c.output_id, func.min(_claims.c.time), func.max(_claims.c.time), func.max(done)
        )
        .join(_r, _r.c.id == _claims.c.run_id)
        .where(among(connection, _claims.c.output_id, wanted))
        .group_by(_claims.c.output_id)
    )
    for one, first, last, written in connection.execute(writes):
        found.add(one, first, last, written)
    for one, first, last in connection.execute(_reads(connection, wanted)):
        found.add(one, first, last)
    missing = wanted.difference(found)
    for query in (_sources(connection, missing), *_named(connection, missing)):
        if missing:
            for row in connection.execute(query):
                found.add(*row)
    return found


def _reads(connection: Connection, wanted: set[int]) -> Select[Any]:
    inputs = schema.run_inputs
    return (
        select(_m.c.dataset_id, func.min(_r.c.first), func.max(_r.c.last))
        .join(inputs, inputs.c.name_id == _m.c.name_id)
        .join(_r, _r.c.id == inputs.c.run_id)
        .where(among(connection, _m.c.dataset_id, wanted), meant_at(_r.c.last))
        .group_by(_m.c.dataset_id)
    )


def _sources(connection: Connection, wanted: set[int]) -> Select[Any]:
    """Those that are known as sources of columns alone."""
    c, e, links, d = schema.columns, schema.edges, schema.definition_edges, schema.definitions
    return (
        select(c.c.dataset_id, func.min(d.c.first_seen), func.max(d.c.last_seen))
        .join(e, e.c.in_id == c.c.id)
        .join(links, links.c.edge_id == e.c.id)
        .join(d, d.c.id == links.c.definition_id)
        .where(among(connection, c.c.dataset_id, wanted))
        .group_by(c.c.dataset_id)
    )


def _named(connection: Connection, wanted: set[int]) -> list[Select[Any]]:
    """Those that only a schema, a symlink or another job's facet tells of."""
    versions, links, io = schema.schema_versions, schema.symlinks, schema.job_io
    return [
        select(_m.c.dataset_id, func.min(first), func.max(last))
        .join(table, name == _m.c.name_id)
        .where(among(connection, _m.c.dataset_id, wanted))
        .group_by(_m.c.dataset_id)
        for table, name, first, last in (
            (versions, versions.c.name_id, versions.c.first, versions.c.first),
            (links, links.c.name_id, links.c.first, links.c.last),
            (links, links.c.to_id, links.c.first, links.c.last),
            (io, io.c.name_id, io.c.first_seen, io.c.last_seen),
        )
    ]


def of_jobs(connection: Connection, jobs: Iterable[int]) -> dict[int, Span]:
    """The spans of jobs: of their runs, else of what other jobs say of them."""
    wanted = set(jobs)
    found = _Spans()
    runs = (
        select(_r.c.job_id, func.min(_r.c.first), func.max(_r.c.last))
        .where(among(connection, _r.c.job_id, wanted))
        .group_by(_r.c.job_id)
    )
    for row in connection.execute(runs):
        found.add(*row)
    missing = wanted.difference(found)
    links, io = schema.job_edges, schema.job_io
    for table, key in ((links, "job_id"), (links, "from_id"), (io, "job_id")):
        if missing:
            query = (
                select(
                    table.c[key], func.min(table.c.first_seen), func.max(table.c.last_seen)
                )
                .where(among(connection, table.c[key], missing))
                .group_by(table.c[key])
            )  # fmt: skip
            for row in connection.execute(query):
                found.add(*row)
    return found
