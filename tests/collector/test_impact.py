from __future__ import annotations

from typing import Any

from spark_lineage.collector.graph import Bounds
from spark_lineage.collector.service import Collector
from tests.collector import summary
from tests.collector.build import dataset, event, schema, take, writes


def impact(
    collector: Collector, name: str, column: str | None = None, **bounds: Any
) -> dict[str, Any]:
    return collector.impact(name, column, None, Bounds(**bounds))


def columns(answer: dict[str, Any]) -> dict[str, list[str]]:
    return {
        f"{c['dataset'].removeprefix(summary.PREFIX)}.{c['column']}": [
            k["type"] for k in c["kinds"]
        ]
        for c in answer["columns"]
    }


def test_a_value_and_what_it_decides(summarised: Collector) -> None:
    answer = impact(summarised, "orders", "amount")
    rows = ["FILTER", "SORT"]
    assert columns(answer) == {
        "customer_summary.customer_id": rows,
        "customer_summary.region_label": rows,
        "customer_summary.total_amount": ["AGGREGATION", *rows],
        "customer_summary.customer_seq": rows,
        "customer_summary.region_group": rows,
        "report.share": ["AGGREGATION", *rows],
    }
    assert [(d["dataset"], d["distance"], d["columns"], d["direct_columns"])
            for d in answer["datasets"]] == [
        (summary.PREFIX + "customer_summary", 1, 5, 1),
        (summary.PREFIX + "report", 2, 1, 1),
        ("export/report.csv", 3, 0, 0),
    ]  # fmt: skip
    assert [(j["job"]["name"], j["distance"]) for j in answer["jobs"]] == [
        (summary.INSERT, 1), ("report", 2), ("export", 3),
    ]  # fmt: skip
    assert answer["jobs"][0]["last_run"]["state"] == "COMPLETE"
    assert answer["readers"] == [
        {
            "job": {"namespace": "jobs", "name": "dashboard"},
            "reads": {"namespace": "db", "dataset": summary.PREFIX + "customer_summary"},
        }
    ]


def test_a_filter_reaches_every_column(summarised: Collector) -> None:
    answer = impact(summarised, "customers", "customer_level")
    assert set(map(tuple, columns(answer).values())) == {("FILTER",)}
    assert len(answer["columns"]) == 6
    assert not any(c["direct"] for c in answer["columns"])


def test_only_values(summarised: Collector) -> None:
    answer = impact(summarised, "orders", "amount", values_only=True)
    assert list(columns(answer)) == ["customer_summary.total_amount", "report.share"]
    assert impact(summarised, "orders", "status", values_only=True)["columns"] == []


def test_a_column_that_only_chooses(summarised: Collector) -> None:
    kinds = columns(impact(summarised, "orders", "region"))
    assert kinds["customer_summary.region_label"] == ["TRANSFORMATION", "GROUP_BY"]
    assert kinds["customer_summary.region_group"] == ["GROUP_BY", "CONDITIONAL"]


def test_a_whole_data_set(summarised: Collector) -> None:
    answer = impact(summarised, "customers")
    assert answer["column"]["column"] is None
    assert columns(answer)["customer_summary.total_amount"] == ["JOIN", "FILTER"]


def test_nothing_depends_on_it(summarised: Collector) -> None:
    answer = impact(summarised, "orders", "order_id")
    assert (answer["columns"], answer["datasets"], answer["jobs"]) == ([], [], [])


def test_through_a_table_without_column_lineage(collector: Collector) -> None:
    take(
        collector,
        event(run=1, inputs=("s",), outputs=(dataset("t", schema=schema("a:int", "b:int")),)),
        writes("u", {"c": ["IDENTITY t.b"]}, run=2),
    )
    take(collector, writes("s", {"x": ["IDENTITY r.x"]}, run=3))
    answer = impact(collector, "r", "x")
    assert columns(answer) == {
        "s.x": ["IDENTITY"],
        "t.a": ["DATASET"],
        "t.b": ["DATASET"],
        "u.c": ["DATASET"],
    }


def test_what_was_only_read_beside_known_lineage_is_not_reached(collector: Collector) -> None:
    take(
        collector,
        writes("s", {"x": ["IDENTITY r.x"]}, run=1),
        writes("t", {"a": ["IDENTITY other.y"]}, run=2, inputs=("s", "other")),
    )
    assert columns(impact(collector, "r", "x")) == {"s.x": ["IDENTITY"]}


def test_a_struct_and_its_fields(collector: Collector) -> None:
    take(
        collector,
        writes("all", {"whole": ["IDENTITY people.address"]}, run=1),
        writes("one", {"city": ["IDENTITY people.address.city"]}, run=2),
        writes("zip", {"zip": ["IDENTITY people.address.zip"]}, run=3),
    )
    assert set(columns(impact(collector, "people", "address.city"))) == {"all.whole", "one.city"}
    assert set(columns(impact(collector, "people", "address"))) == {
        "all.whole", "one.city", "zip.zip",
    }  # fmt: skip


def test_closed_edges_are_not_followed(collector: Collector) -> None:
    take(
        collector,
        writes("t", {"a": ["IDENTITY s.old"]}, run=1, minute=1),
        writes("t", {"a": ["IDENTITY s.new"]}, run=2, minute=2),
    )
    assert impact(collector, "s", "old")["columns"] == []
    assert columns(impact(collector, "s", "new")) == {"t.a": ["IDENTITY"]}


def test_bounds(collector: Collector) -> None:
    wide = {f"c{n}": ["IDENTITY s.x"] for n in range(50)}
    take(collector, writes("t", wide, run=1), writes("u", {"d": ["IDENTITY t.c0"]}, run=2))
    answer = impact(collector, "s", "x", depth=1)
    assert (len(answer["columns"]), answer["truncated"], answer["left_out"]) == (50, True, 1)
    answer = impact(collector, "s", "x", limit=11)
    assert (len(answer["columns"]), answer["truncated"], answer["left_out"]) == (10, True, 41)
