"""What an event must say, in a form that tests compare."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any

Event = dict[str, Any]


def ends(events: list[Event]) -> list[Event]:
    """The events that end a run, in order."""
    return [event for event in events if event["eventType"] in {"COMPLETE", "FAIL", "ABORT"}]


def written(events: list[Event], output: str) -> Event:
    """The one COMPLETE event with an output of this name, or of a path that ends so."""
    (event,) = [
        event
        for event in events
        if event["eventType"] == "COMPLETE"
        and any(_is_called(each["name"], output) for each in event["outputs"])
    ]
    return event


def _is_called(name: str, wanted: str) -> bool:
    return name == wanted or PurePosixPath(name).name == wanted


def sources(event: Event) -> dict[str, set[tuple[str, str, str]]]:
    """By output column: (last part of the data set's name, field, kind) of its direct sources."""
    (output,) = event["outputs"]
    fields = output["facets"]["columnLineage"]["fields"]
    return {
        column: {
            (PurePosixPath(source["name"]).name, source["field"], kind["subtype"])
            for source in told["inputFields"]
            for kind in source["transformations"]
            if kind["type"] == "DIRECT"
        }
        for column, told in fields.items()
    }


def context(event: Event) -> dict[str, Any]:
    """The context facet of the event's run."""
    told: dict[str, Any] = event["run"]["facets"]["sparkLineage_context"]
    return told


def application(events: list[Event]) -> Event:
    """The end of the one application."""
    (event,) = [
        event
        for event in ends(events)
        if event["job"]["facets"]["jobType"]["jobType"] == "APPLICATION"
    ]
    return event


def assert_each_run_has_one_end(events: list[Event]) -> None:
    """Each run starts, and then ends once."""
    runs: dict[str, list[str]] = {}
    for event in events:
        runs.setdefault(event["run"]["runId"], []).append(event["eventType"])
    assert runs
    assert all(kinds[0] == "START" and len(kinds) == 2 for kinds in runs.values()), runs
