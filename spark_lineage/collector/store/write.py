"""One event into the tables."""

from __future__ import annotations

from dataclasses import asdict
from hashlib import sha256
from typing import Any, NamedTuple

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
from spark_lineage.collector.store import (
    definitions,
    identity,
    learn,
    names,
    rows,
    schema,
    versions,
)


def apply(connection: Connection, event: Event) -> bool:
    """Take one event in; False if just this event is here already."""
    return apply_all(connection, [event])[0]


def apply_all(connection: Connection, events: list[Event]) -> list[bool]:
    """Take events in, in one transaction; for each whether it was new.

    What is derived from them is derived once for all, where one run or one job
    has several.
    """
    known, pending = names.Names(connection), definitions.Pending()
    done = [_apply(connection, event, known, pending) for event in events]
    pending.settle(connection, known)
    return done


def _apply(
    connection: Connection, event: Event, known: names.Names, pending: definitions.Pending
) -> bool:
    if not _keep(connection, event):
        return False
    known.seeds.clear()
    run = _run(connection, event)
    learned = learn.facts(connection, event, run.id, known)
    _inputs(connection, event, run.id, known)
    replaced = {_claim(connection, event, run.id, known, facts) for facts in event.outputs}
    _facets(connection, event, run.id)
    seeds = learned.seeds | known.seeds
    if run.changed or any(facts.renamed_from for facts in event.outputs):
        seeds |= learn.renamed(connection, run.id)
    times = (run.before, run.now, event.time)
    seeds |= identity.moved(connection, known, run.id, times, replaced - {0})
    if seeds:
        identity.settle(connection, known, seeds)
    for name in sorted(learned.schemas):
        for dataset in sorted({one for _, one in known.meanings([name])[name]}):
            versions.derive(connection, known, dataset)
    pending.runs.add(run.id)
    return True


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


class _Run(NamedTuple):
    """A run's row, when what it says held before this event and holds now."""

    id: int
    before: int
    now: int
    changed: bool


def _run(connection: Connection, event: Event) -> _Run:
    job_key = digest(event.job_namespace, event.job_name)
    job = {"namespace": event.job_namespace, "name": event.job_name}
    job_id = rows.ids(connection, schema.jobs, {job_key: job})[job_key]
    table = schema.runs
    key = digest(event.run_id)
    found = connection.execute(select(table).where(table.c.digest == key)).mappings().first()
    new = _merged_run(dict(found) if found else None, event, job_id)
    now = _time(new)
    if found is None:
        row = {"digest": key, "run_id": event.run_id, "kind": event.kind, **new}
        made = connection.execute(insert(table).returning(table.c.id), row)
        return _Run(int(made.scalar_one()), now, now, True)
    if any(found[name] != value for name, value in new.items()):
        connection.execute(update(table).where(table.c.id == found["id"]).values(**new))
    before = _time(dict(found))
    changed = (before, found["state"]) != (now, new["state"])
    return _Run(int(found["id"]), before, now, changed)


def _time(run: dict[str, Any]) -> int:
    return int(run["last"] if run["ended"] is None else run["ended"])


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
    ids = known.ids([])
    wanted = {ids[facts.namespace, facts.name] for facts in event.inputs}
    new = [{"run_id": run, "name_id": one} for one in sorted(wanted)]
    rows.insert_new(connection, schema.run_inputs, new)


def _claim(
    connection: Connection,
    event: Event,
    run: int,
    known: names.Names,
    facts: DatasetFacts,
) -> int:
    """Note what the run says of an output, unless it said something newer already.

    Gives the part that this replaced, 0 if none.
    """
    table = schema.claims
    name = known.ids([])[facts.namespace, facts.name]
    where = (table.c.run_id == run) & (table.c.name_id == name)
    found = connection.execute(
        select(table.c.id, table.c.part_id, table.c.part_order).where(where)
    ).first()
    newer = facts.columns is not None and (
        found is None or found.part_order is None or found.part_order < event.order
    )
    said: dict[str, Any] = {}
    if newer and facts.columns is not None:
        said = {"part_id": _part(connection, facts.columns, known), "part_order": event.order}
    if found is None:
        connection.execute(insert(table), {"run_id": run, "name_id": name, **said})
    elif said:
        connection.execute(update(table).where(table.c.id == found.id).values(**said))
        return found.part_id or 0
    return 0


def _part(connection: Connection, part: ColumnPart, known: names.Names) -> int:
    body = canonical(asdict(part))
    key = sha256(body.encode()).hexdigest()
    table = schema.parts
    found = connection.scalar(select(table.c.id).where(table.c.hash == key))
    if found is not None:
        return int(found)
    made = connection.execute(insert(table).returning(table.c.id), {"hash": key, "body": body})
    number = int(made.scalar_one())
    ids = known.ids([])
    every = {(edge.namespace, edge.name) for edge in part.edges}
    sources = sorted(ids[one] for one in every.union(part.inputs or ()))
    links = [{"part_id": number, "name_id": one} for one in sources]
    rows.insert_new(connection, schema.part_names, links)
    return number


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
