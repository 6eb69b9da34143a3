"""Kafka's topics, with Spark's own connector and a real broker."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from spark_lineage.lineage.datasets import kafka
from spark_lineage.lineage.model import Lineage
from spark_lineage.lineage.rules.topics import COMPUTED
from tests.delivery.kafka.broker import Broker
from tests.lineage.bench import Bench, edges
from tests.lineage.datasets.conftest import Ended
from tests.support.maven import jars

pytestmark = pytest.mark.spark

#: The newest connector that is published for each line of Spark.
CONNECTORS = {3: "spark-sql-kafka-0-10_2.12:3.5.7", 4: "spark-sql-kafka-0-10_2.13:4.2.0"}
NEEDED = ("spark-sql-kafka", "spark-token-provider-kafka", "kafka-clients", "commons-pool2")


@pytest.fixture(scope="module")
def connector(spark: Any) -> Any:
    """The session, with the connector."""
    coordinate = CONNECTORS[int(spark.version.split(".", 1)[0])]
    for jar in jars(f"org.apache.spark:{coordinate}"):
        if jar.name.startswith(NEEDED):
            spark.sql(f"ADD JAR '{jar}'")
    return spark


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    made = Broker(tmp_path_factory.mktemp("broker"))
    made.start()
    yield made
    made.kill()


def reader(spark: Any, servers: str, **options: str) -> Any:
    made = spark.read.format("kafka").option("kafka.bootstrap.servers", servers)
    return made.options(**options).load()


def inputs(lineage: Lineage) -> list[tuple[str, str]]:
    return [(item.dataset.namespace, item.dataset.name) for item in lineage.inputs]


def outputs(lineage: Lineage) -> list[tuple[str, str] | None]:
    return [o.dataset and (o.dataset.namespace, o.dataset.name) for o in lineage.outputs]


@pytest.mark.parametrize(
    ("servers", "found"),
    [
        ("b2:9093,b1", ["b1:9092", "b2:9093"]),
        (" B1:9092 , b1:9092", ["b1:9092"]),
        ("SASL_SSL://b1:9094", ["b1:9094"]),
        ("[::1]:9092", ["[::1]:9092"]),
    ],
)
def test_brokers_have_one_order(servers: str, found: list[str]) -> None:
    assert kafka.brokers(servers) == found


def test_topics_that_are_asked_for(connector: Any, bench: Bench) -> None:
    servers = "zoo:9092,ant:9093"
    both = bench.lineage(reader(connector, servers, subscribe="pears, plums"))
    assert inputs(both) == [("kafka://ant:9093", "pears"), ("kafka://ant:9093", "plums")]
    first = both.inputs[0].dataset
    assert first.symlinks == (("kafka://zoo:9092", "pears", "LOCATION"),)
    assert first.facts["datasetType"] == {"datasetType": "TOPIC"}
    direct, _ = edges(bench.lineage(reader(connector, servers, subscribe="pears").select("value")))
    assert direct == {("value", "IDENTITY", "pears.value")}
    assigned = bench.lineage(reader(connector, servers, assign='{"pears": [0, 2]}'))
    assert inputs(assigned) == [("kafka://ant:9093", "pears")]
    assert [
        each["dimensions"] for each in assigned.inputs[0].dataset.facts["subset"]["partitions"]
    ] == [{"partition": 0}, {"partition": 2}]
    pattern = bench.lineage(reader(connector, servers, subscribePattern="p.*"))
    assert inputs(pattern) == [("kafka://ant:9093", "p.*")]


def test_topics_that_are_written_and_what_a_pattern_found(
    connector: Any, ended: Ended, broker: Broker, tmp_path: Path
) -> None:
    spark = ended.bench.spark
    space = f"kafka://{broker.servers}"
    spark.sql("CREATE TABLE names_k (nm STRING, kind STRING) USING parquet")
    spark.sql("INSERT INTO names_k VALUES ('a', 'pears')")

    def save(*columns: str, **options: str) -> Lineage:
        frame = spark.table("names_k").where("nm > ''").selectExpr(*columns)
        writer = frame.write.format("kafka").option("kafka.bootstrap.servers", broker.servers)
        return ended.lineage(lambda: writer.options(**options).save())

    lineage = save("nm AS value", topic="pears")
    assert outputs(lineage) == [(space, "pears")]
    assert edges(lineage)[0] == {("value", "IDENTITY", "names_k.nm")}
    assert outputs(save("'figs' AS topic", "nm AS value", topic="pears")) == [(space, "pears")]
    lineage = save("'plums' AS topic", "nm AS value")
    assert outputs(lineage) == [(space, "plums")]
    assert lineage.outputs[0].issues == ()
    computed = save("kind AS topic", "nm AS value")
    assert outputs(computed) == [None]
    assert computed.outputs[0].issues == (COMPUTED,)
    table = spark.table("names_k")
    union = table.selectExpr("'pears' AS topic", "nm AS value").unionAll(
        table.selectExpr("'plums' AS topic", "kind AS value")
    )
    writer = union.write.format("kafka").option("kafka.bootstrap.servers", broker.servers)
    assert outputs(ended.lineage(writer.save)) == [(space, "pears"), (space, "plums")]
    # Which topics a pattern stands for the scan knows.
    found = ended.lineage(lambda: reader(spark, broker.servers, subscribePattern="p.*").collect())
    assert inputs(found) == [(space, "pears"), (space, "plums")]


def test_a_stream_between_topics_and_files(
    connector: Any, ended: Ended, broker: Broker, tmp_path: Path
) -> None:
    spark = ended.bench.spark
    space = f"kafka://{broker.servers}"
    rows = spark.sql("SELECT 'k' AS key, 'v' AS value").write.format("kafka")
    rows.option("kafka.bootstrap.servers", broker.servers).option("topic", "news").save()

    def stream(*columns: str, **options: str) -> Any:
        source = spark.readStream.format("kafka").option("startingOffsets", "earliest")
        source = source.option("kafka.bootstrap.servers", broker.servers).options(**options)
        return source.load().selectExpr(*columns)

    def lineage(frame: Any, name: str, into: str, **options: str) -> Lineage:
        writer = frame.writeStream.format(into).trigger(availableNow=True)
        writer = writer.option("checkpointLocation", str(tmp_path / f"{name}-ck"))
        if into == "kafka":
            writer = writer.option("kafka.bootstrap.servers", broker.servers)
        else:
            writer = writer.option("path", str(tmp_path / name))

        def run() -> None:
            writer.options(**options).start().awaitTermination()

        return ended.lineage(run)

    found = lineage(stream("CAST(value AS STRING) AS v", subscribe="news"), "a", "parquet")
    assert inputs(found) == [(space, "news")]
    assert edges(found)[0] == {("v", "TRANSFORMATION", "news.value")}
    frame = stream("upper(CAST(value AS STRING)) AS value", subscribe="news")
    found = lineage(frame, "b", "kafka", topic="loud")
    assert inputs(found) == [(space, "news")]
    assert outputs(found) == [(space, "loud")]
    assert edges(found)[0] == {("value", "TRANSFORMATION", "news.value")}
    frame = stream("'quiet' AS topic", "value", subscribePattern="new.*")
    found = lineage(frame, "c", "kafka")
    assert inputs(found) == [(space, "new.*")]
    assert outputs(found) == [(space, "quiet")]
    assert edges(found)[0] == {("value", "IDENTITY", "new.*.value")}
    frame = stream("CAST(key AS STRING) AS topic", "value", subscribe="news")
    found = lineage(frame, "d", "kafka")
    assert outputs(found) == [None]
    assert found.outputs[0].issues == (COMPUTED,)
