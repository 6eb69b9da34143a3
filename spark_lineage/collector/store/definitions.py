"""Definitions and edges: derived from what runs claim, again whenever that changes.

The rules: every run asserts what it reports, whatever became of it (a streaming
query that fails after a month did write). Only a run that completed and that
says something closes what it no longer has; nothing else ever closes an edge.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sqlalchemy import Connection, delete, insert, select, union

from spark_lineage.collector import kinds
from spark_lineage.collector.model import canonical, digest
from spark_lineage.collector.store import closing, rows, schema
from spark_lineage.collector.store.batch import Batch, Claim
from spark_lineage.collector.store.names import Identity, Names

_definitions = schema.definitions
_edges = schema.edges
_definition_edges = schema.definition_edges


@dataclass
class Pending:
    """What is to be brought up to date once, for all events of a transaction."""

    runs: set[int] = field(default_factory=set)

    def settle(self, batch: Batch) -> None:
        """Bring it up to date."""
        connection = batch.connection
        runs = sorted(self.runs)
        self.runs.clear()
        batch.read_runs(runs)
        batch.read_claims(runs)
        told = _Told(batch, runs)
        seen: set[int] = set()
        places: dict[closing.Place, closing.Touched] = defaultdict(closing.Touched)
        for run in runs:
            for claim in batch.claims(run).values():
                _Claim(batch, batch.run_by_id(run), claim, told).settle(seen, places)
        batch.flush()
        before = closing.read(connection, places)
        see(connection, seen)
        closing.close_all(connection, places, before)


def settle(connection: Connection, names: Names, runs: Iterable[int]) -> None:
    """Derive again what the runs' claims define, and what they open and close."""
    every = set(runs)
    if every:
        Pending(every).settle(Batch(connection, names=names))


class _Part(NamedTuple):
    """What must be known of a part to find the definition that it makes."""

    sources: frozenset[Identity]
    # Stated of this output alone: what else the run read did not feed it.
    inputs: tuple[Identity, ...] | None
    edges: bool
    columns: bool
    whole: bool


_NO_PART = _Part(frozenset(), None, False, False, True)
# By the part's hash, of which it is made: true for ever and in each database.
_parts: dict[str, _Part] = {}
_MOST_PARTS = 20_000


def _read_part(body: dict[str, Any]) -> _Part:
    edges, own = body.get("edges") or (), body.get("inputs")
    return _Part(
        frozenset((edge["namespace"], edge["name"]) for edge in edges),
        None if own is None else tuple(sorted((namespace, name) for namespace, name in own)),
        bool(edges),
        bool(body.get("columns")),
        # What is known only in part says nothing of the rest.
        body.get("availability") in (None, "AVAILABLE"),
    )


class _Told:
    """What the claims of some runs say and read, and the definitions that there are."""

    def __init__(self, batch: Batch, runs: list[int]) -> None:
        self._connection = batch.connection
        claims = [claim for run in runs for claim in batch.claims(run).values()]
        self.parts: dict[str | None, _Part] = {None: _NO_PART}
        unknown: dict[int, str] = {}
        for claim in claims:
            if claim.part_hash is not None and claim.part_id is not None:
                known = _parts.get(claim.part_hash)
                if known is None:
                    unknown[claim.part_id] = claim.part_hash
                else:
                    self.parts[claim.part_hash] = known
        query = "SELECT hash, body FROM parts WHERE id "
        if len(_parts) > _MOST_PARTS:
            _parts.clear()
        for key, body in rows.fetched(self._connection, query, unknown):
            self.parts[key] = _parts[key] = _read_part(json.loads(body))
        writing = [run for run in runs if batch.claims(run)]
        read = {name for run in writing for name in batch.inputs(run)}
        identities = batch.names.identities(read)
        self.inputs = {
            run: tuple(sorted(identities[name] for name in batch.inputs(run))) for run in writing
        }
        every = set(identities.values())
        every.update(one for part in self.parts.values() for one in part.sources)
        every.update(one for part in self.parts.values() for one in part.inputs or ())
        ids = batch.names.ids(every)
        batch.names.meanings({ids[one] for one in every}.union(claim.name_id for claim in claims))
        self.definitions: dict[tuple[int, int, str], int] = {}
        outputs = {
            batch.names.dataset(claim.name_id, time_of_run(batch.run_by_id(claim.run_id)))
            for claim in claims
        }
        query = "SELECT job_id, output_id, hash, id FROM definitions WHERE output_id "
        for job, output, key, number in rows.fetched(self._connection, query, outputs):
            self.definitions[job, output, key] = number


