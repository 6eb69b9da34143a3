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
from urllib.parse import urlencode, urljoin

from spark_lineage.delivery.transports import tokens
from spark_lineage.delivery.transports.base import Target, Transport
from spark_lineage.delivery.transports.console import ConsoleTransport, NoTransport
from spark_lineage.delivery.transports.file import FileTransport
from spark_lineage.errors import ConfigError

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


def targets(config: Config, timeout: float) -> list[Target]:
    """What OpenLineage's configuration names, each with its own place in the spool.

    ``timeout`` holds where the section has none. Raises :class:`ConfigError`.
    """
    kind = str(config.get("type") or "").strip()
    if kind == "composite":
        return _composite(config, timeout)
    if kind == "transform":
        return _transform(config, timeout)
    return [Target("", _single(kind, config, timeout))]


def _composite(config: Config, timeout: float) -> list[Target]:
    given = config.get("transports") or []
    if isinstance(given, Mapping):
        given = [{"name": name, **section} for name, section in given.items() if section]
    found: list[tuple[int, Target]] = []
    for place, section in enumerate(given, 1):
        outer = str(section.get("name") or place)
        priority = int(section.get("priority") or 0)
        for inner in targets(section, timeout):
            name = f"{outer}.{inner.name}" if inner.name else outer
            found.append((priority, Target(name, inner.transport)))
    if not found:
        raise ConfigError("OpenLineage's transport.transports", given, "at least one transport")
    if _flag(config, False, "sort_transports", "sortTransports"):
        found.sort(key=lambda one: one[0], reverse=True)
    if _flag(config, True, "continue_on_success", "continueOnSuccess"):
        names = [target.name for _, target in found]
        if len(set(names)) != len(names):
            raise ConfigError("OpenLineage's transport.transports", names, "names that differ")
        return [target for _, target in found]
    from spark_lineage.delivery.transports.wrapped import FailoverTransport

    return [Target("", FailoverTransport([target.transport for _, target in found]))]


def _transform(config: Config, timeout: float) -> list[Target]:
    from spark_lineage.delivery.transports.wrapped import TransformTransport

    section = config.get("transport")
    transformer = _first(config, "transformer_class", "transformerClass", "transformerclass")
    if not isinstance(section, dict) or not transformer:
        raise ConfigError(
            "OpenLineage's transform transport", sorted(config), "transport and transformer_class"
        )
    properties = _first(
        config, "transformer_properties", "transformerProperties", "transformerproperties"
    )
    return [
        Target(each.name, TransformTransport(each.transport, str(transformer), properties or {}))
        for each in targets(section, timeout)
    ]


def _single(kind: str, config: Config, timeout: float) -> Transport:
    if kind == "noop":
        return NoTransport()
    if kind == "console":
        return ConsoleTransport()
    if kind in ("http", "async_http"):
        return _http(config, timeout)
    if kind == "datadog":
        return _datadog(config, timeout)
    if kind in ("kafka", "msk-iam"):
        return _kafka(kind, config, timeout)
    path = config.get("log_file_path")
    if kind == "file" and config.get("location"):  # as openlineage-java calls it
        return FileTransport(str(config["location"]))
    if kind == "file" and path and config.get("append") and _is_local(config):
        return FileTransport(str(path))
    if kind == "gcplineage":
        # Asynchronous emission would not say whether the target has the event.
        config = {"async_transport_rules": {}, **config}
    if kind not in _IN_LIBRARY and "." not in kind:
        raise ConfigError("OpenLineage's transport.type", kind, ", ".join(KINDS))
    from spark_lineage.delivery.transports.library import LibraryTransport

    return LibraryTransport(config)


_IN_LIBRARY = ("file", "gcplineage", "amazon_datazone_api")
KINDS = (
    *("http", "kafka", "file", "console", "noop", "composite", "transform", "async_http"),
    *("msk-iam", "gcplineage", "amazon_datazone_api", "datadog", "or the path of a class"),
)


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
    if key and not certificate:
        raise ConfigError("OpenLineage's transport.sslContext.clientCertPath", None, "a path")
    headers = _first(config, "custom_headers", "customHeaders", "headers") or {}
    # Joined as their client does it, so that the same setting means the same address.
    address = urljoin(str(url).strip(), str(config.get("endpoint") or "api/v1/lineage"))
    if params := _first(config, "urlParams", "url_params"):
        address += ("&" if "?" in address else "?") + urlencode(params)
    milliseconds = _first(config, "timeoutInMillis", "timeoutinmillis")
    return HttpTransport(
        address,
        timeout=float(milliseconds) / 1000
        if milliseconds
        else float(config.get("timeout") or timeout),
        authorization=tokens.create(config.get("auth") or {}),
        compress=str(config.get("compression") or "").lower() == "gzip",
        headers={str(name): str(value) for name, value in headers.items()},
        verify=_first(ssl, "caCertPath", "ca_cert_path", "cacertpath")
        or _flag(config, True, "verify"),
        cert=(certificate, key) if certificate and key else certificate,
    )


def _datadog(config: Config, timeout: float) -> Transport:
    """Datadog's intake is plain HTTP; the library knows its addresses."""
    from openlineage.client.transport.datadog import SITE_MAPPING, DatadogConfig

    try:
        known = DatadogConfig.from_dict(dict(config))
    except Exception:
        sites = "with an apiKey, and a site of " + ", ".join(SITE_MAPPING)
        raise ConfigError("OpenLineage's transport.type", "datadog", sites) from None
    section = {
        "url": SITE_MAPPING.get(known.site, known.site),
        "timeout": config.get("timeout"),
        "compression": "gzip",
        "auth": {"type": "api_key", "apiKey": known.apiKey},
    }
    return _http(section, timeout)


def _kafka(kind: str, config: Config, timeout: float) -> Transport:
    from spark_lineage.delivery.transports.kafka import KafkaTransport, client

    topic = _first(config, "topic", "topicName", "topicname")
    settings = _first(config, "config", "properties")
    if not topic or not isinstance(settings, dict):
        raise ConfigError("OpenLineage's Kafka transport", sorted(config), "topic and config")
    # What openlineage-java needs and librdkafka does not know.
    settings = {k: v for k, v in settings.items() if not k.endswith(".serializer")}
    key = _first(config, "messageKey", "message_key", "messagekey")
    if kind == "kafka":
        return KafkaTransport(settings, str(topic), key, timeout)
    client()

    def make(complete: dict[str, Any]) -> Any:
        """A producer with the library's tokens for Amazon's brokers."""
        from openlineage.client.transport.msk_iam import MSKIAMConfig, MSKIAMTransport

        section = {**config, "topic": topic, "config": complete}
        return MSKIAMTransport(MSKIAMConfig.from_dict(section)).producer

    return KafkaTransport(settings, str(topic), key, timeout, make)


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


def _flag(section: Mapping[str, Any], otherwise: bool, *names: str) -> bool:
    """A truth value, which a text may stand for."""
    found = next((section[name] for name in names if section.get(name) is not None), otherwise)
    return str(found).strip().lower() not in ("false", "0", "no", "off")
