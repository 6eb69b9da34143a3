"""``lineage_of``: the lineage of a query or command that is not run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import spark_lineage
from tests.support.spark import PYSPARK_WARNINGS

pytestmark = [pytest.mark.filterwarnings(ignored) for ignored in PYSPARK_WARNINGS]


@pytest.fixture(autouse=True)
def tables(spark: Any) -> Iterator[None]:
    spark.sql("CREATE TABLE shop (item STRING, price INT, sold BOOLEAN) USING parquet")
    spark.sql("CREATE TABLE report (item STRING, income BIGINT) USING parquet")
    yield
    spark.sql("DROP TABLE shop")
    spark.sql("DROP TABLE report")
    spark.sql("DROP TABLE IF EXISTS copy")


SELECT = "SELECT item, sum(price) AS income FROM shop WHERE sold GROUP BY item"


def _sources(sources: list[dict[str, Any]]) -> set[str]:
    return {f"{s['type']} {s['name']}.{s['field']}" for s in sources}


def _check(output: dict[str, Any]) -> None:
    item, income = output["columns"]
    assert (item["name"], item["type"], item["origin"]) == ("item", "IDENTITY", "INPUT_FIELDS")
    assert _sources(item["direct"]) == {"IDENTITY default.shop.item"}
    assert (income["name"], income["type"]) == ("income", "AGGREGATION")
    assert _sources(income["direct"]) == {"AGGREGATION default.shop.price"}
    assert income["expression"] == "sum(shop.price)"
    assert _sources(output["indirect"]) == {
        "FILTER default.shop.sold",
        "GROUP_BY default.shop.item",
    }
    assert output["availability"] == "AVAILABLE"


def test_a_statement_a_dataframe_and_a_command_have_the_same_lineage(spark: Any) -> None:
    from pyspark.sql import functions as F

    frame = spark.table("shop").where("sold").groupBy("item").agg(F.sum("price").alias("income"))
    for query in (SELECT, frame):
        told = spark_lineage.lineage_of(query, spark).to_dict()
        (output,) = told["outputs"]
        assert (output["namespace"], output["name"]) == (None, None)
        _check(output)
        assert [item["name"] for item in told["inputs"]] == ["default.shop"]
        assert told["unknown_nodes"] == {}
        assert told["unexplained"] == []


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (f"INSERT INTO report {SELECT}", "default.report"),
        (f"INSERT OVERWRITE report {SELECT}", "default.report"),
        (f"CREATE TABLE copy USING parquet AS {SELECT}", "default.copy"),
    ],
)
def test_a_command_is_looked_at_and_not_run(spark: Any, command: str, name: str) -> None:
    told = spark_lineage.lineage_of(command, spark).to_dict()
    (output,) = told["outputs"]
    assert output["name"] == name
    _check(output)
    assert spark.table("report").count() == 0
    assert not spark.catalog.tableExists("copy")


def test_the_active_session_is_taken_where_none_is_given(spark: Any) -> None:
    _check(spark_lineage.lineage_of(SELECT).to_dict()["outputs"][0])


def test_what_spark_cannot_analyse_raises_as_spark_does(spark: Any) -> None:
    from pyspark.errors import AnalysisException, ParseException

    with pytest.raises(AnalysisException, match="no_such_column"):
        spark_lineage.lineage_of("SELECT no_such_column FROM shop", spark)
    with pytest.raises(ParseException):
        spark_lineage.lineage_of("SELEC 1", spark)


def test_something_else_is_refused() -> None:
    with pytest.raises(TypeError, match="a DataFrame or a SQL statement, not int"):
        spark_lineage.lineage_of(7)


def test_enable_in_this_process_can_be_turned_off_again(spark: Any, tmp_path: Any) -> None:
    events = tmp_path / "events.jsonl"
    spark_lineage.enable(
        spark, transport_type="file", transport_path=str(events), spool_dir=str(tmp_path / "spool")
    )
    spark.sql(f"INSERT INTO report {SELECT}")
    assert spark_lineage.flush(30)
    assert '"default.report"' in events.read_text()
    spark_lineage.disable(spark)
    size = events.stat().st_size
    spark.sql(f"INSERT INTO report {SELECT}")
    assert events.stat().st_size == size
