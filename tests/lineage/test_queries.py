"""What cases do not say: the result as data, texts, views passed, names, inputs not read."""

from __future__ import annotations

from typing import Any

import pytest

from spark_lineage.lineage.model import Availability, Kind
from tests.lineage.bench import Bench, edges

pytestmark = pytest.mark.spark

SUMMARY = """
INSERT INTO customer_summary
WITH totals AS (
  SELECT o.customer_id, upper(o.region) AS region_label, sum(o.amount) AS total_amount
  FROM orders o JOIN customers c ON o.customer_id = c.customer_id
  WHERE o.status = 'PAID' AND c.customer_level = 'VIP'
  GROUP BY o.customer_id, upper(o.region)
  HAVING sum(o.amount) >= 50)
SELECT customer_id, region_label, total_amount,
       row_number() OVER (ORDER BY customer_id) AS customer_seq,
       CASE WHEN region_label = 'EAST' THEN 'core' ELSE 'rest' END AS region_group
FROM totals ORDER BY total_amount
"""


@pytest.fixture
def shop(bench: Bench) -> Bench:
    for statement in (
        "CREATE TABLE orders (order_id INT, customer_id INT, region STRING, amount DOUBLE,"
        " status STRING) USING parquet",
        "CREATE TABLE customers (customer_id INT, customer_name STRING, customer_level STRING)"
        " USING parquet",
        "CREATE TABLE customer_summary (customer_id INT, region_label STRING,"
        " total_amount DOUBLE, customer_seq INT, region_group STRING) USING parquet",
    ):
        bench.spark.sql(statement)
    return bench


def test_the_customer_summary(shop: Bench) -> None:
    lineage = shop.lineage(SUMMARY)
    (output,) = lineage.outputs
    told = {
        column.name: (
            column.type.value,
            column.origin.value,
            [f"{s.name}.{s.field}" for s in column.direct],
            [f"{s.kind.value} {s.name}.{s.field}" for s in column.indirect],
        )
        for column in output.columns
    }
    orders = "default.orders"
    assert told == {
        "customer_id": ("IDENTITY", "INPUT_FIELDS", [f"{orders}.customer_id"], []),
        "region_label": ("TRANSFORMATION", "INPUT_FIELDS", [f"{orders}.region"], []),
        "total_amount": ("AGGREGATION", "INPUT_FIELDS", [f"{orders}.amount"], []),
        "customer_seq": ("TRANSFORMATION", "SYSTEM", [], [f"WINDOW {orders}.customer_id"]),
        "region_group": ("TRANSFORMATION", "CONSTANT", [], [f"CONDITIONAL {orders}.region"]),
    }
    assert {(s.kind.value, f"{s.name}.{s.field}") for s in output.indirect} == {
        ("JOIN", f"{orders}.customer_id"),
        ("JOIN", "default.customers.customer_id"),
        ("FILTER", f"{orders}.status"),
        ("FILTER", "default.customers.customer_level"),
        ("FILTER", f"{orders}.amount"),
        ("GROUP_BY", f"{orders}.customer_id"),
        ("GROUP_BY", f"{orders}.region"),
        ("SORT", f"{orders}.amount"),
    }
    assert output.availability is Availability.AVAILABLE
    assert lineage.unknown_nodes == {}
    assert lineage.unexplained == ()


