"""The store in the shapes of Marquez's read API, for clients that know that one."""

from __future__ import annotations

import json
import uuid
from typing import Any

from sqlalchemy import Connection, func, select

from spark_lineage.collector import owned
from spark_lineage.collector.store import schema, versions
from spark_lineage.collector.times import show

Answer = dict[str, Any]
_d, _c, _j, _r = schema.datasets, schema.columns, schema.jobs, schema.runs
_claims, _names, _meanings = schema.claims, schema.names, schema.meanings
STATES = {"COMPLETE": "COMPLETED", "FAIL": "FAILED", "ABORT": "ABORTED", "RUNNING": "RUNNING"}
_SPACE = uuid.uuid5(uuid.NAMESPACE_URL, "https://github.com/spark-lineage/collector")


def uuid_of(*parts: str) -> str:
    """An id of the form that Marquez has, the same for the same parts."""
    return str(uuid.uuid5(_SPACE, json.dumps(parts)))


def namespaces(connection: Connection) -> list[Answer]:
    """All namespaces of data sets and of jobs."""
    of_datasets = select(_d.c.namespace).where(~_d.c.ghost, _d.c.ended.is_(None))
    every = set(connection.scalars(of_datasets.distinct()))
    every.update(connection.scalars(select(_j.c.namespace).where(_j.c.name != "").distinct()))
    return [namespace(one) for one in sorted(every)]


def namespace(name: str) -> Answer:
    """One of them."""
    return {
        "name": name,
        "createdAt": _BEGIN,
        "updatedAt": _BEGIN,
        "ownerName": "anonymous",
        "description": None,
        "isHidden": False,
    }


_BEGIN = "1970-01-01T00:00:00.000000Z"


def source(name: str) -> Answer:
    """A source is what a namespace of data sets names."""
    kind = name.partition(":")[0].upper() if ":" in name else "DB"
    return {
        "type": kind,
        "name": name,
        "createdAt": _BEGIN,
        "updatedAt": _BEGIN,
        "connectionUrl": name,
        "description": None,
    }


def datasets(
    connection: Connection, namespace: str, limit: int, offset: int
) -> tuple[list[Answer], int]:
    """The data sets of a namespace by their names, and how many there are."""
    where = (_d.c.namespace == namespace, ~_d.c.ghost, _d.c.ended.is_(None))
    total = connection.scalar(select(func.count()).select_from(_d).where(*where))
    query = select(_d.c.id).where(*where).order_by(_d.c.name).limit(limit).offset(offset)
    return [dataset(connection, one) for one in connection.scalars(query)], int(total or 0)


def find_dataset(connection: Connection, namespace: str, name: str) -> int | None:
    """The data set that a name means now."""
    query = (
        select(_meanings.c.dataset_id)
        .join(_names, _names.c.id == _meanings.c.name_id)
        .where(_names.c.namespace == namespace, _names.c.name == name)
        .order_by(_meanings.c.since.desc())
    )
    return connection.scalar(query.limit(1))


def dataset(connection: Connection, one: int) -> Answer:
    """One data set."""
    row = connection.execute(select(_d).where(_d.c.id == one)).one()
    every = owned.facets(connection, [one]).get(one, {})
    tags = owned.tags(connection, [one]).get(one, [])
    first, last = connection.execute(
        select(func.min(_claims.c.time), func.max(_claims.c.time)).where(_claims.c.output_id == one)
    ).one()
    columns = connection.execute(
        select(_c.c.path, _c.c.type)
        .where(_c.c.dataset_id == one, ~_c.c.whole, _c.c.path == _c.c.root)
        .order_by(_c.c.position, _c.c.path)
    ).all()
    stated = schemas(connection, one)
    text = (every.get("documentation") or {}).get("description")
    change = (every.get("lifecycleStateChange") or {}).get("lifecycleStateChange")
    return {
        "id": {"namespace": row.namespace, "name": row.name},
        "type": "DB_TABLE",
        "name": row.name,
        "physicalName": row.name,
        "createdAt": show(first) or _BEGIN,
        "updatedAt": show(last) or _BEGIN,
        "namespace": row.namespace,
        "sourceName": row.namespace,
        "fields": [
            {
                "name": column.path,
                "type": column.type,
                "tags": sorted({tag["key"] for tag in tags if tag["field"] == column.path}),
                "description": None,
            }
            for column in columns
        ],
        "tags": sorted({tag["key"] for tag in tags if not tag["field"]}),
        "lastModifiedAt": show(last),
        "lastLifecycleState": change,
        "description": text,
        "currentVersion": stated[-1]["version"] if stated else uuid_of(row.namespace, row.name),
        "columnLineage": [],
        "facets": every,
        "deleted": change == "DROP",
    }


