"""`validate(event)`: against OpenLineage's own JSON schemas and ours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from spark_lineage.openlineage import validate as package

SPECIFICATION = Path(__file__).parents[1] / "openlineage" / "spec"


def validate(event: dict[str, Any]) -> None:
    """Raise `InvalidEventError` with every fault and its JSON path; no nulls either."""
    package.validate(event, SPECIFICATION)
    nulls = list(_nulls(event, "$"))
    if nulls:
        raise package.InvalidEventError([(path, "is null") for path in nulls])


def _nulls(value: Any, path: str) -> Any:
    if value is None:
        yield path
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _nulls(inner, f"{path}.{key}")
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from _nulls(inner, f"{path}[{place}]")
