"""The ``lineage`` facet 1-0-0, on data sets and on jobs."""

from __future__ import annotations

from typing import Any

import attr
import pytest
from openlineage.client.facet_v2 import lineage as facets

from spark_lineage.collector.service import Collector
from tests.collector.build import (
    FACET,
    PRODUCER,
    Json,
    at,
    dataset,
    edges,
    event,
    lineage,
    run_id,
    source,
    take,
)  # fmt: skip


def read(name: str, field: str | None = None, *told: Json) -> Json:
    return {
        "type": "DATASET", "namespace": "db", "name": name, "field": field,
        "transformations": list(told),
    }  # fmt: skip


def job(name: str | None = None, *told: Json) -> Json:
    whose = {"namespace": "jobs", "name": name} if name else {}
    return {"type": "JOB", **whose, "transformations": list(told)}


def on_job(*entries: Json, run: int = 1, **more: Any) -> Json:
    content = event(run=run, **more)
    content["job"]["facets"] = {"lineage": {**FACET, "entries": list(entries)}}
    return content


FILTER = {"type": "INDIRECT", "subtype": "FILTER"}
MASKED = {"type": "DIRECT", "subtype": "TRANSFORMATION", "masking": True, "description": "md5(x)"}


def test_on_a_data_set(collector: Collector) -> None:
    facet = {
        **FACET,
        "inputs": [read("s"), read("s", "day", FILTER)],
        "fields": {"a": {"inputs": [read("s", "x", MASKED)]}, "b": {"inputs": []}},
    }
    take(collector, event(inputs=("s", "unrelated"), outputs=(dataset("t", lineage=facet),)))
    assert edges(collector) == {"t.a < TRANSFORMATION masked s.x", "t.* < FILTER s.day"}
    # What is stated of this output alone is all that feeds it.
    assert edges(collector, table_level=True) == {
        "t.a < TRANSFORMATION masked s.x", "t.* < FILTER s.day", "t < INPUT s",
    }  # fmt: skip
    columns = {c["column"]: c for c in collector.explain_dataset("t", None)["columns"]}
    assert columns["a"]["steps"][0]["expression"] == "md5(x)"
    assert set(columns) == {"a", "b"}


def test_only_data_sets_by_a_dataset_event(collector: Collector) -> None:
    facet = {**FACET, "inputs": [read("s"), read("r")]}
    content = {"eventTime": at(1), "producer": PRODUCER, "dataset": dataset("t", lineage=facet)}
    take(collector, content)
    assert edges(collector, table_level=True) == {"t < DATASET r", "t < DATASET s"}


def test_no_tracked_source_closes_what_was_there(collector: Collector) -> None:
    take(
        collector,
        event(run=1, minute=1, inputs=("s",), outputs=("t",)),
        event(run=2, minute=2, outputs=(dataset("t", lineage={**FACET, "inputs": []}),)),
    )
    assert [edge["closed"] for edge in collector.graph()["edges"]] == [
        "2026-01-01T00:02:00.000000Z"
    ]


def test_beside_column_lineage(collector: Collector) -> None:
    facet = {**FACET, "fields": {"a": {"inputs": [read("s", "x")]}}}
    other = lineage({"b": [source("IDENTITY s.y")]})
    take(collector, event(outputs=(dataset("t", lineage=facet, columnLineage=other),)))
    assert edges(collector) == {"t.a < DIRECT s.x", "t.b < IDENTITY s.y"}


def test_entries_of_a_job(collector: Collector) -> None:
    by_job = {"type": "DIRECT", "subtype": "AGGREGATION", "description": "count()"}
    made = {
        "type": "DATASET", "namespace": "db", "name": "t", "inputs": [read("s"), job("extract")],
        "fields": {"a": {"inputs": [read("s", "x")]}, "n": {"inputs": [job(None, by_job)]}},
    }  # fmt: skip
    take(
        collector,
        on_job(
            made,
            {"type": "JOB", "inputs": [read("checked", None, FILTER), job("before")]},
            {"type": "JOB", "namespace": "jobs", "name": "other", "runId": run_id(9),
             "inputs": [read("theirs"), job("job")]},
        ),
    )  # fmt: skip
    assert edges(collector) == {"t.a < DIRECT s.x"}
    (step,) = next(
        c["steps"] for c in collector.explain_dataset("t", None)["columns"] if c["column"] == "n"
    )
    assert (step["type"], step["origin"], step["expression"]) == (
        "AGGREGATION",
        "SYSTEM",
        "count()",
    )
    found = collector.graph()
    assert {(e["from_name"], e["name"]) for e in found["job_edges"]} == {
        ("before", "job"), ("job", "other"),
    }  # fmt: skip
    assert {(e["job_name"], e["output"], e["name"]) for e in found["job_io"]} == {
        ("other", False, "theirs"), ("extract", True, "t"),
    }  # fmt: skip
    assert {e["name"] for e in found["inputs"]} == {"checked"}


def test_job_dependencies(collector: Collector) -> None:
    def of(name: str) -> Json:
        return {"job": {"namespace": "jobs", "name": name}}

    facet = {**FACET, "upstream": [of("first"), "odd"], "downstream": [of("last")]}
    take(collector, event(facets={"jobDependencies": facet}))
    pairs = {(e["from_name"], e["name"]) for e in collector.graph()["job_edges"]}
    assert pairs == {("first", "job"), ("job", "last")}


def test_made_with_the_client_s_own_classes(collector: Collector) -> None:
    facet = facets.LineageDatasetFacet(
        inputs=[facets.LineageDatasetInput("db", "s", "DATASET")],
        fields={
            "a": facets.LineageFieldEntry(
                [facets.LineageDatasetInput(
                    "db", "s", "DATASET", field="x",
                    transformations=[facets.LineageTransformation("DIRECT", subtype="IDENTITY")],
                )]
            )
        },
    )  # fmt: skip
    take(collector, event(outputs=(dataset("t", lineage=attr.asdict(facet)),)))
    assert edges(collector) == {"t.a < IDENTITY s.x"}


@pytest.mark.parametrize(
    "facet", [None, {}, {"fields": None}, {"inputs": None}, {"_deleted": True, "inputs": []}]
)
def test_a_facet_that_says_nothing(collector: Collector, facet: Json | None) -> None:
    take(collector, event(inputs=("s",), outputs=(dataset("t", lineage=facet),)))
    assert edges(collector, table_level=True) == {"t < DATASET s"}


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("facet", ["columnLineage", "lineage"])
def test_a_facet_that_is_taken_back(collector: Collector, facet: str, backwards: bool) -> None:
    stated = lineage({"a": ["IDENTITY t.a"]})
    source = {"type": "DATASET", "namespace": "db", "name": "t", "field": "a"}
    if facet == "lineage":
        stated = {**FACET, "inputs": [], "fields": {"a": {"inputs": [source]}}}
    kind = "IDENTITY" if facet == "columnLineage" else "DIRECT"

    def of(minute: int, body: Any, name: str = "v") -> Any:
        told = {"eventTime": at(minute), "producer": PRODUCER}
        return {**told, "dataset": dataset(name, **{facet: body})}

    events = [of(1, stated), of(2, {**FACET, "_deleted": True}), of(3, stated, "w"),
              of(4, {**FACET, "_deleted": True}, "u"), of(5, stated, "u")]  # fmt: skip
    take(collector, *(reversed(events) if backwards else events))
    # Of `v` it was taken back, of `w` never, of `u` it was stated again.
    assert edges(collector) == {f"w.a < {kind} t.a", f"u.a < {kind} t.a"}
    assert edges(collector, closed=True) == {f"v.a < {kind} t.a"}
