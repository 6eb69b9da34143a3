"""Definitions and edges: derived from what runs claim, again whenever that changes.

The rules: every run asserts what it reports, whatever became of it (a streaming
query that fails after a month did write). Only a run that completed and that
says something closes what it no longer has; nothing else ever closes an edge.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, Row, delete, func, insert, select, union, update

from spark_lineage.collector import kinds
from spark_lineage.collector.model import canonical, digest
from spark_lineage.collector.store import closing, rows, schema
from spark_lineage.collector.store.names import Identity, Names

_claims = schema.claims
_definitions = schema.definitions
_edges = schema.edges
_definition_edges = schema.definition_edges


@dataclass
class Pending:
    """What is to be brought up to date once, for all events of a transaction."""

    runs: set[int] = field(default_factory=set)
    seen: set[int] = field(default_factory=set)
    places: set[tuple[int, int]] = field(default_factory=set)

    def settle(self, connection: Connection, names: Names) -> None:
        """Bring it up to date."""
        for run in sorted(self.runs):
            _settle_run(connection, names, run, self)
        self.runs.clear()
        for definition in sorted(self.seen):
            see(connection, definition)
        for job, output in sorted(self.places):
            closing.close(connection, job, output)
        self.seen.clear()
        self.places.clear()


def settle(connection: Connection, names: Names, run: int) -> None:
    """Derive again what the run's claims define, and what they open and close."""
    Pending({run}).settle(connection, names)


def _settle_run(connection: Connection, names: Names, run: int, pending: Pending) -> None:
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
        _Claim(connection, names, stands, claim, inputs).settle(pending)


def _inputs(connection: Connection, run: int) -> list[Identity]:
    table = schema.names
    query = (
        select(table.c.namespace, table.c.name)
        .join(schema.run_inputs, schema.run_inputs.c.name_id == table.c.id)
        .where(schema.run_inputs.c.run_id == run)
    )
    return sorted((row.namespace, row.name) for row in connection.execute(query))


def time_of_run(run: Any) -> int:
    """The time at which what a run says holds."""
    return int(run.last if run.ended is None else run.ended)


class _Claim:
    """What one run says of one output, on the way to its definition."""

    def __init__(
        self,
        connection: Connection,
        names: Names,
        run: Row[Any],
        claim: Row[Any],
        inputs: list[Identity],
    ) -> None:
        self._connection = connection
        self._names = names
        self._run = run
        self._claim = claim
        self._inputs = inputs
        self._part: dict[str, Any] = json.loads(claim.body) if claim.body else {}
        self._stated = self._part.get("edges") or []
        self._sources = {(edge["namespace"], edge["name"]) for edge in self._stated}
        own = self._part.get("inputs")
        if own is not None:
            # Stated of this output alone: what else the run read did not feed it.
            self._inputs = sorted((namespace, name) for namespace, name in own)
        inputs = self._inputs
        self._time = time_of_run(run)
        ids = names.ids(self._sources.union(inputs))
        names.meanings([*(ids[one] for one in self._sources.union(inputs)), claim.name_id])
        self._output = names.dataset(claim.name_id, self._time)

    def settle(self, pending: Pending) -> None:
        run, claim, part = self._run, self._claim, self._part
        definition = self._definition()
        succeeded = run.state in ("COMPLETE", "DECLARED")
        known = bool(self._stated or part.get("columns"))
        told = bool(self._inputs or self._stated) or part.get("inputs") is not None
        whole = part.get("availability") in (None, "AVAILABLE")
        new = {
            "job_id": run.job_id,
            "output_id": self._output,
            "definition_id": definition,
            "time": self._time,
            # What is known only in part says nothing of the rest.
            "closes_columns": succeeded and known and whole,
            "closes_datasets": succeeded and told,
        }
        if all(getattr(claim, name) == value for name, value in new.items()):
            return
        connection = self._connection
        connection.execute(update(_claims).where(_claims.c.id == claim.id).values(**new))
        pending.seen.update(one for one in (claim.definition_id, definition) if one is not None)
        pending.places.add((run.job_id, self._output))
        if claim.job_id is not None:
            pending.places.add((claim.job_id, claim.output_id))

    def _definition(self) -> int:
        inputs = self._inputs
        # Where a name meant other things at other times, equal texts are not equal lineage.
        ids = self._names.ids([])
        meant = sorted(
            (*one, self._names.dataset_since(ids[one], self._time))
            for one in self._sources.union(inputs)
            if len(self._names.meanings([ids[one]])[ids[one]]) > 1
        )
        key = digest(self._claim.hash, canonical(inputs), *([canonical(meant)] if meant else []))
        job, output = self._run.job_id, self._output
        where = (_definitions.c.job_id == job, _definitions.c.output_id == output)
        query = select(_definitions.c.id).where(*where, _definitions.c.hash == key)
        found = self._connection.scalar(query)
        if found is not None:
            return int(found)
        part = self._part
        row = {
            "job_id": job,
            "output_id": output,
            "hash": key,
            "columns_known": bool(part.get("edges") or part.get("columns")),
            "availability": part.get("availability"),
            "detail": canonical({name: part.get(name) or [] for name in ("issues", "via")}),
        }
        made = self._connection.execute(insert(_definitions).returning(_definitions.c.id), row)
        definition = int(made.scalar_one())
        self._fill(definition)
        return definition

    def _fill(self, definition: int) -> None:
        part, stated, output = self._part, self._stated, self._output
        every = self._sources.union(self._inputs)
        ids = self._names.ids([])
        datasets = {one: self._names.dataset(ids[one], self._time) for one in every}
        table_level = kinds.INPUT if stated or part.get("columns") else kinds.DATASET
        wanted: set[tuple[int, str | None]] = {(output, None)}
        wanted.update((output, column["name"]) for column in part.get("columns") or ())
        wanted.update((datasets[edge["namespace"], edge["name"]], edge["field"]) for edge in stated)
        wanted.update((datasets[one], None) for one in every)
        columns = self._names.columns(wanted)

        ends: dict[tuple[int, int, str, bool], str | None] = {}
        for edge in stated:
            source = columns[datasets[edge["namespace"], edge["name"]], edge["field"]]
            end = (columns[output, edge["column"]], source, edge["kind"], edge["masking"])
            # Two names of one data set may be told with two descriptions: the least stays.
            ends[end] = min(edge["description"] or "", ends.get(end) or "￿") or None
        for one in every:
            ends[columns[output, None], columns[datasets[one], None], table_level, False] = None
        _link(self._connection, definition, self._run.job_id, output, ends)
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
            self._connection.execute(insert(schema.definition_columns), described)


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


