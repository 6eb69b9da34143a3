"""Definitions and edges: derived from what runs claim, again whenever that changes.

The rules: every run asserts what it reports, whatever became of it (a streaming
query that fails after a month did write). Only a run that completed and that
says something closes what it no longer has; nothing else ever closes an edge.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, delete, select, union

from spark_lineage.collector.model import canonical, digest
from spark_lineage.collector.store import closing, made, rows, schema
from spark_lineage.collector.store.batch import Batch
from spark_lineage.collector.store.claims import Claim
from spark_lineage.collector.store.names import Names
from spark_lineage.collector.store.parts import Gist

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
        batch.parts.flush()
        told = _Told(batch, runs)
        claims = [
            _Claim(batch, batch.run_by_id(run), claim, told)
            for run in runs
            for claim in batch.claims(run).values()
        ]
        new = told.make(claims)
        seen: set[int] = set()
        places: dict[closing.Place, closing.Touched] = defaultdict(closing.Touched)
        for claim in claims:
            claim.settle(seen, places)
        made.write(batch, new)
        batch.flush()
        before = closing.read(connection, places)
        for one in new:
            # Before these claims it was not there.
            before[one.place][one.id] = (None, None)
        see(connection, seen.difference(one.id for one in new))
        closing.close_all(connection, places, before)
        batch.names.forget_columns()


def settle(connection: Connection, names: Names, runs: Iterable[int]) -> None:
    """Derive again what the runs' claims define, and what they open and close."""
    every = set(runs)
    if every:
        Pending(every).settle(Batch(connection, names=names))


class _Told:
    """What the claims of some runs say and read, and the definitions that there are."""

    def __init__(self, batch: Batch, runs: list[int]) -> None:
        self._connection = batch.connection
        claims = [claim for run in runs for claim in batch.claims(run).values()]
        wanted = {
            claim.part_hash: claim.part_id
            for claim in claims
            if claim.part_hash is not None and claim.part_id is not None
        }
        self.gists: dict[str | None, Gist] = {None: Gist()}
        self.gists.update(batch.parts.gists(wanted))
        writing = [run for run in runs if batch.claims(run)]
        read = {name for run in writing for name in batch.inputs(run)}
        identities = batch.names.identities(read)
        self.inputs = {
            run: tuple(sorted(identities[name] for name in batch.inputs(run))) for run in writing
        }
        every = set(identities.values())
        every.update(one for gist in self.gists.values() for one in gist.sources)
        every.update(one for gist in self.gists.values() for one in gist.inputs or ())
        ids = batch.names.ids(every)
        batch.names.meanings({ids[one] for one in every}.union(claim.name_id for claim in claims))
        places = {
            (run["job_id"], batch.names.dataset(claim.name_id, time_of_run(run)))
            for run, claim in ((batch.run_by_id(claim.run_id), claim) for claim in claims)
        }
        query = """
            SELECT d.job_id, d.output_id, d.hash, d.id FROM pairs
            CROSS JOIN definitions d WHERE d.job_id = pairs.a AND d.output_id = pairs.b"""
        self.definitions: dict[tuple[closing.Place, str], int] = {
            ((job, output), key): number
            for job, output, key, number in rows.fetched_pairs(self._connection, query, places)
        }

    def make(self, claims: list[_Claim]) -> list[made.Definition]:
        """The definitions of these that are new."""
        first: dict[tuple[closing.Place, str], _Claim] = {}
        for claim in claims:
            if (claim.place, claim.key) not in self.definitions:
                first.setdefault((claim.place, claim.key), claim)
        numbers = rows.new_ids(self._connection, _definitions, len(first))
        self.definitions.update(zip(first, numbers, strict=True))
        self.new = {
            number: claim.definition(number)
            for number, claim in zip(numbers, first.values(), strict=True)
        }
        return list(self.new.values())


def time_of_run(run: dict[str, Any]) -> int:
    """The time at which what a run says holds."""
    return int(run["last"] if run["ended"] is None else run["ended"])


class _Claim:
    """What one run says of one output, on the way to its definition."""

    def __init__(self, batch: Batch, run: dict[str, Any], claim: Claim, told: _Told) -> None:
        self._names = batch.names
        self._run = run
        self._claim = claim
        self._told = told
        self._said = told.gists[claim.part_hash]
        own = self._said.inputs
        self._inputs = told.inputs[run["id"]] if own is None else own
        self._time = time_of_run(run)
        self.place = (run["job_id"], self._names.dataset(claim.name_id, self._time))
        self.key = self._key()

    def _key(self) -> str:
        """What is the same for claims of equal lineage."""
        names = self._names
        # Where a name meant other things at other times, equal texts are not equal lineage.
        ids = names.known
        meanings = names.meanings([])
        meant = sorted(
            (*one, names.dataset_since(ids[one], self._time))
            for one in self._said.sources.union(self._inputs)
            if len(meanings[ids[one]]) > 1
        )
        more = [canonical(meant)] if meant else []
        return digest(self._claim.part_hash, canonical(self._inputs), *more)

    def definition(self, number: int) -> made.Definition:
        """The definition that it makes, where there is none yet."""
        ids = self._names.known
        every = self._said.sources.union(self._inputs)
        datasets = {one: self._names.dataset(ids[one], self._time) for one in every}
        claim = self._claim
        return made.Definition(
            number, self.place, self.key, claim.part_id, claim.part_hash, datasets
        )

    def settle(self, seen: set[int], places: dict[closing.Place, closing.Touched]) -> None:
        run, claim, part = self._run, self._claim, self._said
        definition = self._told.definitions[self.place, self.key]
        succeeded = run["state"] in ("COMPLETE", "DECLARED")
        told = bool(self._inputs) or part.edges or part.inputs is not None
        new = (
            *self.place,
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
        if definition in self._told.new:
            self._told.new[definition].see(self._time)
        seen.update(one for one in (old[2], definition) if one is not None)
        here = places[self.place]
        here.definitions.add(definition)
        here.since = min(here.since, self._time)
        here.closes_columns |= new[4]
        here.closes_datasets |= new[5]
        if old[2] is not None and old[3] is not None:
            later = old[:3] == new[:3] and old[3] <= self._time
            here.taken_back |= not later or old[4] or old[5]
        if old[0] is not None and old[1] is not None:
            places[old[0], old[1]].taken_back |= old[:2] != new[:2]


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
