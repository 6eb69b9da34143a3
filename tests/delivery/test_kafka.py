"""The Kafka transport against a real broker."""

from __future__ import annotations

import importlib.util
import json
import threading
import time

import pytest

from spark_lineage import config
from spark_lineage.delivery.dispatch import Delivery
from spark_lineage.delivery.transports import openlineage
from spark_lineage.delivery.transports.base import TooLargeError
from spark_lineage.delivery.transports.kafka import KafkaTransport, key_of
from spark_lineage.errors import ConfigError, RetriableError
from tests.conftest import missing
from tests.delivery.doubles import event
from tests.delivery.kafka.broker import Broker
from tests.support.ports import free_port
from tests.support.python import run_python

SECRET = "s3cr3t-w0rd"
SECONDS = 60.0


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    if importlib.util.find_spec("confluent_kafka") is None:
        missing("confluent-kafka")
    broker = Broker(tmp_path_factory.mktemp("kafka"))
    broker.start()
    yield broker
    broker.kill()


def section(servers, topic):
    # What openlineage-python's Kafka transport is configured by.
    return {"type": "kafka", "topic": topic, "config": {"bootstrap.servers": servers}}


def transport(servers, topic, **more):
    return KafkaTransport({"bootstrap.servers": servers}, topic, timeout=30.0, **more)


def run_event(number, state, job="etl"):
    return event(number, eventType=state, job={"namespace": "prod", "name": job})


def test_what_is_sent_is_there_with_openlineages_key(broker):
    (target,) = openlineage.targets(section(broker.servers, "sent"), 30.0)
    told = run_event(1, "START")
    target.transport.send(told)
    (message,) = broker.read("sent", 1)
    assert json.loads(message.value()) == told
    assert message.key() == b"run:prod/etl"
    assert target.transport.description == f"Kafka topic sent at {broker.servers}"
    target.transport.close()


def test_a_batch_keeps_the_order_of_its_runs(broker):
    kafka = transport(broker.servers, "ordered")
    events = [run_event(n, "START" if n % 2 == 0 else "COMPLETE", f"j{n // 2}") for n in range(20)]
    assert kafka.send_batch(events) == [None] * 20
    read = [json.loads(message.value()) for message in broker.read("ordered", 20)]
    assert sorted(told["number"] for told in read) == list(range(20))
    for job in range(10):
        states = [t["eventType"] for t in read if t["job"]["name"] == f"j{job}"]
        assert states == ["START", "COMPLETE"]
    kafka.close()


def test_a_key_that_is_configured(broker):
    kafka = transport(broker.servers, "keyed", key="mine")
    kafka.send(event(1))
    (message,) = broker.read("keyed", 1)
    assert message.key() == b"mine"
    kafka.close()


def test_too_large_for_the_client_and_for_the_broker(broker):
    text = "x" * (2 << 20)
    kafka = transport(broker.servers, "large")
    with pytest.raises(TooLargeError, match="Kafka"):
        kafka.send(event(1, text=text))
    kafka.close()
    generous = KafkaTransport(
        {"bootstrap.servers": broker.servers, "message.max.bytes": 8 << 20}, "large", timeout=30.0
    )
    with pytest.raises(TooLargeError, match="Kafka"):
        generous.send(event(1, text=text))
    # In a batch it ends what is settled: alone it will be made smaller.
    assert generous.send_batch([event(2), event(3, text=text), event(4)]) == [None]
    generous.close()


def test_a_broker_that_is_not_there_is_retriable_within_the_deadline():
    kafka = transport(f"127.0.0.1:{free_port()}", "nowhere")
    began = time.monotonic()
    with pytest.raises(RetriableError, match="Kafka"):
        kafka.send(event(1), timeout=0.5)
    assert time.monotonic() - began < SECONDS / 2
    kafka.close()