def see(connection: Connection, definition: int) -> None:
    """Set when a definition was first and last claimed; one that no run claims any more goes."""
    where = _claims.c.definition_id == definition
    # Two statements: each is one look into the index, both in one would be a scan.
    first = connection.scalar(select(func.min(_claims.c.time)).where(where))
    last = connection.scalar(select(func.max(_claims.c.time)).where(where))
    if first is None:
        forget(connection, [definition])
        return
    connection.execute(
        update(_definitions)
        .where(_definitions.c.id == definition)
        .values(first_seen=first, last_seen=last)
    )


def forget(connection: Connection, definitions: list[int]) -> None:
    """Delete definitions, and the edges and columns that only they have."""
    links, stated = _definition_edges, schema.definition_columns
    ends: set[int] = set()
    for some in rows.chunks(definitions):
        mine = select(links.c.edge_id).where(links.c.definition_id.in_(some))
        touched = connection.execute(
            select(_edges.c.id, _edges.c.out_id, _edges.c.in_id).where(_edges.c.id.in_(mine))
        ).all()
        ends.update(end for row in touched for end in (row.out_id, row.in_id))
        described = select(stated.c.column_id).where(stated.c.definition_id.in_(some))
        ends.update(connection.scalars(described))
        wholes = (
            select(schema.columns.c.id)
            .join(_definitions, _definitions.c.output_id == schema.columns.c.dataset_id)
            .where(_definitions.c.id.in_(some), schema.columns.c.whole)
        )
        ends.update(connection.scalars(wholes))
        for table in (links, stated):
            connection.execute(delete(table).where(table.c.definition_id.in_(some)))
        connection.execute(delete(_definitions).where(_definitions.c.id.in_(some)))
        for few in rows.chunks(row.id for row in touched):
            kept = select(links.c.edge_id).where(links.c.edge_id.in_(few))
            orphans = _edges.c.id.in_(few) & _edges.c.id.not_in(kept)
            connection.execute(delete(_edges).where(orphans))
    _forget_columns(connection, ends)


def _forget_columns(connection: Connection, candidates: set[int]) -> None:
    """Delete columns that no schema, no edge and no definition has."""
    c, stated = schema.columns, schema.definition_columns
    for some in rows.chunks(sorted(candidates)):
        used = union(
            select(_edges.c.out_id).where(_edges.c.out_id.in_(some)),
            select(_edges.c.in_id).where(_edges.c.in_id.in_(some)),
            select(stated.c.column_id).where(stated.c.column_id.in_(some)),
            select(c.c.id)
            .join(_definitions, _definitions.c.output_id == c.c.dataset_id)
            .where(c.c.id.in_(some), c.c.whole),
        )
        kept = set(connection.scalars(used))
        gone = [one for one in some if one not in kept]
        connection.execute(delete(c).where(c.c.id.in_(gone), ~c.c.stated))
