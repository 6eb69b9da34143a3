"""Events transformed on their way; transports of the library, those of clouds among them."""

from __future__ import annotations

import gzip
import importlib.util
import json
import sys
import types

import pytest
from openlineage.client.transport import Config, Transport
from openlineage.client.transport.transform import EventTransformer

from spark_lineage.delivery.spool import Spool
from spark_lineage.delivery.transports import openlineage
from spark_lineage.delivery.transports.base import TooLargeError, UnsettledError
from spark_lineage.delivery.worker import Worker
from spark_lineage.errors import ConfigError, RejectedError, RetriableError
from spark_lineage.openlineage.events import EventBuilder
from tests.conftest import missing
from tests.delivery.conftest import reply
from tests.openlineage.samples import SUMMARY_LINEAGE, run

SECRET = "s3cr3t-w0rd"
LONG = 60.0
NAMESPACE = (
    "openlineage.client.transport.transform.transformers.job_namespace_replace_transformer"
    ".JobNamespaceReplaceTransformer"
)


def event():
    return EventBuilder().end(run(), SUMMARY_LINEAGE, "COMPLETE")


def targets(section):
    return openlineage.targets(section, 5.0)


def single(section):
    (target,) = targets(section)
    return target.transport


# --- transform


class Nothing(EventTransformer):
    def transform(self, event):
        return None


class Broken(EventTransformer):
    def transform(self, event):
        raise KeyError("x")


def transformed(http_target, transformer, properties=None):
    return {
        "type": "transform",
        "transformer_class": transformer,
        "transformer_properties": properties or {},
        "transport": {"type": "http", "url": http_target.url},
    }


def test_a_transformer_of_openlineages(http_target):
    sender = single(transformed(http_target, NAMESPACE, {"new_job_namespace": "prod"}))
    told = event()
    sender.send(told)
    sender.close()
    sent = json.loads(http_target.requests[0][2])
    assert sent["job"]["namespace"] == "prod"
    parent = sent["run"]["facets"]["parent"]
    assert parent["job"]["namespace"] == parent["root"]["job"]["namespace"] == "prod"
    # All else is as it was, the original too.
    assert told == event()
    sent["job"]["namespace"] = parent["job"]["namespace"] = "default"
    parent["root"]["job"]["namespace"] = "airflow"
    assert sent == told
    assert sender.description.endswith("/api/v1/lineage, through JobNamespaceReplaceTransformer")


def test_a_transformer_that_leaves_an_event_out(http_target, tmp_path):
    spool = Spool(tmp_path, "app")
    spool.put([event()])
    worker = Worker(spool, single(transformed(http_target, f"{__name__}.Nothing")))
    assert worker.close(LONG)
    assert http_target.requests == []


def test_a_transformer_that_fails_holds_nothing_for_ever(http_target, tmp_path):
    spool = Spool(tmp_path, "app")
    spool.put([event()])
    worker = Worker(spool, single(transformed(http_target, f"{__name__}.Broken")))
    worker.start()
    assert worker.flush(LONG)
    assert [letter.reason for letter in spool.dead()] == ["KeyError: 'x'"]
    worker.close(LONG)


def test_a_transform_of_several(http_target):
    section = transformed(http_target, f"{__name__}.Nothing")
    section["transport"] = {
        "type": "composite",
        "transports": {"a": {"type": "console"}, "b": section["transport"]},
    }
    assert [target.name for target in targets(section)] == ["a", "b"]


@pytest.mark.parametrize(
    "section",
    [
        {"type": "transform"},
        {"type": "transform", "transport": {"type": "console"}},
        {"type": "transform", "transport": {"type": "console"}, "transformer_class": "no.such.T"},
        {
            "type": "transform",
            "transport": {"type": "console"},
            "transformer_class": "json.JSONDecoder",
        },
        {"type": "transform", "transport": {"type": "console"}, "transformer_class": NAMESPACE},
    ],
)
def test_a_transform_that_is_none(section):
    with pytest.raises(ConfigError, match="transform"):
        single(section)


# --- of the library, by what they raise


class Given(Transport):
    """A transport of somebody's, that raises what it is told."""

    kind = "given"
    config_class = Config
    fault: Exception | None = None

    def __init__(self, config):
        self.emitted = []

    def emit(self, event):
        if Given.fault is not None:
            raise Given.fault
        self.emitted.append(event)

    def close(self, timeout=-1):
        return True


def error(**attributes):
    made = RuntimeError("told")
    for name, value in attributes.items():
        setattr(made, name, value)
    return made


def botocore(status):
    return error(response={"ResponseMetadata": {"HTTPStatusCode": status}})


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        (RuntimeError("no idea"), RetriableError),
        (botocore(400), RejectedError),
        (botocore(413), TooLargeError),
        (botocore(403), UnsettledError),
        (botocore(500), UnsettledError),
        (error(code=400), RejectedError),  # google.api_core
        (error(code=503), UnsettledError),
        (error(response=types.SimpleNamespace(status_code=422)), RejectedError),  # requests
    ],
)
def test_the_status_of_an_error_tells_what_became_of_the_event(monkeypatch, fault, expected):
    monkeypatch.setattr(Given, "fault", fault)
    sender = single({"type": f"{__name__}.Given"})
    with pytest.raises((RetriableError, RejectedError), match="RuntimeError: ") as caught:
        sender.send(event())
    assert type(caught.value) is expected
    sender.close()


