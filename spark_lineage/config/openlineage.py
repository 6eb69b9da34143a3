"""The settings of openlineage-spark (``spark.openlineage.*``) that are no single key of ours."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

OPENLINEAGE_PREFIX = "spark.openlineage."
_OWNERS = OPENLINEAGE_PREFIX + "job.owners"
_FACETS = OPENLINEAGE_PREFIX + "facets."


def expanded(conf: Mapping[str, str]) -> dict[str, str]:
    """The configuration, with what OpenLineage spreads over keys, or packs into one, as one each.

    ``context`` (a parent run as JSON) gives the ``parent*`` and ``rootParent*``
    keys that are not there, ``job.owners.<type>`` gives ``job.owners``, and
    ``facets.<name>.disabled`` adds to ``facets.disabled``.
    """
    made = dict(conf)
    for key, value in _parents(conf.get(OPENLINEAGE_PREFIX + "context")).items():
        made.setdefault(OPENLINEAGE_PREFIX + key, value)
    owners, disabled = [], []
    for key in sorted(conf):
        if key.startswith(_OWNERS + "."):
            owners.append(f"{key.removeprefix(_OWNERS + '.')}:{conf[key]}")
        elif key.startswith(_FACETS) and key.endswith(".disabled") and conf[key] == "true":
            disabled.append(key.removeprefix(_FACETS).removesuffix(".disabled"))
    if owners:
        made.setdefault(_OWNERS, ";".join(owners))
    if disabled:
        listed = conf.get(_FACETS + "disabled", "").strip("[] ")
        made[_FACETS + "disabled"] = ";".join([*([listed] if listed else []), *disabled])
    return made


def _parents(text: str | None) -> dict[str, str]:
    """The parent and root of a ``context``; nothing where it is malformed."""
    try:
        parent = json.loads(text)["parent"] if text else {}
        found = _run(parent, "parent") | _run(parent.get("root") or {}, "rootParent")
    except (ValueError, KeyError, TypeError, AttributeError):
        return {}
    return {key: value for key, value in found.items() if isinstance(value, str)}


def _run(told: dict[str, Any], prefix: str) -> dict[str, Any]:
    run, job = told.get("run") or {}, told.get("job") or {}
    return {
        f"{prefix}RunId": run.get("runId"),
        f"{prefix}JobName": job.get("name"),
        f"{prefix}JobNamespace": job.get("namespace"),
    }


# What is below these is one key, dots and all.
_FLAT = ("properties", "config", "headers", "custom_headers", "urlParams", "transformerProperties")


def transport(conf: Mapping[str, str]) -> dict[str, Any] | None:
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
