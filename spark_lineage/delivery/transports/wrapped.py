"""Transports around others: events transformed on their way, and targets tried in turn."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from spark_lineage.delivery.transports.base import Event, Transport
from spark_lineage.delivery.transports.library import run_event
from spark_lineage.errors import ConfigError, RejectedError, RetriableError


class TransformTransport:
    """Hands over what a transformer of openlineage-python makes of each event.

    An event that it makes nothing of is not sent: that is what it is for.
    """

    def __init__(self, inner: Transport, transformer: str, properties: Mapping[str, Any]) -> None:
        from openlineage.client.transport.transform import EventTransformer
        from openlineage.client.utils import import_from_string

        try:
            found = import_from_string(transformer)
            if not (inspect.isclass(found) and issubclass(found, EventTransformer)):
                raise TypeError("not an EventTransformer of openlineage-python")
            self._transformer = found(properties=dict(properties))
        except Exception as error:
            raise ConfigError(
                "OpenLineage's transport.transformer_class", transformer, str(error)
            ) from error
        self._inner = inner
        self.description = f"{inner.description}, through {transformer.rpartition('.')[2]}"

    def send(self, event: Event, timeout: float | None = None) -> None:
        """Transform the event and send it."""
        from openlineage.client.serde import Serde

        transformed = self._transformer.transform(run_event(event))
        if transformed is not None:
            self._inner.send(Serde.to_dict(transformed), timeout)

    def close(self) -> None:
        """Close the transport within."""
        self._inner.close()


class FailoverTransport:
    """Sends each event to the first of several targets that takes it.

    It is what openlineage-python's composite does with ``continue_on_success: false``.
    """

    def __init__(self, targets: Sequence[Transport]) -> None:
        self._targets = list(targets)
        self.description = ", else ".join(target.description for target in targets)

    def send(self, event: Event, timeout: float | None = None) -> None:
        """Return once one of the targets has it; raises what may pass, else what will not."""
        errors: list[Exception] = []
        for target in self._targets:
            try:
                target.send(event, timeout)
            except (RetriableError, RejectedError) as error:
                errors.append(error)
            else:
                return
        raise next((e for e in errors if isinstance(e, RetriableError)), errors[-1])

    def close(self) -> None:
        """Close all."""
        for target in self._targets:
            target.close()
