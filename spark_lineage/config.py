"""Settings: where they come from, what is allowed, and how they are checked.

A setting is looked up in this order: the Spark configuration
(``spark.lineage.X``), the environment (``SPARK_LINEAGE_X``, dots as
underscores), the ``spark.openlineage.*`` key of the same meaning (so that a
scheduler that injects those keeps working), then the default here.
OpenLineage's own YAML and ``OPENLINEAGE_*`` environment are read by the
transport when ``transport.type`` is set nowhere.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from spark_lineage.errors import ConfigError

PREFIX = "spark.lineage."
OPENLINEAGE_PREFIX = "spark.openlineage."
ENVIRONMENT_PREFIX = "SPARK_LINEAGE_"
DEFAULT_URL = "http://localhost:8765"

Parser = Callable[[str], Any]


def _boolean(text: str) -> bool:
    lowered = text.strip().lower()
    if lowered in ("true", "on", "1", "yes"):
        return True
    if lowered in ("false", "off", "0", "no"):
        return False
    raise ValueError


_SIZES = {"": 1, "b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_TIMES = {"": 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}


def _size(text: str) -> int:
    match = re.fullmatch(r"(\d+)\s*([kmgb]?)(?:i?b)?", text.strip().lower())
    if not match or int(match[1]) == 0:
        raise ValueError
    return int(match[1]) * _SIZES[match[2]]


def _time(text: str) -> float:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(ms|s|m|min|h|d|)", text.strip().lower())
    if not match:
        raise ValueError
    return float(match[1]) * _TIMES[match[2]]


def _count(text: str) -> int:
    number = int(text.strip())
    if number <= 0:
        raise ValueError
    return number


def _share(text: str) -> float:
    share = float(text.strip())
    if not 0 <= share <= 1:
        raise ValueError
    return share


def _names(text: str) -> tuple[str, ...]:
    # OpenLineage writes lists in brackets: [spark.logicalPlan;spark_unknown]
    return tuple(name.strip() for name in re.split(r"[,;]", text.strip("[] ")) if name.strip())


def _text(text: str) -> str:
    return text.strip()


def _one_of(*allowed: str) -> Parser:
    def parse(text: str) -> str:
        lowered = text.strip().lower()
        if lowered not in allowed:
            raise ValueError
        return lowered

    return parse


def _url(text: str) -> str:
    stripped = text.strip()
    if not re.match(r"https?://[^/\s]+", stripped):
        raise ValueError
    return stripped.rstrip("/")


def _transport(text: str) -> str:
    section = json.loads(text)
    if not (isinstance(section, dict) and isinstance(section.get("type"), str)):
        raise ValueError
    return json.dumps(section)


def _uuid(text: str) -> str:
    import uuid

    return str(uuid.UUID(text.strip()))


_BOOL = "true or false"
_SIZE = "a positive size such as 1048576, 512k, 32m or 1g"
_TIME = "a time such as 500ms, 5s, 2m or 1h"
_POSITIVE = "a whole number above 0"


@dataclass(frozen=True)
class Setting:
    """One setting: its key after the prefix, its default, what it may be."""

    key: str
    default: Any
    parse: Parser
    allowed: str
    meaning: str
    openlineage: str | None = None
    secret: bool = False
    """Whether its value may hold credentials: it is never shown."""

    @property
    def attribute(self) -> str:
        """Its name as an attribute of :class:`Settings` and as an option of ``enable``."""
        words = re.sub(r"([a-z])([A-Z])", r"\1_\2", self.key)
        return words.replace(".", "_").lower()


SETTINGS: tuple[Setting, ...] = (
    Setting("enabled", True, _boolean, _BOOL, "whether lineage is reported at all", "disabled"),
    Setting("python", None, _text, "a path of a Python program", "the Python of the sidecar"),
    Setting(
        "transport.type",
        None,
        _one_of("http", "file", "console"),
        "http, file or console",
        "where events go",
        "transport.type",
    ),
    Setting(
        "transport.url",
        None,
        _url,
        "an http or https URL",
        f"the collector's address; default {DEFAULT_URL}",
        "transport.url",
    ),
    Setting(
        "transport.endpoint",
        "api/v1/lineage",
        _text,
        "a path",
        "the path at which the collector takes events",
        "transport.endpoint",
    ),
    Setting(
        "transport.path",
        None,
        _text,
        "a path of a file to append to",
        "the file of the file transport",
        "transport.location",
    ),
    Setting(
        "transport.apiKey",
        None,
        _text,
        "a text",
        "sent as a bearer token",
        "transport.auth.apiKey",
        secret=True,
    ),
    Setting(
        "transport.config",
        None,
        _transport,
        "a JSON object with a type",
        "the transport as OpenLineage configures it: kafka, composite, transform, ...",
        secret=True,
    ),
    Setting("transport.timeout", 5.0, _time, _TIME, "how long one post may take"),
    Setting("namespace", "default", _text, "a text", "the namespace of jobs", "namespace"),
    Setting(
        "job.name",
        None,
        _text,
        "a text",
        "the name of the job instead of the application's",
        "appName",
    ),
    Setting("parentRunId", None, _uuid, "a UUID", "the run that started this one", "parentRunId"),
    Setting("parentJobName", None, _text, "a text", "its job", "parentJobName"),
    Setting(
        "parentJobNamespace", None, _text, "a text", "its job's namespace", "parentJobNamespace"
    ),
    Setting("rootParentRunId", None, _uuid, "a UUID", "the run at the root", "rootParentRunId"),
    Setting("rootParentJobName", None, _text, "a text", "its job", "rootParentJobName"),
    Setting(
        "rootParentJobNamespace",
        None,
        _text,
        "a text",
        "its job's namespace",
        "rootParentJobNamespace",
    ),
    Setting(
        "dataset.identity",
        "table",
        _one_of("table", "path"),
        "table or path",
        "whether a catalog's table is named by the catalog or by its path",
    ),
    Setting(
        "masking.functions",
        (),
        _names,
        "names separated by commas",
        "more functions whose result is masked",
    ),
    Setting(
        "readOnlyActions",
        True,
        _boolean,
        "on or off",
        "whether queries that write nothing are runs too",
    ),
    Setting(
        "readOnlyActions.sample",
        1.0,
        _share,
        "a share from 0 to 1, such as 0.1",
        "the share of the queries that write nothing that are told",
    ),
    Setting(
        "sql",
        "full",
        _one_of("full", "normalized", "off"),
        "full, normalized or off",
        "whether events hold SQL text; with normalized and off no literal leaves the driver's "
        "machine, in expressions, filters and errors either",
    ),
    Setting(
        "views",
        "through",
        _one_of("through", "inputs"),
        "through or inputs",
        "whether lineage goes through permanent views, or they are inputs of their own",
    ),
    Setting(
        "facets.disabled",
        (),
        _names,
        "names separated by commas or semicolons",
        "facets that events are made without",
        "facets.disabled",
    ),
    Setting(
        "agent.memory",
        512 << 20,
        _size,
        _SIZE,
        "the resident memory above which the sidecar ends itself",
    ),
    Setting("queue.records", 10_000, _count, _POSITIVE, "records kept in the driver"),
    Setting("queue.bytes", 32 << 20, _size, _SIZE, "bytes of records kept in the driver"),
    Setting("record.bytes", 16 << 20, _size, _SIZE, "the largest record"),
    Setting("plan.nodes", 2_000_000, _count, _POSITIVE, "the most rows of one plan"),
    Setting(
        "shutdown.timeout",
        5.0,
        _time,
        _TIME,
        "the longest wait for delivery at the application's end",
    ),
    Setting(
        "spool.dir", None, _text, "a directory", "where events wait; default ~/.spark_lineage/spool"
    ),
    Setting("spool.bytes", 256 << 20, _size, _SIZE, "the largest spool"),
    Setting("spool.age", 7 * 86400.0, _time, _TIME, "how long an event may wait"),
    Setting(
        "spool.archive",
        None,
        _text,
        "a directory or a URL of fsspec, such as s3://bucket/lineage",
        "where a copy of what is not delivered at the end goes",
    ),
    Setting(
        "log.level",
        "WARNING",
        lambda text: _one_of("debug", "info", "warning", "error")(text).upper(),
        "debug, info, warning or error",
        "what the agent logs",
    ),
)

_BY_KEY = {setting.key: setting for setting in SETTINGS}
_BY_ATTRIBUTE = {setting.attribute: setting for setting in SETTINGS}


class Settings:
    """All settings, checked; each is an attribute (``settings.transport_url``)."""

    enabled: bool
    python: str | None
    transport_type: str | None
    transport_url: str | None
    transport_endpoint: str
    transport_path: str | None
    transport_api_key: str | None
    transport_config: str | None
    transport_timeout: float
    namespace: str
    job_name: str | None
    parent_run_id: str | None
    parent_job_name: str | None
    parent_job_namespace: str | None
    root_parent_run_id: str | None
    root_parent_job_name: str | None
    root_parent_job_namespace: str | None
    dataset_identity: str
    masking_functions: tuple[str, ...]
    read_only_actions: bool
    read_only_actions_sample: float
    sql: str
    views: str
    facets_disabled: tuple[str, ...]
    agent_memory: int
    queue_records: int
    queue_bytes: int
    record_bytes: int
    plan_nodes: int
    shutdown_timeout: float
    spool_dir: str
    spool_bytes: int
    spool_age: float
    spool_archive: str | None
    log_level: str
    openlineage_transport: dict[str, Any] | None
    """``spark.openlineage.transport.*`` as one section, if it is what counts."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.__dict__.update(values)

    def __repr__(self) -> str:
        secret = {setting.attribute for setting in SETTINGS if setting.secret}
        secret.add("openlineage_transport")
        shown = {k: _shown(v) for k, v in self.__dict__.items() if k not in secret}
        return f"Settings({shown})"