def test_the_status_may_be_one_beneath(monkeypatch):
    outer = RuntimeError("wrapped")
    outer.__cause__ = botocore(422)
    monkeypatch.setattr(Given, "fault", outer)
    with pytest.raises(RejectedError):
        single({"type": f"{__name__}.Given"}).send(event())


def test_what_it_takes_is_delivered(monkeypatch):
    sender = single({"type": f"{__name__}.Given"})
    sender.send(event())
    (emitted,) = sender._transport.emitted
    assert emitted.run.facets["parent"].job.name == "app"


# --- clouds


def test_amazon_datazone(http_target, monkeypatch):
    if importlib.util.find_spec("boto3") is None:
        missing("boto3")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, SECRET)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    sender = single(
        {"type": "amazon_datazone_api", "domainId": "dzd-1", "endpointOverride": http_target.url}
    )
    told = event()
    http_target.answers = [
        lambda handler: reply(handler, 200, body=b'{"id": "x", "domainId": "dzd-1"}')
    ]
    sender.send(told)
    (path, _, body) = http_target.requests[0]
    assert path == "/v2/domains/dzd-1/lineage/events"
    plain = body if body[:1] != b"\x1f" else gzip.decompress(body)
    assert json.loads(plain) == told
    refusal = b'{"message": "no"}'
    headers = {"x-amzn-ErrorType": "ValidationException"}
    http_target.answers = [lambda handler: reply(handler, 400, headers, refusal)]
    with pytest.raises(RejectedError):
        sender.send(told)
    http_target.answers = [lambda handler: reply(handler, 403, {}, refusal)]
    with pytest.raises(UnsettledError) as caught:
        sender.send(told)
    assert "customer_summary" not in str(caught.value)  # the library's own error holds the event
    assert len(http_target.requests) == 3  # no retry of its own
    sender.close()


def test_datadog_is_http_with_a_key(http_target, monkeypatch):
    monkeypatch.delenv("DD_SITE", raising=False)
    sender = single({"type": "datadog", "apiKey": SECRET, "site": http_target.url})
    sender.send(event())
    (path, headers, body) = http_target.requests[0]
    assert path == "/api/v1/lineage"
    assert headers["Authorization"] == f"Bearer {SECRET}"
    assert json.loads(gzip.decompress(body)) == event()
    sender.close()
    known = single({"type": "datadog", "apiKey": SECRET, "site": "datadoghq.eu"})
    assert known.description == "https://data-obs-intake.datadoghq.eu/api/v1/lineage"
    known.close()
    monkeypatch.delenv("DD_API_KEY", raising=False)
    with pytest.raises(ConfigError, match="apiKey"):
        single({"type": "datadog"})


def test_gcp_lineage_is_asked_for_each_event(monkeypatch):
    """Google's client is not installed here: what the library calls of it, in its place."""
    calls = []

    class Client:
        def process_open_lineage_run_event(self, **told):
            calls.append(told)

    lineage = types.ModuleType("google.cloud.datacatalog_lineage_v1")
    lineage.LineageClient = Client
    lineage.LineageAsyncClient = None
    oauth2 = types.ModuleType("google.oauth2")
    oauth2.service_account = None
    struct = types.ModuleType("google.protobuf")
    monkeypatch.setitem(sys.modules, "google", types.ModuleType("google"))
    monkeypatch.setitem(sys.modules, "google.cloud", types.ModuleType("google.cloud"))
    monkeypatch.setitem(sys.modules, lineage.__name__, lineage)
    monkeypatch.setitem(sys.modules, oauth2.__name__, oauth2)
    monkeypatch.setitem(sys.modules, struct.__name__, struct)
    sender = single({"type": "gcplineage", "project_id": "p", "location": "eu"})
    sender.send(event())
    (call,) = calls
    assert "projects/p/locations/eu" in str(call)
    sender.close()


def test_async_http_is_http(http_target):
    sender = single({"type": "async_http", "url": http_target.url, "max_queue_size": 5})
    sender.send(event())
    assert len(http_target.requests) == 1
    sender.close()


@pytest.mark.parametrize("kind", ["kinesis", "s3", "gcs", "", "htp"])
def test_transports_that_only_java_has_are_refused_by_name(kind):
    with pytest.raises(ConfigError, match="http, kafka, file, console"):
        single({"type": kind})


def test_msk_needs_its_signer():
    if importlib.util.find_spec("confluent_kafka") is None:
        missing("confluent-kafka")
    with pytest.raises(ConfigError):
        single({"type": "msk-iam", "topic": "t", "config": {"bootstrap.servers": "127.0.0.1:9"}})


@pytest.mark.parametrize(
    "section", [{"type": "kafka"}, {"type": "kafka", "topic": "t"}, {"type": "kafka", "config": {}}]
)
def test_kafka_needs_a_topic_and_a_config(section):
    with pytest.raises(ConfigError, match="topic and config"):
        single(section)
