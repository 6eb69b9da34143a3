"""Files in S3 by Hadoop's own client, with each of its ways to commit a write."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.aws import ENVIRONMENT, KEY, REGION, SECRET, running_aws, s3
from tests.support.jobs import Finished, Jobs, spark_home
from tests.support.maven import jars


def _second(version: str) -> tuple[str, ...]:
    return (
        f"software.amazon.awssdk:s3-transfer-manager:{version}",
        f"software.amazon.awssdk:sts:{version}",
        "org.wildfly.openssl:wildfly-openssl:2.2.5.Final",
    )


#: By the Hadoop that Spark has: Amazon's client that its module is built with.
CLIENTS = {
    "3.3.4": tuple(
        f"com.amazonaws:aws-java-sdk-{part}:1.12.262" for part in ("s3", "sts", "dynamodb")
    ),
    "3.4.2": _second("2.29.52"),
    "3.5.0": _second("2.35.4"),
}
#: By Scala. Not every release of Spark has one, and they do not differ.
CLOUD = {
    "2.12": "org.apache.spark:spark-hadoop-cloud_2.12:3.5.8",
    "2.13": "org.apache.spark:spark-hadoop-cloud_2.13:4.1.2",
}
JOB = """
from pyspark.sql import SparkSession, functions as F

spark = SparkSession.builder.appName("s3").getOrCreate()
sc = spark.sparkContext
sc.setLogLevel("OFF")


def step(name):
    sc.setJobDescription(name)


step("rename committer")
days = spark.range(4).select("id", F.concat(F.lit("d"), F.col("id") % 2).alias("day"))
days.write.parquet("s3a://lake/raw//plain/")
step("partitions")
spark.read.parquet("s3a://lake/raw/plain").write.partitionBy("day").json("s3a://lake/raw/days")
step("one partition by another scheme")
spark.read.json("s3://lake/raw/days/day=d0").write.csv("s3n://other/one")
step("glob")
spark.read.json("s3a://lake/raw/days/day=*").write.orc("s3a://other/glob")
step("table")
spark.sql("CREATE TABLE ext USING parquet LOCATION 's3a://lake/raw/plain'")
step("from a table into a directory")
spark.sql("INSERT OVERWRITE DIRECTORY 's3a://other/dir' USING parquet SELECT id FROM ext")
step("rdd")
sc.textFile("s3a://other/one").map(lambda line: line.upper()).saveAsTextFile("s3a://other/text")
"""
MAGIC = """
step("magic committer")
spark.conf.set(
    "spark.sql.sources.commitProtocolClass",
    "org.apache.spark.internal.io.cloud.PathOutputCommitProtocol",
)
spark.conf.set(
    "spark.sql.parquet.output.committer.class",
    "org.apache.spark.internal.io.cloud.BindingParquetOutputCommitter",
)
spark.read.parquet("s3a://lake/raw/plain").write.partitionBy("day").parquet("s3a://other/magic")
"""
PLAIN, DAYS = ("s3://lake", "raw/plain"), ("s3://lake", "raw/days")
ONE = ("s3://other", "one")
#: Step: inputs, outputs. A table is its catalog's.
EXPECTED = {
    "rename committer": ([], [PLAIN]),
    "partitions": ([PLAIN], [DAYS]),
    "one partition by another scheme": ([DAYS], [ONE]),
    "glob": ([DAYS], [("s3://other", "glob")]),
    "from a table into a directory": (["ext"], [("s3://other", "dir")]),
    "rdd": ([ONE], [("s3://other", "text")]),
    "magic committer": ([PLAIN], [("s3://other", "magic")]),
}

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def found() -> list[Path]:
    names = [path.name for path in (spark_home() / "jars").glob("hadoop-client-api-*.jar")]
    hadoop = names[0].removeprefix("hadoop-client-api-").removesuffix(".jar")
    if hadoop not in CLIENTS:
        pytest.skip(f"which client Hadoop {hadoop} has is not known, but of {[*CLIENTS]}")
    (scala,) = (spark_home() / "jars").glob("scala-library-*.jar")
    more = [CLOUD[scala.name.removeprefix("scala-library-")[:4]]]
    if hadoop >= "3.5":
        more.append("software.amazon.s3.analyticsaccelerator:analyticsaccelerator-s3:1.3.1")
    return [
        *jars(f"org.apache.hadoop:hadoop-aws:{hadoop}", *more, alone=True),
        *jars(*CLIENTS[hadoop]),
    ]


@pytest.fixture(scope="module")
def address(found: list[Path]) -> Iterator[str]:
    with running_aws("lake", "other") as url:
        yield url


@pytest.fixture(scope="module")
def told(address: str, found: list[Path], module_jobs: Jobs) -> Finished:
    own = "org.apache.hadoop.fs.s3a.S3AFileSystem"
    conf = {
        "spark.hadoop.fs.s3.impl": own,
        "spark.hadoop.fs.s3n.impl": own,
        "spark.hadoop.fs.s3a.endpoint": address,
        "spark.hadoop.fs.s3a.endpoint.region": REGION,
        "spark.hadoop.fs.s3a.path.style.access": "true",
        "spark.hadoop.fs.s3a.access.key": KEY,
        "spark.hadoop.fs.s3a.secret.key": SECRET,
        "spark.hadoop.fs.s3a.committer.name": "magic",
    }
    finished = module_jobs.submit(
        module_jobs.script(JOB + MAGIC), conf, ENVIRONMENT, timeout=500, jars=found
    )
    assert finished.code == 0, (finished.stderr + finished.stdout)[-6000:]
    return finished


def _ends(told: Finished, step: str) -> list[dict[str, Any]]:
    return [
        event
        for event in told.of("COMPLETE")
        if event["run"]["facets"].get("sparkLineage_context", {}).get("callSite") == step
    ]


def _short(datasets: list[dict[str, Any]]) -> list[Any]:
    return [
        (each["namespace"], each["name"])
        if each["namespace"].startswith("s3")
        else each["name"].removeprefix("default.")
        for each in datasets
    ]


@pytest.mark.parametrize("step", EXPECTED)
def test_what_is_read_and_written(told: Finished, step: str) -> None:
    (event,) = [event for event in _ends(told, step) if event["outputs"]]
    inputs, outputs = EXPECTED[step]
    assert (_short(event["inputs"]), _short(event["outputs"])) == (inputs, outputs)


def test_a_table_has_its_path(told: Finished) -> None:
    (event,) = _ends(told, "table")
    (output,) = event["outputs"]
    assert output["facets"]["symlinks"]["identifiers"] == [
        {"namespace": "s3://lake", "name": "raw/plain", "type": "LOCATION"}
    ]


def test_only_these_data_sets_are_told(told: Finished) -> None:
    known = {pair for both in EXPECTED.values() for side in both for pair in side}
    for event in told.events:
        for dataset in [*event["inputs"], *event["outputs"]]:
            assert _short([dataset])[0] in known
    text = str(told.events)
    assert "_temporary" not in text
    assert "__magic" not in text


def test_the_magic_committer_was_used(told: Finished, address: str) -> None:
    client = s3(address)
    success = client.get_object(Bucket="other", Key="magic/_SUCCESS")["Body"].read()
    client.close()
    assert json.loads(success)["committer"] == "magic"


def test_no_key_is_told(told: Finished) -> None:
    for secret in (KEY, SECRET):
        assert secret not in str(told.events)
        assert secret not in told.stdout