def test_as_plain_data(shop: Bench) -> None:
    lineage = shop.lineage("SELECT upper(region) AS r FROM orders WHERE status = 'PAID'")
    orders = lineage.inputs[0].dataset
    source = {"namespace": orders.namespace, "name": "default.orders", "via": []}
    source["masking"] = False
    assert lineage.to_dict() == {
        "inputs": [{"namespace": orders.namespace, "name": "default.orders", "read": True}],
        "outputs": [
            {
                "namespace": None,
                "name": None,
                "availability": "AVAILABLE",
                "issues": [],
                "columns": [
                    {
                        "name": "r",
                        "type": "TRANSFORMATION",
                        "origin": "INPUT_FIELDS",
                        "expression": "upper(orders.region)",
                        "availability": "AVAILABLE",
                        "opaque": [],
                        "direct": [{**source, "field": "region", "type": "TRANSFORMATION"}],
                        "indirect": [],
                    }
                ],
                "indirect": [{**source, "field": "status", "type": "FILTER"}],
            }
        ],
        "unknown_nodes": {},
        "unexplained": [],
    }


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("customer_id", "orders.customer_id"),
        ("order_id * 2 + customer_id", "(orders.order_id * 2) + orders.customer_id"),
        ("CASE WHEN status = 'x' THEN 1 END", "CASE WHEN orders.status = 'x' THEN 1 END"),
        ("coalesce(region, 'none')", "coalesce(orders.region, 'none')"),
        ("region IN ('a', 'b')", "orders.region IN ('a', 'b')"),
        ("substring(region, 1, 2)", "substring(orders.region, 1, 2)"),
        (
            "rank() OVER (PARTITION BY region ORDER BY amount DESC)",
            "rank() OVER (PARTITION BY orders.region ORDER BY orders.amount DESC)",
        ),
    ],
)
def test_expressions_as_text(shop: Bench, expression: str, text: str) -> None:
    lineage = shop.lineage(f"SELECT {expression} AS x FROM orders")
    assert lineage.outputs[0].columns[0].expression == text


def test_aggregates_as_text(shop: Bench) -> None:
    lineage = shop.lineage(
        "SELECT count(*) AS n, count(DISTINCT region) AS r,"
        " sum(amount) FILTER (WHERE status = 'PAID') AS s FROM orders"
    )
    assert [column.expression for column in lineage.outputs[0].columns] == [
        "count(*)",
        "count(DISTINCT orders.region)",
        "sum(orders.amount) FILTER (WHERE orders.status = 'PAID')",
    ]


def test_the_text_follows_a_column_to_its_sources(shop: Bench) -> None:
    lineage = shop.lineage(
        "SELECT x * 2 AS y FROM (SELECT amount + 1 AS x FROM (SELECT amount FROM orders))"
    )
    text = lineage.outputs[0].columns[0].expression
    assert text is not None
    assert text.startswith("(orders.amount + ")


def test_views_are_named_on_the_sources(shop: Bench) -> None:
    shop.spark.sql("CREATE VIEW v1 AS SELECT region, amount FROM orders WHERE amount > 1")
    shop.spark.sql("CREATE VIEW v2 AS SELECT region FROM v1")
    shop.spark.sql("SELECT * FROM v2").createOrReplaceTempView("v3")
    lineage = shop.lineage("SELECT region FROM v3")
    (source,) = lineage.outputs[0].columns[0].direct
    assert source.via == ("v3", "default.v2", "default.v1")
    (filtered,) = lineage.outputs[0].indirect
    assert filtered.via == ("v3", "default.v2", "default.v1")
    assert [item.dataset.name for item in lineage.inputs] == ["default.orders"]


def test_one_column_with_and_without_a_view_is_one_source(shop: Bench) -> None:
    shop.spark.sql("CREATE VIEW v1 AS SELECT region FROM orders")
    lineage = shop.lineage("SELECT region FROM orders UNION ALL SELECT region FROM v1")
    (source,) = lineage.outputs[0].columns[0].direct
    assert source.via == ("default.v1",)


def test_an_input_that_the_optimizer_removed_is_kept_as_not_read(shop: Bench) -> None:
    lineage = shop.lineage("SELECT region FROM orders WHERE 1 = 0")
    assert [(item.dataset.name, item.read) for item in lineage.inputs] == [
        ("default.orders", False)
    ]
    direct, _ = edges(lineage)
    assert direct == {("region", "IDENTITY", "orders.region")}


def test_read_and_write_name_a_table_alike(shop: Bench) -> None:
    written = shop.lineage("INSERT INTO orders SELECT * FROM orders").outputs[0].dataset
    read = shop.lineage("SELECT * FROM orders").inputs[0].dataset
    assert written is not None
    assert (written.namespace, written.name, written.symlinks) == (
        read.namespace,
        read.name,
        read.symlinks,
    )
    (link,) = read.symlinks
    assert link[0] == "file"
    assert link[1].endswith("/orders")
    assert link[2] == "LOCATION"


