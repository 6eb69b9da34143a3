"""A session in this process, without the bridge on its class path."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from spark_lineage import config
from spark_lineage.agent.guard import Failures
from spark_lineage.agent.runs import Runs
from tests.support.spark import end


@pytest.fixture(scope="package")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    sql = pytest.importorskip("pyspark.sql")
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    session = (
        sql.SparkSession.builder.master("local[1]")
        .appName("agent tests")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "1")
        .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("agent-warehouse")))
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    end(session)


@pytest.fixture
def runs() -> Runs:
    return Runs(config.load({}, {}), Failures())
