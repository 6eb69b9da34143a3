"""A metastore of its own process, as jobs share one: Hive's server, from Spark's own jars.

Its warehouse is not the one that the job has for its own, as where Hive made the database.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.jobs import Finished, Jobs

# Tables by names of other cases: the catalog has them in small letters.
JOB = """
from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("shared").enableHiveSupport().getOrCreate()
spark.range(4).selectExpr("id", "id * 2 AS twice").write.saveAsTable("Numbers")
spark.sql("CREATE TABLE Sums (k BIGINT, s BIGINT) STORED AS PARQUET")
spark.sql("INSERT INTO Sums SELECT id % 2, sum(twice) FROM NUMBERS GROUP BY id % 2")
spark.sql("CREATE TABLE kept STORED AS ORC AS SELECT s FROM Sums")
spark.sql("CREATE DATABASE apart LOCATION 'other'")
spark.sql("CREATE TABLE apart.Last USING parquet AS SELECT s AS t FROM kept")
"""
pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def told(metastore: tuple[str, Path], module_jobs: Jobs) -> Finished:
    finished = module_jobs.submit(
        module_jobs.script(JOB),
        {"spark.hadoop.hive.metastore.uris": f"thrift://{metastore[0]}"},
    )
    assert finished.code == 0, finished.stderr[-3000:]
    return finished


def _ends(told: Finished) -> dict[str, dict[str, Any]]:
    return {event["job"]["name"].removeprefix("shared."): event for event in told.of("COMPLETE")}


def _place(dataset: dict[str, Any]) -> str | None:
    links = dataset["facets"].get("symlinks", {}).get("identifiers", [])
    return next((link["name"] for link in links if link["type"] == "LOCATION"), None)


def test_tables_have_the_metastores_names_and_places(
    told: Finished, metastore: tuple[str, Path], module_jobs: Jobs
) -> None:
    address, warehouse = metastore
    found = {
        job: [(d["namespace"], d["name"], _place(d)) for d in (*event["inputs"], *event["outputs"])]
        for job, event in _ends(told).items()
    }
    hive = f"hive://{address}"
    numbers = (hive, "default.numbers", f"{warehouse}/numbers")
    sums = (hive, "default.sums", f"{warehouse}/sums")
    kept = (hive, "default.kept", f"{warehouse}/kept")
    last = (hive, "apart.last", f"{module_jobs.folder}/warehouse/other/last")
    assert found["default.numbers"] == [numbers]
    # Only the metastore knows where it puts it: nothing is guessed.
    assert found["create_table.default.sums"] == [(hive, "default.sums", None)]
    assert found["default.sums"] == [numbers, sums]
    assert found["default.kept"] == [sums, kept]
    assert found["apart.last"] == [kept, last]


def test_the_catalog_is_told(told: Finished, metastore: tuple[str, Path]) -> None:
    (output,) = _ends(told)["default.kept"]["outputs"]
    catalog = output["facets"]["catalog"]
    assert (catalog["type"], catalog["metadataUri"]) == ("hive", f"thrift://{metastore[0]}")


def test_columns_go_through(told: Finished) -> None:
    (output,) = _ends(told)["apart.last"]["outputs"]
    (source,) = output["facets"]["columnLineage"]["fields"]["t"]["inputFields"]
    assert (source["name"], source["field"]) == ("default.kept", "s")
