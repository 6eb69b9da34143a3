"""Health: per job, as totals, and over time."""

from __future__ import annotations

from typing import Any

import pytest

from spark_lineage.collector import health
from spark_lineage.collector.intake import MalformedError
from spark_lineage.collector.resolve import job
from spark_lineage.collector.service import Collector
from spark_lineage.collector.times import now, parse, show
from spark_lineage.errors import ConfigError
from tests.collector import summary
from tests.collector.build import FACET, Json, at, event, schema, take, writes
from tests.collector.build import dataset as ds

ALL = (0, 1 << 52)


def quality(application: str, **said: Any) -> Json:
    return {
        "sparkLineage_quality": {**FACET, **said},
        "sparkLineage_context": {**FACET, "applicationId": application},
    }


def by_name(told: Json) -> dict[str, Json]:
    return {one["job"]["name"]: one for one in told["jobs"]}


def test_coverage(summarised: Collector) -> None:
    told = summarised.ask(health.health, *ALL)
    jobs = by_name(told)
    assert (jobs[summary.INSERT]["coverage"], jobs[summary.INSERT]["outputs"]) == (1.0, 1)
    assert (jobs["export"]["coverage"], jobs["export"]["unavailable"]) == (0.0, 1)
    # A job that only reads covers nothing and misses nothing.
    assert (jobs["dashboard"]["runs"], jobs["dashboard"]["coverage"]) == (1, None)
    # Four of five outputs have column lineage.
    assert told["coverage"] == 0.8
    assert summarised.ask(health.health, 0, 1)["jobs"] == []


def test_what_says_nothing_of_data_is_no_output(collector: Collector) -> None:
    take(
        collector,
        event(run=1, minute=1, job="ddl", outputs=(ds("t", schema=schema("a:int")),)),
        writes("t", {"a": ["IDENTITY s.x"]}, run=2, minute=2),
    )
    told = collector.ask(health.health, *ALL)
    assert told["coverage"] == 1.0
    assert by_name(told)["ddl"]["outputs"] == 0


def events() -> list[Json]:
    column = {"namespace": "db", "name": "s", "field": "x"}
    return [
        event(run=1, minute=10, job="etl", facets=quality(
            "app-1", dropped={"queue_full": 2}, unknownNodes={"MergeIntoTable": 1, "Fancy": 2},
            unexplained=[column])),
        event("FAIL", run=2, minute=70, job="etl", facets=quality(
            "app-1", dropped={"queue_full": 2})),
        event(run=3, minute=80, job="other", facets=quality(
            "app-1", dropped={"queue_full": 5, "too_large": 1}, failures={"derive": 1})),
        # Told late, and the same once more: nothing new is lost.
        event(run=6, minute=85, job="etl", facets=quality("app-1", dropped={"queue_full": 3})),
        event(run=7, minute=88, job="etl", facets=quality("app-1", dropped={"queue_full": 5})),
        event(run=4, minute=90, job="other", facets=quality(
            "app-2", dropped={"queue_full": 1}, unknownNodes={"Fancy": 1})),
    ]  # fmt: skip


def test_what_agents_say_is_counted_for_the_job_that_said_it_first(collector: Collector) -> None:
    take(collector, *reversed(events()))
    jobs = by_name(collector.ask(health.health, *ALL))
    assert jobs["etl"]["dropped"] == {"queue_full": 2}
    assert jobs["other"]["dropped"] == {"queue_full": 3 + 1, "too_large": 1}
    assert jobs["etl"]["unknown_nodes"] == {"Fancy": 2, "MergeIntoTable": 1}
    assert jobs["other"]["agent_failures"] == {"derive": 1}
    assert (jobs["etl"]["failures"], jobs["etl"]["unexplained_columns"]) == (1, 1)
    # What was said before the time that is asked for is not counted once more.
    hour = collector.ask(health.health, parse(at(60)), parse(at(120)))
    assert by_name(hour)["etl"]["dropped"] == {}
    assert by_name(hour)["other"]["dropped"] == {"queue_full": 4, "too_large": 1}
    totals = collector.ask(health.totals)
    assert (totals["dropped"], totals["unexplained_columns"]) == (7, 1)


