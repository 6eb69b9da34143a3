"""One event into the tables."""

from __future__ import annotations

from dataclasses import asdict
from hashlib import sha256
from typing import Any

from sqlalchemy import Connection, insert, select, update

from spark_lineage.collector import times
from spark_lineage.collector.model import (
    TERMINAL,
    ColumnPart,
    DatasetFacts,
    Event,
    canonical,
    digest,
)
from spark_lineage.collector.shapes import Fault
from spark_lineage.collector.store import definitions, names, rows, schema

# An event may name itself by kilobytes; what is quarantined is cut, not lost sight of.
QUARANTINED_BYTES = 4 << 20


def apply(connection: Connection, event: Event) -> bool:
    """Take one event in; False if just this event is here already."""
    if not _keep(connection, event):
        return False
    known = names.Names(connection)
    known.learn(event)
    run = _run(connection, event)
    _inputs(connection, event, run, known)
    for facts in event.outputs:
        _claim(connection, event, run, known.dataset(facts), facts)
    _facets(connection, event, run)
    definitions.settle(connection, run)
    return True


def quarantine(connection: Connection, body: bytes, faults: list[Fault]) -> int:
    """Put a malformed body aside with its faults; gives its number, the same for a repeat."""
    table = schema.quarantine
    key = sha256(body).hexdigest()
    found = connection.scalar(select(table.c.id).where(table.c.hash == key))
    if found is not None:
        again = update(table).where(table.c.id == found).values(times=table.c.times + 1)
        connection.execute(again)
        return int(found)
    row = {
        "hash": key,
        "received": times.now(),
        "times": 1,
        "faults": canonical([fault.to_dict() for fault in faults]),
        "body": body[:QUARANTINED_BYTES],
    }
    made = connection.execute(insert(table).returning(table.c.id), row)
    return int(made.scalar_one())


def _keep(connection: Connection, event: Event) -> bool:
    table = schema.events
    if connection.scalar(select(table.c.id).where(table.c.hash == event.hash)) is not None:
        return False
    row = {
        "hash": event.hash,
        "kind": event.kind,
        "run_id": event.run_id,
        "type": event.type,
        "time": event.time,
        "received": times.now(),
        "body": event.body,
    }
    connection.execute(insert(table), row)
    return True


def _run(connection: Connection, event: Event) -> int:
    job_key = digest(event.job_namespace, event.job_name)
    job = {"namespace": event.job_namespace, "name": event.job_name}
    job_id = rows.ids(connection, schema.jobs, {job_key: job})[job_key]
    table = schema.runs
    key = digest(event.run_id)
    found = connection.execute(select(table).where(table.c.digest == key)).mappings().first()
    new = _merged_run(dict(found) if found else None, event, job_id)
    if found is None:
        row = {"digest": key, "run_id": event.run_id, "kind": event.kind, **new}
        made = connection.execute(insert(table).returning(table.c.id), row)
        return int(made.scalar_one())
    if any(found[name] != value for name, value in new.items()):
        connection.execute(update(table).where(table.c.id == found["id"]).values(**new))
    return int(found["id"])


def _merged_run(old: dict[str, Any] | None, event: Event, job_id: int) -> dict[str, Any]:
    """A run with one more event: least and greatest only, so any order gives the same."""
    new: dict[str, Any] = {
        "job_id": job_id,
        "job_order": event.order,
        "first": event.time,
        "last": event.time,
        "started": event.time if event.type == "START" else None,
        "ended": event.time if event.type in TERMINAL else None,
        "end_order": event.order if event.terminal else None,
        "state": _state(event),
    }
    if old is None:
        return new
    if old["job_order"] > new["job_order"]:
        new["job_id"], new["job_order"] = old["job_id"], old["job_order"]
    new["first"] = min(old["first"], new["first"])
    new["last"] = max(old["last"], new["last"])
    starts = [time for time in (old["started"], new["started"]) if time is not None]
    new["started"] = min(starts, default=None)
    if (old["end_order"] or "") > (new["end_order"] or ""):
        new.update((name, old[name]) for name in ("ended", "end_order", "state"))
    elif new["end_order"] is None and old["state"] == "RUNNING":
        new["state"] = "RUNNING"
    return new