def schemas(connection: Connection, one: int) -> list[Answer]:
    """The versions of a data set: one for each schema, the oldest first."""
    row = connection.execute(select(_d).where(_d.c.id == one)).one()
    found: dict[str, Answer] = {}
    for stated in versions.of_dataset(connection, one):
        key = uuid_of(row.namespace, row.name, stated.hash)
        fields = [item for item in json.loads(stated.body) if item["path"] == item["root"]]
        found.setdefault(
            stated.hash,
            {
                "id": {"namespace": row.namespace, "name": row.name},
                "type": "DB_TABLE",
                "name": row.name,
                "physicalName": row.name,
                "createdAt": show(stated.first),
                "version": key,
                "namespace": row.namespace,
                "sourceName": row.namespace,
                "fields": [
                    {
                        "name": item["path"],
                        "type": item["type"],
                        "tags": [],
                        "description": item["description"],
                    }
                    for item in fields
                ],
                "tags": [],
                "currentSchemaVersion": key,
                "lifecycleState": None,
                "createdByRun": None,
                "facets": {},
            },
        )
    return list(found.values())


def jobs(
    connection: Connection, namespace: str | None, limit: int, offset: int
) -> tuple[list[Answer], int]:
    """Jobs by their names, of a namespace or of all, and how many there are."""
    where = [_j.c.name != ""]
    if namespace is not None:
        where.append(_j.c.namespace == namespace)
    total = connection.scalar(select(func.count()).select_from(_j).where(*where))
    query = select(_j.c.id).where(*where).order_by(_j.c.namespace, _j.c.name)
    ids = list(connection.scalars(query.limit(limit).offset(offset)))
    return [job(connection, one) for one in ids], int(total or 0)


def find_job(connection: Connection, namespace: str, name: str) -> int | None:
    """A job by its name."""
    query = select(_j.c.id).where(_j.c.namespace == namespace, _j.c.name == name)
    return connection.scalar(query) if name else None


def job(connection: Connection, one: int) -> Answer:
    """One job, with its data sets and its last ten runs."""
    row = connection.execute(select(_j).where(_j.c.id == one)).one()
    every = owned.job_facets(connection, [one]).get(one, {})
    latest, _ = runs(connection, one, 10, 0)
    first, last = connection.execute(
        select(func.min(_r.c.first), func.max(_r.c.last)).where(_r.c.job_id == one)
    ).one()
    ins, outs = io_of(connection, one)
    kind = str((every.get("jobType") or {}).get("processingType") or "BATCH").upper()
    parent, _, simple = row.name.rpartition(".")
    return {
        "id": {"namespace": row.namespace, "name": row.name},
        "type": "STREAM" if kind.startswith("STREAM") else "BATCH",
        "name": row.name,
        "simpleName": simple or row.name,
        "parentJobName": parent or None,
        "parentJobUuid": None,
        "createdAt": show(first) or _BEGIN,
        "updatedAt": show(last) or _BEGIN,
        "namespace": row.namespace,
        "inputs": [named(connection, ins[key]) for key in sorted(ins)],
        "outputs": [named(connection, outs[key]) for key in sorted(outs)],
        "location": (every.get("sourceCodeLocation") or {}).get("url"),
        "description": (every.get("documentation") or {}).get("description"),
        "latestRun": latest[0] if latest else None,
        "latestRuns": latest,
        "facets": every,
        "currentVersion": _current_version(connection, row),
        "labels": [],
        "tags": [],
    }


def _current_version(connection: Connection, job: Any) -> str | None:
    table = schema.job_versions
    query = select(table.c.hash).where(table.c.job_id == job.id)
    newest = connection.scalar(query.order_by(table.c.last_seen.desc(), table.c.hash).limit(1))
    return None if newest is None else uuid_of(job.namespace, job.name, newest)


