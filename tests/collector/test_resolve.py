from __future__ import annotations

import pytest

from spark_lineage.collector.resolve import AmbiguousNameError, UnknownNameError
from spark_lineage.collector.service import Collector
from tests.collector import summary
from tests.collector.build import dataset, event, schema, take

SUMMARY = summary.PREFIX + "customer_summary"


@pytest.mark.parametrize(
    "name",
    [
        "customer_summary.total_amount",
        "default.customer_summary.total_amount",
        "spark_catalog.default.customer_summary.total_amount",
        "CUSTOMER_SUMMARY.Total_Amount",
        "`customer_summary`.`total_amount`",
        "/warehouse/customer_summary.total_amount",
        "file/warehouse/customer_summary.total_amount",
        "db.spark_catalog.default.customer_summary.total_amount",
    ],
)
def test_ways_to_name_a_column(summarised: Collector, name: str) -> None:
    assert summarised.resolve(name, None) == {
        "namespace": "db", "dataset": SUMMARY, "column": "total_amount",
    }  # fmt: skip


def test_a_name_without_a_column(summarised: Collector) -> None:
    assert summarised.resolve("customer_summary", None)["column"] is None
    assert summarised.resolve(SUMMARY, "db")["dataset"] == SUMMARY


def test_a_suffix_ends_at_a_boundary(summarised: Collector) -> None:
    with pytest.raises(UnknownNameError):
        summarised.resolve("summary", None)


def test_unknown_names_say_what_is_near(summarised: Collector) -> None:
    with pytest.raises(UnknownNameError, match="nothing named 'customer_sumary'") as caught:
        summarised.resolve("customer_sumary", None)
    assert caught.value.near[0] == {"namespace": "db", "dataset": SUMMARY}
    with pytest.raises(UnknownNameError, match="no column 'total'") as caught:
        summarised.resolve("customer_summary.total", None)
    assert {"namespace": "db", "dataset": SUMMARY, "column": "total_amount"} in caught.value.near


def test_nothing_is_known(collector: Collector) -> None:
    with pytest.raises(UnknownNameError) as caught:
        collector.resolve("a.b", None)
    assert caught.value.near == []


def test_ambiguous_names_say_which(collector: Collector) -> None:
    for number, (namespace, name) in enumerate((("n1", "a.t"), ("n1", "b.t"), ("n2", "a.t"))):
        one = dataset(name, namespace, schema=schema("x:int"))
        take(collector, event(run=number, outputs=(one,)))
    with pytest.raises(AmbiguousNameError) as caught:
        collector.resolve("t.x", None)
    assert len(caught.value.near) == 3
    with pytest.raises(AmbiguousNameError):
        collector.resolve("a.t.x", None)
    assert collector.resolve("b.t.x", None)["dataset"] == "b.t"
    assert collector.resolve("t.x", "n2")["namespace"] == "n2"


def test_case_tells_only_where_nothing_else_does(collector: Collector) -> None:
    for number, name in enumerate(("db.T", "db.t")):
        take(collector, event(run=number, outputs=(dataset(name, schema=schema("x")),)))
    assert collector.resolve("T.x", None)["dataset"] == "db.T"
    assert collector.resolve("t.x", None)["dataset"] == "db.t"


def test_a_column_with_dots(collector: Collector) -> None:
    take(collector, event(outputs=(dataset("db.t", schema=schema("a.b", "c")),)))
    assert collector.resolve("t.a.b", None)["column"] == "a.b"


def test_a_path_and_the_table_that_names_it_are_one(collector: Collector) -> None:
    links = {"identifiers": [{"namespace": "file", "name": "/wh/t", "type": "LOCATION"}]}
    table = dataset("db.t", "hive", schema=schema("x"), symlinks=links)
    take(
        collector,
        event(run=1, outputs=(dataset("/wh/t", "file", schema=schema("x")),)),
        event(run=2, outputs=(table,)),
    )
    assert collector.resolve("t.x", None)["namespace"] == "hive"
    assert collector.resolve("/wh/t.x", None)["namespace"] == "hive"


@pytest.mark.parametrize("name", ["%", "_", "a%", "\\", "'", ".", "..", "a.", ".a", "🕷"])
def test_odd_names_are_only_unknown(summarised: Collector, name: str) -> None:
    with pytest.raises(UnknownNameError):
        summarised.resolve(name, None)
