"""What an event says of its job: names, facets, and which version of the job it is."""

from __future__ import annotations

from hashlib import sha256
from typing import Any, NamedTuple

from spark_lineage.collector import sqltext
from spark_lineage.collector.model import Facet, canonical


class JobFacts(NamedTuple):
    """A job as one event speaks of it."""

    namespace: str = ""
    name: str = ""
    facets: dict[str, Facet] = {}  # noqa: RUF012
    # What tells one version from another, hashed, and where it was told.
    version: tuple[str, str] | None = None
    # The ``lineage`` facet, which is read with the data sets.
    lineage: dict[str, Any] | None = None


def told(item: dict[str, Any]) -> JobFacts:
    """What a checked job says."""
    every = item.get("facets") or {}
    lineage = every.get("lineage")
    facets = Facet.all({name: body for name, body in every.items() if name != "lineage"})
    source = _source({name: facet.content for name, facet in facets.items()})
    version = source and (sha256(source[1].encode()).hexdigest()[:32], source[0])
    return JobFacts(item.get("namespace", ""), item.get("name", ""), facets, version, lineage)


def _source(facets: dict[str, Any]) -> tuple[str, str] | None:
    """What a job does, and where that is told: its plan, its SQL, its code or where that is.

    A hash of the plan tells most: it is the same for texts that mean the same.
    """
    told = facets.get("sparkLineage_version", {})
    for member, what in (("planHash", "plan"), ("sqlHash", "sql")):
        value = told.get(member)
        if isinstance(value, str) and value:
            return what, value
    text = facets.get("sql", {}).get("query")
    if isinstance(text, str) and text.strip():
        return "sql", sqltext.normalised(text)
    text = facets.get("sourceCode", {}).get("sourceCode")
    if isinstance(text, str) and text.strip():
        return "sourceCode", text.strip()
    place = facets.get("sourceCodeLocation", {})
    version = place.get("version")
    if isinstance(version, str) and version:
        return "sourceCodeLocation", canonical([place.get("url"), place.get("path"), version])
    return None
