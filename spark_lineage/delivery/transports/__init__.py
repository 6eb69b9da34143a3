"""Where events go: by HTTP, into a file, into the log."""

from __future__ import annotations

import os
from collections.abc import Mapping
from urllib.parse import urlsplit, urlunsplit

from spark_lineage.config import DEFAULT_URL, PREFIX, Settings
from spark_lineage.delivery.transports.base import Transport
from spark_lineage.errors import ConfigError

__all__ = ["Transport", "create", "describe"]


def create(settings: Settings, environ: Mapping[str, str] | None = None) -> Transport:
    """The transport that the settings name; raises :class:`ConfigError`.

    Where they name none: HTTP if there is a URL, else what OpenLineage's own
    configuration (files, and ``environ``, by default this process's) says, else
    HTTP to the default address.
    """
    environ = os.environ if environ is None else environ
    kind = settings.transport_type
    if kind is None and settings.transport_url is None:
        from spark_lineage.delivery.transports import openlineage

        if config := openlineage.discover(environ):
            return openlineage.create(config, settings.transport_timeout)
    if kind == "file":
        from spark_lineage.delivery.transports.file import FileTransport

        if not settings.transport_path:
            raise ConfigError(PREFIX + "transport.path", None, "a path")
        return FileTransport(settings.transport_path)
    if kind == "console":
        from spark_lineage.delivery.transports.console import ConsoleTransport

        return ConsoleTransport()

    from spark_lineage.delivery.transports.http import HttpTransport

    key = settings.transport_api_key
    return HttpTransport(
        _joined(settings.transport_url or DEFAULT_URL, settings.transport_endpoint),
        timeout=settings.transport_timeout,
        authorization=(lambda: f"Bearer {key}") if key else None,
    )


def describe(settings: Settings, environ: Mapping[str, str] | None = None) -> str:
    """The target of :func:`create` as a person reads it, without credentials."""
    transport = create(settings, environ)
    try:
        return transport.description
    finally:
        transport.close()


def _joined(url: str, endpoint: str) -> str:
    parts = urlsplit(url)
    path = parts.path.rstrip("/") + "/" + endpoint.lstrip("/")
    return urlunsplit(parts._replace(path=path))
