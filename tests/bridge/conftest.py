"""A Spark session for the tests of the bridge, and what its listener told."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from spark_lineage.agent import jar
from tests.bridge.records import check
from tests.support.spark import PYSPARK_WARNINGS, end


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            for ignored in PYSPARK_WARNINGS:
                item.add_marker(pytest.mark.filterwarnings(ignored))


@pytest.fixture(scope="package")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    sql = pytest.importorskip("pyspark.sql")
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    folder = tmp_path_factory.mktemp("bridge")
    # A copy: the jar may be built anew while this session runs.
    own_jar = shutil.copy(jar.path(), folder)
    session = (
        sql.SparkSession.builder.master("local[1]")
        .appName("bridge tests")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "1")
        .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
        .config("spark.jars", str(own_jar))
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    end(session)


class Captured:
    """A bridge on the session's bus, and its records."""

    def __init__(self, spark: Any) -> None:
        self.spark = spark
        self.context = spark.sparkContext._jsc.sc()
        self.bridge = spark._jvm.io.sparklineage.Bridge()

    def install(self, **limits: object) -> None:
        keys = {key.replace("_", "."): str(value) for key, value in limits.items()}
        self.bridge.configure(json.dumps(keys))
        assert self.bridge.install(self.context)
        self.bridge.claim("driver:test")
        # The first record after each install tells the application.
        self.spark.range(1).collect()
        self.take()

    def take(self, kind: str = "execution") -> list[dict[str, Any]]:
        """The records of this kind so far, all of them checked; they are acknowledged."""
        self.context.listenerBus().waitUntilEmpty(60_000)
        records = json.loads(self.bridge.lease(1_000_000, 1 << 30, 0))
        for record in records:
            check(record)
        if records:
            self.bridge.ack(records[-1]["sequence"])
        return [record for record in records if record["kind"] == kind]

    def ends(self) -> list[dict[str, Any]]:
        return [record for record in self.take() if record["phase"] == "END"]

    def status(self) -> dict[str, Any]:
        status: dict[str, Any] = json.loads(self.bridge.status())
        return status

    def close(self) -> None:
        self.bridge.release()
        self.bridge.uninstall()

    def analyze(self, sql: str) -> dict[str, Any]:
        record = json.loads(self.bridge.analyze(self.spark._jsparkSession, sql))
        check(record)
        return record  # type: ignore[no-any-return]

    def encode(self, frame: Any) -> dict[str, Any]:
        record = json.loads(self.bridge.encode(frame._jdf.queryExecution()))
        check(record)
        return record  # type: ignore[no-any-return]


@pytest.fixture
def captured(spark: Any) -> Iterator[Captured]:
    """Installed on the bus, with nothing in the queue; tables are gone after the test."""
    captured = Captured(spark)
    captured.install()
    yield captured
    captured.close()
    for table in spark.catalog.listTables():
        kind = "VIEW" if table.tableType in ("VIEW", "TEMPORARY") else "TABLE"
        spark.sql(f"DROP {kind} IF EXISTS `{table.name}`")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path
