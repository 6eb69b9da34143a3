"""Events to a Kafka topic; the broker's delivery report says whether it has one.

The client (confluent-kafka) does not retry, and what is not reported by the
deadline is taken out of its queue: the worker sends it again.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from spark_lineage.delivery import fork
from spark_lineage.delivery.transports.base import Event, TooLargeError
from spark_lineage.errors import ConfigError, RejectedError, RetriableError

MOST_EVENTS = 100
POLL_SECONDS = 0.1
PURGE_SECONDS = 1.0

_LOGGER = logging.getLogger("spark_lineage.delivery.kafka")
_TOO_LARGE = ("MSG_SIZE_TOO_LARGE", "_MSG_SIZE_TOO_LARGE", "RECORD_LIST_TOO_LARGE")
_NEVER = ("INVALID_RECORD", "INVALID_TIMESTAMP")

Make = Callable[[dict[str, Any]], Any]


class KafkaTransport:
    """Produces each event to ``topic``, and waits for its delivery report.

    ``config`` is librdkafka's. ``key`` None: events are keyed as openlineage-python
    keys them, by the job at the root, so that a run's events share a partition and
    stay in order. ``make`` makes the producer of a complete configuration.
    """

    def __init__(
        self,
        config: Mapping[str, Any],
        topic: str,
        key: str | None = None,
        timeout: float = 5.0,
        make: Make | None = None,
    ) -> None:
        self._kafka = client()
        self._topic = topic
        self._key = key
        self._timeout = timeout
        self._config = _complete(config, timeout)
        self._make = make or self._kafka.Producer
        self.most = MOST_EVENTS
        servers = config.get("bootstrap.servers") or config.get("metadata.broker.list")
        self.description = f"Kafka topic {topic} at {servers}"
        try:
            self._producer = self._make(dict(self._config))
        except Exception as error:
            raise ConfigError("the Kafka transport's config", sorted(config), str(error)) from None
        fork.register(self)

    def send(self, event: Event, timeout: float | None = None) -> None:
        """Return once the broker has reported the event's delivery."""
        (error,) = self._deliver([event], timeout)
        if error is not None:
            raise error

    def send_batch(
        self, events: Sequence[Event], timeout: float | None = None
    ) -> list[RejectedError | None]:
        """Deliver several; see :meth:`BatchTransport.send_batch`."""
        verdicts: list[RejectedError | None] = []
        for error in self._deliver(events, timeout):
            if error is not None and not isinstance(error, RejectedError):
                if not verdicts:
                    raise error
                break
            if isinstance(error, TooLargeError):
                break  # alone it is made smaller
            verdicts.append(error)
        return verdicts

    def close(self) -> None:
        """Give the producer up; nothing of it is under way."""
        self._producer = None

    def after_fork(self) -> None:
        """In a forked child the client has no threads: freeing it there would wait for ever."""
        if self._producer is not None:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._producer))

    def _deliver(
        self, events: Sequence[Event], timeout: float | None
    ) -> list[RetriableError | RejectedError | None]:
        limit = self._timeout if timeout is None else max(0.001, min(self._timeout, timeout))
        deadline = time.monotonic() + limit
        if self._producer is None:
            self._producer = self._make(dict(self._config))
        reports: dict[int, Any] = {}
        for place, event in enumerate(events):
            body = json.dumps(event, separators=(",", ":")).encode("ascii")
            try:
                self._producer.produce(
                    self._topic,
                    value=body,
                    key=self._key or key_of(event),
                    on_delivery=partial(_report, reports, place),
                )
            except self._kafka.KafkaException as error:
                reports[place] = error.args[0]
            except BufferError:
                break
        else:
            place = len(events)
        while len(reports) < place and (left := deadline - time.monotonic()) > 0:
            self._producer.poll(min(left, POLL_SECONDS))
        if len(reports) < place:
            self._producer.purge()
            self._producer.flush(PURGE_SECONDS)
        return [self._judged(reports.get(number, "not reported")) for number in range(len(events))]

    def _judged(self, error: Any) -> RetriableError | RejectedError | None:
        if error is None:
            return None
        if isinstance(error, str):
            return RetriableError(f"Kafka: {error} in time")
        name, text = error.name(), f"Kafka: {error.str()}"
        if error.fatal():
            self._producer = None  # one of these never recovers; the next is new
        if name in _TOO_LARGE:
            return TooLargeError(text)
        if name in _NEVER:
            return RejectedError(text)
        return RetriableError(text)


def _report(reports: dict[int, Any], place: int, error: Any, _message: Any) -> None:
    reports[place] = error


def client() -> Any:
    """The module confluent_kafka; raises :class:`ConfigError` where it is not installed."""
    try:
        return importlib.import_module("confluent_kafka")
    except ImportError:
        raise ConfigError(
            "the transport's type",
            "kafka",
            "kafka, where confluent-kafka is installed (pip install 'openlineage-python[kafka]')",
        ) from None


def _complete(config: Mapping[str, Any], timeout: float) -> dict[str, Any]:
    complete: dict[str, Any] = {"logger": _Log(), **config}
    if not {"message.timeout.ms", "delivery.timeout.ms"} & set(config):
        complete["message.timeout.ms"] = max(1, int(timeout * 1000))
    idempotent = str(config.get("enable.idempotence", "")).lower() == "true"
    if not idempotent and not {"retries", "message.send.max.retries"} & set(config):
        complete["retries"] = 0
    return complete


class _Log:
    """Takes librdkafka's log: our own says once that a broker cannot be reached."""

    def log(self, level: int, message: str, *args: Any) -> None:
        _LOGGER.debug(message, *args)


def key_of(event: Event) -> str:
    """The key of openlineage-python: the job of the root run, of the parent, or the event's own."""
    job = event.get("job") or {}
    parent = ((event.get("run") or {}).get("facets") or {}).get("parent") or {}
    root = (parent.get("root") or {}).get("job") or parent.get("job") or {}
    if root.get("namespace") and root.get("name"):
        job = root
    return f"run:{job.get('namespace')}/{job.get('name')}"