def load(
    conf: Mapping[str, str] | None = None,
    environ: Mapping[str, str] | None = None,
    options: Mapping[str, Any] | None = None,
) -> Settings:
    """Read and check all settings.

    ``conf`` is the Spark configuration, ``environ`` the environment (default:
    this process's), ``options`` those given to ``enable`` by attribute name
    (``transport_url``) or key; they win over both. Raises
    :class:`ConfigError` that names the key, its value and what is allowed.
    """
    conf = conf or {}
    environ = os.environ if environ is None else environ
    given = _options(options or {})
    _refuse_unknown(conf)
    values: dict[str, Any] = {}
    sources: dict[str, str] = {}
    for setting in SETTINGS:
        found: tuple[str, Any] | None
        if setting.key in given:
            found = (PREFIX + setting.key, given[setting.key])
        else:
            found = _lookup(setting, conf, environ)
        values[setting.attribute] = setting.default if found is None else _parse(setting, *found)
        sources[setting.key] = "" if found is None else found[0]
    if values["spool_dir"] is None:
        values["spool_dir"] = os.path.join(os.path.expanduser("~"), ".spark_lineage", "spool")
    _check_together(values)
    ours = any(
        source and not source.startswith(OPENLINEAGE_PREFIX)
        for key, source in sources.items()
        if key.startswith("transport.") and key != "transport.timeout"
    )
    values["openlineage_transport"] = None if ours else _openlineage_transport(conf)
    return Settings(values)


