"""Which transport the settings mean, and in which order they are asked."""

from __future__ import annotations

import importlib.util
import json

import pytest

from spark_lineage import config
from spark_lineage.delivery import transports
from tests.conftest import missing
from tests.delivery.doubles import event

OPENLINEAGE = "spark.openlineage.transport."


@pytest.fixture(autouse=True)
def no_configuration(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def described(conf=None, environ=None, **options):
    settings = config.load(conf or {}, environ or {}, options)
    return transports.describe(settings, {"HOME": "/nowhere", **(environ or {})})


def test_a_section_as_json_or_as_a_dictionary():
    section = {"type": "http", "url": "http://h:1"}
    address = "http://h:1/api/v1/lineage"
    assert described({"spark.lineage.transport.config": json.dumps(section)}) == address
    assert described(environ={"SPARK_LINEAGE_TRANSPORT_CONFIG": json.dumps(section)}) == address
    assert described(transport_config=section) == address


def test_a_section_wins_over_single_keys():
    section = {"type": "http", "url": "http://section:1"}
    assert described(transport_config=section, transport_url="http://url:2").startswith(
        "http://section:1"
    )


def injected(**keys):
    return {OPENLINEAGE + key.replace("__", "."): value for key, value in keys.items()}


def test_what_a_scheduler_injects_in_full(http_target):
    conf = injected(
        type="http",
        url=http_target.url,
        endpoint="take/it",
        compression="gzip",
        timeoutInMillis="7000",
        auth__type="api_key",
        auth__apiKey="k",
        urlParams__team="data",
    )
    conf[OPENLINEAGE + "headers.X-Dotted.Name"] = "v"
    (target,) = transports.targets(config.load(conf, {}), {})
    target.transport.send(event(1))
    target.transport.close()
    (path, headers, _) = http_target.requests[0]
    assert path == "/take/it?team=data"
    assert headers["Authorization"] == "Bearer k"
    assert (headers["Content-Encoding"], headers["X-Dotted.Name"]) == ("gzip", "v")


def test_an_injected_composite():
    conf = injected(
        type="composite",
        transports__one__type="http",
        transports__one__url="http://one:1",
        transports__two__type="console",
    )
    found = transports.targets(config.load(conf, {}), {})
    assert [target.name for target in found] == ["one", "two"]
    for target in found:
        target.transport.close()
    assert described(conf) == "http://one:1/api/v1/lineage and console"


def test_an_injected_kafka_by_javas_names():
    if importlib.util.find_spec("confluent_kafka") is None:
        missing("confluent-kafka")
    conf = injected(type="kafka", topicName="events")
    conf[OPENLINEAGE + "properties.bootstrap.servers"] = "127.0.0.1:9"
    conf[OPENLINEAGE + "properties.key.serializer"] = "org.apache.kafka.StringSerializer"
    assert described(conf) == "Kafka topic events at 127.0.0.1:9"


def test_an_injected_file_by_javas_name(tmp_path):
    conf = injected(type="file", location=str(tmp_path / "x"))
    assert described(conf) == f"file {tmp_path / 'x'}"


@pytest.mark.parametrize(
    "own",
    [
        {"transport.url": "http://ours:2"},
        {"transport.type": "http", "transport.url": "http://ours:2"},
        {"transport.config": '{"type": "http", "url": "http://ours:2"}'},
    ],
)
def test_our_own_settings_win_over_injected_ones(own):
    conf = {"spark.lineage." + key: value for key, value in own.items()}
    conf |= injected(type="kafka", topicName="events")
    assert described(conf) == "http://ours:2/api/v1/lineage"


def test_injected_ones_win_over_the_environment():
    conf = injected(type="http", url="http://injected:1")
    assert described(conf, {"OPENLINEAGE_URL": "http://env:2"}).startswith("http://injected:1")


def test_a_url_alone_is_http():
    assert described(injected(url="http://injected:1")) == "http://injected:1/api/v1/lineage"