def time_of_run(run: dict[str, Any]) -> int:
    """The time at which what a run says holds."""
    return int(run["last"] if run["ended"] is None else run["ended"])


class _Claim:
    """What one run says of one output, on the way to its definition."""

    def __init__(self, batch: Batch, run: dict[str, Any], claim: Claim, told: _Told) -> None:
        self._connection = batch.connection
        self._names = batch.names
        self._run = run
        self._claim = claim
        self._told = told
        self._said = told.parts[claim.part_hash]
        own = self._said.inputs
        self._inputs = told.inputs[run["id"]] if own is None else own
        self._time = time_of_run(run)
        self._output = self._names.dataset(claim.name_id, self._time)

    def settle(self, seen: set[int], places: dict[closing.Place, closing.Touched]) -> None:
        run, claim, part = self._run, self._claim, self._said
        definition = self._definition()
        succeeded = run["state"] in ("COMPLETE", "DECLARED")
        told = bool(self._inputs) or part.edges or part.inputs is not None
        new = (
            run["job_id"],
            self._output,
            definition,
            self._time,
            # That nothing feeds it is said of its columns, too.
            succeeded and (part.edges or part.columns or part.inputs == ()) and part.whole,
            succeeded and told,
        )
        old = (
            claim.job_id,
            claim.output_id,
            claim.definition_id,
            claim.time,
            claim.closes_columns,
            claim.closes_datasets,
        )
        if new == old:
            return
        claim.job_id, claim.output_id, claim.definition_id, claim.time = new[:4]
        claim.closes_columns, claim.closes_datasets = new[4:]
        claim.changed = True
        seen.update(one for one in (old[2], definition) if one is not None)
        here = places[run["job_id"], self._output]
        here.definitions.add(definition)
        here.since = min(here.since, self._time)
        here.closes_columns |= new[4]
        here.closes_datasets |= new[5]
        if old[2] is not None and old[3] is not None:
            later = old[:3] == new[:3] and old[3] <= self._time
            here.taken_back |= not later or old[4] or old[5]
        if old[0] is not None and old[1] is not None:
            places[old[0], old[1]].taken_back |= old[:2] != new[:2]

    def _definition(self) -> int:
        inputs, names = self._inputs, self._names
        # Where a name meant other things at other times, equal texts are not equal lineage.
        ids = names.ids([])
        meanings = names.meanings([])
        meant = sorted(
            (*one, names.dataset_since(ids[one], self._time))
            for one in self._said.sources.union(inputs)
            if len(meanings[ids[one]]) > 1
        )
        more = [canonical(meant)] if meant else []
        key = digest(self._claim.part_hash, canonical(inputs), *more)
        job, output = self._run["job_id"], self._output
        found = self._told.definitions.get((job, output, key))
        if found is not None:
            return found
        parts = schema.parts
        text = self._connection.scalar(
            select(parts.c.body).where(parts.c.id == self._claim.part_id)
        )
        self._part: dict[str, Any] = json.loads(text) if text else {}
        part = self._part
        self._stated = part.get("edges") or []
        row = {
            "job_id": job,
            "output_id": output,
            "hash": key,
            "columns_known": bool(part.get("edges") or part.get("columns")),
            "availability": part.get("availability"),
            "detail": canonical({name: part.get(name) or [] for name in ("issues", "via")}),
        }
        made = self._connection.execute(insert(_definitions).returning(_definitions.c.id), row)
        definition = self._told.definitions[job, output, key] = int(made.scalar_one())
        self._fill(definition)
        return definition

    def _fill(self, definition: int) -> None:
        part, stated, output = self._part, self._stated, self._output
        every = self._said.sources.union(self._inputs)
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
        _link(self._connection, definition, self._run["job_id"], output, ends)
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


def see(connection: Connection, definitions: Iterable[int]) -> None:
    """Set when each was first and last claimed; one that no run claims any more goes."""
    # Two looks into the index: least and greatest in one would be a scan.
    query = """
        SELECT d.id, d.first_seen, d.last_seen,
               (SELECT min(c.time) FROM claims c WHERE c.definition_id = d.id),
               (SELECT max(c.time) FROM claims c WHERE c.definition_id = d.id)
        FROM definitions d WHERE d.id """
    gone: list[int] = []
    changed: list[tuple[int, int, int]] = []
    for number, first, last, least, greatest in rows.fetched(connection, query, definitions):
        if least is None:
            gone.append(number)
        elif (first, last) != (least, greatest):
            changed.append((least, greatest, number))
    rows.change(connection, _definitions, ("first_seen", "last_seen"), ("id",), changed)
    if gone:
        forget(connection, gone)


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
