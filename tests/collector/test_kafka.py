"""Events from a topic of a real broker, and what is committed when."""

from __future__ import annotations

import importlib.util
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from spark_lineage.collector import kafka
from spark_lineage.collector.app import Settings
from spark_lineage.collector.server import running
from spark_lineage.collector.service import Collector
from spark_lineage.collector.store.engine import BusyError
from spark_lineage.errors import ConfigError
from tests.collector import summary
from tests.delivery.kafka.broker import Broker
from tests.support.parts import missing

SECONDS = 60


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    if importlib.util.find_spec("confluent_kafka") is None:
        missing("confluent-kafka")
    found = Broker(tmp_path_factory.mktemp("kafka"))
    found.start()
    _wait_for_coordinator(found)
    yield found
    found.kill()


def _wait_for_coordinator(broker: Broker) -> None:
    """A broker that has just started does not know yet who keeps a group's offsets."""
    import confluent_kafka

    def known() -> bool:
        settings = {"bootstrap.servers": broker.servers, "group.id": kafka.GROUP}
        consumer = confluent_kafka.Consumer(settings)
        try:
            consumer.committed([confluent_kafka.TopicPartition("none", 0)], 5)
            return True
        except confluent_kafka.KafkaException:
            return False
        finally:
            consumer.close()

    until(known)


def send(broker: Broker, topic: str, *bodies: bytes | None) -> None:
    import confluent_kafka

    producer = confluent_kafka.Producer({"bootstrap.servers": broker.servers})
    for body in bodies:
        producer.produce(topic, body, key=b"run:x")
    assert producer.flush(SECONDS) == 0


def committed(broker: Broker, topic: str) -> int:
    """The sum over the partitions of what the group need not read again."""
    import confluent_kafka

    consumer = confluent_kafka.Consumer(
        {"bootstrap.servers": broker.servers, "group.id": kafka.GROUP}
    )
    try:
        every = [confluent_kafka.TopicPartition(topic, number) for number in range(3)]
        return sum(max(one.offset, 0) for one in consumer.committed(every, SECONDS))
    finally:
        consumer.close()


def until(what: Callable[[], Any]) -> None:
    deadline = time.monotonic() + SECONDS
    while not what():
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.05)


def bodies() -> list[bytes]:
    return [json.dumps(one).encode() for one in summary.events()]


def test_a_topic_gives_the_same_store_as_posts(broker: Broker, tmp_path: Path) -> None:
    path = tmp_path / "c.db"
    # A tombstone and what is no event are no hindrance.
    send(broker, "lineage", None, b"{no json", *bodies())
    where = kafka.source(f"{broker.servers}/lineage")
    with running(str(path), settings=Settings(kafka=where)):
        until(lambda: committed(broker, "lineage") == 9)
        send(broker, "lineage", *bodies())
        until(lambda: committed(broker, "lineage") == 16)
    posted, read = Collector("sqlite://"), Collector(str(path))
    posted.take_batch(b"\n".join(bodies()))
    assert read.graph() == posted.graph()
    (aside,) = read.quarantine(10)
    assert aside["faults"][0]["message"].startswith("is not JSON")
    read.close()


def test_nothing_is_committed_that_is_not_stored(broker: Broker, tmp_path: Path) -> None:
    collector = Collector(str(tmp_path / "c.db"))
    tries: list[int] = []

    def busy(some: list[bytes]) -> int:
        tries.append(len(some))
        raise BusyError("the disk is full")

    send(broker, "careful", *bodies())
    where = kafka.source(f"{broker.servers}/careful")
    first = kafka.Intake(where, busy)
    first.start()
    until(lambda: len(tries) > 1)
    first.stop(SECONDS)
    assert committed(broker, "careful") == 0
    assert first.counts["taken"] == 0
    # The next one of the group gets them all, however the first one ended.
    second = kafka.Intake(where, collector.take_each)
    second.start()
    until(lambda: committed(broker, "careful") == 7)
    second.stop(SECONDS)
    assert collector.health()["events"] == 7
    assert 'spark_lineage_kafka_messages_total{outcome="taken"} 7' in second.lines()
    collector.close()


def test_where_it_is(tmp_path: Path) -> None:
    file = tmp_path / "kafka.json"
    file.write_text('{"group.id": "mine", "enable.auto.commit": true, "client.id": "c"}')
    told = kafka.source("a:1,b:2/topic", str(file))
    assert (told.brokers, told.topic, told.group) == ("a:1,b:2", "topic", "mine")
    # What would commit by itself is not taken over.
    assert told.config == {"client.id": "c"}
    for text in ("topic", "/topic", "a:1/", "kafka://a:1/topic"):
        with pytest.raises(ConfigError, match="--kafka"):
            kafka.source(text)
    for content in ("[]", "{"):
        file.write_text(content)
        with pytest.raises(ConfigError, match="--kafka-config"):
            kafka.source("a:1/t", str(file))
    if importlib.util.find_spec("confluent_kafka") is not None:
        wrong = kafka.Source("a:1", "t", config={"no.such.setting": "x"})
        with pytest.raises(ConfigError, match=r"no\.such\.setting"):
            kafka.Intake(wrong, len)
