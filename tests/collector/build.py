"""Small events, written as shortly as a test reads them."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any

from spark_lineage.collector.service import Collector

Json = dict[str, Any]
PRODUCER = "https://example.com/producer"
FACET = {"_producer": PRODUCER, "_schemaURL": PRODUCER + "/schema"}
NS = "db"
OWN = Path(__file__).parent / "fixtures" / "own"
DIRECT = ("IDENTITY", "TRANSFORMATION", "AGGREGATION")


def run_id(number: int) -> str:
    return str(uuid.UUID(int=number))


def at(minute: int) -> str:
    return f"2026-01-01T{minute // 60:02d}:{minute % 60:02d}:00Z"


def source(text: str, masking: bool = False, description: str = "") -> Json:
    """``"KIND table.field"``."""
    kind, _, name = text.partition(" ")
    table, _, field = name.partition(".")
    told = {
        "type": "DIRECT" if kind in DIRECT else "INDIRECT",
        "subtype": kind,
        "masking": masking,
        "description": description,
    }
    return {"namespace": NS, "name": table, "field": field, "transformations": [told]}


def lineage(columns: dict[str, list[Any]], rows: list[Any] | None = None) -> Json:
    """The columnLineage facet of ``{column: ["KIND table.field", ...]}``."""

    def one(item: Any) -> Json:
        return source(item) if isinstance(item, str) else item

    fields = {name: {"inputFields": [one(s) for s in made]} for name, made in columns.items()}
    return {**FACET, "fields": fields, "dataset": [one(s) for s in rows or []]}


def schema(*fields: str) -> Json:
    """``"name:type"`` each."""
    pairs = [field.partition(":") for field in fields]
    return {**FACET, "fields": [{"name": n, "type": t or None} for n, _, t in pairs]}


def dataset(name: str, namespace: str = NS, **facets: Any) -> Json:
    return {"namespace": namespace, "name": name, "facets": facets}


def event(
    type: str | None = "COMPLETE",
    run: int = 1,
    minute: int = 0,
    job: str = "job",
    inputs: tuple[Any, ...] = (),
    outputs: tuple[Any, ...] = (),
    facets: Json | None = None,
) -> Json:
    """A RunEvent; inputs and outputs are names or data sets."""

    def one(item: Any) -> Json:
        return dataset(item) if isinstance(item, str) else item

    content = {
        "eventType": type,
        "eventTime": at(minute),
        "producer": PRODUCER,
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": {"runId": run_id(run), "facets": facets or {}},
        "job": {"namespace": "jobs", "name": job},
        "inputs": [one(item) for item in inputs],
        "outputs": [one(item) for item in outputs],
    }
    if type is None:
        del content["eventType"]
    return content


def writes(
    table: str,
    columns: dict[str, list[Any]],
    rows: list[Any] | None = None,
    **more: Any,
) -> Json:
    """A COMPLETE run of the job ``make_<table>`` that writes one table."""
    more.setdefault("job", f"make_{table}")
    facets = more.pop("own", {})
    out = dataset(table, columnLineage=lineage(columns, rows), **facets)
    return event(outputs=(out,), **more)


def take(collector: Collector, *events: Json) -> None:
    for content in events:
        collector.take(json.dumps(content).encode())


def bodies(path: Path) -> list[bytes]:
    """The events of a file, one or one a line."""
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines() if path.suffix == ".ndjson" else [text]
    return [line.encode() for line in lines if line.strip()]


def edges(collector: Collector, closed: bool = False, table_level: bool = False) -> set[str]:
    """All edges as ``"output.column < KIND input.field"`` (``output.*``: the whole result)."""
    found = set()
    for edge in collector.graph()["edges"]:
        if edge["kind"] in ("DATASET", "INPUT"):
            if table_level:
                found.add(f"{edge['output_name']} < {edge['kind']} {edge['name']}")
        elif (edge["closed"] is not None) == closed:
            column = "*" if edge["whole_result"] else edge["column"]
            kind = edge["kind"] + (" masked" if edge["masking"] else "")
            target = f"{edge['output_name']}.{column}"
            found.add(f"{target} < {kind} {edge['name']}.{edge['field']}")
    return found


def state(collector: Collector, run: int = 1) -> Json:
    (found,) = collector.runs(None, None, run_id(run), 10)
    return found