def test_what_was_given_up_is_not_delivered_later_by_the_client():
    """A send that failed has left the client's queue: only the worker sends it again."""
    port = free_port()
    kafka = transport(f"127.0.0.1:{port}", "given-up")
    with pytest.raises(RetriableError):
        kafka.send(event(1), timeout=0.3)
    assert len(kafka._producer) == 0
    kafka.close()


def test_an_outage_of_the_broker_delays_all_and_loses_none(tmp_path, broker):
    settings = config.load(
        {},
        {},
        {
            "transport_config": section(broker.servers, "outage"),
            "spool_dir": str(tmp_path / "spool"),
            "transport_timeout": "2s",
        },
    )
    delivery = Delivery(settings, "app", {})
    delivery.start()
    delivery.put([run_event(number, "START") for number in range(10)])
    assert delivery.flush(SECONDS)
    broker.kill()
    delivery.put([run_event(number, "START") for number in range(10, 60)])
    delivery.wake()
    assert delivery.flush(1.0) is False
    assert delivery.counts()["pending"] == 50
    broker.start()
    assert delivery.flush(SECONDS)
    assert delivery.close(SECONDS)
    read = [json.loads(m.value())["number"] for m in broker.read("outage", 60)]
    assert sorted(set(read)) == list(range(60))
    assert list(dict.fromkeys(read)) == list(range(60))  # one job: one partition, in order


def test_the_clients_log_stays_quiet_and_nothing_secret_is_shown(capfd, caplog):
    config_of_client = {
        "bootstrap.servers": f"127.0.0.1:{free_port()}",
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "ann",
        "sasl.password": SECRET,
    }
    kafka = KafkaTransport(config_of_client, "t", timeout=1.0)
    with pytest.raises(RetriableError) as caught:
        kafka.send(event(1))
    kafka.close()
    captured = capfd.readouterr()
    assert (captured.out, captured.err) == ("", "")
    told = [r.getMessage() for r in caplog.records if r.levelname != "DEBUG"]
    assert told == []
    assert SECRET not in str(caught.value) + kafka.description
    wrong = {**config_of_client, "no.such.property": "x"}
    with pytest.raises(ConfigError, match=r"no\.such\.property") as refused:
        KafkaTransport(wrong, "t")
    assert SECRET not in str(refused.value)


def test_a_forked_child_ends(tmp_path):
    done = run_python(
        f"""
        import os, sys, warnings
        warnings.simplefilter("ignore")
        from spark_lineage.delivery.transports.kafka import KafkaTransport
        kafka = KafkaTransport({{"bootstrap.servers": "127.0.0.1:{free_port()}"}}, "t")
        child = os.fork()
        if child == 0:
            del kafka
            sys.exit(0)
        print(os.waitpid(child, 0)[1])
        """
    )
    assert done.stdout.split() == ["0"], done.stderr


def test_key_of_parents():
    job = {"namespace": "prod", "name": "own"}
    parent = {"run": {"runId": "p"}, "job": {"namespace": "prod", "name": "parent"}}
    root = {"run": {"runId": "r"}, "job": {"namespace": "prod", "name": "root"}}
    assert key_of({"job": job, "run": {}}) == "run:prod/own"
    assert key_of({"job": job, "run": {"facets": {"parent": parent}}}) == "run:prod/parent"
    assert (
        key_of({"job": job, "run": {"facets": {"parent": {**parent, "root": root}}}})
        == "run:prod/root"
    )


def test_threads_that_wait_do_not_hold_the_interpreter():
    """Polling gives the interpreter's lock away."""
    kafka = transport(f"127.0.0.1:{free_port()}", "t")
    ticks = []

    def send():
        with pytest.raises(RetriableError):
            kafka.send(event(1), 1.0)

    thread = threading.Thread(target=send)
    thread.start()
    while thread.is_alive():
        ticks.append(1)
        time.sleep(0.01)
    assert len(ticks) > 5
    kafka.close()
