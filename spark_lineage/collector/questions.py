"""Questions that cross the graph: where tags flow, what a read saw, search, a run."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any

from sqlalchemy import Connection, Select, Table, func, select

from spark_lineage.collector import graph, owned
from spark_lineage.collector.graph import Bounds
from spark_lineage.collector.resolve import Column, Dataset
from spark_lineage.collector.store import schema, trigrams
from spark_lineage.collector.store.names import Names
from spark_lineage.collector.store.rows import chunks
from spark_lineage.collector.times import show

Answer = dict[str, Any]
MOST_WRITES = 1_000
# Of each data set that a run read, in the run's record.
MOST_SEEN = 20
_c, _d, _j, _r = schema.columns, schema.datasets, schema.jobs, schema.runs
_names, _meanings = schema.names, schema.meanings


def tagged(connection: Connection, key: str, bounds: Bounds) -> Answer:
    """The columns that hold what a tag marks: those tagged, and where they flow unmasked."""
    starts = _tagged_columns(connection, key)
    flow = Bounds(bounds.depth, bounds.limit, values_only=True, unmasked=True, as_of=bounds.as_of)
    walk = graph.downstream(connection, starts, flow)
    ordered = sorted(
        walk.nodes.values(), key=lambda n: (walk.distance[n.id], n.dataset, n.namespace, n.path)
    )
    return {
        "tag": key,
        "truncated": walk.left_out > 0,
        "left_out": walk.left_out,
        "columns": [
            {**node.to_dict(), "tagged": node.id in starts, "distance": walk.distance[node.id]}
            for node in ordered
        ],
    }


def tags_of(connection: Connection, column: Column, bounds: Bounds) -> Answer:
    """The tags that reach a column along unmasked values, each with where it is set."""
    flow = Bounds(bounds.depth, bounds.limit, values_only=True, unmasked=True, as_of=bounds.as_of)
    start = [] if column.id is None else [column.id]
    walk = graph.upstream(connection, start, flow)
    every = owned.tags(connection, {node.dataset_id for node in walk.nodes.values()})
    found = []
    for node in walk.nodes.values():
        for tag in every.get(node.dataset_id, ()):
            if tag["field"] in ("", node.path):
                found.append({**tag, "at": node.to_dict(), "distance": walk.distance[node.id]})
    found.sort(key=lambda tag: (tag["distance"], tag["key"], repr(tag["at"])))
    return {
        "column": column.to_dict(),
        "truncated": walk.left_out > 0,
        "left_out": walk.left_out,
        "tags": found,
    }


def _tagged_columns(connection: Connection, key: str) -> list[int]:
    facets = schema.facets
    stated = (
        select(_meanings.c.dataset_id)
        .join(facets, (facets.c.owner == _meanings.c.name_id) & (facets.c.kind == "DATASET"))
        .where(facets.c.name == "tags")
    )
    own = select(_meanings.c.dataset_id).join(
        schema.tags, schema.tags.c.name_id == _meanings.c.name_id
    )
    datasets = set(connection.scalars(stated)).union(connection.scalars(own))
    wanted: dict[int, set[str]] = {}
    for one, tags in owned.tags(connection, datasets).items():
        fields = {tag["field"] for tag in tags if tag["key"].lower() == key.lower()}
        if fields:
            wanted[one] = fields
    found = []
    for some in chunks(wanted):
        query = select(_c.c.id, _c.c.dataset_id, _c.c.path)
        query = query.where(_c.c.dataset_id.in_(some), ~_c.c.whole).order_by(_c.c.id)
        for row in connection.execute(query):
            if {"", row.path} & wanted[row.dataset_id]:
                found.append(row.id)
    return found


def search(connection: Connection, text: str, limit: int) -> Answer:
    """Data sets, columns and jobs by any part of their names, the best fit first."""
    pattern = "%" + text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
    most = limit * 4 + 100
    found: list[tuple[Any, ...]] = []
    names = (
        select(_names.c.name, _d.c.namespace, _d.c.name.label("dataset"))
        .join(_meanings, _meanings.c.name_id == _names.c.id)
        .join(_d, _d.c.id == _meanings.c.dataset_id)
        .where(_names.c.name.ilike(pattern, escape="\\"), ~_d.c.ghost)
        .order_by(func.length(_names.c.name), _names.c.name)
        .limit(most)
    )
    for row in connection.execute(_narrowed(connection, names, _names, text)):
        found.append((_rank(row.name, text), 0, row.dataset, row.namespace, None))
    columns = (
        select(_c.c.path, _d.c.namespace, _d.c.name)
        .join(_d, _d.c.id == _c.c.dataset_id)
        .where(_c.c.path.ilike(pattern, escape="\\"), ~_c.c.whole, ~_d.c.ghost)
        .order_by(func.length(_c.c.path), _c.c.path, _d.c.name)
        .limit(most)
    )
    for hit in connection.execute(_narrowed(connection, columns, _c, text)):
        found.append((_rank(hit.path, text), 1, hit.name, hit.namespace, hit.path))
    jobs = (
        select(_j.c.namespace, _j.c.name)
        .where(_j.c.name.ilike(pattern, escape="\\"))
        .order_by(func.length(_j.c.name), _j.c.name)
        .limit(most)
    )
    for job in connection.execute(_narrowed(connection, jobs, _j, text)):
        found.append((_rank(job.name, text), 2, job.name, job.namespace, None))
    ordered = sorted(set(found), key=lambda hit: tuple(part or "" for part in map(str, hit)))
    return {
        "q": text,
        "truncated": len(ordered) > limit,
        "left_out": max(0, len(ordered) - limit),
        "results": [
            {
                "type": ("DATASET", "COLUMN", "JOB")[kind],
                "namespace": namespace,
                "name": name,
                "column": path,
            }
            for _, kind, name, namespace, path in ordered[:limit]
        ],
    }


def _narrowed(connection: Connection, query: Select[Any], table: Table, text: str) -> Select[Any]:
    fits = trigrams.fits(connection, table, text)
    return query if fits is None else query.where(fits)


def _rank(name: str, text: str) -> int:
    """0 the whole name, 1 its last part, 2 the begin of a part, 3 anywhere."""
    low, wanted = name.lower(), text.lower()
    if low == wanted:
        return 0
    parts = low.replace("/", ".").replace(":", ".").split(".")
    if parts[-1] == wanted:
        return 1
    return 2 if any(part.startswith(wanted) for part in parts) else 3


def audit(connection: Connection, run_id: str) -> Answer | None:
    """One record of a run: who, when, what it read and wrote, and how much of it is known."""
    run = connection.execute(
        select(_r, _j.c.namespace, _j.c.name)
        .join(_j, _j.c.id == _r.c.job_id)
        .where(_r.c.run_id == run_id)
    ).first()
    if run is None:
        return None
    facets = {
        row.name: json.loads(row.body)
        for row in connection.execute(
            select(schema.run_facets).where(schema.run_facets.c.run_id == run.id)
        )
    }
    io: dict[tuple[int, bool], Answer] = defaultdict(dict)
    for row in connection.execute(select(schema.io_facets).where(
        schema.io_facets.c.run_id == run.id
    )):  # fmt: skip
        io[row.name_id, row.output][row.name] = json.loads(row.body)
    events = connection.execute(
        select(schema.events.c.type, schema.events.c.time, schema.events.c.received)
        .where(schema.events.c.run_id == run_id)
        .order_by(schema.events.c.time, schema.events.c.id)
    ).all()
    started = run.first if run.started is None else run.started
    context = facets.get("sparkLineage_context", {})
    outputs = _outputs(connection, run.id, io)
    return {
        "run": run.run_id,
        "job": {"namespace": run.namespace, "name": run.name},
        "state": run.state,
        "started": show(started),
        "ended": show(run.ended),
        "duration_ms": None if run.ended is None else (run.ended - started) // 1000,
        "user": context.get("user"),
        "availability": _worst([one["availability"] for one in outputs]),
        "inputs": _inputs(connection, run.id, io, started),
        "outputs": outputs,
        "facets": facets,
        "events": [
            {"type": row.type, "time": show(row.time), "received": show(row.received)}
            for row in events
        ],
    }


def _inputs(
    connection: Connection, run: int, io: dict[tuple[int, bool], Answer], started: int
) -> list[Answer]:
    """What a run read, each with the writes that it saw."""
    inputs = schema.run_inputs
    query = (
        select(_names.c.id, _names.c.namespace, _names.c.name)
        .join(inputs, inputs.c.name_id == _names.c.id)
        .where(inputs.c.run_id == run)
        .order_by(_names.c.namespace, _names.c.name)
    )
    names, found = Names(connection), []
    for row in connection.execute(query).all():
        meant = Dataset(names.dataset(row.id, started), row.namespace, row.name)
        seen = seen_by(connection, meant, started, MOST_SEEN)
        found.append(
            {
                "namespace": row.namespace,
                "dataset": row.name,
                "facets": io.get((row.id, False), {}),
                "saw": {key: seen[key] for key in ("complete", "truncated", "writes")},
            }
        )
    return found


def _outputs(connection: Connection, run: int, io: dict[tuple[int, bool], Answer]) -> list[Answer]:
    claims, defs = schema.claims, schema.definitions
    query = (
        select(
            _names.c.id, _names.c.namespace, _names.c.name, defs.c.availability,
            defs.c.columns_known, defs.c.detail,
        )
        .join(claims, claims.c.name_id == _names.c.id)
        .outerjoin(defs, defs.c.id == claims.c.definition_id)
        .where(claims.c.run_id == run)
        .order_by(_names.c.namespace, _names.c.name)
    )  # fmt: skip
    return [
        {
            "namespace": r.namespace,
            "dataset": r.name,
            "availability": r.availability or ("AVAILABLE" if r.columns_known else "UNAVAILABLE"),
            "issues": json.loads(r.detail)["issues"] if r.detail else [],
            "facets": io.get((r.id, True), {}),
        }
        for r in connection.execute(query)
    ]


def _worst(said: list[str]) -> str | None:
    order = ("AVAILABLE", "PARTIAL", "UNAVAILABLE")
    return max(said, key=order.index, default=None)


def seen_by(
    connection: Connection, dataset: Dataset, before: int, most: int = MOST_WRITES
) -> Answer:
    """What a read at a time saw: the last overwrite before it, and the appends since.

    Where no write says that it overwrote (``lifecycleStateChange`` OVERWRITE,
    CREATE or TRUNCATE), all that are known are told and ``complete`` is false.
    """
    claims, io = schema.claims, schema.io_facets
    query = (
        select(claims.c.time, _r.c.run_id, _j.c.namespace, _j.c.name, io.c.body)
        .join(_r, _r.c.id == claims.c.run_id)
        .join(_j, _j.c.id == _r.c.job_id)
        .outerjoin(
            io,
            (io.c.run_id == claims.c.run_id)
            & (io.c.name_id == claims.c.name_id)
            & io.c.output
            & (io.c.name == "lifecycleStateChange"),
        )
        .where(
            claims.c.output_id == dataset.id,
            claims.c.time <= before,
            _r.c.state.in_(("COMPLETE", "DECLARED")),
        )
        .order_by(claims.c.time.desc(), _r.c.run_id)
        .limit(most)
    )
    found: list[Answer] = []
    complete = False
    for row in connection.execute(query):
        said = json.loads(row.body).get("lifecycleStateChange") if row.body else None
        found.append(
            {
                "run": row.run_id,
                "job": {"namespace": row.namespace, "name": row.name},
                "time": show(row.time),
                "change": said,
            }
        )
        if str(said or "").upper() in ("OVERWRITE", "CREATE", "TRUNCATE"):
            complete = True
            break
    return {
        "dataset": dataset.to_dict(),
        "at": show(before),
        "complete": complete,
        "truncated": len(found) == most and not complete,
        "writes": found,
    }
