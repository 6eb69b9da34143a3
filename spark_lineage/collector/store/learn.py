"""What an event states of data sets and jobs as such: names, links, schemas, facets."""

from __future__ import annotations

from sqlalchemy import Connection, select

from spark_lineage.collector.model import Event, Facet, identity_digest
from spark_lineage.collector.store import rows, schema, versions
from spark_lineage.collector.store.batch import Batch
from spark_lineage.collector.store.claims import link_digest


def facts(batch: Batch, event: Event, run: int) -> set[int]:
    """Note all that the event states of names; also of those that a newer statement replaces.

    Which names are known must not depend on what arrived first. Gives the names
    whose meaning is to be settled.
    """
    names = batch.names
    if not names.together:
        used, linked = event.names
        names.ids(used | linked)
        names.use(used)
    ids = names.known
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


def _symlinks(batch: Batch, event: Event) -> set[int]:
    ids = batch.names.known
    links = {}
    for one in (*event.inputs, *event.outputs):
        for namespace, other, kind in one.symlinks:
            name, to = ids[one.namespace, one.name], ids[namespace, other]
            if to != name:
                links[link_digest(name, to, kind)] = (name, to, kind)
    if not links:
        return set()
    batch.read_symlinks(links)
    seeds: set[int] = set()
    for key, (name, to, kind) in links.items():
        if key not in batch.symlinks:
            batch.add_symlink(key, (name, to, kind), event.time)
            seeds.add(name)
        elif batch.symlink_seen(key, event.time) and (
            len(batch.names.of(name)) > 1 or len(batch.names.of(to)) > 1
        ):
            seeds.add(name)
    return seeds


def _renames_and_drops(batch: Batch, event: Event, run: int) -> None:
    ids = batch.names.known
    found = []
    for one in event.outputs:
        if one.renamed_from and one.renamed_from != (one.namespace, one.name):
            found.append((run, ids[one.renamed_from], ids[one.namespace, one.name]))
        if (one.lifecycle or "").upper() == "DROP":
            batch.drops[run, ids[one.namespace, one.name]] = None
    if found:
        # Their rows point to the run's, and what a rename means is settled at once.
        batch.flush()
        batch.renaming.add(run)
        columns = ("run_id", "from_id", "to_id")
        rows.put(batch.connection, schema.renames, columns, found, rows.IGNORE)


def renamed(connection: Connection, run: int) -> set[int]:
    """The names that a run renamed."""
    table = schema.renames
    query = select(table.c.from_id, table.c.to_id).where(table.c.run_id == run)
    return {name for row in connection.execute(query) for name in row}


def _facets(batch: Batch, event: Event, run: int) -> None:
    ids, order = batch.names.known, event.order
    of_names: dict[tuple[str, int, str], Facet] = {}
    for one in (*event.inputs, *event.outputs):
        name = ids[one.namespace, one.name]
        for key, facet in one.facets.items():
            of_names["DATASET", name, key] = facet
        for key, facet in one.io_facets.items():
            of_run = (run, name, one.output, key)
            batch.newest(batch.io_facets, of_run, order, (*of_run, order, facet.text))
    for of_name, facet in of_names.items():
        _facet(batch, of_name, facet, event.schema_order)


def _facet(batch: Batch, key: tuple[str, int, str], facet: Facet, order: str) -> None:
    row = (*key, facet.content.get("_deleted") is True, order, facet.text)
    batch.newest(batch.facets, key, order, row)


def _job(batch: Batch, event: Event) -> None:
    ids, time = batch.jobs, event.time
    if event.job_edges or event.job_io:
        every = {end for edge in event.job_edges for end in edge}
        every.update(job for job, _, _ in event.job_io)
        unknown = {identity_digest(*one): one for one in every if identity_digest(*one) not in ids}
        if unknown:
            new = {key: {"namespace": one[0], "name": one[1]} for key, one in unknown.items()}
            ids.update(rows.ids(batch.connection, schema.jobs, new))
    job = ids[identity_digest(event.job_namespace, event.job_name)]
    for name, facet in event.job_facets.items():
        _facet(batch, ("JOB", job, name), facet, event.schema_order)
    for source, to in event.job_edges:
        ends = ids[identity_digest(*to)], ids[identity_digest(*source)]
        batch.span("job_edges", ends, time)
    for one, dataset, output in event.job_io:
        place = (ids[identity_digest(*one)], batch.names.known[dataset], output)
        batch.span("job_io", place, time)
    if event.job_version is not None:
        key, told = event.job_version
        batch.span("job_versions", (job, key), time, told)
