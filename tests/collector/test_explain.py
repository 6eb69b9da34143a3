from __future__ import annotations

from typing import Any

import pytest

from spark_lineage.collector.graph import Bounds
from spark_lineage.collector.service import Collector
from tests.collector import summary
from tests.collector.build import FACET, dataset, event, schema, source, take, writes

SUMMARY = summary.PREFIX + "customer_summary"


def explain(collector: Collector, dataset: str, column: str, **bounds: Any) -> dict[str, Any]:
    return collector.explain_column(dataset, column, None, Bounds(**bounds))


def short(sources: list[dict[str, Any]]) -> list[str]:
    return [
        f"{s['type']} {s['dataset'].removeprefix(summary.PREFIX)}.{s['column']}" for s in sources
    ]


def kinds(one: dict[str, Any]) -> list[str]:
    return [k["type"] + (" masked" if k["masking"] else "") for k in one["kinds"]]


@pytest.mark.parametrize("name", list(summary.COLUMNS))
def test_the_example(summarised: Collector, name: str) -> None:
    answer = explain(summarised, "customer_summary", name)
    node = answer["nodes"][0]
    assert (node["dataset"], node["column"], node["distance"]) == (SUMMARY, name, 0)
    (step,) = node["steps"]
    kind, origin, expression = summary.COLUMNS[name]
    assert (step["type"], step["origin"], step["expression"]) == (kind, origin, expression)
    assert step["availability"] == "AVAILABLE"
    assert step["job"] == {"namespace": "jobs", "name": summary.INSERT}
    assert step["run"]["state"] == "COMPLETE"
    told = summary.FIELDS[name]
    assert [*short(step["direct"]), *short(step["indirect"])] == told
    assert sorted(short(step["rows"])) == sorted(summary.ROWS)


def test_sources_are_composed_over_the_whole_path(summarised: Collector) -> None:
    answer = explain(summarised, "report", "share")
    told = {
        f"{s['dataset'].removeprefix(summary.PREFIX)}.{s['column']}": s for s in answer["sources"]
    }
    assert kinds(told["customer_summary.total_amount"]) == ["TRANSFORMATION"]
    assert kinds(told["orders.amount"]) == ["AGGREGATION", "FILTER", "SORT"]
    assert told["orders.amount"]["direct"]
    assert told["orders.amount"]["distance"] == 2
    assert told["orders.amount"]["root"]
    assert kinds(told["customers.customer_level"]) == ["FILTER"]
    assert not told["customers.customer_level"]["direct"]
    # Each source of a step says which node of the answer it is.
    for node in answer["nodes"]:
        for step in node["steps"]:
            for one in (*step["direct"], *step["indirect"], *step["rows"]):
                target = answer["nodes"][one["node"]]
                assert (target["dataset"], target["column"]) == (one["dataset"], one["column"])


def test_a_source_of_constants(summarised: Collector) -> None:
    (node,) = explain(summarised, "orders", "amount")["nodes"]
    assert node["data_type"] == "decimal(4,2)"
    assert [(s["origin"], s["direct"], s["rows"]) for s in node["steps"]] == [("CONSTANT", [], [])]


def test_only_values(summarised: Collector) -> None:
    answer = explain(summarised, "report", "share", values_only=True)
    assert [n["column"] for n in answer["nodes"]] == ["share", "total_amount", "amount"]
    # What decides the rows is told all the same, only not followed.
    assert answer["nodes"][1]["steps"][0]["rows"]


def test_a_whole_data_set(summarised: Collector) -> None:
    answer = summarised.explain_dataset("customer_summary", None)
    assert [c["column"] for c in answer["columns"]] == list(summary.COLUMNS)
    (result,) = answer["results"]
    assert sorted(short(result["rows"])) == sorted(summary.ROWS)
    assert result["result_availability"] == "AVAILABLE"
    assert answer["symlinks"] == [
        {"namespace": "file", "name": "/warehouse/customer_summary", "type": "LOCATION"}
    ]


def test_masking_is_carried_along(collector: Collector) -> None:
    take(
        collector,
        writes("a", {"h": [source("TRANSFORMATION people.email", masking=True)]}, run=1),
        writes("b", {"h": ["IDENTITY a.h"]}, ["FILTER a.h"], run=2),
    )
    (_, email) = explain(collector, "b", "h")["sources"]
    assert kinds(email) == ["TRANSFORMATION masked", "FILTER masked"]


def test_cycles_and_self_loops_end(collector: Collector) -> None:
    take(
        collector,
        writes("a", {"x": ["IDENTITY b.x"]}, run=1),
        writes("b", {"x": ["IDENTITY a.x"]}, ["FILTER b.x"], run=2),
        writes("c", {"x": ["TRANSFORMATION c.x"]}, run=3),
    )
    answer = explain(collector, "a", "x", depth=200)
    assert [n["dataset"] for n in answer["nodes"]] == ["a", "b"]
    assert not answer["truncated"]
    assert [n["dataset"] for n in explain(collector, "c", "x")["nodes"]] == ["c"]
    assert collector.impact("a", "x", None, Bounds())["columns"][0]["dataset"] == "b"