def job_versions(connection: Connection, one: int) -> list[Answer]:
    """The versions of a job, one for each plan or text of its query, the newest first."""
    table = schema.job_versions
    job = connection.execute(select(_j).where(_j.c.id == one)).one()
    query = select(table).where(table.c.job_id == one)
    rows = connection.execute(query.order_by(table.c.last_seen.desc(), table.c.hash)).all()
    ins, outs = io_of(connection, one)
    found = []
    for row in rows:
        version = uuid_of(job.namespace, job.name, row.hash)
        found.append(
            {
                "id": {"namespace": job.namespace, "name": job.name, "version": version},
                "name": job.name,
                "namespace": job.namespace,
                "version": version,
                "createdAt": show(row.first_seen),
                "location": None,
                "inputs": [named(connection, key) for key in sorted(ins)],
                "outputs": [named(connection, key) for key in sorted(outs)],
                "latestRun": None,
            }
        )
    return found


def named(connection: Connection, dataset: int) -> Answer:
    """A data set's id as Marquez has it."""
    row = connection.execute(select(_d.c.namespace, _d.c.name).where(_d.c.id == dataset)).one()
    return {"namespace": row.namespace, "name": row.name}


def io_of(connection: Connection, job: int) -> tuple[dict[int, int], dict[int, int]]:
    """The data sets that a job's open definitions read and write."""
    defs, links, e = schema.definitions, schema.definition_edges, schema.edges
    outs = select(defs.c.output_id).where(defs.c.job_id == job, defs.c.closed.is_(None))
    ins = (
        select(_c.c.dataset_id)
        .join(e, e.c.in_id == _c.c.id)
        .join(links, links.c.edge_id == e.c.id)
        .join(defs, defs.c.id == links.c.definition_id)
        .where(defs.c.job_id == job, e.c.closed.is_(None))
    )
    read = set(connection.scalars(ins.distinct()))
    inputs = schema.run_inputs
    bare = (
        select(_meanings.c.dataset_id)
        .join(inputs, inputs.c.name_id == _meanings.c.name_id)
        .join(_r, _r.c.id == inputs.c.run_id)
        .where(_r.c.job_id == job)
    )
    read.update(connection.scalars(bare.distinct()))
    written = set(connection.scalars(outs.distinct()))
    return {one: one for one in read}, {one: one for one in written}


def runs(connection: Connection, job: int, limit: int, offset: int) -> tuple[list[Answer], int]:
    """The runs of a job, the newest first, and how many there are."""
    where = (_r.c.job_id == job, _r.c.kind == "RUN")
    total = connection.scalar(select(func.count()).select_from(_r).where(*where))
    query = select(_r).where(*where).order_by(_r.c.last.desc(), _r.c.run_id)
    rows = connection.execute(query.limit(limit).offset(offset)).all()
    return [_run(connection, row) for row in rows], int(total or 0)


def run(connection: Connection, run_id: str) -> Answer | None:
    """One run by its id."""
    row = connection.execute(select(_r).where(_r.c.run_id == run_id, _r.c.kind == "RUN")).first()
    return _run(connection, row) if row else None


def _run(connection: Connection, row: Any) -> Answer:
    started = row.first if row.started is None else row.started
    facet = schema.run_facets
    found = connection.execute(select(facet.c.name, facet.c.body).where(facet.c.run_id == row.id))
    job = connection.execute(select(_j.c.namespace, _j.c.name).where(_j.c.id == row.job_id)).one()
    return {
        "id": row.run_id,
        "job": {"namespace": job.namespace, "name": job.name},
        "createdAt": show(row.first),
        "updatedAt": show(row.last),
        "nominalStartTime": None,
        "nominalEndTime": None,
        "state": STATES.get(row.state, "NEW"),
        "startedAt": show(started),
        "endedAt": show(row.ended),
        "durationMs": None if row.ended is None else (row.ended - started) // 1000,
        "args": {},
        "jobVersion": None,
        "inputDatasetVersions": [],
        "outputDatasetVersions": [],
        "facets": {one.name: json.loads(one.body) for one in found},
    }
