"""How good the lineage is: per job, as totals of the store, and over time."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, delete, exists, func, insert, select

from spark_lineage.collector import checks, kinds, lifecycle
from spark_lineage.collector.model import canonical
from spark_lineage.collector.store import quarantine, schema
from spark_lineage.collector.store.rows import chunks
from spark_lineage.collector.times import now, show
from spark_lineage.errors import ConfigError

Answer = dict[str, Any]
_r, _j, _claims, _defs = schema.runs, schema.jobs, schema.claims, schema.definitions
_links, _facets, _aside = schema.definition_edges, schema.run_facets, schema.quarantine
_snapshots = schema.snapshots
HOUR = 3_600_000_000
DAY = 24 * HOUR
STEPS = {"hour": HOUR, "day": DAY, "week": 7 * DAY}
STALE_DAYS = 30
MOST_JOBS = 10_000
MOST_STEPS = 400
MOST_CHECKS = 1_000
# Snapshots of the totals: one an hour for a season, about two thousand.
KEPT_SNAPSHOTS = 90 * DAY


def _tells() -> ColumnElement[bool]:
    """Whether a definition speaks of data: a CREATE TABLE, a DROP or an ANALYZE does not."""
    return (
        _defs.c.columns_known
        | exists().where(_links.c.definition_id == _defs.c.id)
        | _defs.c.availability.in_(("PARTIAL", "UNAVAILABLE"))
    )


def _counts() -> tuple[Any, ...]:
    unavailable = (_defs.c.availability == "UNAVAILABLE") | (
        _defs.c.availability.is_(None) & ~_defs.c.columns_known
    )
    return (
        func.count().label("outputs"),
        func.count().filter(_defs.c.columns_known).label("covered"),
        func.count().filter(_defs.c.availability == "PARTIAL").label("partial"),
        func.count().filter(unavailable).label("unavailable"),
    )


class _Span(NamedTuple):
    """The runs that are asked for: whose last event is in a time, of one job or of all."""

    since: int
    until: int
    job: int | None = None

    def where(self) -> list[ColumnElement[bool]]:
        found = [_r.c.kind == "RUN", _r.c.last >= self.since, _r.c.last < self.until]
        return found if self.job is None else [*found, _r.c.job_id == self.job]


def health(connection: Connection, since: int, until: int) -> Answer:
    """Per job, over the runs whose last event is between two times; and the totals of now.

    ``coverage`` is the part of a job's outputs that have column lineage, None
    where it wrote nothing. An application's losses are those of the job whose
    event first told of them.
    """
    span = _Span(since, until)
    outputs = (
        select(_r.c.job_id, *_counts())
        .select_from(_claims)
        .join(_r, _r.c.id == _claims.c.run_id)
        .join(_defs, _defs.c.id == _claims.c.definition_id)
        .where(*span.where(), _tells())
        .group_by(_r.c.job_id)
    )
    written = {row.job_id: row for row in connection.execute(outputs)}
    ran = (
        select(
            _j.c.id, _j.c.namespace, _j.c.name, func.count().label("runs"),
            func.count().filter(_r.c.state.in_(("FAIL", "ABORT"))).label("failures"),
            func.sum(_r.c.unexplained).label("unexplained"),
        )
        .select_from(_r)
        .join(_j, _j.c.id == _r.c.job_id)
        .where(*span.where())
        .group_by(_j.c.id, _j.c.namespace, _j.c.name)
        .order_by(_j.c.namespace, _j.c.name)
        .limit(MOST_JOBS + 1)
    )  # fmt: skip
    rows = connection.execute(ran).all()
    quality = _by_job(_quality(connection, span))
    failed = checks.failed(connection, MOST_CHECKS)
    failing, conflicts = _of_jobs(failed)
    stale = _stale_by_job(connection)
    jobs = []
    for row in rows[:MOST_JOBS]:
        identity = (row.namespace, row.name)
        jobs.append(
            {
                "job": {"namespace": row.namespace, "name": row.name},
                "runs": row.runs,
                "failures": row.failures,
                **_shares(written.get(row.id)),
                "unexplained_columns": int(row.unexplained or 0),
                **quality[row.id].shown(),
                "failed_checks": failing[identity],
                "conflicts": conflicts[identity],
                "stale_edges": stale.get(row.id, 0),
            }
        )
    return {
        "from": show(since),
        "to": show(until),
        "truncated": len(rows) > MOST_JOBS,
        "jobs": jobs,
        **_totals(connection, failed),
    }


def _shares(row: Any | None) -> Answer:
    if row is None:
        return {"outputs": 0, "coverage": None, "partial": 0, "unavailable": 0}
    return {
        "outputs": row.outputs,
        "coverage": round(row.covered / row.outputs, 4),
        "partial": row.partial,
        "unavailable": row.unavailable,
    }


class _Quality:
    """What agents said in ``sparkLineage_quality``, added up."""

    def __init__(self) -> None:
        self.unknown: Counter[str] = Counter()
        self.dropped: Counter[str] = Counter()
        self.failures: Counter[str] = Counter()

    def add(self, other: _Quality) -> None:
        self.unknown += other.unknown
        self.dropped += other.dropped
        self.failures += other.failures

    def shown(self) -> Answer:
        return {
            "unknown_nodes": dict(sorted(self.unknown.items())),
            "dropped": dict(sorted(self.dropped.items())),
            "agent_failures": dict(sorted(self.failures.items())),
        }


def _quality(connection: Connection, span: _Span) -> Iterator[tuple[int, int, _Quality]]:
    """Of each run that has something to say: its job, its time and what it says.

    Agents count losses from their application's start: what a run adds to the
    most that was said before is its own. As much time again before the span is
    read to know that.
    """
    earlier = _Span(span.since - (span.until - span.since), span.until)
    full = [_facets.c.body.like(f'%"{key}":{{"%') for key in ("dropped", "failures")]
    query = (
        select(_r.c.id, _r.c.job_id, _r.c.last, _facets.c.body)
        .join(_facets, _facets.c.run_id == _r.c.id)
        .where(*earlier.where(), _facets.c.name == "sparkLineage_quality")
        .where(full[0] | full[1] | _facets.c.body.like('%"unknownNodes":{"%'))
        .order_by(_r.c.last, _r.c.run_id)
    )
    rows = connection.execute(query).all()
    applications = _applications(connection, [row.id for row in rows])
    most: dict[tuple[str, str], int] = defaultdict(int)
    for row in rows:
        body = json.loads(row.body)
        one = _Quality()
        one.unknown = _whole(body.get("unknownNodes"))
        for counts, place in ((one.dropped, "dropped"), (one.failures, "failures")):
            for reason, count in _whole(body.get(place)).items():
                key = (applications.get(row.id, str(row.id)), f"{place} {reason}")
                if count > most[key]:
                    counts[reason] = count - most[key]
                    most[key] = count
        if row.last >= span.since and span.job in (None, row.job_id):
            yield row.job_id, row.last, one


def _whole(value: Any) -> Counter[str]:
    items = value.items() if isinstance(value, dict) else ()
    return Counter({key: count for key, count in items if isinstance(count, int) and count > 0})


def _applications(connection: Connection, runs: list[int]) -> dict[int, str]:
    found: dict[int, str] = {}
    for some in chunks(runs):
        query = select(_facets.c.run_id, _facets.c.body).where(
            _facets.c.run_id.in_(some), _facets.c.name == "sparkLineage_context"
        )
        for row in connection.execute(query):
            told = json.loads(row.body).get("applicationId")
            if isinstance(told, str):
                found[row.run_id] = told
    return found


def _by_job(every: Iterable[tuple[int, int, _Quality]]) -> dict[int, _Quality]:
    found: dict[int, _Quality] = defaultdict(_Quality)
    for job, _, one in every:
        found[job].add(one)
    return found


def _of_jobs(failed: list[Answer]) -> tuple[Counter[tuple[str, str]], Counter[tuple[str, str]]]:
    """How many failed checks and conflicts the jobs have."""
    failing: Counter[tuple[str, str]] = Counter()
    conflicts: Counter[tuple[str, str]] = Counter()
    for one in failed:
        jobs = one.get("jobs") or [one["job"]]
        counts = conflicts if one["rule"] == checks.CONFLICT else failing
        counts.update((job["namespace"], job["name"]) for job in jobs)
    return failing, conflicts


def _stale() -> Any:
    """Open edges that no run of the last days stated, each once, with their jobs."""
    old = now() - STALE_DAYS * DAY
    fresh, link, e = _defs.alias("fresh"), _links.alias("link"), schema.edges
    again = (
        exists()
        .where(link.c.edge_id == _links.c.edge_id)
        .where(fresh.c.id == link.c.definition_id, fresh.c.last_seen >= old)
    )
    return (
        select(_links.c.edge_id, _defs.c.job_id)
        .join(_defs, _defs.c.id == _links.c.definition_id)
        .join(e, e.c.id == _links.c.edge_id)
        .where(_defs.c.closed.is_(None), e.c.closed.is_(None), _defs.c.last_seen < old, ~again)
        .where(_defs.c.output_id.not_in(lifecycle.gone()), e.c.kind != kinds.INPUT)
        .distinct()
        .subquery()
    )


def _stale_by_job(connection: Connection) -> dict[int, int]:
    stale = _stale()
    query = select(stale.c.job_id, func.count()).group_by(stale.c.job_id)
    return {row[0]: row[1] for row in connection.execute(query)}


def totals(connection: Connection) -> Answer:
    """The same for all of the store, as one number each: what alarms and metrics watch."""
    return _totals(connection, checks.failed(connection, MOST_CHECKS))


def _totals(connection: Connection, failed: list[Answer]) -> Answer:
    row = connection.execute(
        select(*_counts())
        .select_from(_defs)
        .where(_defs.c.closed.is_(None), _tells(), _defs.c.output_id.not_in(lifecycle.gone()))
    ).one()
    open_ones = select(func.count()).where(_aside.c.state == quarantine.OPEN)
    day = now() - DAY
    runs = (_r.c.kind == "RUN", _r.c.last >= day)
    lost = select(func.sum(schema.losses.c["count"]))
    stale = select(func.count()).select_from(_stale())
    unexplained = select(func.sum(_r.c.unexplained)).where(_r.c.unexplained > 0)

    def number(query: Any) -> int:
        return int(connection.scalar(query) or 0)

    return {
        "coverage": round(row.covered / row.outputs, 4) if row.outputs else 1.0,
        "partial_outputs": row.partial,
        "unavailable_outputs": row.unavailable,
        "unexplained_columns": number(unexplained),
        "runs_of_a_day": number(select(func.count()).where(*runs)),
        "failures_of_a_day": number(
            select(func.count()).where(*runs, _r.c.state.in_(("FAIL", "ABORT")))
        ),
        "unknown_nodes_of_a_day": sum(
            one.unknown.total() for _, _, one in _quality(connection, _Span(day, now() + DAY))
        ),
        "dropped": number(lost),
        "quarantined": number(open_ones),
        "failed_checks": sum(one["rule"] != checks.CONFLICT for one in failed),
        "conflicts": sum(one["rule"] == checks.CONFLICT for one in failed),
        "stale_edges": number(stale),
    }


WATCHED = (
    "coverage", "partial_outputs", "unavailable_outputs", "unexplained_columns",
    "runs_of_a_day", "failures_of_a_day", "unknown_nodes_of_a_day", "dropped", "quarantined",
    "failed_checks", "conflicts", "stale_edges",
)  # fmt: skip


def trend(connection: Connection, since: int, until: int, step: str, job: int | None) -> Answer:
    """The same in steps of an hour, a day or a week, of one job or of all.

    What runs said is counted where their last event is; what only the store as
    a whole has (conflicts, failed checks, stale edges) is from the last snapshot
    of each step, None where there is none. Raises ``ConfigError`` for more than
    ``MOST_STEPS`` steps.
    """
    size = STEPS[step]
    begin = since // size * size
    count = -((begin - until) // size)
    if not 0 < count <= MOST_STEPS:
        raise ConfigError("since", show(since), f"a time up to {MOST_STEPS} steps before `until`")
    span = _Span(begin, until, job)
    place = ((_r.c.last - begin) // size).label("place")
    points = [_point(begin + n * size, size) for n in range(count)]
    ran = select(
        place, func.count().label("runs"), func.sum(_r.c.unexplained).label("unexplained"),
        func.count().filter(_r.c.state.in_(("FAIL", "ABORT"))).label("failures"),
    ).where(*span.where()).group_by(place)  # fmt: skip
    for row in connection.execute(ran):
        points[row.place] |= {
            "runs": row.runs,
            "failures": row.failures,
            "unexplained_columns": int(row.unexplained or 0),
        }
    written = (
        select(place, *_counts())
        .select_from(_claims)
        .join(_r, _r.c.id == _claims.c.run_id)
        .join(_defs, _defs.c.id == _claims.c.definition_id)
        .where(*span.where(), _tells())
        .group_by(place)
    )
    for row in connection.execute(written):
        points[row.place] |= _shares(row)
    for _, last, one in _quality(connection, span):
        point = points[(last - begin) // size]
        point["unknown_nodes"] += one.unknown.total()
        point["dropped"] += one.dropped.total()
        point["agent_failures"] += one.failures.total()
    if job is None:
        _of_the_store(connection, points, begin, until, size)
    return {"from": show(begin), "to": show(until), "step": step, "points": points}


def _point(begin: int, size: int) -> Answer:
    return {
        "from": show(begin),
        "to": show(begin + size),
        "runs": 0,
        "failures": 0,
        **_shares(None),
        "unexplained_columns": 0,
        "unknown_nodes": 0,
        "dropped": 0,
        "agent_failures": 0,
    }


_OF_THE_STORE = ("failed_checks", "conflicts", "stale_edges")


def _of_the_store(
    connection: Connection, points: list[Answer], begin: int, until: int, size: int
) -> None:
    for point in points:
        point |= {"quarantined": 0, **dict.fromkeys(_OF_THE_STORE)}
    place = ((_aside.c.received - begin) // size).label("place")
    within = (_aside.c.received >= begin, _aside.c.received < until)
    query = select(place, func.count().label("bodies")).where(*within).group_by(place)
    for row in connection.execute(query):
        points[row.place]["quarantined"] = row.bodies
    kept = select(_snapshots).where(_snapshots.c.time >= begin, _snapshots.c.time < until)
    for row in connection.execute(kept.order_by(_snapshots.c.time)):
        told = json.loads(row.body)
        point = points[(row.time - begin) // size]
        point |= {key: told.get(key) for key in _OF_THE_STORE}


def snapshot(connection: Connection, told: Answer) -> None:
    """Keep the totals of now, one an hour, and forget those that are old."""
    present = now()
    hour = present // HOUR * HOUR
    last = connection.scalar(select(func.max(_snapshots.c.time)))
    if last is None or last < hour:
        connection.execute(insert(_snapshots), {"time": present, "body": canonical(told)})
    connection.execute(delete(_snapshots).where(_snapshots.c.time < present - KEPT_SNAPSHOTS))


class Totals:
    """The totals, asked at most every so many seconds: a large graph is read for them."""

    def __init__(self, ask: Callable[[], Answer], seconds: float) -> None:
        self._ask = ask
        self._seconds = seconds
        self._lock = threading.Lock()
        self._known: tuple[float, Answer] | None = None

    def read(self) -> Answer:
        """The totals, no older than that."""
        with self._lock:
            present = time.monotonic()
            if self._known is None or present - self._known[0] > self._seconds:
                self._known = (present, self._ask())
            return self._known[1]
