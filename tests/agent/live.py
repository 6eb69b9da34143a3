"""Runs of a real session in this process: what is done, as the events it gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from spark_lineage import config
from spark_lineage.agent.guard import Failures
from spark_lineage.agent.link import Link, connect
from spark_lineage.agent.runs import Runs
from tests.support.validation import validate

Event = dict[str, Any]


class Live:
    """A bridge on the session's bus, and an agent that is asked for events by hand."""

    def __init__(self, spark: Any, **conf: str) -> None:
        self.spark = spark
        self.failures = Failures()
        settings = {f"spark.lineage.{key.replace('_', '.')}": text for key, text in conf.items()}
        self.runs = Runs(config.load(settings, {}), self.failures)
        self.records: list[dict[str, Any]] = []
        self.link: Link = connect(spark.sparkContext)
        self.link.install(spark.sparkContext._jsc.sc())
        assert self.link.claim("driver:live")

    def close(self) -> None:
        self.events()
        self.link.release()
        self.link.uninstall()

    def events(self) -> list[Event]:
        """The events of all that was done so far, each valid; nothing in the agent failed."""
        self.spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty(60_000)
        records = self.link.lease(1_000_000, 1 << 30, 0.0)
        events = []
        for record in records:
            events += self.runs.take(record)
        if records:
            self.link.ack(records[-1]["sequence"])
        self.records = records
        for event in events:
            validate(event)
        assert self.failures.counts() == {}
        return events

    def ends(self, action: Callable[[], Any]) -> list[Event]:
        """The end events of what an action does."""
        self.events()
        action()
        return [event for event in self.events() if event["eventType"] != "START"]

    def end(self, action: Callable[[], Any]) -> Event:
        """The only end event of an action."""
        (event,) = self.ends(action)
        return event


def read(event: Event, name: str) -> dict[str, int] | None:
    """What was read of the input whose name ends so: its inputStatistics, without the rest."""
    (found,) = [one for one in event["inputs"] if one["name"].endswith(name)]
    return _figures(found.get("inputFacets", {}).get("inputStatistics"))


def written(event: Event, name: str) -> dict[str, int] | None:
    """What was written to the output whose name ends so."""
    (found,) = [one for one in event["outputs"] if one["name"].endswith(name)]
    return _figures(found.get("outputFacets", {}).get("outputStatistics"))


def _figures(facet: dict[str, Any] | None) -> dict[str, int] | None:
    if facet is None:
        return None
    return {key: value for key, value in facet.items() if not key.startswith("_")}
