"""Hudi's tables in a Hive metastore of its own process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.lakehouse.lake import HUDI, released
from tests.lakehouse.test_hudi import CONF
from tests.support.jobs import Finished, Jobs

JOB = """
from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("shared").enableHiveSupport().getOrCreate()
spark.sparkContext.setLogLevel("OFF")
spark.sql("SET hoodie.metadata.enable = false")
spark.sql("CREATE TABLE Numbers (id BIGINT, n BIGINT) USING hudi TBLPROPERTIES (primaryKey = 'id')")
spark.sql("INSERT INTO numbers SELECT id, id + 1 AS n FROM range(4)")
spark.sql("CREATE TABLE totals USING hudi AS SELECT sum(n) AS s FROM numbers")
spark.sql("UPDATE numbers SET n = n + 1 WHERE id > 1")
spark.sql("INSERT INTO totals SELECT sum(n) AS s FROM numbers")
"""

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def jars() -> list[Path]:
    return released(HUDI)


@pytest.fixture(scope="module")
def told(jars: list[Path], metastore: tuple[str, Path], module_jobs: Jobs) -> Finished:
    finished = module_jobs.submit(
        module_jobs.script(JOB),
        {**CONF, "spark.hadoop.hive.metastore.uris": f"thrift://{metastore[0]}"},
        timeout=500,
        jars=jars,
    )
    assert finished.code == 0, finished.stdout[:2500]
    return finished


def _ends(told: Finished) -> dict[str, dict[str, Any]]:
    return {event["job"]["name"].removeprefix("shared."): event for event in told.of("COMPLETE")}


def _named(datasets: list[dict[str, Any]]) -> list[tuple[str, str, list[str]]]:
    found = []
    for one in datasets:
        assert one["facets"]["catalog"]["framework"] == "hudi"
        links = one["facets"].get("symlinks", {}).get("identifiers", [])
        places = [link["name"] for link in links if link["type"] == "LOCATION"]
        found.append((one["namespace"], one["name"], places))
    return found


def test_each_table_has_one_name_and_its_place(told: Finished, metastore: tuple[str, Path]) -> None:
    hive = f"hive://{metastore[0]}"
    numbers = (hive, "default.numbers", [f"{metastore[1]}/numbers"])
    totals = (hive, "default.totals", [f"{metastore[1]}/totals"])
    ends = _ends(told)
    # Where a table is made only the metastore knows its place: whoever writes or reads it tells.
    assert _named(ends["create_table.default.numbers"]["outputs"]) == [(hive, numbers[1], [])]
    assert _named(ends["default.numbers"]["outputs"]) == [numbers]
    assert _named(ends["default.totals"]["inputs"]) == [numbers]
    assert _named(ends["default.totals"]["outputs"]) == [(hive, totals[1], [])]
    assert _named(ends["update.default.numbers"]["outputs"]) == [numbers]
    assert _named(ends["default.totals#2"]["outputs"]) == [totals]


def test_columns_go_through(told: Finished) -> None:
    (output,) = _ends(told)["default.totals"]["outputs"]
    (source,) = output["facets"]["columnLineage"]["fields"]["s"]["inputFields"]
    assert (source["name"], source["field"]) == ("default.numbers", "n")
    assert source["transformations"][0]["subtype"] == "AGGREGATION"


@pytest.mark.parametrize(
    ("job", "statement"),
    [
        ("default.numbers", "INSERT INTO numbers SELECT id, id + 1 AS n FROM range(4)"),
        ("default.totals", "CREATE TABLE totals USING hudi AS SELECT sum(n) AS s FROM numbers"),
        ("update.default.numbers", "UPDATE numbers SET n = n + 1 WHERE id > 1"),
        ("default.totals#2", "INSERT INTO totals SELECT sum(n) AS s FROM numbers"),
    ],
)
def test_a_statement_keeps_its_text(told: Finished, job: str, statement: str) -> None:
    # Hudi's commands have none, and after its first it leaves a description of its own.
    assert _ends(told)[job]["job"]["facets"]["sql"]["query"] == statement
