"""One local Spark for all lineage tests, and the way from a query to its lineage."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.lineage.bench import Bench
from tests.support.parts import missing
from tests.support.spark import PYSPARK_WARNINGS, end

JAR = Path(__file__).parents[2] / "spark_lineage" / "jars" / "spark-lineage-bridge.jar"
JDBC_CATALOG = "org.apache.spark.sql.execution.datasources.v2.jdbc"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            for ignored in PYSPARK_WARNINGS:
                item.add_marker(pytest.mark.filterwarnings(ignored))


def derby_driver() -> str:
    """The driver's class moved with the Derby that Spark 4 brings."""
    import pyspark

    package = "jdbc" if pyspark.__version__.startswith("3.") else "iapi.jdbc"
    return f"org.apache.derby.{package}.AutoloadedDriver"


@pytest.fixture(scope="package")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    pyspark_sql = pytest.importorskip("pyspark.sql")
    if not JAR.exists():
        missing("the built bridge")
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    warehouse = tmp_path_factory.mktemp("warehouse")
    # A copy: the jar may be built anew while this session runs.
    jar = shutil.copy(JAR, tmp_path_factory.mktemp("jar"))
    session = (
        pyspark_sql.SparkSession.builder.master("local[1]")
        .appName("lineage tests")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "1")
        .config("spark.sql.warehouse.dir", str(warehouse))
        .config("spark.jars", str(jar))
        .config("spark.driver.extraClassPath", str(jar))
        .config("spark.sql.catalogImplementation", "hive")
        .config("spark.sql.catalog.dv2", f"{JDBC_CATALOG}.JDBCTableCatalog")
        .config("spark.sql.catalog.dv2.url", "jdbc:derby:memory:dv2;create=true")
        .config("spark.sql.catalog.dv2.driver", derby_driver())
        .config(
            "spark.hadoop.javax.jdo.option.ConnectionURL",
            f"jdbc:derby:memory:{warehouse.name};create=true",
        )
        .config("spark.hadoop.hive.exec.dynamic.partition.mode", "nonstrict")
        .config("spark.driver.extraJavaOptions", f"-Dderby.stream.error.file={warehouse}.log")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    end(session)
    shutil.rmtree(warehouse, ignore_errors=True)


@pytest.fixture
def bench(spark: Any) -> Iterator[Bench]:
    """A bench whose tables and views are gone after the test."""
    yield Bench(spark)
    spark.catalog.clearCache()
    for table in spark.catalog.listTables():
        kind = "VIEW" if table.tableType in ("VIEW", "TEMPORARY") else "TABLE"
        spark.sql(f"DROP {kind} IF EXISTS `{table.name}`")
    if "hub" in {row[0] for row in spark.sql("SHOW NAMESPACES IN dv2").collect()}:
        for row in spark.sql("SHOW TABLES IN dv2.hub").collect():
            spark.sql(f"DROP TABLE dv2.hub.{row[1]}")