def _state(event: Event) -> str:
    if event.kind != "RUN":
        return "DECLARED"
    if event.type in TERMINAL:
        return str(event.type)
    return "RUNNING" if event.type in ("START", "RUNNING") else "UNKNOWN"


def _inputs(connection: Connection, event: Event, run: int, known: names.Names) -> None:
    wanted = {known.dataset(facts) for facts in event.inputs}
    if not wanted:
        return
    table = schema.run_inputs
    query = select(table.c.dataset_id).where(table.c.run_id == run)
    missing = sorted(wanted - set(connection.scalars(query)))
    rows.insert_new(connection, table, [{"run_id": run, "dataset_id": one} for one in missing])


def _claim(
    connection: Connection, event: Event, run: int, output: int, facts: DatasetFacts
) -> None:
    """Note what the run says of an output, unless it said something newer already."""
    table = schema.claims
    where = (table.c.run_id == run) & (table.c.output_id == output)
    found = connection.execute(select(table.c.id, table.c.part_order).where(where)).first()
    newer = facts.columns is not None and (
        found is None or found.part_order is None or found.part_order < event.order
    )
    said: dict[str, Any] = {}
    if newer and facts.columns is not None:
        said = {"part_id": _part(connection, facts.columns), "part_order": event.order}
    if found is None:
        connection.execute(insert(table), {"run_id": run, "output_id": output, **said})
    elif said:
        connection.execute(update(table).where(table.c.id == found.id).values(**said))


def _part(connection: Connection, part: ColumnPart) -> int:
    body = canonical(asdict(part))
    key = sha256(body.encode()).hexdigest()
    table = schema.parts
    found = connection.scalar(select(table.c.id).where(table.c.hash == key))
    if found is not None:
        return int(found)
    made = connection.execute(insert(table).returning(table.c.id), {"hash": key, "body": body})
    return int(made.scalar_one())


def _facets(connection: Connection, event: Event, run: int) -> None:
    table = schema.run_facets
    for name, facet in event.facets.items():
        where = (table.c.run_id == run) & (table.c.name == name)
        found = connection.execute(select(table.c.id, table.c.order).where(where)).first()
        said = {"order": event.order, "body": canonical(facet)}
        if found is None:
            connection.execute(insert(table), {"run_id": run, "name": name, **said})
        elif found.order < event.order:
            connection.execute(update(table).where(table.c.id == found.id).values(**said))
        else:
            continue
        if name == "sparkLineage_quality":
            unexplained = facet.get("unexplained")
            count = len(unexplained) if isinstance(unexplained, list) else 0
            runs = schema.runs
            connection.execute(update(runs).where(runs.c.id == run).values(unexplained=count))
    _losses(connection, event)


def _losses(connection: Connection, event: Event) -> None:
    """Agents count losses from their application's start: the most ever said is the sum."""
    dropped = event.facets.get("sparkLineage_quality", {}).get("dropped")
    if not isinstance(dropped, dict):
        return
    application = _application(event)
    table = schema.losses
    for reason, count in dropped.items():
        if not isinstance(count, int) or not 0 < count < 1 << 62:
            continue
        key = digest(application, reason)
        found = connection.execute(
            select(table.c.id, table.c.count.label("most")).where(table.c.digest == key)
        )
        row = found.first()
        if row is None:
            said = {"digest": key, "application": application, "reason": reason, "count": count}
            connection.execute(insert(table), said)
        elif row.most < count:
            connection.execute(update(table).where(table.c.id == row.id).values(count=count))


def _application(event: Event) -> str:
    told = event.facets.get("sparkLineage_context", {}).get("applicationId")
    if isinstance(told, str) and told:
        return told
    parent = event.facets.get("parent", {})
    return str((parent.get("run") or {}).get("runId") or event.run_id)
