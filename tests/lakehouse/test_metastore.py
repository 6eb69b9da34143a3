"""Delta's and Iceberg's tables in a Hive metastore of its own process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.lakehouse.lake import DELTA, ICEBERG, released
from tests.support.jobs import Finished, Jobs

JOB = """
from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("shared").enableHiveSupport().getOrCreate()
spark.sparkContext.setLogLevel("OFF")
spark.range(4).write.format("delta").saveAsTable("Numbers")
spark.sql("CREATE DATABASE ih.db")
spark.sql("CREATE TABLE ih.db.doubled USING iceberg AS SELECT id * 2 AS twice FROM numbers")
spark.sql("INSERT INTO ih.db.doubled SELECT id FROM numbers WHERE id > 1")
spark.sql("CREATE TABLE totals USING delta AS SELECT sum(twice) AS s FROM ih.db.doubled")
"""

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def both_jars() -> list[Path]:
    return [*released(DELTA), *released(ICEBERG)]


@pytest.fixture(scope="module")
def told(both_jars: list[Path], metastore: tuple[str, Path], module_jobs: Jobs) -> Finished:
    uri = f"thrift://{metastore[0]}"
    finished = module_jobs.submit(
        module_jobs.script(JOB),
        {
            "spark.hadoop.hive.metastore.uris": uri,
            # Hive makes the tables that locks are kept in by a script only.
            "spark.hadoop.iceberg.engine.hive.lock-enabled": "false",
            "spark.databricks.delta.snapshotPartitions": "1",
            "spark.sql.extensions": (
                "io.delta.sql.DeltaSparkSessionExtension,"
                "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
            ),
            "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
            "spark.sql.catalog.ih": "org.apache.iceberg.spark.SparkCatalog",
            "spark.sql.catalog.ih.type": "hive",
            "spark.sql.catalog.ih.uri": uri,
        },
        timeout=500,
        jars=both_jars,
    )
    assert finished.code == 0, (finished.stdout + finished.stderr)[-3000:]
    return finished


def _ends(told: Finished) -> dict[str, dict[str, Any]]:
    return {event["job"]["name"].removeprefix("shared."): event for event in told.of("COMPLETE")}


def _named(datasets: list[dict[str, Any]]) -> list[tuple[str, str, list[str]]]:
    found = []
    for one in datasets:
        links = one["facets"].get("symlinks", {}).get("identifiers", [])
        places = [link["name"] for link in links if link["type"] == "LOCATION"]
        found.append((one["namespace"], one["name"], places))
    return found


def test_each_table_has_one_name_and_its_place(
    told: Finished, metastore: tuple[str, Path], module_jobs: Jobs
) -> None:
    hive = f"hive://{metastore[0]}"
    numbers = (hive, "default.numbers", [f"{metastore[1]}/numbers"])
    # Iceberg's catalog makes a namespace in the warehouse of the session.
    doubled = (hive, "db.doubled", [f"{module_jobs.folder}/warehouse/db.db/doubled"])
    ends = _ends(told)
    # Where Delta makes a table only the metastore knows: whoever reads it tells.
    assert _named(ends["default.numbers"]["outputs"]) == [(hive, "default.numbers", [])]
    for job in ("db.doubled", "db.doubled#2"):
        assert _named(ends[job]["inputs"]) == [numbers]
        assert _named(ends[job]["outputs"]) == [doubled]
    assert _named(ends["default.totals"]["inputs"]) == [doubled]
    assert _named(ends["default.totals"]["outputs"]) == [(hive, "default.totals", [])]


def test_columns_go_through(told: Finished) -> None:
    (output,) = _ends(told)["default.totals"]["outputs"]
    (source,) = output["facets"]["columnLineage"]["fields"]["s"]["inputFields"]
    assert (source["name"], source["field"]) == ("db.doubled", "twice")
    assert source["transformations"][0]["subtype"] == "AGGREGATION"