def test_paths_that_multiply_cost_nothing(collector: Collector) -> None:
    """Ten layers of two columns: 1,024 paths, 22 columns."""
    both = ("x", "y")
    for layer in range(1, 11):
        made = {c: [f"IDENTITY t{layer - 1}.{s}" for s in both] for c in both}
        take(collector, writes(f"t{layer}", made, run=layer))
    answer = explain(collector, "t10", "x")
    assert len(answer["nodes"]) == 21
    assert sum(len(n["steps"][0]["direct"]) for n in answer["nodes"] if n["steps"]) == 38


def test_depth_and_limit_say_what_is_left_out(collector: Collector) -> None:
    for layer in range(1, 6):
        take(collector, writes(f"t{layer}", {"x": [f"IDENTITY t{layer - 1}.x"]}, run=layer))
    answer = explain(collector, "t5", "x", depth=2)
    assert [n["dataset"] for n in answer["nodes"]] == ["t5", "t4", "t3"]
    assert (answer["truncated"], answer["left_out"]) == (True, 1)
    assert [s["root"] for s in answer["sources"]] == [False, False]
    assert explain(collector, "t5", "x", depth=5)["truncated"] is False
    answer = explain(collector, "t5", "x", limit=3)
    assert (len(answer["nodes"]), answer["truncated"]) == (3, True)


def test_several_jobs_write_one_column(collector: Collector) -> None:
    take(
        collector,
        writes("t", {"x": ["IDENTITY a.x"]}, run=1, minute=1, job="older"),
        writes("t", {"x": ["AGGREGATION b.x"]}, run=2, minute=2, job="newer"),
    )
    steps = explain(collector, "t", "x")["nodes"][0]["steps"]
    assert [(s["job"]["name"], s["type"]) for s in steps] == [
        ("newer", "AGGREGATION"),
        ("older", "IDENTITY"),
    ]


def test_the_newest_definition_tells(collector: Collector) -> None:
    def told(expression: str) -> dict[str, Any]:
        column = {"name": "x", "type": "TRANSFORMATION", "expression": expression}
        return {"sparkLineage_columns": {**FACET, "columns": [column]}}

    for run, expression in enumerate(("a.x + 1", "a.x + 2")):
        take(
            collector,
            writes("t", {"x": ["TRANSFORMATION a.x"]}, run=run, minute=run, own=told(expression)),
        )
    (step,) = explain(collector, "t", "x")["nodes"][0]["steps"]
    assert step["expression"] == "a.x + 2"
    assert step["first_seen"] == step["last_seen"] == "2026-01-01T00:01:00.000000Z"


def test_no_column_lineage_at_all(collector: Collector) -> None:
    take(
        collector,
        writes("a", {"x": ["IDENTITY s.x"]}, run=1),
        event(run=2, job="copy", inputs=("a",), outputs=(dataset("b", schema=schema("y:int")),)),
    )
    answer = explain(collector, "b", "y")
    (step,) = answer["nodes"][0]["steps"]
    assert step["availability"] == "UNAVAILABLE"
    assert step["datasets"] == [{"namespace": "db", "dataset": "a"}]
    # From there on it is known of data sets only.
    assert [(n["dataset"], n["column"]) for n in answer["nodes"]] == [
        ("b", "y"),
        ("a", None),
        ("s", None),
    ]
    assert kinds(answer["sources"][0]) == ["DATASET"]


def test_a_job_that_only_creates_the_table_is_no_result(collector: Collector) -> None:
    take(
        collector,
        event(run=1, job="create", outputs=(dataset("t", schema=schema("x:int")),)),
        writes("t", {"x": ["IDENTITY s.x"]}, run=2),
    )
    answer = collector.explain_dataset("t", None)
    assert [r["job"]["name"] for r in answer["results"]] == ["make_t"]
    assert [s["job"]["name"] for s in answer["columns"][0]["steps"]] == ["make_t"]


def test_fields_of_a_struct(collector: Collector) -> None:
    nested = schema("id:int")
    nested["fields"].append({"name": "address", "fields": [{"name": "city"}, {"name": "zip"}]})
    take(
        collector,
        writes("people", {"address": ["IDENTITY raw.address"]}, run=1, own={"schema": nested}),
        writes("towns", {"city": ["IDENTITY people.address.city"]}, run=2),
    )
    answer = explain(collector, "towns", "city")
    told = [f"{n['dataset']}.{n['column']}" for n in answer["nodes"]]
    assert told == ["towns.city", "people.address.city", "raw.address"]
    assert answer["nodes"][1]["steps"][0]["type"] == "IDENTITY"


def test_names_with_every_character(collector: Collector) -> None:
    name, column = "a:b#c/d %e'f\"g.☃ 1", "7 day:total #1 / %"
    facet = {
        "fields": {column: {"inputFields": [{"namespace": "n:1/#", "name": name, "field": "%_"}]}}
    }
    take(collector, event(outputs=(dataset(name, "n s", columnLineage=facet),)))
    answer = collector.explain_column(name, column, "n s", Bounds())
    (found,) = answer["sources"]
    assert (found["namespace"], found["dataset"], found["column"]) == ("n:1/#", name, "%_")
