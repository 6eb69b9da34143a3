"""Events into the tables."""

from __future__ import annotations

from typing import Any, NamedTuple

from sqlalchemy import Connection

from spark_lineage.collector import times
from spark_lineage.collector.model import (
    TERMINAL,
    DatasetFacts,
    Event,
    digest,
    identity_digest,
)
from spark_lineage.collector.store import (
    definitions,
    identity,
    learn,
    versions,
)
from spark_lineage.collector.store.batch import QUALITY, Batch
from spark_lineage.collector.store.claims import Claim
from spark_lineage.collector.store.names import Identity


def apply(connection: Connection, event: Event) -> bool:
    """Take one event in; False if just this event is here already."""
    return apply_all(connection, [event])[0]


def apply_all(connection: Connection, events: list[Event]) -> list[bool]:
    """Take events in, in one transaction; for each whether it was new.

    What is derived from them is derived once for all, where one run or one job
    has several.
    """
    batch, pending = Batch(connection, events), definitions.Pending()
    received = times.now()
    done = [batch.keep(event, received) and _apply(batch, event, pending) for event in events]
    known = batch.names
    derived: set[int] = set()
    if batch.seeds or batch.schemas:
        batch.flush()
    if batch.seeds:
        settled = identity.settle(connection, known, batch.seeds)
        derived.update(settled.derived)
        pending.runs.update(settled.runs)
        batch.settled(settled.changed)
    known.save()
    meanings = known.meanings(batch.schemas)
    told = {one for name in batch.schemas for _, one in meanings[name]}
    versions.derive(connection, known, told - derived, batch.stated)
    pending.settle(batch)
    batch.finish()
    return done


def _apply(batch: Batch, event: Event, pending: definitions.Pending) -> bool:
    known, connection = batch.names, batch.connection
    known.seeds.clear()
    run = _run(batch, event)
    seeds = learn.facts(batch, event, run.id)
    ids = known.known
    batch.add_inputs(run.id, {ids[facts.namespace, facts.name] for facts in event.inputs})
    replaced = {_claim(batch, event, run.id, facts) for facts in event.outputs}
    _facets(batch, event, run.id)
    pending.runs.add(run.id)
    seeds |= known.seeds
    renames = any(facts.renamed_from for facts in event.outputs)
    if renames or (run.changed and run.id in batch.renaming):
        batch.flush()
        seeds |= learn.renamed(connection, run.id)
        renames = True
    if batch.delicate(run.id, lambda: _names(event, ids)):
        batch.flush()
        times = (run.before, run.now, event.time)
        seeds |= identity.moved(connection, known, run.id, times, replaced - {0})
        renames = True
    batch.seeds |= seeds
    if renames and batch.seeds:
        # What a name means at which time decides what the next event says; a name that is
        # only one more of a data set may wait for all of them.
        batch.flush()
        settled = identity.settle(connection, known, batch.seeds)
        definitions.settle(connection, known, settled.runs)
        batch.settled()
    return True


def _names(event: Event, ids: dict[Identity, int]) -> set[int]:
    every = {(facts.namespace, facts.name) for facts in (*event.inputs, *event.outputs)}
    for facts in event.outputs:
        every |= facts.columns.sources if facts.columns is not None else frozenset()
    return {ids[one] for one in every}


class _Run(NamedTuple):
    """A run's row, when what it says held before this event and holds now."""

    id: int
    before: int
    now: int
    changed: bool


def _run(batch: Batch, event: Event) -> _Run:
    job_id = batch.jobs[identity_digest(event.job_namespace, event.job_name)]
    key = digest(event.run_id)
    found = batch.run(key)
    new = _merged_run(found, event, job_id)
    now = definitions.time_of_run(new)
    if found is None:
        row = {"run_id": event.run_id, "kind": event.kind, **new}
        return _Run(batch.add_run(key, row), now, now, True)
    before = definitions.time_of_run(found)
    changed = (before, found["state"]) != (now, new["state"])
    batch.change_run(found, new)
    return _Run(int(found["id"]), before, now, changed)


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


def _claim(batch: Batch, event: Event, run: int, facts: DatasetFacts) -> int:
    """Note what the run says of an output, unless it said something newer already.

    Gives the part that this replaced, 0 if none.
    """
    name = batch.names.known[facts.namespace, facts.name]
    claims = batch.claims(run)
    claim = claims.get(name)
    if claim is None:
        claim = claims[name] = Claim(run, name)
    part = facts.columns
    if part is None or not (claim.part_order is None or claim.part_order < event.order):
        return 0
    before = claim.part_id or 0
    claim.part_id, claim.part_hash = batch.parts.add(part, batch.names.known), part.hash
    claim.part_order = event.order
    claim.changed = True
    return before


def _facets(batch: Batch, event: Event, run: int) -> None:
    order = event.order
    for name, facet in event.facets.items():
        known = batch.run_facets.get((run, name))
        if known is not None and known[-2] >= order:
            continue
        batch.run_facets[run, name] = (run, name, order, facet.text)
        if name == QUALITY:
            unexplained = facet.content.get("unexplained")
            count = len(unexplained) if isinstance(unexplained, list) else 0
            batch.unexplained[run] = count
    _losses(batch, event)


def _losses(batch: Batch, event: Event) -> None:
    """Agents count losses from their application's start: the most ever said is the sum."""
    quality = event.facets.get(QUALITY)
    dropped = quality and quality.content.get("dropped")
    if not isinstance(dropped, dict):
        return
    application = _application(event)
    for reason, count in dropped.items():
        if isinstance(count, int) and 0 < count < 1 << 62:
            key = (application, reason)
            batch.losses[key] = max(count, batch.losses.get(key, 0))


def _application(event: Event) -> str:
    context, parent = event.facets.get("sparkLineage_context"), event.facets.get("parent")
    told = context and context.content.get("applicationId")
    if isinstance(told, str) and told:
        return told
    run = parent.content.get("run") if parent else None
    return str((run or {}).get("runId") or event.run_id)
