"""Jobs in the shapes of Marquez's API, and which data sets they read and write; many at once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import Connection, func, select

from spark_lineage.collector import marquez_datasets, marquez_runs, marquez_times, owned
from spark_lineage.collector.marquez import Answer, uuid_of
from spark_lineage.collector.marquez_marks import Hidden
from spark_lineage.collector.store import schema
from spark_lineage.collector.store.names import meant_at
from spark_lineage.collector.store.rows import among
from spark_lineage.collector.times import show

_j, _r = schema.jobs, schema.runs
_LAST_RUNS = 10
Pairs = set[tuple[int, int]]


def page(
    connection: Connection,
    namespace: str | None,
    states: Sequence[str],
    limit: int,
    offset: int,
    hidden: Hidden,
) -> tuple[list[Answer], int]:
    """Jobs, those of the newest events first, of a namespace or of all, and how many there are.

    ``states`` are Marquez's; with any, only jobs whose last run is in one of them.
    """
    where: list[Any] = [_j.c.name != ""]
    if namespace is not None:
        where.append(_j.c.namespace == namespace)
    if hidden.jobs:
        where.append(_j.c.id.not_in(hidden.jobs))
    if states:
        ours = {theirs: state for state, theirs in marquez_runs.STATES.items()}
        last_state = (
            select(_r.c.state)
            .where(_r.c.job_id == _j.c.id, _r.c.kind == "RUN")
            .order_by(_r.c.last.desc(), _r.c.run_id)
            .limit(1)
            .scalar_subquery()
        )
        fits: Any = last_state.in_([ours[one] for one in states if one in ours])
        if "NEW" in states:
            fits |= last_state.not_in([*ours.values()])
        where.append(fits)
    total = connection.scalar(select(func.count()).select_from(_j).where(*where))
    last = select(func.max(_r.c.last)).where(_r.c.job_id == _j.c.id).scalar_subquery()
    # Those that only others speak of have no runs, and stand last on each kind of database.
    query = select(_j.c.id).where(*where).order_by(func.coalesce(last, -(10**17)).desc())
    query = query.order_by(_j.c.namespace, _j.c.name).limit(limit).offset(offset)
    return told(connection, list(connection.scalars(query))), int(total or 0)


def told(
    connection: Connection, ids: Sequence[int], runs: int = _LAST_RUNS, whole: bool = False
) -> list[Answer]:
    """Jobs by their ids, in that order, each with its last runs."""
    rows = connection.execute(select(_j).where(among(connection, _j.c.id, ids)))
    known = {row.id: row for row in rows}
    facets, tags = owned.job_facets(connection, ids), owned.job_tags(connection, ids)
    latest = marquez_runs.latest(connection, ids, runs, whole)
    spans = marquez_times.of_jobs(connection, ids)
    reads, writes = io_of(connection, ids)
    named = marquez_datasets.named(connection, {one for _, one in reads | writes})
    versions = _newest_versions(connection, ids)
    found = []
    for one in ids:
        row, every, span = known[one], facets.get(one, {}), spans.get(one)
        kind = str((every.get("jobType") or {}).get("processingType") or "BATCH").upper()
        parent = _parent(latest.get(one, []))
        prefix = f"{parent['name']}." if parent else ""
        found.append(
            {
                "id": {"namespace": row.namespace, "name": row.name},
                "type": "STREAM" if kind.startswith("STREAM") else "BATCH",
                "name": row.name,
                "simpleName": row.name.removeprefix(prefix) or row.name,
                "parentJobName": parent and parent["name"],
                "parentJobUuid": parent and uuid_of("job", parent["namespace"], parent["name"]),
                "createdAt": show(span.first if span else 0),
                "updatedAt": show(span.last if span else 0),
                "namespace": row.namespace,
                "inputs": _unique(named[read] for job, read in sorted(reads) if job == one),
                "outputs": _unique(named[wrote] for job, wrote in sorted(writes) if job == one),
                "location": (every.get("sourceCodeLocation") or {}).get("url"),
                "description": (every.get("documentation") or {}).get("description"),
                "latestRun": latest[one][0] if one in latest else None,
                # Not an empty list: of that Marquez's page makes an error.
                "latestRuns": latest.get(one),
                "facets": every,
                "currentVersion": versions[one][0] if one in versions else None,
                "labels": [],
                "tags": tags.get(one, []),
            }
        )
    return found


def _unique(names: Iterable[Answer]) -> list[Answer]:
    """Without repetition: a data set that lost its last name is shown by that still."""
    return [*{(one["namespace"], one["name"]): one for one in names}.values()]


def _parent(runs: list[Answer]) -> Answer | None:
    """The job that the last run says it was started by."""
    told = (runs[0]["facets"].get("parent") or {}).get("job") if runs else None
    if not isinstance(told, dict):
        return None
    return {key: str(told.get(key) or "") for key in ("namespace", "name")}


def _newest_versions(connection: Connection, ids: Iterable[int]) -> dict[int, list[str]]:
    """The ids of the versions of jobs, the newest first."""
    table = schema.job_versions
    query = (
        select(table.c.job_id, table.c.hash, _j.c.namespace, _j.c.name)
        .join(_j, _j.c.id == table.c.job_id)
        .where(among(connection, table.c.job_id, ids))
        .order_by(table.c.last_seen.desc(), table.c.hash)
    )
    found: dict[int, list[str]] = defaultdict(list)
    for row in connection.execute(query):
        found[row.job_id].append(uuid_of(row.namespace, row.name, row.hash))
    return found


def versions_of(connection: Connection, one: int, whole: bool = True) -> list[Answer]:
    """The versions of a job, one for each plan or text of its query, the newest first."""
    table = schema.job_versions
    (job,) = told(connection, [one], runs=0)
    rows = connection.execute(
        select(table).where(table.c.job_id == one).order_by(table.c.last_seen.desc(), table.c.hash)
    ).all()
    found = []
    for row in rows:
        version = uuid_of(job["namespace"], job["name"], row.hash)
        last = connection.scalar(
            select(_r.c.run_id)
            .where(_r.c.job_id == one, _r.c.kind == "RUN", _r.c.last <= row.last_seen)
            .order_by(_r.c.last.desc(), _r.c.run_id)
            .limit(1)
        )
        found.append(
            {
                "id": {**job["id"], "version": version},
                **{key: job[key] for key in ("name", "namespace", "location", "inputs", "outputs")},
                "version": version,
                "createdAt": show(row.first_seen),
                "latestRun": marquez_runs.one(connection, last, whole) if last else None,
                "facets": job["facets"],
            }
        )
    return found


def io_of(connection: Connection, jobs: Iterable[int]) -> tuple[Pairs, Pairs]:
    """The data sets that jobs read and write, as pairs of job and data set.

    By their open definitions; by what their runs say they read, who may write nothing;
    and by what other jobs state of them.
    """
    wanted = list(jobs)
    defs = schema.definitions
    reads = _edge_reads(connection, schema.definitions.c.job_id, wanted)
    reads |= _pairs(connection, _bare_reads().where(among(connection, _r.c.job_id, wanted)))
    writes = select(defs.c.job_id, defs.c.output_id).where(defs.c.closed.is_(None))
    written = _pairs(connection, writes.where(among(connection, defs.c.job_id, wanted)))
    for output, found in ((False, reads), (True, written)):
        stated = _stated_io(output).where(among(connection, schema.job_io.c.job_id, wanted))
        found |= _pairs(connection, stated)
    return reads, written


def users_of(connection: Connection, datasets: Iterable[int]) -> tuple[Pairs, Pairs]:
    """The jobs that read data sets and those that write them, as pairs of job and data set."""
    wanted = list(datasets)
    defs, meanings = schema.definitions, schema.meanings
    reads = _edge_reads(connection, schema.columns.c.dataset_id, wanted)
    meant = among(connection, meanings.c.dataset_id, wanted)
    reads |= _pairs(connection, _bare_reads().where(meant))
    writes = select(defs.c.job_id, defs.c.output_id).where(defs.c.closed.is_(None))
    written = _pairs(connection, writes.where(among(connection, defs.c.output_id, wanted)))
    for output, found in ((False, reads), (True, written)):
        found |= _pairs(connection, _stated_io(output).where(meant))
    return reads, written


def _pairs(connection: Connection, query: Any) -> Pairs:
    return {(row[0], row[1]) for row in connection.execute(query.distinct())}


def _edge_reads(connection: Connection, by: Any, wanted: list[int]) -> Pairs:
    e, c, defs, links = schema.edges, schema.columns, schema.definitions, schema.definition_edges
    if by.table is c:
        query = select(e.c.job_id, c.c.dataset_id).join(c, c.c.id == e.c.in_id)
    else:
        query = (
            select(defs.c.job_id, c.c.dataset_id)
            .join(links, links.c.definition_id == defs.c.id)
            .join(e, e.c.id == links.c.edge_id)
            .join(c, c.c.id == e.c.in_id)
        )
    return _pairs(connection, query.where(among(connection, by, wanted), e.c.closed.is_(None)))


def _bare_reads() -> Any:
    inputs, meanings = schema.run_inputs, schema.meanings
    return (
        select(_r.c.job_id, meanings.c.dataset_id)
        .join(inputs, inputs.c.run_id == _r.c.id)
        .join(meanings, meanings.c.name_id == inputs.c.name_id)
        .where(meant_at(_r.c.last))
    )


def _stated_io(output: bool) -> Any:
    io, meanings = schema.job_io, schema.meanings
    return (
        select(io.c.job_id, meanings.c.dataset_id)
        .join(meanings, meanings.c.name_id == io.c.name_id)
        .where(io.c.output.is_(output), meant_at(io.c.last_seen))
    )


def ids_of(connection: Connection, namespace: str) -> list[int]:
    """All jobs of a namespace."""
    return list(connection.scalars(select(_j.c.id).where(_j.c.namespace == namespace)))
