"""An event against its JSON schemas: the core's, and that of each facet.

Our own facets' schemas are part of this package; OpenLineage's are given by the
caller as a directory of its ``spec`` (this package does not copy them). Needs
``jsonschema``, which only tests and producers of events install.
"""

from __future__ import annotations

import importlib
import json
import re
import uuid
from collections.abc import Iterable, Iterator
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from spark_lineage.errors import SparkLineageError

SCHEMAS = Path(__file__).with_name("schemas")

_EVENT = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/"
_BASE = _EVENT + "BaseFacet"


class InvalidEventError(SparkLineageError):
    """An event breaks its schemas; ``faults`` holds ``(JSON path, what is wrong)``, all of them."""

    def __init__(self, faults: list[tuple[str, str]]) -> None:
        super().__init__(
            f"{len(faults)} faults in the event: "
            + "; ".join(f"{path}: {fault}" for path, fault in faults)
        )
        self.faults = faults


def validate(event: dict[str, Any], specification: Path | None = None) -> None:
    """Check an event; raises :class:`InvalidEventError` with all faults and their JSON paths.

    ``specification`` is a directory with OpenLineage's schemas (``OpenLineage.json``
    and facets, at any depth). With it, the whole event is checked, and a facet whose
    ``_schemaURL`` names no known schema is a fault. Without it, only our own
    facets are.
    """
    faults = list(_faults(event, specification))
    if faults:
        raise InvalidEventError(faults)


def _faults(event: dict[str, Any], specification: Path | None) -> Iterator[tuple[str, str]]:
    schemas = _Schemas.of(specification)
    if specification is not None:
        yield from schemas.check(event, _event_schema(event), "$")
    for path, facet in _facets(event):
        url = facet.get("_schemaURL") if isinstance(facet, dict) else None
        if not isinstance(url, str):
            if specification is None:
                yield path, "a facet needs a _schemaURL"
            continue
        if schemas.knows(url):
            yield from schemas.check(facet, url, path)
        elif specification is not None and url.split("#")[0] != _BASE.split("#")[0]:
            yield f"{path}._schemaURL", f"no schema is known at {url}"


def _event_schema(event: dict[str, Any]) -> str:
    if "run" in event:
        return _EVENT + "RunEvent"
    return _EVENT + ("DatasetEvent" if "dataset" in event else "JobEvent")


def _facets(event: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    owners: list[tuple[str, Any]] = [
        (f"$.{key}", event.get(key)) for key in ("run", "job", "dataset")
    ]
    for key in ("inputs", "outputs"):
        datasets = event.get(key)
        for place, dataset in enumerate(datasets if isinstance(datasets, list) else []):
            owners.append((f"$.{key}[{place}]", dataset))
    for path, owner in owners:
        if not isinstance(owner, dict):
            continue
        for key in ("facets", "inputFacets", "outputFacets"):
            facets = owner.get(key)
            for name, facet in facets.items() if isinstance(facets, dict) else ():
                yield f"{path}.{key}.{name}", facet


class _Schemas:
    """The schemas of one specification and ours, ready to check against."""

    def __init__(self, files: Iterable[Path], complete: bool) -> None:
        self._jsonschema: Any = importlib.import_module("jsonschema")
        referencing: Any = importlib.import_module("referencing")
        documents = [json.loads(file.read_text(encoding="utf-8")) for file in files]
        if not complete:
            # Our facets refer to the core's; what they say beyond it can still be checked.
            documents.append(_core_stub())
        self._documents = {document["$id"]: document for document in documents}
        self._registry: Any = referencing.Registry().with_resources(
            (name, referencing.Resource.from_contents(document))
            for name, document in self._documents.items()
        )
        self._formats = _formats(self._jsonschema)
        self._validators: dict[str, Any] = {}

    @staticmethod
    @lru_cache(maxsize=4)
    def of(specification: Path | None) -> _Schemas:
        files = sorted(SCHEMAS.glob("*.json"))
        if specification is not None:
            files += sorted(specification.rglob("*.json"))
        return _Schemas(files, complete=specification is not None)

    def knows(self, url: str) -> bool:
        name, _, pointer = url.partition("#")
        definition = pointer.removeprefix("/$defs/")
        return definition in self._documents.get(name, {}).get("$defs", {})

    def check(self, value: Any, url: str, path: str) -> Iterator[tuple[str, str]]:
        validator = self._validators.get(url)
        if validator is None:
            validator = self._jsonschema.Draft202012Validator(
                {"$ref": url}, registry=self._registry, format_checker=self._formats
            )
            self._validators[url] = validator
        for error in validator.iter_errors(value):
            yield path + error.json_path.removeprefix("$"), error.message


def _core_stub() -> dict[str, Any]:
    kinds = ("BaseFacet", "RunFacet", "JobFacet", "DatasetFacet")
    facet = {"type": "object", "required": ["_producer", "_schemaURL"]}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": _BASE.split("#")[0],
        "$defs": dict.fromkeys(kinds, facet),
    }


def _formats(jsonschema: Any) -> Any:
    """The formats that OpenLineage uses; without its extras jsonschema would skip some."""
    checker = jsonschema.FormatChecker(formats=())
    for name, test in (("date-time", _is_time), ("uuid", _is_uuid), ("uri", _is_uri)):
        checker.checks(name, raises=ValueError)(_for_text(test))
    return checker


def _for_text(test: Any) -> Any:
    return lambda value: not isinstance(value, str) or test(value)


_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)")


def _is_time(text: str) -> bool:
    if not _TIME.fullmatch(text):
        return False
    datetime.fromisoformat(text[:19].upper())  # that such a day and hour exist
    return True


def _is_uuid(text: str) -> bool:
    return str(uuid.UUID(text)) == text.lower()


def _is_uri(text: str) -> bool:
    parts = urlsplit(text)
    return bool(parts.scheme) and bool(re.fullmatch(r"[!-~]+", text)) and "<" not in text
