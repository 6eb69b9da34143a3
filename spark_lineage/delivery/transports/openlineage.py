"""OpenLineage's own configuration, and its transports behind our interface.

Read as openlineage-python reads it (``OPENLINEAGE_CONFIG``, ``openlineage.yml`` in
the working directory or in ``~/.openlineage``, ``OPENLINEAGE__TRANSPORT__*``, then
``OPENLINEAGE_URL``), but without its client, which changes the environment.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
from collections.abc import Mapping
from typing import Any
from urllib.parse import urljoin

from spark_lineage.delivery.transports.base import Transport
from spark_lineage.delivery.transports.console import ConsoleTransport, NoTransport
from spark_lineage.delivery.transports.file import FileTransport
from spark_lineage.errors import ConfigError, RetriableError

Config = dict[str, Any]

_PREFIX = "OPENLINEAGE__TRANSPORT"


def discover(environ: Mapping[str, str]) -> Config | None:
    """The transport section of OpenLineage's configuration, or None if there is none."""
    if environ.get("OPENLINEAGE_DISABLED", "").strip().lower() == "true":
        return {"type": "noop"}
    config = _merged(_from_environment(environ), _from_file(environ))
    if config.get("type"):
        return config
    if url := environ.get("OPENLINEAGE_URL"):
        config = {
            "type": "http",
            "url": url,
            "endpoint": environ.get("OPENLINEAGE_ENDPOINT") or "api/v1/lineage",
        }
        if key := environ.get("OPENLINEAGE_API_KEY"):
            config["auth"] = {"type": "api_key", "apiKey": key}
        return config
    return None


def create(config: Config, timeout: float) -> Transport:
    """The transport of OpenLineage's configuration; raises :class:`ConfigError`."""
    kind = str(config.get("type", "")).lower()
    if kind == "noop":
        return NoTransport()
    if kind == "console":
        return ConsoleTransport()
    if kind == "http":
        return _http(config, timeout)
    path = config.get("log_file_path")
    if kind == "file" and path and config.get("append") and _is_local(config):
        return FileTransport(str(path))
    return LibraryTransport(config)


def _is_local(config: Config) -> bool:
    path = str(config["log_file_path"])
    return not config.get("filesystem") and ("://" not in path or path.startswith("file://"))


def _http(config: Config, timeout: float) -> Transport:
    from spark_lineage.delivery.transports.http import HttpTransport

    url = config.get("url")
    if not url:
        raise ConfigError("OpenLineage's transport.url", url, "an http or https URL")
    ssl = _first(config, "sslContext", "ssl_context", "sslcontext") or {}
    certificate = _first(ssl, "clientCertPath", "client_cert_path", "clientcertpath")
    key = _first(ssl, "clientKeyPath", "client_key_path", "clientkeypath")
    headers = _first(config, "custom_headers", "headers") or {}
    return HttpTransport(
        # Joined as their client does it, so that the same setting means the same address.
        urljoin(str(url).strip(), str(config.get("endpoint") or "api/v1/lineage")),
        timeout=float(config.get("timeout") or timeout),
        authorization=_authorization(config.get("auth") or {}),
        compress=str(config.get("compression") or "").lower() == "gzip",
        headers={str(name): str(value) for name, value in headers.items()},
        verify=_first(ssl, "caCertPath", "ca_cert_path", "cacertpath")
        or bool(config.get("verify", True)),
        cert=(certificate, key) if certificate and key else certificate,
    )


def _authorization(auth: Mapping[str, Any]) -> Any:
    if not auth.get("type"):
        return None
    if auth["type"] == "api_key":
        key = _first(auth, "apiKey", "apikey", "api_key")
        if not key:
            raise ConfigError("OpenLineage's transport.auth.apiKey", key, "a text")
        return lambda: f"Bearer {key}"
    from openlineage.client.transport.http import create_token_provider

    try:
        return create_token_provider(dict(auth)).get_bearer
    except Exception as error:
        raise ConfigError("OpenLineage's transport.auth", auth["type"], str(error)) from error


class LibraryTransport:
    """A transport of openlineage-python that has no counterpart here, such as Kafka's.

    What it raises is retriable: the library does not say whether the target will
    ever take the event.
    """

    def __init__(self, config: Config) -> None:
        from openlineage.client.transport import get_default_factory

        kind = str(config.get("type"))
        self.description = f"OpenLineage transport {kind}"
        try:
            # A copy: the factory takes keys out of what it is given.
            self._transport = get_default_factory().create(json.loads(json.dumps(config)))
        except Exception as error:
            raise ConfigError("OpenLineage's transport.type", kind, str(error)) from error

    def send(self, event: dict[str, Any], timeout: float | None = None) -> None:
        """Emit the event; the library keeps its own timeouts."""
        try:
            self._transport.emit(_run_event(event))
        except Exception as error:
            raise RetriableError(f"{type(error).__name__}: {error}") from error

    def close(self) -> None:
        """Close the library's transport."""
        with contextlib.suppress(Exception):
            self._transport.close(0)


def _run_event(event: dict[str, Any]) -> Any:
    """The event as the library's class; facets stay plain, it only serialises them."""
    from openlineage.client import event_v2 as ol

    return ol.RunEvent(
        eventType=ol.RunState(event["eventType"]),
        eventTime=event["eventTime"],
        producer=event["producer"],
        run=ol.Run(**event["run"]),
        job=ol.Job(**event["job"]),
        inputs=[ol.InputDataset(**dataset) for dataset in event.get("inputs", ())],
        outputs=[ol.OutputDataset(**dataset) for dataset in event.get("outputs", ())],
    )


def _from_file(environ: Mapping[str, str]) -> Config:
    home = environ.get("HOME") or os.path.expanduser("~")
    candidates = (
        environ.get("OPENLINEAGE_CONFIG"),
        os.path.join(os.getcwd(), "openlineage.yml"),
        os.path.join(home, ".openlineage", "openlineage.yml"),
    )
    for path in candidates:
        if path and os.path.isfile(path) and os.access(path, os.R_OK):
            yaml: Any = importlib.import_module("yaml")  # comes with openlineage-python
            try:
                with open(path, encoding="utf-8") as file:
                    content = yaml.safe_load(file)
            except (OSError, ValueError, yaml.YAMLError) as error:
                raise ConfigError("OPENLINEAGE_CONFIG", path, "a YAML file") from error
            section = content.get("transport") if isinstance(content, dict) else None
            return section if isinstance(section, dict) else {}
    return {}


def _from_environment(environ: Mapping[str, str]) -> Config:
    config: Config = {}
    # Sorted backwards, so that a whole section given as JSON wins over its single keys.
    for name in sorted(environ, reverse=True):
        if name != _PREFIX and not name.startswith(_PREFIX + "__"):
            continue
        value: Any = environ[name]
        with contextlib.suppress(ValueError):
            value = json.loads(value)
        keys = [key.lower() for key in name.removeprefix(_PREFIX).split("__") if key]
        if not keys:
            if isinstance(value, dict):
                config = value
            continue
        place = config
        for key in keys[:-1]:
            inner = place.get(key)
            if not isinstance(inner, dict):
                inner = place[key] = {}
            place = inner
        place[keys[-1]] = value
    return config


def _merged(below: Config, above: Config) -> Config:
    result = dict(below)
    for key, value in above.items():
        inner = result.get(key)
        both = isinstance(value, dict) and isinstance(inner, dict)
        result[key] = _merged(inner, value) if both else value  # type: ignore[arg-type]
    return result


def _first(section: Mapping[str, Any], *names: str) -> Any:
    return next((section[name] for name in names if section.get(name)), None)