def test_identity_by_path(shop: Bench) -> None:
    lineage = shop.lineage("SELECT region FROM orders", dataset_identity="path")
    dataset = lineage.inputs[0].dataset
    assert dataset.namespace == "file"
    assert dataset.name.endswith("/orders")
    assert dataset.symlinks[0][1:] == ("default.orders", "TABLE")


def test_a_table_created_by_a_query_is_named_as_it_will_be_read(shop: Bench) -> None:
    written = shop.lineage("CREATE TABLE later USING parquet AS SELECT region FROM orders")
    shop.spark.sql("CREATE TABLE later USING parquet AS SELECT region FROM orders")
    read = shop.lineage("SELECT * FROM later").inputs[0].dataset
    dataset = written.outputs[0].dataset
    assert dataset is not None
    assert (dataset.namespace, dataset.name, dataset.symlinks) == (
        read.namespace,
        read.name,
        read.symlinks,
    )
    assert written.outputs[0].lifecycle == "CREATE"


def test_reasons_explain_what_is_no_edge(shop: Bench) -> None:
    from pyspark.sql import functions

    orders = shop.spark.table("orders")
    spread = shop.lineage(orders.repartition(3, "status").select("region"))
    assert (spread.unexplained, spread.explained) == ((), {"DISTRIBUTION": 1})
    measured = shop.lineage(orders.observe("m", functions.sum("amount")).select("region"))
    assert (measured.unexplained, measured.explained) == ((), {"METRIC": 1})


def test_the_self_check_fires_where_a_rule_loses_a_column(
    shop: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    from spark_lineage.lineage import rule

    def forgetful(fold: Any, node: Any) -> Any:
        return fold.child(node)

    monkeypatch.setitem(rule._RULES, "Filter", forgetful)
    lineage = shop.lineage("SELECT region FROM orders WHERE status = 'PAID'")
    assert [item.field for item in lineage.unexplained] == ["status"]


def test_rows_of_an_unknown_rdd_are_partial(bench: Bench) -> None:
    rows = bench.spark.range(1).rdd.map(lambda row: (1, "x"))
    frame = bench.spark.createDataFrame(rows, "a INT, b STRING")
    (output,) = bench.lineage(frame).outputs
    assert output.availability is Availability.PARTIAL
    assert "RDD" in output.issues[0]
    assert all(column.direct == () for column in output.columns)


def test_rows_that_the_program_hands_over_are_made_of_no_column(bench: Bench) -> None:
    rows = bench.spark.sparkContext.parallelize([(1, "x")])
    frame = bench.spark.createDataFrame(rows, "a INT, b STRING")
    (output,) = bench.lineage(frame).outputs
    assert output.availability is Availability.AVAILABLE
    assert [(column.name, column.direct) for column in output.columns] == [("a", ()), ("b", ())]


def test_a_statement_and_its_frame_are_told_alike(shop: Bench) -> None:
    text = "SELECT region, sum(amount) AS s FROM orders GROUP BY region"
    assert shop.lineage(text) == shop.lineage(shop.spark.sql(text))


def test_a_delete_names_its_target_and_what_it_looks_at(bench: Bench) -> None:
    bench.spark.sql("CREATE NAMESPACE IF NOT EXISTS dv2.hub")
    bench.spark.sql("CREATE TABLE dv2.hub.tgt (k INT, v INT)")
    lineage = bench.lineage("DELETE FROM dv2.hub.tgt WHERE k = 1")
    assert lineage.outputs[0].dataset is not None
    assert lineage.outputs[0].dataset.name == "hub.tgt"
    assert lineage.outputs[0].availability is Availability.AVAILABLE
    assert lineage.outputs[0].columns == ()
    assert [(s.field.lower(), s.kind) for s in lineage.outputs[0].indirect] == [("k", Kind.FILTER)]
    assert lineage.unknown_nodes == {}


def test_kinds_are_told_in_a_fixed_order(shop: Bench) -> None:
    lineage = shop.lineage("SELECT region FROM orders WHERE region > 'a' ORDER BY region")
    assert [source.kind for source in lineage.outputs[0].indirect] == [Kind.FILTER, Kind.SORT]
