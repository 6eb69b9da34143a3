"""Runs in the shapes of Marquez's API; many are read at once."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, func, select

from spark_lineage.collector import marquez_said
from spark_lineage.collector.marquez import Answer, uuid_of
from spark_lineage.collector.store import schema, versions
from spark_lineage.collector.store.names import Names
from spark_lineage.collector.store.rows import among
from spark_lineage.collector.times import parse, show

_r, _j, _d = schema.runs, schema.jobs, schema.datasets
_names, _claims = schema.names, schema.claims
STATES = {"COMPLETE": "COMPLETED", "FAIL": "FAILED", "ABORT": "ABORTED", "RUNNING": "RUNNING"}


def page(
    connection: Connection, job: int, limit: int, offset: int, whole: bool = True
) -> tuple[list[Answer], int]:
    """The runs of a job, the newest first, and how many there are."""
    where = (_r.c.job_id == job, _r.c.kind == "RUN")
    total = connection.scalar(select(func.count()).select_from(_r).where(*where))
    query = select(_r).where(*where).order_by(_r.c.last.desc(), _r.c.run_id)
    rows = connection.execute(query.limit(limit).offset(offset)).all()
    return told(connection, rows, whole), int(total or 0)


def latest(
    connection: Connection, jobs: Sequence[int], count: int, whole: bool = False
) -> dict[int, list[Answer]]:
    """The last runs of each of some jobs, the newest first."""
    rows: list[Row[Any]] = []
    for job in jobs:
        query = select(_r).where(_r.c.job_id == job, _r.c.kind == "RUN")
        rows += connection.execute(query.order_by(_r.c.last.desc(), _r.c.run_id).limit(count)).all()
    found: dict[int, list[Answer]] = defaultdict(list)
    for row, run in zip(rows, told(connection, rows, whole), strict=True):
        found[row.job_id].append(run)
    return found


def one(connection: Connection, run_id: str, whole: bool = True) -> Answer | None:
    """One run by its id."""
    query = select(_r).where(_r.c.run_id == run_id, _r.c.kind == "RUN")
    rows = connection.execute(query.limit(1)).all()
    return told(connection, rows, whole)[0] if rows else None


def facets(
    connection: Connection, run_id: str, of_job: bool, whole: bool = True
) -> dict[str, Any] | None:
    """The facets of a run, or those that it has of its job; None for an unknown run.

    Of a job whose run's events were pruned, those of its newest run.
    """
    found = one(connection, run_id, whole)
    if found is None or not of_job:
        return found and found["facets"]
    said = marquez_said.of_runs(connection, [run_id] if whole else [])
    if run_id in said:
        return said[run_id].job
    table = schema.facets
    query = (
        select(table.c.name, table.c.body)
        .join(_r, _r.c.job_id == table.c.owner)
        .where(_r.c.run_id == run_id, table.c.kind == "JOB", ~table.c.deleted)
    )
    return {name: json.loads(body) for name, body in connection.execute(query)}


def told(connection: Connection, rows: Sequence[Row[Any]], whole: bool) -> list[Answer]:
    """Runs by their rows; ``whole``: with all that their events say, and what they read and wrote.

    Lists of jobs have ten runs of each: of these only what is read without the events. And
    so for a token of some namespaces: events have texts that may name what it may not see.
    """
    ids = [row.id for row in rows]
    table = schema.run_facets
    facets: dict[int, dict[str, Any]] = defaultdict(dict)
    query = select(table.c.run_id, table.c.name, table.c.body)
    for run, name, body in connection.execute(query.where(among(connection, table.c.run_id, ids))):
        facets[run][name] = json.loads(body)
    if whole:
        said = marquez_said.of_runs(connection, [row.run_id for row in rows])
        for row in rows:
            if row.run_id in said:
                facets[row.id] = {**said[row.run_id].run, **facets[row.id]}
    io = _Io(connection, rows) if whole else None
    jobs = _jobs(connection, {row.job_id for row in rows})
    return [
        _run(row, facets[row.id], jobs[row.job_id], io.of(row.id) if io else ([], []))
        for row in rows
    ]


def _run(
    row: Row[Any],
    facets: dict[str, Any],
    job: tuple[Answer, list[Row[Any]]],
    io: tuple[list[Answer], list[Answer]],
) -> Answer:
    started = row.first if row.started is None else row.started
    identity, plans = job
    nominal = facets.get("nominalTime") or {}
    # Plans come in the order of their first times: what a run had was the last one before its end.
    plan = next((one for one in plans[::-1] if one.first_seen <= row.last), None)
    return {
        "id": row.run_id,
        "job": identity,
        "createdAt": show(row.first),
        "updatedAt": show(row.last),
        "nominalStartTime": _time(nominal.get("nominalStartTime")),
        "nominalEndTime": _time(nominal.get("nominalEndTime")),
        "state": STATES.get(row.state, "NEW"),
        "startedAt": show(started),
        "endedAt": show(row.ended),
        "durationMs": None if row.ended is None else (row.ended - started) // 1000,
        "args": {},
        "jobVersion": plan and {
            **identity, "version": uuid_of(identity["namespace"], identity["name"], plan.hash)
        },
        "inputDatasetVersions": io[0],
        "outputDatasetVersions": io[1],
        "facets": facets,
    }  # fmt: skip


def _time(text: object) -> str | None:
    try:
        return show(parse(text)) if isinstance(text, str) else None
    except (ValueError, OverflowError):
        return None


def _jobs(connection: Connection, ids: set[int]) -> dict[int, tuple[Answer, list[Row[Any]]]]:
    """Jobs with what they were made of, the oldest first."""
    table = schema.job_versions
    plans: dict[int, list[Row[Any]]] = defaultdict(list)
    query = select(table).where(among(connection, table.c.job_id, ids))
    for row in connection.execute(query.order_by(table.c.first_seen, table.c.hash)):
        plans[row.job_id].append(row)
    rows = connection.execute(select(_j).where(among(connection, _j.c.id, ids)))
    return {row.id: ({"namespace": row.namespace, "name": row.name}, plans[row.id]) for row in rows}


class _Io:
    """What some runs read and wrote, each in the version that it had then."""

    def __init__(self, connection: Connection, rows: Sequence[Row[Any]]) -> None:
        from spark_lineage.collector.marquez_datasets import version_of

        last = {row.id: row.last for row in rows}
        self._found: dict[tuple[int, bool], list[Answer]] = defaultdict(list)
        names, inputs, io = Names(connection), schema.run_inputs, schema.io_facets
        said: dict[tuple[int, int, bool], dict[str, Any]] = defaultdict(dict)
        query = select(io).where(among(connection, io.c.run_id, last))
        for one in connection.execute(query):
            said[one.run_id, one.name_id, bool(one.output)][one.name] = json.loads(one.body)
        pairs: list[tuple[int, int, bool]] = []
        for table, output in ((inputs, False), (_claims, True)):
            query = select(table.c.run_id, table.c.name_id)
            found = connection.execute(query.where(among(connection, table.c.run_id, last)))
            pairs += [(row.run_id, row.name_id, output) for row in found]
        names.meanings({name for _, name, _ in pairs})
        meant = {(run, name): names.dataset(name, last[run]) for run, name, _ in pairs}
        every = set(meant.values())
        stated = versions.of_datasets(connection, every)
        query = select(_d).where(among(connection, _d.c.id, every))
        shown = {row.id: row for row in connection.execute(query)}
        for run, name, output in sorted(pairs):
            row = shown[meant[run, name]]
            version = version_of(row.namespace, row.name, stated.get(row.id, []), last[run])
            self._found[run, output].append(
                {
                    "datasetVersionId": {
                        "namespace": row.namespace,
                        "name": row.name,
                        "version": version,
                    },
                    "facets": said[run, name, output],
                }
            )

    def of(self, run: int) -> tuple[list[Answer], list[Answer]]:
        """What a run read, and what it wrote."""
        return self._found[run, False], self._found[run, True]
