"""The events of one transaction: what they ask of the store, read at once, and written at once.

A statement costs more than the row that it reads or writes, so none is made for
one event alone where the event says nothing new. What is derived of rows that
stand here is read only after :meth:`Batch.flush`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from sqlalchemy import Connection

from spark_lineage.collector.model import Event, Fields, digest, identity_digest
from spark_lineage.collector.store import rows, schema, texts
from spark_lineage.collector.store.claims import Claim, Version, link_digest
from spark_lineage.collector.store.names import Identity, Names
from spark_lineage.collector.store.parts import Parts

_RUN = (
    "id", "digest", "run_id", "kind", "job_id", "job_order", "state", "end_order", "started",
    "first", "last", "ended", "unexplained",
)  # fmt: skip
_CHANGING = ("job_id", "job_order", "state", "end_order", "started", "first", "last", "ended")
_CLAIM = (
    "run_id", "name_id", "part_id", "part_order", "job_id", "output_id", "definition_id", "time",
    "closes_columns", "closes_datasets",
)  # fmt: skip
_VERSION = ("name_id", "hash", "output", "order", "first", "body")
_SYMLINK = ("digest", "name_id", "to_id", "type", "first", "last")
QUALITY = "sparkLineage_quality"
# The beginning of time is told by its number: only so an index over the rest is used.
LATER = f"since > {rows.BEGINNING}"


class Batch:
    """What is known of the things that some events speak of, and what they add to it."""

    def __init__(
        self, connection: Connection, events: Iterable[Event] = (), names: Names | None = None
    ) -> None:
        self.connection = connection
        self.names = names or Names(connection)
        self._events: dict[str, tuple[Any, ...]] = {}
        self._pieces: dict[bytes, bytes] = {}
        self._received = 0
        self._runs: dict[int, dict[str, Any]] = {}
        self._runs_by_digest: dict[str, dict[str, Any]] = {}
        self._new_runs: dict[int, None] = {}
        self._changed_runs: set[int] = set()
        self.jobs: dict[str, int] = {}
        self.parts = Parts(connection)
        self._claims: dict[int, dict[int, Claim]] = {}
        self._inputs: dict[int, set[int]] = {}
        self._new_inputs: dict[tuple[int, int], None] = {}
        self._versions: dict[int, list[Version]] = {}
        # The names that mean a data set which this name means, too.
        self._kin: dict[int, set[int]] = {}
        self.symlinks: dict[str, list[int]] = {}
        self._asked: set[str] = set()
        self._new_symlinks: dict[str, tuple[int, int, str]] = {}
        self._changed_symlinks: set[str] = set()
        # Runs that say they dropped something, and its name.
        self.drops: dict[tuple[int, int], None] = {}
        self.renaming: set[int] = set()
        self._several: set[int] | None = None
        self._delicate: set[int] | None = None
        # The newest of each, to be compared with what is there when they are written.
        self.facets: dict[tuple[str, int, str], tuple[Any, ...]] = {}
        self.io_facets: dict[tuple[int, int, bool, str], tuple[Any, ...]] = {}
        self.run_facets: dict[tuple[int, str], tuple[Any, ...]] = {}
        # How many columns the newest quality facet of these events leaves open.
        self.unexplained: dict[int, int] = {}
        self.lifecycles: dict[int, tuple[str, str | None]] = {}
        # The most that an application said it lost for a reason.
        self.losses: dict[tuple[str, str], int] = {}
        self.spans: dict[str, dict[tuple[Any, ...], list[Any]]] = {
            "job_versions": {}, "job_edges": {}, "job_io": {},
        }  # fmt: skip
        # Names whose meaning is to be settled.
        self.seeds: set[int] = set()
        # The schemas of names that are new.
        self.stated: dict[int, list[tuple[Version, Fields]]] = defaultdict(list)
        # Names whose columns are to be derived anew from what schemas say.
        self.schemas: set[int] = set()
        self._read(list(events))

    # What is there already.

    def _read(self, events: list[Event]) -> None:
        hashes = {event.hash for event in events}
        query = "SELECT hash FROM events WHERE hash "
        self._seen = {row[0] for row in rows.fetched(self.connection, query, hashes)}
        new = [event for event in events if event.hash not in self._seen]
        if not new:
            return
        digests = {digest(event.run_id): event.run_id for event in new}
        self._read_runs("digest", digests)
        missing = [key for key in digests if key not in self._runs_by_digest]
        self._ids = dict(
            zip(missing, rows.new_ids(self.connection, schema.runs, len(missing)), strict=True)
        )
        known = list(self._runs)
        query = "SELECT run_id FROM renames WHERE run_id "
        self.renaming = {row[0] for row in rows.fetched(self.connection, query, known)}
        self.read_claims(known)
        self.jobs = rows.ids(
            self.connection,
            schema.jobs,
            {
                identity_digest(event.job_namespace, event.job_name): {
                    "namespace": event.job_namespace,
                    "name": event.job_name,
                }
                for event in new
            },
        )
        parts = {
            one.columns.hash: one.columns
            for event in new
            for one in event.outputs
            if one.columns is not None
        }
        self.parts.read(parts)
        used: set[Identity] = set()
        linked: set[Identity] = set()
        for event in new:
            of_event = event.names
            used |= of_event[0]
            linked |= of_event[1]
        named = self.names.preload(used | linked)
        if self._plain(new):
            self.names.together = True
            self.names.make(used, linked)
            self.seeds |= self.names.seeds
            self.names.seeds.clear()
        self._read_versions(
            {
                named[one.namespace, one.name]
                for event in new
                for one in (*event.inputs, *event.outputs)
                if one.schema is not None and (one.namespace, one.name) in named
            }
        )
        self.read_symlinks(
            link_digest(named[own], named[link[:2]], link[2])
            for own, link in {
                ((one.namespace, one.name), link)
                for event in new
                for one in (*event.inputs, *event.outputs)
                for link in one.symlinks
            }
            if own in named and link[:2] in named
        )

    def _plain(self, new: list[Event]) -> bool:
        """Whether names mean one data set each at all times, before these events and after.

        Then it makes no difference in which order they are looked at.
        """
        renamed = any(one.renamed_from for event in new for one in event.outputs)
        return not (renamed or self.renaming or self._with_several())

    def _read_runs(self, by: str, keys: Iterable[Any]) -> None:
        query = "SELECT " + ", ".join(f'"{name}"' for name in _RUN) + f" FROM runs WHERE {by} "
        for row in rows.fetched(self.connection, query, keys):
            run = dict(zip(_RUN, row, strict=True))
            self._runs[run["id"]] = self._runs_by_digest[run["digest"]] = run

    def read_claims(self, runs: Iterable[int]) -> None:
        """Have the claims and inputs of these runs ready."""
        wanted = [run for run in runs if run not in self._claims]
        for run in wanted:
            self._claims[run], self._inputs[run] = {}, set()
        columns = ", ".join(f"c.{name}" for name in _CLAIM)
        query = f"""
            SELECT {columns}, p.hash FROM claims c LEFT JOIN parts p ON p.id = c.part_id
            WHERE c.run_id """
        for row in rows.fetched(self.connection, query, wanted):
            claim = Claim(row[0], row[1], kept=True, changed=False)
            claim.part_id, claim.part_order = row[2:4]
            claim.job_id, claim.output_id, claim.definition_id, claim.time = row[4:8]
            claim.closes_columns, claim.closes_datasets = row[8] == 1, row[9] == 1
            claim.part_hash = row[10]
            self._claims[claim.run_id][claim.name_id] = claim
        query = "SELECT run_id, name_id FROM run_inputs WHERE run_id "
        for run, name in rows.fetched(self.connection, query, wanted):
            self._inputs[run].add(name)

    def read_runs(self, runs: Iterable[int]) -> None:
        """Have these runs ready."""
        self._read_runs("id", [run for run in runs if run not in self._runs])

    def _read_versions(self, names: Iterable[int]) -> None:
        wanted = [name for name in names if name not in self._kin]
        self._kin.update((name, {name}) for name in wanted)
        query = """
            SELECT own.name_id, other.name_id FROM meanings own
            JOIN meanings other ON other.dataset_id = own.dataset_id WHERE own.name_id """
        for name, other in rows.fetched(self.connection, query, wanted):
            self._kin[name].add(other)
        every = {kin for name in wanted for kin in self._kin[name]}.difference(self._versions)
        self._versions.update((name, []) for name in every)
        # The body is not read: it is what has this hash.
        query = (
            'SELECT name_id, hash, output, "order", first, id FROM schema_versions WHERE name_id '
        )
        for name, key, output, order, first, number in rows.fetched(self.connection, query, every):
            version = Version(key, output == 1, order, first, "", number, changed=False)
            self._versions[name].append(version)

    def read_symlinks(self, keys: Iterable[str]) -> None:
        """Have these symlinks ready: by their digest the first and last time."""
        query = "SELECT digest, first, last FROM symlinks WHERE digest "
        wanted = [key for key in keys if key not in self._asked]
        self._asked.update(wanted)
        for key, first, last in rows.fetched(self.connection, query, wanted):
            self.symlinks[key] = [first, last]

    # What the events add.

    def keep(self, event: Event, received: int) -> bool:
        """Keep the event itself; False if it is here already."""
        if event.hash in self._seen:
            return False
        self._seen.add(event.hash)
        self._pieces.update(event.pieces)
        self._received = received
        self._events[event.hash] = (
            event.hash, event.kind, event.run_id, event.type, event.time, received, event.body,
        )  # fmt: skip
        return True

    def run(self, key: str) -> dict[str, Any] | None:
        """A run's row by its digest."""
        return self._runs_by_digest.get(key)

    def run_by_id(self, number: int) -> dict[str, Any]:
        """A run's row."""
        return self._runs[number]

    def add_run(self, key: str, run: dict[str, Any]) -> int:
        """Note a new run; gives its id."""
        number = self._ids[key]
        row = {"id": number, "digest": key, "unexplained": 0, **run}
        self._runs[number] = self._runs_by_digest[key] = row
        self._claims[number], self._inputs[number] = {}, set()
        self._new_runs[number] = None
        return number

    def change_run(self, run: dict[str, Any], new: dict[str, Any]) -> None:
        """Note what a run says otherwise."""
        if any(run[name] != value for name, value in new.items()):
            run.update(new)
            if run["id"] not in self._new_runs:
                self._changed_runs.add(run["id"])

    def is_new(self, run: int) -> bool:
        """Whether nothing was known of the run before these events."""
        return run in self._new_runs

    def claims(self, run: int) -> dict[int, Claim]:
        """What a run says of its outputs, by their names."""
        if run not in self._claims:
            self.read_claims([run])
        return self._claims[run]

    def inputs(self, run: int) -> set[int]:
        """The names of what a run read."""
        if run not in self._inputs:
            self.read_claims([run])
        return self._inputs[run]

    def add_inputs(self, run: int, names: Iterable[int]) -> None:
        """Note what a run read."""
        known = self.inputs(run)
        new = [name for name in names if name not in known]
        known.update(new)
        for name in new:
            self._new_inputs[run, name] = None

    def versions(self, name: int) -> list[Version]:
        """The schemas that were stated of a name."""
        if name not in self._kin:
            self._read_versions([name])
        return self._versions[name]

    def rivals(self, name: int) -> Iterator[Version]:
        """The schemas that were stated of a name's data set, also under its other names."""
        kin = self._kin[name]
        if len(kin) == 1:
            return iter(self._versions[name])
        return (one for other in kin for one in self._versions[other])

    def add_symlink(self, key: str, link: tuple[int, int, str], time: int) -> None:
        """Note a symlink that is not there: from which name, to which one, its type."""
        self.symlinks[key] = [time, time]
        self._new_symlinks[key] = link

    def symlink_seen(self, key: str, time: int) -> bool:
        """Note that a known symlink was stated at a time; whether that widens its span."""
        span = self.symlinks[key]
        if span[0] <= time <= span[1]:
            return False
        span[:] = min(span[0], time), max(span[1], time)
        if key not in self._new_symlinks:
            self._changed_symlinks.add(key)
        return True

    def newest(
        self, found: dict[Any, tuple[Any, ...]], key: Any, order: str, row: tuple[Any, ...]
    ) -> None:
        """Keep a row unless a newer one is kept already; its last but one part is its order."""
        known = found.get(key)
        if known is None or known[-2] < order:
            found[key] = row

    def span(self, table: str, key: tuple[Any, ...], time: int, *more: Any) -> None:
        """Note that something was seen at a time."""
        spans = self.spans[table]
        known = spans.get(key)
        if known is None:
            spans[key] = [time, time, *more]
        else:
            known[:2] = min(known[0], time), max(known[1], time)

    # Names that meant other things at other times.

    def delicate(self, run: int, names: Callable[[], Iterable[int]]) -> bool:
        """Whether a run, known or told now with these names, has one of several meanings."""
        several = self._with_several()
        if not several:
            return False
        if not several.isdisjoint(names()):
            return True
        if self._delicate is None:
            self._delicate = self._read_delicate()
        return run in self._delicate

    def _with_several(self) -> set[int]:
        if self._several is None:
            query = f"SELECT DISTINCT name_id FROM meanings WHERE {LATER}"
            self._several = {row[0] for row in rows.read(self.connection, query)}
        return self._several

    def _read_delicate(self) -> set[int]:
        found: set[int] = set()
        for source in (
            "run_inputs x",
            "claims x",
            "(SELECT c.run_id, p.name_id FROM claims c JOIN part_names p"
            " ON p.part_id = c.part_id) x",
        ):
            query = f"""
                SELECT DISTINCT x.run_id FROM {source} JOIN meanings m ON m.name_id = x.name_id
                WHERE m.{LATER} AND x.run_id """
            found.update(row[0] for row in rows.fetched(self.connection, query, self._runs))
        return found

    def settled(self, changed: bool = True) -> None:
        """Forget what a new meaning of names may have ``changed``. Only after a flush."""
        self.seeds.clear()
        self._versions.clear()
        self._kin.clear()
        if changed:
            self._several = self._delicate = None
            self._claims.clear()
            self._inputs.clear()

    # All of it into the tables.

    def flush(self) -> None:
        """Write what others derive from: runs, claims, inputs, schemas, symlinks."""
        put, change, connection = rows.put, rows.change, self.connection
        new = [tuple(self._runs[run][name] for name in _RUN) for run in self._new_runs]
        put(connection, schema.runs, _RUN, new)
        changed = [
            tuple(self._runs[run][name] for name in (*_CHANGING, "id"))
            for run in sorted(self._changed_runs)
        ]
        change(connection, schema.runs, _CHANGING, ("id",), changed)
        self._new_runs.clear()
        self._changed_runs.clear()
        put(connection, schema.run_inputs, ("run_id", "name_id"), [*self._new_inputs], rows.IGNORE)
        self._new_inputs.clear()
        put(connection, schema.drops, ("run_id", "name_id"), [*self.drops], rows.IGNORE)
        self.drops.clear()
        self.parts.flush()
        self._flush_claims()
        self._flush_versions()
        links = [(key, *link, *self.symlinks[key]) for key, link in self._new_symlinks.items()]
        put(connection, schema.symlinks, _SYMLINK, links)
        self._new_symlinks.clear()
        spans = [(*self.symlinks[key], key) for key in sorted(self._changed_symlinks)]
        change(connection, schema.symlinks, ("first", "last"), ("digest",), spans)
        self._changed_symlinks.clear()

    def _flush_claims(self) -> None:
        new, changed = [], []
        for of_run in self._claims.values():
            for claim in of_run.values():
                if not claim.changed:
                    continue
                row = (
                    claim.run_id, claim.name_id, claim.part_id, claim.part_order, claim.job_id,
                    claim.output_id, claim.definition_id, claim.time, claim.closes_columns,
                    claim.closes_datasets,
                )  # fmt: skip
                if claim.kept:
                    changed.append((*row[2:], *row[:2]))
                else:
                    new.append(row)
                claim.kept, claim.changed = True, False
        rows.put(self.connection, schema.claims, _CLAIM, new)
        rows.change(self.connection, schema.claims, _CLAIM[2:], _CLAIM[:2], changed)

    def _flush_versions(self) -> None:
        new, changed = [], []
        for name, versions in self._versions.items():
            for one in versions:
                if one.changed and one.id is None:
                    new.append((name, one.hash, one.output, one.order, one.first, one.body))
                elif one.changed:
                    changed.append((one.order, one.first, one.id))
                one.changed = False
        rows.put(self.connection, schema.schema_versions, _VERSION, new)
        rows.change(self.connection, schema.schema_versions, ("order", "first"), ("id",), changed)
        if new:
            # Their ids are not known; they are read when they are asked for again.
            self._versions.clear()
            self._kin.clear()

    def finish(self) -> None:
        """Write all the rest, which nothing is derived from in this transaction."""
        put, connection = rows.put, self.connection
        columns = ("hash", "kind", "run_id", "type", "time", "received", "body")
        put(connection, schema.events, columns, [*self._events.values()])
        texts.keep(connection, self._pieces, self._received)
        put(
            connection, schema.facets, ("kind", "owner", "name", "deleted", "order", "body"),
            [self.facets[key] for key in sorted(self.facets)], rows.NEWER,
        )  # fmt: skip
        put(
            connection, schema.io_facets,
            ("run_id", "name_id", "output", "name", "order", "body"),
            [self.io_facets[key] for key in sorted(self.io_facets)], rows.NEWER,
        )  # fmt: skip
        self._finish_run_facets()
        self._finish_losses()
        lifecycles = [(said, order, one) for one, (order, said) in sorted(self.lifecycles.items())]
        newer = "(t.lifecycle_order IS NULL OR t.lifecycle_order < v.c2)"
        rows.change(
            connection, schema.names, ("lifecycle", "lifecycle_order"), ("id",), lifecycles, newer
        )
        for table, names in (
            (schema.job_versions, ("job_id", "hash", "first_seen", "last_seen", "source")),
            (schema.job_edges, ("job_id", "from_id", "first_seen", "last_seen")),
            (schema.job_io, ("job_id", "name_id", "output", "first_seen", "last_seen")),
        ):
            spans = self.spans[table.name]
            put(connection, table, names, [(*k, *v) for k, v in sorted(spans.items())], rows.SPAN)

    def _finish_losses(self) -> None:
        said = {digest(*key): (key, count) for key, count in self.losses.items()}
        query = 'SELECT digest, "count" FROM losses WHERE digest '
        known = dict(rows.fetched(self.connection, query, said))
        new = [(key, *who, count) for key, (who, count) in said.items() if key not in known]
        columns = ("digest", "application", "reason", "count")
        rows.put(self.connection, schema.losses, columns, new)
        more = [(count, key) for key, (_, count) in said.items() if known.get(key, count) < count]
        rows.change(self.connection, schema.losses, ("count",), ("digest",), more)

    def _finish_run_facets(self) -> None:
        """The newest facets of the runs, and how many columns the newest quality leaves open."""
        rows.put(
            self.connection, schema.run_facets, ("run_id", "name", "order", "body"),
            [self.run_facets[key] for key in sorted(self.run_facets)], rows.NEWER,
        )  # fmt: skip
        counts = {
            run: count
            for run, count in self.unexplained.items()
            if self._runs[run]["unexplained"] != count
        }
        query = f"SELECT run_id, \"order\" FROM run_facets WHERE name = '{QUALITY}' AND run_id "
        newest = [
            (counts[run], run)
            for run, order in rows.fetched(self.connection, query, counts)
            if order == self.run_facets[run, QUALITY][-2]
        ]
        rows.change(self.connection, schema.runs, ("unexplained",), ("id",), newest)