# What is below these is one key, dots and all.
_FLAT = ("properties", "config", "headers", "custom_headers", "urlParams", "transformerProperties")


def _openlineage_transport(conf: Mapping[str, str]) -> dict[str, Any] | None:
    """The transport that a scheduler injects, as the section of OpenLineage's own files."""
    section: dict[str, Any] = {}
    prefix = OPENLINEAGE_PREFIX + "transport."
    for key in sorted(conf):
        if not key.startswith(prefix):
            continue
        names = key.removeprefix(prefix).split(".")
        flat = next((place for place, name in enumerate(names) if name in _FLAT), len(names))
        names = [*names[: flat + 1], *[".".join(names[flat + 1 :])][: len(names) - flat - 1]]
        place = section
        for name in names[:-1]:
            inner = place.get(name)
            if not isinstance(inner, dict):
                inner = place[name] = {}
            place = inner
        place[names[-1]] = conf[key]
    return section if section.get("type") else None


def _options(options: Mapping[str, Any]) -> dict[str, Any]:
    given: dict[str, Any] = {}
    for name, value in options.items():
        key = name.removeprefix(PREFIX)
        setting = _BY_KEY.get(key) or _BY_ATTRIBUTE.get(key)
        if setting is None:
            raise ConfigError(name, value, "one of " + ", ".join(sorted(_BY_ATTRIBUTE)))
        if value is not None:
            given[setting.key] = value
    return given


def _refuse_unknown(conf: Mapping[str, str]) -> None:
    for key, value in conf.items():
        if key.startswith(PREFIX) and key.removeprefix(PREFIX) not in _BY_KEY:
            allowed = ", ".join(sorted(PREFIX + known for known in _BY_KEY))
            raise ConfigError(key, value, "one of " + allowed)


def _lookup(
    setting: Setting, conf: Mapping[str, str], environ: Mapping[str, str]
) -> tuple[str, str] | None:
    key = PREFIX + setting.key
    if key in conf:
        return key, conf[key]
    variable = (
        ENVIRONMENT_PREFIX
        + re.sub(r"([a-z])([A-Z])", r"\1_\2", setting.key).replace(".", "_").upper()
    )
    if variable in environ:
        return variable, environ[variable]
    if setting.openlineage:
        other = OPENLINEAGE_PREFIX + setting.openlineage
        if other in conf and _is_understood(setting, conf[other]):
            return other, conf[other]
    return None


def _is_understood(setting: Setting, text: str) -> bool:
    """Whether another tool's value means something here; it is not ours to refuse."""
    try:
        setting.parse(text)
    except (ValueError, TypeError):
        return False
    return True


def _parse(setting: Setting, key: str, value: Any) -> Any:
    text = ",".join(value) if isinstance(value, (list, tuple)) else str(value)
    if isinstance(value, dict):
        text = json.dumps(value)
    try:
        parsed = setting.parse(text)
    except (ValueError, TypeError):
        shown = "(not shown)" if setting.secret else _shown(value)
        raise ConfigError(key, shown, setting.allowed) from None
    if key == OPENLINEAGE_PREFIX + "disabled":
        return not parsed
    return parsed


def _shown(value: Any) -> Any:
    """A value as it may be shown: a URL without the credentials in it."""
    return re.sub(r"//[^/@\s]*@", "//***@", value) if isinstance(value, str) else value


def _check_together(values: Mapping[str, Any]) -> None:
    if values["transport_type"] == "file" and not values["transport_path"]:
        raise ConfigError(PREFIX + "transport.path", None, "a path, when transport.type is file")
