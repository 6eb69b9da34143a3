"""The operating loop: what is to be done, and what people found."""

from __future__ import annotations

import json
import math
import random
from typing import Any

from sqlalchemy import Connection, delete, func, insert, select, update

from spark_lineage.collector import checks, lifecycle, overrides
from spark_lineage.collector.history import named
from spark_lineage.collector.kinds import TABLE_LEVEL
from spark_lineage.collector.model import canonical
from spark_lineage.collector.store import quarantine, schema
from spark_lineage.collector.times import now, show

Answer = dict[str, Any]
_j, _defs = schema.jobs, schema.definitions
_decisions, _samples, _e = schema.decisions, schema.samples, schema.edges
ADVICE = {
    "QUARANTINED": "mend the producer, or replay it once the collector can take it",
    "UNAVAILABLE": "see the issues; an unknown plan node or an opaque function needs a rule",
    checks.UNKNOWN: "the schema or the lineage is out of date: run the job that writes the source",
    checks.TYPE: "the producer says IDENTITY where a cast must be: check its expression",
    checks.CONFLICT: "jobs write this column from different sources: retire one, or confirm",
}


def queue(connection: Connection, limit: int) -> list[Answer]:
    """What waits for a person, each with what to do; what was decided on is left out."""
    found: list[Answer] = [
        {
            "kind": "QUARANTINED",
            "key": str(row["number"]),
            "message": row["faults"][0]["path"] + " " + row["faults"][0]["message"],
            "detail": {"received": row["received"], "times": row["times"]},
        }
        for row in quarantine.rows(connection, limit)
    ]
    for one in checks.failed(connection, limit):
        keys = ("namespace", "dataset", "column", "source", "job", "jobs")
        detail = {key: one[key] for key in keys if key in one}
        found.append(
            {"kind": one["rule"], "key": one["key"], "message": one["message"], "detail": detail}
        )
    found.extend(_unavailable(connection, limit))
    decided = {(row.kind, row.key) for row in connection.execute(select(_decisions))}
    return [
        {**one, "advice": ADVICE[one["kind"]]}
        for one in found
        if (one["kind"], one["key"]) not in decided
    ][:limit]


def _unavailable(connection: Connection, limit: int) -> list[Answer]:
    d = schema.datasets
    query = (
        select(_j.c.namespace, _j.c.name, d.c.namespace.label("to"), d.c.name.label("dataset"),
               _defs.c.detail, _defs.c.last_seen)
        .select_from(_defs)
        .join(_j, _j.c.id == _defs.c.job_id)
        .join(d, d.c.id == _defs.c.output_id)
        .where(_defs.c.availability == "UNAVAILABLE", _defs.c.closed.is_(None))
        .where(_defs.c.output_id.not_in(lifecycle.gone()))
        .order_by(_defs.c.id)
        .limit(limit)
    )  # fmt: skip
    return [
        {
            "kind": "UNAVAILABLE",
            "key": canonical([row.namespace, row.name, row.to, row.dataset]),
            "message": "; ".join(json.loads(row.detail)["issues"]) or "no column lineage",
            "detail": {
                "job": {"namespace": row.namespace, "name": row.name},
                "namespace": row.to,
                "dataset": row.dataset,
                "last_seen": show(row.last_seen),
            },
        }
        for row in connection.execute(query)
    ]


def decide(connection: Connection, kind: str, key: str, by: str, reason: str) -> bool:
    """Resolve an entry of the queue; False if there is none such."""
    if not any((one["kind"], one["key"]) == (kind, key) for one in queue(connection, 100_000)):
        return False
    if kind == "QUARANTINED":
        quarantine.settle(connection, int(key), "RESOLVED", who=by, why=reason)
        return True
    said = {"by": by, "reason": reason, "time": now()}
    connection.execute(insert(_decisions), {"kind": kind, "key": key, **said})
    return True


def undecide(connection: Connection, kind: str, key: str) -> bool:
    """Put it back into the queue."""
    where = (_decisions.c.kind == kind, _decisions.c.key == key)
    return connection.execute(delete(_decisions).where(*where)).rowcount > 0


def draw(connection: Connection, size: int, seed: int | None = None) -> Answer:
    """Draw open edges for people to judge: each is as likely as any other."""
    query = select(_e.c.id).where(_e.c.closed.is_(None), _e.c.kind.not_in(TABLE_LEVEL))
    gone = overrides.removed(connection)
    ends = select(_e.c.id, _e.c.out_id, _e.c.in_id, _e.c.kind)
    hidden = {
        row.id for row in connection.execute(ends.where(_e.c.out_id.in_([g[0] for g in gone])))
        if (row.out_id, row.in_id, row.kind) in gone
    }  # fmt: skip
    every = [one for one in connection.scalars(query.order_by(_e.c.id)) if one not in hidden]
    chosen = random.Random(seed).sample(every, min(size, len(every)))
    sample = f"{show(now())}"
    edges = named(connection, chosen)
    for edge in edges:
        row = {"sample": sample, "edge": canonical(edge)}
        connection.execute(insert(_samples), row)
    return sample_of(connection, sample)


def judge(connection: Connection, number: int, verdict: str, by: str, reason: str) -> Answer | None:
    """Keep a verdict (CORRECT, WRONG or UNSURE) on one drawn edge; None if there is none."""
    said = {"verdict": verdict, "by": by, "reason": reason, "time": now()}
    done = connection.execute(update(_samples).where(_samples.c.id == number).values(**said))
    if done.rowcount == 0:
        return None
    sample = connection.scalar(select(_samples.c.sample).where(_samples.c.id == number))
    return sample_of(connection, str(sample))


def sample_of(connection: Connection, sample: str | None) -> Answer:
    """A sample (None: the newest), its verdicts, and the accuracy that they show."""
    if sample is None:
        sample = connection.scalar(select(func.max(_samples.c.sample)))
    query = select(_samples).where(_samples.c.sample == sample).order_by(_samples.c.id)
    rows = list(connection.execute(query))
    right = sum(row.verdict == "CORRECT" for row in rows)
    judged = right + sum(row.verdict == "WRONG" for row in rows)
    return {
        "sample": sample,
        "edges": [
            {
                "number": row.id,
                **json.loads(row.edge),
                "verdict": row.verdict,
                "by": row.by,
                "reason": row.reason,
            }
            for row in rows
        ],
        "judged": judged,
        "correct": right,
        "accuracy": right / judged if judged else None,
        "interval": wilson(right, judged),
    }


def wilson(right: int, judged: int, z: float = 1.959964) -> list[float] | None:
    """Wilson's interval of a proportion, by default of 95 %: sound for few and for all right."""
    if not judged:
        return None
    share, zz = right / judged, z * z
    middle = (share + zz / (2 * judged)) / (1 + zz / judged)
    spread = share * (1 - share) / judged + zz / (4 * judged * judged)
    half = z * math.sqrt(spread) / (1 + zz / judged)
    return [max(0.0, middle - half), min(1.0, middle + half)]
