"""Transports of openlineage-python that have no counterpart here: those of clouds, and others'."""

from __future__ import annotations

import contextlib
import json
from typing import Any

from spark_lineage.delivery.transports.base import Event, TooLargeError, UnsettledError
from spark_lineage.errors import ConfigError, RejectedError, RetriableError

MESSAGE_LIMIT = 300


class LibraryTransport:
    """Emits through the library; what it raises tells by its status what became of the event.

    Where there is no status, the event may be sent again: the library does not say
    whether the target will ever take it.
    """

    def __init__(self, config: dict[str, Any]) -> None:
        from openlineage.client.transport import get_default_factory

        kind = str(config.get("type"))
        self.description = f"OpenLineage transport {kind}"
        try:
            # A copy: the factory takes keys out of what it is given.
            self._transport = get_default_factory().create(json.loads(json.dumps(config)))
        except Exception as error:
            raise ConfigError("OpenLineage's transport.type", kind, _reason(error)) from error

    def send(self, event: Event, timeout: float | None = None) -> None:
        """Emit the event; the library keeps its own timeouts."""
        try:
            self._transport.emit(run_event(event))
        except Exception as error:
            text, status = _told(error), _status(error)
            if status == 413:
                raise TooLargeError(text) from error
            if status in (400, 409, 422):
                raise RejectedError(text) from error
            raise (UnsettledError if status else RetriableError)(text) from error

    def close(self) -> None:
        """Close the library's transport."""
        with contextlib.suppress(Exception):
            self._transport.close(0)


def _told(error: BaseException) -> str:
    """The cause within, in a line: around it the library may put the whole event."""
    for _ in range(5):
        if error.__cause__ is None:
            break
        error = error.__cause__
    return f"{type(error).__name__}: {error}"[:MESSAGE_LIMIT]


def _reason(error: Exception) -> str:
    return str(error) if str(error) else type(error).__name__


def _status(error: BaseException | None) -> int | None:
    """The HTTP status that an error of a cloud's client, or one beneath it, carries."""
    for _ in range(5):
        if error is None:
            return None
        response = getattr(error, "response", None)
        if isinstance(response, dict):  # botocore
            found = (response.get("ResponseMetadata") or {}).get("HTTPStatusCode")
        else:  # requests; google.api_core
            found = getattr(response, "status_code", None) or getattr(error, "code", None)
        if isinstance(found, int):
            return int(found)
        error = error.__cause__ or error.__context__
    return None


def run_event(event: Event) -> Any:
    """The event as the library's class. Facets stay plain, it only serialises them."""
    from openlineage.client import event_v2 as ol

    run = dict(event["run"])
    if parent := (run.get("facets") or {}).get("parent"):
        run["facets"] = {**run["facets"], "parent": _parent(parent)}
    return ol.RunEvent(
        eventType=ol.RunState(event["eventType"]),
        eventTime=event["eventTime"],
        producer=event["producer"],
        run=ol.Run(**run),
        job=ol.Job(**event["job"]),
        inputs=[ol.InputDataset(**dataset) for dataset in event.get("inputs", ())],
        outputs=[ol.OutputDataset(**dataset) for dataset in event.get("outputs", ())],
    )


def _parent(told: dict[str, Any]) -> Any:
    """The one facet that the library's own transports and transformers look into."""
    from openlineage.client.facet_v2 import parent_run as words

    root = told.get("root")
    return words.ParentRunFacet(
        run=words.Run(runId=told["run"]["runId"], facets=None),
        job=words.Job(told["job"]["namespace"], told["job"]["name"], facets=None),
        root=words.Root(
            run=words.RootRun(runId=root["run"]["runId"], facets=None),
            job=words.RootJob(root["job"]["namespace"], root["job"]["name"], facets=None),
        )
        if root
        else None,
        producer=told["_producer"],
    )
