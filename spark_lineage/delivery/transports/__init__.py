"""Where events go: by HTTP, to Kafka, into a file, into the log."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from urllib.parse import urlsplit, urlunsplit

from spark_lineage.config import DEFAULT_URL, PREFIX, Settings
from spark_lineage.delivery.transports.base import Target, Transport
from spark_lineage.errors import ConfigError

__all__ = ["Target", "Transport", "create", "describe", "targets"]


def targets(settings: Settings, environ: Mapping[str, str] | None = None) -> list[Target]:
    """What the settings name, at least one target; raises :class:`ConfigError`.

    Where they name none: what ``spark.openlineage.transport.*`` says, else what
    OpenLineage's own configuration (files, and ``environ``, by default this
    process's) says, else HTTP to the default address.
    """
    environ = os.environ if environ is None else environ
    kind = settings.transport_type
    section = json.loads(settings.transport_config) if settings.transport_config else None
    if section is None:
        section = settings.openlineage_transport
    if section is None and kind is None and settings.transport_url is None:
        from spark_lineage.delivery.transports import openlineage

        section = openlineage.discover(environ)
    if section is not None:
        from spark_lineage.delivery.transports import openlineage

        return openlineage.targets(section, settings.transport_timeout)
    return [Target("", _own(settings))]


def create(settings: Settings, environ: Mapping[str, str] | None = None) -> Transport:
    """The one target's transport; raises :class:`ConfigError`, also where there are several."""
    found = targets(settings, environ)
    if len(found) == 1:
        return found[0].transport
    for target in found:
        target.transport.close()
    raise ConfigError(PREFIX + "transport", [target.name for target in found], "one transport")


def _own(settings: Settings) -> Transport:
    kind = settings.transport_type
    if kind == "file":
        from spark_lineage.delivery.transports.file import FileTransport

        if not settings.transport_path:
            raise ConfigError(PREFIX + "transport.path", None, "a path")
        return FileTransport(settings.transport_path)
    if kind == "console":
        from spark_lineage.delivery.transports.console import ConsoleTransport

        return ConsoleTransport()

    from spark_lineage.delivery.transports.http import HttpTransport
    from spark_lineage.delivery.transports.tokens import Authorization

    key = settings.transport_api_key
    return HttpTransport(
        _joined(settings.transport_url or DEFAULT_URL, settings.transport_endpoint),
        timeout=settings.transport_timeout,
        authorization=Authorization(f"Bearer {key}") if key else None,
    )


def describe(settings: Settings, environ: Mapping[str, str] | None = None) -> str:
    """The targets as a person reads them, without credentials."""
    found = targets(settings, environ)
    for target in found:
        target.transport.close()
    return " and ".join(target.transport.description for target in found)


def _joined(url: str, endpoint: str) -> str:
    parts = urlsplit(url)
    path = parts.path.rstrip("/") + "/" + endpoint.lstrip("/")
    return urlunsplit(parts._replace(path=path))
