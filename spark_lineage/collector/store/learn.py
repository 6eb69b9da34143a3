"""What an event states of data sets and jobs as such: names, links, schemas, facets."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from sqlalchemy import Connection, insert, select, update

from spark_lineage.collector.model import DatasetFacts, Event, canonical, digest
from spark_lineage.collector.store import rows, schema, versions
from spark_lineage.collector.store.names import Identity, Names


@dataclass
class Learned:
    """Names whose meaning is to be settled, and names whose columns are to be derived."""

    seeds: set[int] = field(default_factory=set)
    schemas: set[int] = field(default_factory=set)


def facts(connection: Connection, event: Event, run: int, known: Names) -> Learned:
    """Note all that the event states of names; also of those that a newer statement replaces.

    Which names are known must not depend on what arrived first.
    """
    learned = Learned()
    every = [*event.inputs, *event.outputs]
    used, linked = _identities(event)
    known.ids(used | linked)
    known.use(used)
    _symlinks(connection, event, known, learned)
    _renames(connection, event, run, known)
    for one in every:
        name = known.ids([])[one.namespace, one.name]
        if one.schema is not None and versions.learn(
            connection, name, one.schema, one.output, event
        ):
            learned.schemas.add(name)
        if one.output:
            _lifecycle(connection, event, name, one)
    _facets(connection, event, run, known)
    _job(connection, event, known)
    return learned


def _identities(event: Event) -> tuple[set[Identity], set[Identity]]:
    """The names that the event uses, and those that it only links to."""
    used: set[Identity] = set()
    linked: set[Identity] = set()
    for one in (*event.inputs, *event.outputs):
        used.add((one.namespace, one.name))
        edges = one.columns.edges if one.columns else ()
        used.update((edge.namespace, edge.name) for edge in edges)
        used.update((one.columns and one.columns.inputs) or ())
        linked.update(link[:2] for link in one.symlinks)
        if one.renamed_from:
            linked.add(one.renamed_from)
    used.update(dataset for _, dataset, _ in event.job_io)
    return used, linked


def _symlinks(connection: Connection, event: Event, known: Names, learned: Learned) -> None:
    ids = known.ids([])
    links = {}
    for one in (*event.inputs, *event.outputs):
        name = ids[one.namespace, one.name]
        for namespace, other, kind in one.symlinks:
            to = ids[namespace, other]
            if to != name:
                links[digest(str(name), str(to), kind)] = (name, to, kind)
    if not links:
        return
    table = schema.symlinks
    found = {
        row.digest: row
        for row in connection.execute(select(table).where(table.c.digest.in_(list(links))))
    }
    several = schema.meanings.c.since > rows.BEGINNING
    for key, (name, to, kind) in links.items():
        row = found.get(key)
        if row is None:
            new = {"digest": key, "name_id": name, "to_id": to, "type": kind}
            connection.execute(insert(table), {**new, "first": event.time, "last": event.time})
            learned.seeds.add(name)
        elif not row.first <= event.time <= row.last:
            span = {"first": min(row.first, event.time), "last": max(row.last, event.time)}
            connection.execute(update(table).where(table.c.id == row.id).values(**span))
            cut = select(schema.meanings.c.since).where(
                schema.meanings.c.name_id.in_([name, to]), several
            )
            if connection.scalar(cut.limit(1)) is not None:
                learned.seeds.add(name)


def _renames(connection: Connection, event: Event, run: int, known: Names) -> None:
    ids = known.ids([])
    table = schema.renames
    found = []
    for one in event.outputs:
        if one.renamed_from and one.renamed_from != (one.namespace, one.name):
            source, to = ids[one.renamed_from], ids[one.namespace, one.name]
            found.append({"run_id": run, "from_id": source, "to_id": to})
    rows.insert_new(connection, table, found)


def renamed(connection: Connection, run: int) -> set[int]:
    """The names that a run renamed."""
    table = schema.renames
    query = select(table.c.from_id, table.c.to_id).where(table.c.run_id == run)
    return {name for row in connection.execute(query) for name in row}


def _lifecycle(connection: Connection, event: Event, name: int, one: DatasetFacts) -> None:
    table = schema.names
    newer = table.c.lifecycle_order.is_(None) | (table.c.lifecycle_order < event.schema_order)
    said = {"lifecycle": one.lifecycle, "lifecycle_order": event.schema_order}
    connection.execute(update(table).where(table.c.id == name, newer).values(**said))


def _facets(connection: Connection, event: Event, run: int, known: Names) -> None:
    ids = known.ids([])
    of_names: dict[tuple[int, str], dict[str, Any]] = {}
    of_runs: dict[tuple[int, bool, str], dict[str, Any]] = {}
    for one in (*event.inputs, *event.outputs):
        name = ids[one.namespace, one.name]
        for key, body in one.facets.items():
            of_names[name, key] = _facet("DATASET", name, key, body, event)
        for key, body in one.io_facets.items():
            of_runs[name, one.output, key] = {
                "run_id": run,
                "name_id": name,
                "output": one.output,
                "name": key,
                "order": event.order,
                "body": canonical(body),
            }
    rows.upsert_newer(connection, schema.facets, list(of_names.values()))
    rows.upsert_newer(connection, schema.io_facets, list(of_runs.values()))


def _facet(kind: str, owner: int, name: str, body: dict[str, Any], event: Event) -> dict[str, Any]:
    return {
        "kind": kind,
        "owner": owner,
        "name": name,
        "order": event.schema_order,
        "deleted": body.get("_deleted") is True,
        "body": canonical(body),
    }


def _job(connection: Connection, event: Event, known: Names) -> None:
    if not (event.job_facets or event.job_edges or event.job_io):
        return
    every = {(event.job_namespace, event.job_name)}
    every.update(end for edge in event.job_edges for end in edge)
    every.update(job for job, _, _ in event.job_io)
    by_key = {digest(*one): {"namespace": one[0], "name": one[1]} for one in every}
    ids = rows.ids(connection, schema.jobs, by_key)
    job = ids[digest(event.job_namespace, event.job_name)]
    facets = [_facet("JOB", job, name, body, event) for name, body in event.job_facets.items()]
    rows.upsert_newer(connection, schema.facets, facets)
    seen = {"first_seen": event.time, "last_seen": event.time}
    edges = [
        {"job_id": ids[digest(*to)], "from_id": ids[digest(*source)], **seen}
        for source, to in event.job_edges
    ]
    rows.upsert_span(connection, schema.job_edges, edges)
    io = [
        {"job_id": ids[digest(*one)], "name_id": known.ids([])[dataset], "output": output, **seen}
        for one, dataset, output in event.job_io
    ]
    rows.upsert_span(connection, schema.job_io, io)
    source = _source(event.job_facets)
    if source is not None:
        key = sha256(source[1].encode()).hexdigest()[:32]
        row = {"job_id": job, "hash": key, "source": source[0], **seen}
        rows.upsert_span(connection, schema.job_versions, [row])


def _source(facets: dict[str, Any]) -> tuple[str, str] | None:
    """What a job does, and where that is told: its SQL, its code, or the place of its code."""
    for facet, member in (("sql", "query"), ("sourceCode", "sourceCode")):
        text = facets.get(facet, {}).get(member)
        if isinstance(text, str) and text.strip():
            return facet, " ".join(text.split())
    place = facets.get("sourceCodeLocation", {})
    version = place.get("version")
    if isinstance(version, str) and version:
        return "sourceCodeLocation", canonical([place.get("url"), place.get("path"), version])
    return None
