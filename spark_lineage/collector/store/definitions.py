"""Definitions and edges: derived from what runs claim, again whenever that changes.

The rules: every run asserts what it reports, whatever became of it (a streaming
query that fails after a month did write). Only a run that completed and that
says something closes what it no longer has; nothing else ever closes an edge.
"""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any

from sqlalchemy import Connection, Row, delete, func, insert, select, update

from spark_lineage.collector import kinds
from spark_lineage.collector.model import canonical, digest
from spark_lineage.collector.store import rows, schema
from spark_lineage.collector.store.names import Identity, Names

_claims = schema.claims
_definitions = schema.definitions
_edges = schema.edges
_definition_edges = schema.definition_edges


def settle(connection: Connection, run: int) -> None:
    """Derive again what the run's claims define, and what they open and close."""
    stands = connection.execute(select(schema.runs).where(schema.runs.c.id == run)).one()
    claims = connection.execute(
        select(_claims, schema.parts.c.hash, schema.parts.c.body)
        .outerjoin(schema.parts, schema.parts.c.id == _claims.c.part_id)
        .where(_claims.c.run_id == run)
    ).all()
    if not claims:
        return
    inputs = _inputs(connection, run)
    for claim in claims:
        _settle_claim(connection, stands, claim, inputs)


def _inputs(connection: Connection, run: int) -> list[Identity]:
    datasets = schema.datasets
    query = (
        select(datasets.c.namespace, datasets.c.name)
        .join(schema.run_inputs, schema.run_inputs.c.dataset_id == datasets.c.id)
        .where(schema.run_inputs.c.run_id == run)
    )
    return sorted((row.namespace, row.name) for row in connection.execute(query))


def _settle_claim(
    connection: Connection, run: Row[Any], claim: Row[Any], inputs: list[Identity]
) -> None:
    key = digest(claim.hash, canonical(inputs))
    part = json.loads(claim.body) if claim.body else {}
    known = bool(part.get("edges") or part.get("columns"))
    definition = _definition(connection, run.job_id, claim.output_id, key, part, inputs)
    succeeded = run.state in ("COMPLETE", "DECLARED")
    whole = part.get("availability") in (None, "AVAILABLE")
    new = {
        "job_id": run.job_id,
        "definition_id": definition,
        "time": run.last if run.ended is None else run.ended,
        # What is known only in part says nothing of the rest.
        "closes_columns": succeeded and known and whole,
        "closes_datasets": succeeded and bool(inputs or part.get("edges")),
    }
    if all(getattr(claim, name) == value for name, value in new.items()):
        return
    connection.execute(update(_claims).where(_claims.c.id == claim.id).values(**new))
    if claim.definition_id is not None and claim.definition_id != definition:
        _see(connection, claim.definition_id)
    _see(connection, definition)
    for job in {run.job_id, claim.job_id or run.job_id}:
        _close(connection, job, claim.output_id)


def _definition(
    connection: Connection,
    job: int,
    output: int,
    key: str,
    part: dict[str, Any],
    inputs: list[Identity],
) -> int:
    where = (_definitions.c.job_id == job, _definitions.c.output_id == output)
    found = connection.scalar(select(_definitions.c.id).where(*where, _definitions.c.hash == key))
    if found is not None:
        return int(found)
    row = {
        "job_id": job,
        "output_id": output,
        "hash": key,
        "columns_known": bool(part.get("edges") or part.get("columns")),
        "availability": part.get("availability"),
        "detail": canonical({name: part.get(name) or [] for name in ("issues", "via")}),
    }
    made = connection.execute(insert(_definitions).returning(_definitions.c.id), row)
    definition = int(made.scalar_one())
    _fill(connection, definition, job, output, part, inputs)
    return definition


def _fill(
    connection: Connection,
    definition: int,
    job: int,
    output: int,
    part: dict[str, Any],
    inputs: list[Identity],
) -> None:
    names = Names(connection)
    stated = part.get("edges") or []
    sources = {(edge["namespace"], edge["name"]) for edge in stated}
    datasets = names.datasets(sources.union(inputs))
    table_level = kinds.INPUT if stated or part.get("columns") else kinds.DATASET
    wanted: set[tuple[int, str | None]] = {(output, None)}
    wanted.update((output, column["name"]) for column in part.get("columns") or ())
    wanted.update((datasets[edge["namespace"], edge["name"]], edge["field"]) for edge in stated)
    wanted.update((datasets[one], None) for one in sources.union(inputs))
    columns = names.columns(wanted)

    ends: dict[tuple[int, int, str, bool], str | None] = {}
    for edge in stated:
        source = columns[datasets[edge["namespace"], edge["name"]], edge["field"]]
        target = columns[output, edge["column"]]
        ends[target, source, edge["kind"], edge["masking"]] = edge["description"]
    for one in sources.union(inputs):
        ends[columns[output, None], columns[datasets[one], None], table_level, False] = None
    _link(connection, definition, job, output, ends)
    described = [
        {
            "definition_id": definition,
            "column_id": columns[output, column["name"]],
            "type": column["type"],
            "origin": column["origin"],
            "expression": column["expression"],
            "availability": column["availability"],
            "detail": canonical({"opaque": column["opaque"], "via": column["via"]}),
        }
        for column in part.get("columns") or ()
    ]
    if described:
        connection.execute(insert(schema.definition_columns), described)


def _link(
    connection: Connection,
    definition: int,
    job: int,
    output: int,
    ends: dict[tuple[int, int, str, bool], str | None],
) -> None:
    new = [
        {
            "job_id": job,
            "output_id": output,
            "out_id": target,
            "in_id": source,
            "kind": kind,
            "masking": masking,
        }
        for target, source, kind, masking in ends
    ]
    rows.insert_new(connection, _edges, new)
    query = select(
        _edges.c.id, _edges.c.out_id, _edges.c.in_id, _edges.c.kind, _edges.c.masking
    ).where(_edges.c.job_id == job, _edges.c.output_id == output)
    links = []
    for row in connection.execute(query):
        end = (row.out_id, row.in_id, row.kind, row.masking)
        if end in ends:
            links.append({"definition_id": definition, "edge_id": row.id, "description": ends[end]})
    if links:
        connection.execute(insert(_definition_edges), links)


def _see(connection: Connection, definition: int) -> None:
    """Set when a definition was first and last claimed; one that no run claims any more goes."""
    where = _claims.c.definition_id == definition
    # Two statements: each is one look into the index, both in one would be a scan.
    first = connection.scalar(select(func.min(_claims.c.time)).where(where))
    last = connection.scalar(select(func.max(_claims.c.time)).where(where))
    if first is not None:
        connection.execute(
            update(_definitions)
            .where(_definitions.c.id == definition)
            .values(first_seen=first, last_seen=last)
        )
        return
    alone = (
        select(_definition_edges.c.edge_id)
        .where(_definition_edges.c.definition_id == definition)
        .except_(
            select(_definition_edges.c.edge_id).where(
                _definition_edges.c.definition_id != definition,
                _definition_edges.c.edge_id.in_(
                    select(_definition_edges.c.edge_id).where(
                        _definition_edges.c.definition_id == definition
                    )
                ),
            )
        )
    )
    orphans = list(connection.scalars(alone))
    for table in (_definition_edges, schema.definition_columns):
        connection.execute(delete(table).where(table.c.definition_id == definition))
    for some in rows.chunks(orphans):
        connection.execute(delete(_edges).where(_edges.c.id.in_(some)))
    connection.execute(delete(_definitions).where(_definitions.c.id == definition))


def _close(connection: Connection, job: int, output: int) -> None:
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
