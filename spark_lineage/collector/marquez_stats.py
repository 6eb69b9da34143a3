"""Marquez's statistics: events of each hour or day, and how many things there were then."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable
from datetime import datetime, time, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from sqlalchemy import Connection, func, select

from spark_lineage.collector import times
from spark_lineage.collector.store import rows, schema
from spark_lineage.errors import ConfigError, NotFoundError

Answer = dict[str, Any]
_TYPES = ("FAIL", "START", "COMPLETE", "ABORT")
# Each zone's offset is a multiple of it, so days of any begin where such a part does.
_PART = 900_000_000
_HOUR = 3_600_000_000
ASSETS = ("datasets", "jobs", "sources")


class Span:
    """The intervals of a day or a week, as Marquez's page asks for them.

    ``DAY``: the last 24 hours of the clock, the present one too. ``WEEK``: the last
    seven days in ``zone``; the answer names their midnights as if they were UTC's, since
    the page shows which day it is by that.
    """

    def __init__(self, period: str, zone: str, now: int) -> None:
        if period.upper() == "DAY":
            last = now - now % _HOUR
            self.begins = [last - number * _HOUR for number in range(23, -1, -1)]
            self.end = last + _HOUR
            self._shown = [*self.begins, self.end]
        elif period.upper() == "WEEK":
            local = _zone(zone)
            today = datetime.fromtimestamp(now / 1e6, local).date()
            days = [today + timedelta(days=number) for number in range(-6, 2)]
            *self.begins, self.end = (_micros(datetime.combine(one, time(), local)) for one in days)
            self._shown = [_micros(datetime.combine(one, time(), timezone.utc)) for one in days]
        else:
            raise ConfigError("period", period, "DAY or WEEK")

    def intervals(self) -> list[Answer]:
        """Each by its begin and end."""
        return [
            {"startInterval": times.show(begin), "endInterval": times.show(end)}
            for begin, end in zip(self._shown, self._shown[1:], strict=False)
        ]

    def of(self, moment: int) -> int:
        """Which of them a time is in."""
        return bisect_right(self.begins, moment) - 1


def _zone(name: str) -> ZoneInfo | timezone:
    if name.upper() in ("UTC", "Z"):
        return timezone.utc
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ConfigError("timezone", name, "a time zone such as Europe/Berlin") from None


def _micros(moment: datetime) -> int:
    return round(moment.timestamp()) * 1_000_000


def events(connection: Connection, span: Span) -> list[Answer]:
    """How many runs started, ended, failed and were aborted by the times of their events."""
    table, begin = schema.events, span.begins[0]
    query = (
        select(((table.c.time - begin) // _PART).label("part"), table.c.type, func.count())
        .where(table.c.time >= begin, table.c.time < span.end, table.c.type.in_(_TYPES))
        .group_by("part", table.c.type)
    )
    found: Counter[tuple[int, str]] = Counter()
    for number, kind, count in connection.execute(query):
        found[span.of(begin + int(number) * _PART), kind] += count
    return [
        {**told, **{kind.lower(): found[place, kind] for kind in _TYPES}}
        for place, told in enumerate(span.intervals())
    ]


def counts(connection: Connection, what: str, span: Span) -> list[Answer]:
    """How many data sets, jobs or sources were known at the end of each interval."""
    if what not in ASSETS:
        raise NotFoundError(f"there are no statistics of {what!r}: {', '.join(ASSETS)}")
    firsts = sorted(_jobs(connection) if what == "jobs" else _datasets(connection, what))
    return [
        {**told, "count": bisect_right(firsts, end - 1)}
        for told, end in zip(span.intervals(), [*span.begins[1:], span.end], strict=True)
    ]


def _jobs(connection: Connection) -> Iterable[int]:
    query = """
        SELECT (SELECT r.first FROM runs r WHERE r.job_id = j.id ORDER BY r.last LIMIT 1)
        FROM jobs j WHERE j.name <> ''"""
    return (row[0] or 0 for row in rows.read(connection, query))


def _datasets(connection: Connection, what: str) -> Iterable[int]:
    """When each was written first, or read by the first run that came; or each source's first."""
    query = """
        SELECT d.namespace, d.id, coalesce(
            (SELECT min(w.first_seen) FROM definitions w WHERE w.output_id = d.id),
            (SELECT r.first FROM runs r WHERE r.id = (
                SELECT min(i.run_id) FROM run_inputs i
                JOIN meanings m ON m.name_id = i.name_id WHERE m.dataset_id = d.id)),
            0)
        FROM datasets d WHERE NOT d.ghost AND d.ended IS NULL"""
    found: dict[object, int] = {}
    for namespace, number, first in rows.read(connection, query):
        key = namespace if what == "sources" else number
        found[key] = min(first, found.get(key, first))
    return found.values()
