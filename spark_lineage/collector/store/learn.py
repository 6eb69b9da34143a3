"""What an event states of data sets and jobs as such: names, links, schemas, facets."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from sqlalchemy import Connection, insert, select

from spark_lineage.collector import sqltext
from spark_lineage.collector.model import Event, canonical, digest, identity_digest
from spark_lineage.collector.store import rows, schema, versions
from spark_lineage.collector.store.batch import Batch
from spark_lineage.collector.store.names import Identity


def facts(batch: Batch, event: Event, run: int) -> set[int]:
    """Note all that the event states of names; also of those that a newer statement replaces.

    Which names are known must not depend on what arrived first. Gives the names
    whose meaning is to be settled.
    """
    names = batch.names
    used, linked = _identities(event)
    ids = names.ids(used | linked)
    names.use(used)
    seeds = _symlinks(batch, event)
    _renames_and_drops(batch, event, run)
    for one in (*event.inputs, *event.outputs):
        name = ids[one.namespace, one.name]
        if one.schema is not None and versions.learn(batch, name, one.schema, one.output, event):
            batch.schemas.add(name)
        if one.output:
            known = batch.lifecycles.get(name)
            if known is None or known[0] < event.schema_order:
                batch.lifecycles[name] = (event.schema_order, one.lifecycle)
    _facets(batch, event, run)
    _job(batch, event)
    return seeds


def _identities(event: Event) -> tuple[set[Identity], set[Identity]]:
    """The names that the event uses, and those that it only links to."""
    used: set[Identity] = set()
    linked: set[Identity] = set()
    for one in (*event.inputs, *event.outputs):
        used.add((one.namespace, one.name))
        if one.columns is not None:
            used |= one.columns.sources
        linked.update(link[:2] for link in one.symlinks)
        if one.renamed_from:
            linked.add(one.renamed_from)
    used.update(dataset for _, dataset, _ in event.job_io)
    return used, linked


def _symlinks(batch: Batch, event: Event) -> set[int]:
    ids, connection = batch.names.ids([]), batch.connection
    links = {}
    for one in (*event.inputs, *event.outputs):
        name = ids[one.namespace, one.name]
        for namespace, other, kind in one.symlinks:
            to = ids[namespace, other]
            if to != name:
                links[digest(str(name), str(to), kind)] = (name, to, kind)
    if not links:
        return set()
    batch.read_symlinks(links)
    seeds: set[int] = set()
    for key, (name, to, kind) in links.items():
        if key not in batch.symlinks:
            new = {"digest": key, "name_id": name, "to_id": to, "type": kind}
            row = {**new, "first": event.time, "last": event.time}
            connection.execute(insert(schema.symlinks), row)
            batch.symlinks[key] = [event.time, event.time]
            seeds.add(name)
        elif batch.symlink_seen(key, event.time):
            meanings = batch.names.meanings([name, to])
            if len(meanings[name]) > 1 or len(meanings[to]) > 1:
                seeds.add(name)
    return seeds


def _renames_and_drops(batch: Batch, event: Event, run: int) -> None:
    ids, connection = batch.names.ids([]), batch.connection
    found = []
    for one in event.outputs:
        if one.renamed_from and one.renamed_from != (one.namespace, one.name):
            source, to = ids[one.renamed_from], ids[one.namespace, one.name]
            found.append({"run_id": run, "from_id": source, "to_id": to})
    dropped = [
        {"run_id": run, "name_id": ids[one.namespace, one.name]}
        for one in event.outputs
        if (one.lifecycle or "").upper() == "DROP"
    ]
    if found or dropped:
        # Their rows point to the run's, and what a rename means is settled at once.
        batch.flush()
        batch.renaming.update(row["run_id"] for row in found)
        rows.insert_new(connection, schema.renames, found)
        rows.insert_new(connection, schema.drops, dropped)


def renamed(connection: Connection, run: int) -> set[int]:
    """The names that a run renamed."""
    table = schema.renames
    query = select(table.c.from_id, table.c.to_id).where(table.c.run_id == run)
    return {name for row in connection.execute(query) for name in row}


def _facets(batch: Batch, event: Event, run: int) -> None:
    ids, order = batch.names.ids([]), event.order
    of_names: dict[tuple[str, int, str], dict[str, Any]] = {}
    of_runs: dict[tuple[int, int, bool, str], dict[str, Any]] = {}
    for one in (*event.inputs, *event.outputs):
        name = ids[one.namespace, one.name]
        for key, body in one.facets.items():
            of_names["DATASET", name, key] = body
        for key, body in one.io_facets.items():
            of_runs[run, name, one.output, key] = body
    for of_name, body in of_names.items():
        _facet(batch, of_name, body, event)
    for of_run, body in of_runs.items():
        batch.newest(batch.io_facets, of_run, order, (*of_run, order, canonical(body)))


def _facet(batch: Batch, key: tuple[str, int, str], body: dict[str, Any], event: Event) -> None:
    order = event.schema_order
    row = (*key, body.get("_deleted") is True, order, canonical(body))
    batch.newest(batch.facets, key, order, row)


def _job(batch: Batch, event: Event) -> None:
    if not (event.job_facets or event.job_edges or event.job_io):
        return
    every = {end for edge in event.job_edges for end in edge}
    every.update(job for job, _, _ in event.job_io)
    ids, time = batch.jobs, event.time
    unknown = {identity_digest(*one): one for one in every if identity_digest(*one) not in ids}
    if unknown:
        new = {key: {"namespace": one[0], "name": one[1]} for key, one in unknown.items()}
        ids.update(rows.ids(batch.connection, schema.jobs, new))
    job = ids[identity_digest(event.job_namespace, event.job_name)]
    for name, body in event.job_facets.items():
        _facet(batch, ("JOB", job, name), body, event)
    for source, to in event.job_edges:
        ends = ids[identity_digest(*to)], ids[identity_digest(*source)]
        batch.span("job_edges", ends, time)
    for one, dataset, output in event.job_io:
        place = (ids[identity_digest(*one)], batch.names.ids([])[dataset], output)
        batch.span("job_io", place, time)
    told = _source(event.job_facets)
    if told is not None:
        key = sha256(told[1].encode()).hexdigest()[:32]
        batch.span("job_versions", (job, key), time, told[0])


def _source(facets: dict[str, Any]) -> tuple[str, str] | None:
    """What a job does, and where that is told: its plan, its SQL, its code or where that is.

    A hash of the plan tells most: it is the same for texts that mean the same.
    """
    told = facets.get("sparkLineage_version", {})
    for member, what in (("planHash", "plan"), ("sqlHash", "sql")):
        value = told.get(member)
        if isinstance(value, str) and value:
            return what, value
    text = facets.get("sql", {}).get("query")
    if isinstance(text, str) and text.strip():
        return "sql", sqltext.normalised(text)
    text = facets.get("sourceCode", {}).get("sourceCode")
    if isinstance(text, str) and text.strip():
        return "sourceCode", text.strip()
    place = facets.get("sourceCodeLocation", {})
    version = place.get("version")
    if isinstance(version, str) and version:
        return "sourceCodeLocation", canonical([place.get("url"), place.get("path"), version])
    return None
