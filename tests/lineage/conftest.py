"""One local Spark for all lineage tests, and the way from a query to its lineage."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from spark_lineage.lineage import Lineage, LineageOptions, derive
from spark_lineage.plan import Record, decode

JAR = Path(__file__).parents[2] / "spark_lineage" / "jars" / "spark-lineage-bridge.jar"


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    pyspark_sql = pytest.importorskip("pyspark.sql")
    if not JAR.exists():
        pytest.skip("the bridge is not built")
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
        .config("spark.hadoop.javax.jdo.option.ConnectionURL", f"jdbc:derby:memory:{warehouse.name};create=true")
        .config("spark.hadoop.hive.exec.dynamic.partition.mode", "nonstrict")
        .config("spark.driver.extraJavaOptions", f"-Dderby.stream.error.file={warehouse}.log")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
    shutil.rmtree(warehouse, ignore_errors=True)


class Bench:
    """A Spark session, with records and lineages of what is asked of it."""

    def __init__(self, spark: Any) -> None:
        self.spark = spark
        bridge = spark._jvm.io.sparklineage.Bridge
        self.bridge = bridge if "encode" in dir(bridge) else bridge()

    @property
    def version(self) -> tuple[int, int]:
        major, minor = self.spark.version.split(".")[:2]
        return int(major), int(minor)

    def record_of(self, query: Any) -> Record:
        """The record of a statement, or of a DataFrame, without running it."""
        if isinstance(query, str):
            text = self.bridge.analyze(self.spark._jsparkSession, query)
        else:
            text = self.bridge.encode(query._jdf.queryExecution())
        return decode(json.loads(text))

    def lineage(self, query: Any, **options: Any) -> Lineage:
        return derive(self.record_of(query), LineageOptions(**options))


@pytest.fixture
def bench(spark: Any) -> Iterator[Bench]:
    """A bench whose tables and views are gone after the test."""
    yield Bench(spark)
    spark.catalog.clearCache()
    for table in spark.catalog.listTables():
        kind = "VIEW" if table.tableType in ("VIEW", "TEMPORARY") else "TABLE"
        spark.sql(f"DROP {kind} IF EXISTS `{table.name}`")


Edges = set[tuple[str, str, str]]


def edges(lineage: Lineage) -> tuple[Edges, Edges]:
    """Direct and indirect edges as (output column or ``*``, kind, ``table.column``)."""
    direct: Edges = set()
    indirect: Edges = set()
    for output in lineage.outputs:
        for source in output.indirect:
            indirect.add(("*", source.kind.value, short(source)))
        for column in output.columns:
            for source in column.direct:
                direct.add((column.name, source.kind.value, short(source)))
            for source in column.indirect:
                indirect.add((column.name, source.kind.value, short(source)))
    return direct, indirect


def short(source: Any) -> str:
    """``table.field`` of a source."""
    return f"{dataset_name(source.namespace, source.name)}.{source.field}"


def dataset_name(namespace: str, name: str) -> str:
    """The short name that cases use: the table, or ``path:`` and the last part of the path."""
    if namespace == "file":
        return "path:" + name.rsplit("/", 1)[-1]
    return name.removeprefix("default.")


Lineages = Callable[..., Lineage]
