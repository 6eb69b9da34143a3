"""An event made smaller, step by step, for a target that finds it too large.

What goes first is what can be had elsewhere or is told twice; which column is made
of which goes last. The run's quality facet names each step that was taken.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from spark_lineage.openlineage.producer import PRODUCER, schema_url

Event = dict[str, Any]

QUALITY = "sparkLineage_quality"
DROPPED = "facetsDropped"


def smaller(event: Event) -> Event | None:
    """A copy of ``event`` after the next step of :data:`ORDER` that takes anything away.

    The event itself stays as it is. None: there is nothing left to take away.
    """
    done = _quality(event).get(DROPPED) or []
    copy: Event | None = None
    for name in ORDER:
        if name in done:
            continue
        copy = copy or json.loads(json.dumps(event))
        if _STEPS[name](copy):
            _name(copy, name, done)
            return copy
    return None


def _quality(event: Event) -> dict[str, Any]:
    facets = (event.get("run") or {}).get("facets") or {}
    quality = facets.get(QUALITY)
    return quality if isinstance(quality, dict) else {}


def _name(event: Event, step: str, done: list[str]) -> None:
    run = event.setdefault("run", {})
    facets = run.get("facets") or {}
    run["facets"] = facets
    base = {"_producer": PRODUCER, "_schemaURL": schema_url("SparkLineageQualityRunFacet")}
    facets[QUALITY] = {**base, **_quality(event), DROPPED: [*done, step]}


def _datasets(event: Event, *sides: str) -> Iterator[dict[str, Any]]:
    for side in sides:
        yield from (event.get(side) or ())


def _take(owner: Any, key: str) -> bool:
    return isinstance(owner, dict) and owner.pop(key, None) is not None


def _facet_of(section: str, key: str) -> Callable[[Event], bool]:
    return lambda event: _take((event.get(section) or {}).get("facets"), key)


def _facet_of_datasets(key: str, *sides: str) -> Callable[[Event], bool]:
    def take(event: Event) -> bool:
        # Not `any`, which would stop at the first.
        return sum(_take(each.get("facets"), key) for each in _datasets(event, *sides)) > 0

    return take


def _stack(event: Event) -> bool:
    facets = (event.get("run") or {}).get("facets") or {}
    return _take(facets.get("errorMessage"), "stackTrace")


def _column_lineages(event: Event) -> Iterator[dict[str, Any]]:
    for each in _datasets(event, "outputs", "inputs"):
        facet = (each.get("facets") or {}).get("columnLineage")
        if isinstance(facet, dict):
            yield facet


def _descriptions(event: Event) -> bool:
    taken = False
    for facet in _column_lineages(event):
        fields = [told.get("inputFields") or () for told in (facet.get("fields") or {}).values()]
        for inputs in (*fields, facet.get("dataset") or ()):
            for told in inputs:
                for transformation in told.get("transformations") or ():
                    taken = _take(transformation, "description") or taken
    return taken


def _rows(event: Event) -> bool:
    return sum(_take(facet, "dataset") for facet in _column_lineages(event)) > 0


def _all_but_quality(event: Event) -> bool:
    owners = [event.get("run") or {}, event.get("job") or {}]
    owners += _datasets(event, "inputs", "outputs")
    taken = False
    for owner in owners:
        for kind in ("facets", "inputFacets", "outputFacets"):
            facets = owner.get(kind) or {}
            for key in [key for key in facets if key not in (QUALITY, "parent")]:
                del facets[key]
                taken = True
    return taken


def _quality_itself(event: Event) -> bool:
    quality = _quality(event)
    keys = [key for key in quality if not key.startswith("_") and key not in (DROPPED, "dropped")]
    for key in keys:
        del quality[key]
    return bool(keys)


_STEPS: dict[str, Callable[[Event], bool]] = {
    "sparkLineage_plan": _facet_of("run", "sparkLineage_plan"),
    # What it says, columnLineage says too.
    "lineage": _facet_of_datasets("lineage", "outputs"),
    "columnLineage.description": _descriptions,
    "errorMessage.stackTrace": _stack,
    "sql": _facet_of("job", "sql"),
    "sparkLineage_context": _facet_of("run", "sparkLineage_context"),
    "inputs.schema": _facet_of_datasets("schema", "inputs"),
    "sparkLineage_columns": _facet_of_datasets("sparkLineage_columns", "outputs"),
    "outputs.schema": _facet_of_datasets("schema", "outputs"),
    "columnLineage.dataset": _rows,
    "columnLineage": _facet_of_datasets("columnLineage", "outputs", "inputs"),
    "other facets": _all_but_quality,
    "sparkLineage_quality": _quality_itself,
}

ORDER = tuple(_STEPS)
"""The steps in their order: a facet's key, a part of one, or ``other facets``."""
