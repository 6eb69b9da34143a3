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
from collections.abc import Mapping
from typing import Any

from spark_lineage.config import openlineage, parsers
from spark_lineage.config.openlineage import OPENLINEAGE_PREFIX
from spark_lineage.config.table import DEFAULT_URL, FAMILIES, SETTINGS, Setting
from spark_lineage.errors import ConfigError

PREFIX = "spark.lineage."
ENVIRONMENT_PREFIX = "SPARK_LINEAGE_"

__all__ = ["DEFAULT_URL", "PREFIX", "SETTINGS", "Setting", "Settings", "load"]

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
    namespace_alias: tuple[tuple[str, str], ...]
    namespace_pattern: tuple[tuple[str, str], ...]
    job_name: str | None
    job_tags: tuple[tuple[str, str, str | None], ...]
    run_tags: tuple[tuple[str, str, str | None], ...]
    job_owners: tuple[tuple[str, str], ...]
    application_run_id: str | None
    nominal_start_time: str | None
    nominal_end_time: str | None
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
    lineage_facet: bool
    filter_datasets_allow: tuple[str, ...]
    filter_datasets_deny: tuple[str, ...]
    filter_jobs_allow: tuple[str, ...]
    filter_jobs_deny: tuple[str, ...]
    filter_statements_allow: tuple[str, ...]
    filter_statements_deny: tuple[str, ...]
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
    conf = _gathered(openlineage.expanded(conf or {}))
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
    values["openlineage_transport"] = None if ours else openlineage.transport(conf)
    return Settings(values)


def _gathered(conf: Mapping[str, str]) -> dict[str, str]:
    """The configuration, with the keys of a family as one JSON object under the family's key."""
    made = dict(conf)
    for family in FAMILIES:
        prefix = f"{PREFIX}{family}."
        told = {key.removeprefix(prefix): made.pop(key) for key in conf if key.startswith(prefix)}
        if not told:
            continue
        whole = made.get(PREFIX + family)
        if whole is not None and family == "namespace.alias":
            try:
                told = {**dict(parsers.pairs(whole)), **told}
            except ValueError:
                # Refused below, under its own key.
                continue
        elif whole is not None:
            told[""] = whole
        made[PREFIX + family] = json.dumps(told)
    return made


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
    text = ";".join(value) if isinstance(value, (list, tuple)) else str(value)
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
