"""Executors in processes of their own: a standalone cluster, and ``local-cluster``."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.places import told
from tests.places.place import Place

pytestmark = pytest.mark.places

# Before 4.0 Spark starts such a driver without what it needs on Java 17.
OPEN_MODULES = " ".join(
    f"--add-opens=java.base/{package}=ALL-UNNAMED"
    for package in ("java.lang", "java.lang.invoke", "java.nio", "java.util", "sun.nio.ch")
)

JOB = """
    import sys
    from pyspark.sql import SparkSession, functions as F

    folder = sys.argv[1]
    spark = SparkSession.builder.appName("on a cluster").getOrCreate()
    spark.range(10).select((F.col("id") % 3).alias("g"), "id").write.parquet(f"{folder}/in")
    twice = F.udf(lambda x: 2 * x, "long")
    (
        spark.read.parquet(f"{folder}/in")
        .select("g", twice("id").alias("twice"))
        .groupBy("g").agg(F.max("twice").alias("most"))
        .write.parquet(f"{folder}/out")
    )
    print("executors", spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() - 1)
    spark.stop()
"""


#: The same, turned on by a call.
ENABLED_JOB = JOB.replace(
    '"on a cluster").getOrCreate()',
    '"on a cluster").getOrCreate()\n    import spark_lineage\n    spark_lineage.enable(spark)',
)


@pytest.fixture(scope="module")
def master(module_place: Place) -> str:
    """The address of a standalone cluster with one worker of two cores."""
    here = ("--host", "127.0.0.1", "--webui-port", "0")
    master = module_place.start(
        "master", "spark-class", "org.apache.spark.deploy.master.Master", *here, "--port", "0"
    )
    address = master.wait_for(r"Starting Spark master at (spark://\S+)")[1]
    worker = module_place.start(
        "worker", "spark-class", "org.apache.spark.deploy.worker.Worker", *here,
        "--cores", "2", "--memory", "3g", "--work-dir", str(module_place.folder / "work"), address,
    )  # fmt: skip
    worker.wait_for("Successfully registered with master")
    return address


def _assert_told(place: Place) -> None:
    events = place.jobs.read()
    told.assert_each_run_has_one_end(events)
    assert told.sources(told.written(events, "out")) == {
        "g": {("in", "g", "IDENTITY")},
        "most": {("in", "id", "AGGREGATION")},
    }


def test_a_pyspark_job_in_client_mode_on_a_standalone_cluster(place: Place, master: str) -> None:
    output = place.run(
        "client", "spark-submit", *place.options(spark_master=master, spark_executor_memory="512m"),
        str(place.jobs.script(JOB)), str(place.folder),
    )  # fmt: skip
    assert "executors 1" in output
    _assert_told(place)
    context = told.context(told.application(place.jobs.read()))
    assert context["master"] == master
    assert context["deployMode"] == "client"


def test_a_java_job_in_cluster_mode_on_a_standalone_cluster(
    place: Place, module_place: Place, master: str, java_job: Path
) -> None:
    options = place.options(
        spark_master=master,
        spark_submit_deployMode="cluster",
        spark_driver_memory="512m",
        spark_driver_extraJavaOptions=OPEN_MODULES,
        spark_executor_memory="512m",
        spark_standalone_submit_waitAppCompletion="true",
    )
    place.run(
        "cluster", "spark-submit", *options, "--class", "Summary", str(java_job), str(place.folder)
    )
    # The driver ran in a folder of the worker's, with an executor beside it.
    (driver,) = (module_place.folder / "work").glob("driver-*")
    errors = (driver / "stderr").read_text()
    assert "executors 2" in (driver / "stdout").read_text(), errors[-6000:]
    events = place.jobs.read()
    told.assert_each_run_has_one_end(events)
    assert told.sources(told.written(events, "summary")) == {
        "g": {("numbers", "g", "IDENTITY")},
        "total": {("numbers", "id", "AGGREGATION")},
    }
    assert told.context(told.application(events))["deployMode"] == "cluster"


def test_local_cluster_with_executors_of_their_own(place: Place) -> None:
    # The plugin's class must be found by the executors too, or they die.
    options = place.options(
        spark_master="local-cluster[2,1,1024]", spark_executor_memory="1g",
        spark_scheduler_minRegisteredResourcesRatio="1.0",
    )  # fmt: skip
    output = place.run(
        "local-cluster", "spark-submit", *options, str(place.jobs.script(JOB)), str(place.folder)
    )
    assert "executors 2" in output
    _assert_told(place)


@pytest.mark.parametrize("where", ["standalone", "local-cluster"])
def test_a_job_that_turns_it_on_by_a_call(
    place: Place, request: pytest.FixtureRequest, where: str
) -> None:
    master = "local-cluster[1,1,1024]"
    if where == "standalone":
        master = request.getfixturevalue("master")
    output = place.run(
        where, "spark-submit", *place.plain(spark_master=master, spark_executor_memory="512m"),
        str(place.jobs.script(ENABLED_JOB)), str(place.folder),
    )  # fmt: skip
    assert "executors 1" in output
    _assert_told(place)
