"""The URIs that events and facets of this package carry."""

from __future__ import annotations

from typing import Any

from spark_lineage.version import __version__

PROJECT = "https://github.com/spark-lineage/spark-lineage"
PRODUCER = f"{PROJECT}/tree/{__version__}"

SCHEMA_VERSION = "1-0-0"
SCHEMA_BASE = (
    "https://raw.githubusercontent.com/spark-lineage/spark-lineage/main"
    "/spark_lineage/openlineage/schemas"
)


def schema_url(facet_class: str) -> str:
    """The URL of the JSON schema of one of our facets, such as ``SparkLineageColumnsDatasetFacet``.

    The schema's version stands in the file's name: an event of an older version
    of this package keeps pointing to the schema that it was written by.
    """
    return f"{SCHEMA_BASE}/{facet_class}-{SCHEMA_VERSION}.json#/$defs/{facet_class}"


def own_facet(facet_class: str, content: dict[str, Any]) -> dict[str, Any]:
    """A facet of this package's own, with the address of its schema."""
    return {"_producer": PRODUCER, "_schemaURL": schema_url(facet_class), **content}
