"""Credentials of transports: sent where they belong, and in no log, text or file."""

from __future__ import annotations

import http.client
import json
import logging

import pytest

from spark_lineage import config
from spark_lineage.delivery import transports
from spark_lineage.delivery.dispatch import Delivery
from spark_lineage.delivery.transports import openlineage
from spark_lineage.errors import ConfigError
from tests.delivery.conftest import HttpTarget, reply
from tests.delivery.doubles import event

LONG = 60.0


def secrets():
    return [f"s3cr3t-{number:02d}" for number in range(12)]


@pytest.fixture
def elsewhere():
    """Repeats all that it is sent, and refuses it."""
    made = HttpTarget()

    def echo(handler):
        told = {"you sent": dict(handler.headers), "to": handler.path.partition("?")[0]}
        reply(handler, 422, body=json.dumps(told).encode())

    made.answers = [echo]
    yield made
    made.close()


def test_no_byte_of_them_is_logged_printed_or_spooled(
    http_target, elsewhere, tmp_path, caplog, capfd, monkeypatch
):
    """Planted in each place; all loggers on, of other libraries too, and HTTP's own debugging."""
    caplog.set_level(logging.DEBUG)
    for name in ("urllib3", "requests", "openlineage"):
        caplog.set_level(logging.DEBUG, name)
    monkeypatch.setattr(http.client.HTTPConnection, "debuglevel", 1)
    key, user, query, client, in_conf, refused_key, refused_query, archive = secrets()[:8]
    token_endpoint = HttpTarget()
    token_endpoint.answers = [
        lambda h: reply(h, 200, body=json.dumps({"access_token": key, "expires_in": 900}).encode())
    ]
    with_user = http_target.url.replace("http://", f"http://ann:{user}@")
    section = {
        "type": "composite",
        "transports": {
            "basic": {"type": "http", "url": with_user, "endpoint": f"x?key={query}"},
            "token": {
                "type": "http",
                "url": http_target.url,
                "auth": {
                    "type": "oauth2",
                    "clientId": "ann",
                    "clientSecret": client,
                    "tokenEndpoint": token_endpoint.url,
                },
            },
            "refused": {
                "type": "http",
                "url": elsewhere.url,
                "urlParams": {"key": refused_query},
                "auth": {"type": "api_key", "apiKey": refused_key},
            },
            "dead": {"type": "http", "url": f"http://ann:{in_conf}@127.0.0.1:9/?k={in_conf}"},
            "unknown": {"type": "http", "url": f"http://ann:{in_conf}@no.invalid/?k={in_conf}"},
        },
    }
    settings = config.load(
        {},
        {},
        {
            "transport_config": section,
            "spool_dir": str(tmp_path / "spool"),
            "spool_archive": f"nosuch://ann:{archive}@x/y",
        },
    )
    delivery = Delivery(settings, "app", {})
    delivery.start()
    delivery.put([event(1), event(2)])
    delivery.wake()
    delivery.flush(1.5)
    shown = [repr(settings), delivery.description, json.dumps(delivery.counts())]
    shown.append(transports.describe(settings, {}))
    delivery.close(1.0)
    token_endpoint.close()

    # They went where they belong ...
    sent = [headers.get("Authorization", "") for _, headers, _ in http_target.requests]
    assert f"Bearer {key}" in sent
    assert any(header.startswith("Basic ") for header in sent)
    assert any(f"key={query}" in path for path, _, _ in http_target.requests)
    assert elsewhere.requests[0][1]["Authorization"] == f"Bearer {refused_key}"
    # ... and nowhere else.
    captured = capfd.readouterr()
    shown += [captured.out, captured.err]
    shown += [f"{record.getMessage()} {record.exc_text}" for record in caplog.records]
    kept = b"".join(p.read_bytes() for p in (tmp_path / "spool").iterdir())
    assert b"you sent" in kept  # the dead letters hold the answer
    everything = "\n".join(shown) + kept.decode("latin-1")
    found = [secret for secret in secrets() if secret in everything]
    assert found == []


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("spark.lineage.transport.config", '{"type": "http", "password": "s3cr3t-00"'),
        ("spark.lineage.transport.config", '["s3cr3t-00"]'),
        ("SPARK_LINEAGE_TRANSPORT_CONFIG", "s3cr3t-00"),
        ("spark.lineage.transport.url", "ftp://ann:s3cr3t-00@host"),
    ],
)
def test_a_wrong_setting_does_not_show_its_secret(key, value):
    conf, environ = ({key: value}, {}) if key.startswith("spark") else ({}, {key: value})
    with pytest.raises(ConfigError, match=r"a JSON object with a type|an http or https") as caught:
        config.load(conf, environ)
    assert "s3cr3t" not in str(caught.value)


def test_settings_are_shown_without_credentials():
    shown = repr(
        config.load(
            {
                "spark.openlineage.transport.type": "http",
                "spark.openlineage.transport.k": "s3cr3t",
            },
            {},
            {
                "transport_url": "http://ann:s3cr3t@host:1/x",
                "transport_api_key": "s3cr3t",
                "spool_archive": "s3://key:s3cr3t@bucket/x",
            },
        )
    )
    assert "http://***@host:1/x" in shown
    assert "s3cr3t" not in shown


@pytest.mark.parametrize(
    "section",
    [
        {"type": "http", "auth": {"type": "api_key", "apiKey": "s3cr3t-00"}},
        {"type": "kafka", "config": {"sasl.password": "s3cr3t-00"}},
        {"type": "transform", "transport": "s3cr3t-00"},
        {"type": "composite", "transports": []},
        {"type": "nosuch", "apiKey": "s3cr3t-00"},
        {"type": "datadog", "apikey": "s3cr3t-00", "site": "nosuch"},
        {"type": "http", "url": "http://x", "auth": {"type": "jwt", "apiKey": "s3cr3t-00"}},
    ],
)
def test_a_wrong_section_does_not_show_its_secret(section):
    with pytest.raises(ConfigError) as caught:
        openlineage.targets(section, 5.0)
    assert "s3cr3t" not in str(caught.value)