def test_checks_conflicts_and_stale_edges_of_a_job(collector: Collector) -> None:
    out = {"schema": schema("a:string")}
    take(
        collector,
        event(run=1, outputs=(ds("s", schema=schema("x:decimal(4,2)", "y:int")),)),
        writes("t", {"a": ["IDENTITY s.x"]}, ["FILTER s.y"], run=2, own=out),
        writes("t", {"a": ["IDENTITY s.y"]}, run=3, job="another"),
    )
    jobs = by_name(collector.ask(health.health, *ALL))
    assert (jobs["make_t"]["failed_checks"], jobs["make_t"]["conflicts"]) == (1, 1)
    assert (jobs["another"]["failed_checks"], jobs["another"]["conflicts"]) == (1, 1)
    # The runs are long ago: what they said has not been said since.
    assert (jobs["make_t"]["stale_edges"], jobs["another"]["stale_edges"]) == (2, 1)
    assert collector.ask(health.totals)["stale_edges"] == 3
    again = writes("t", {"a": ["IDENTITY s.x"]}, run=4, own=out)
    again["eventTime"] = show(now())
    take(collector, again)
    jobs = by_name(collector.ask(health.health, 0, now() + health.DAY))
    # The filter is closed by now, and the other edge was seen.
    assert jobs["make_t"]["stale_edges"] == 0


def test_over_time(collector: Collector) -> None:
    take(collector, *events(), writes("t", {"a": ["IDENTITY s.x"]}, run=9, minute=15, job="etl"))
    with pytest.raises(MalformedError):
        collector.take(b"{}")
    told = collector.ask(health.trend, parse(at(5)), parse(at(121)), "hour", None)
    assert [p["from"][11:16] for p in told["points"]] == ["00:00", "01:00", "02:00"]
    keys = ("runs", "failures", "outputs", "coverage", "unknown_nodes", "dropped",
            "unexplained_columns", "agent_failures", "quarantined", "conflicts")  # fmt: skip
    assert [tuple(p[k] for k in keys) for p in told["points"]] == [
        (2, 0, 1, 1.0, 3, 2, 1, 0, 0, None),
        (5, 1, 0, None, 1, 5, 0, 1, 0, None),
        (0, 0, 0, None, 0, 0, 0, 0, 0, None),
    ]
    with collector.database.read() as connection:
        one = job(connection, "etl")
    told = collector.ask(health.trend, parse(at(0)), parse(at(119)), "hour", one)
    assert [p["runs"] for p in told["points"]] == [2, 3]
    for step, since in (("hour", 0), ("day", now() + 2 * health.DAY)):
        with pytest.raises(ConfigError, match="since"):
            collector.ask(health.trend, since, now(), step, None)


def test_what_cannot_be_derived_again_is_kept_by_the_hour(collector: Collector) -> None:
    with pytest.raises(MalformedError):
        collector.take(b"{}")
    told = {**collector.ask(health.totals), "conflicts": 4}
    collector.change(health.snapshot, told)
    collector.change(health.snapshot, {**told, "conflicts": 5})
    told = collector.ask(health.trend, now() - health.HOUR, now() + 1, "day", None)
    (point,) = [p for p in told["points"] if p["conflicts"] is not None]
    # One an hour: unless the hour ended just between the two.
    assert point["conflicts"] in (4, 5)
    assert point["quarantined"] == 1


def test_totals_are_not_asked_at_each_look() -> None:
    asked: list[int] = []

    def ask() -> Json:
        asked.append(1)
        return {"n": len(asked)}

    slow, quick = health.Totals(ask, 3600.0), health.Totals(ask, 0.0)
    assert [slow.read()["n"], slow.read()["n"]] == [1, 1]
    assert quick.read()["n"] < quick.read()["n"]
    # Every figure of the store can be watched.
    assert set(health.WATCHED) == set(Collector("sqlite://").ask(health.totals))
