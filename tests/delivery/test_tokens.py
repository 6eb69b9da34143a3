"""Tokens that expire: asked for, kept, and asked for again when the target refuses one."""

from __future__ import annotations

import base64
import json
import time
from urllib.parse import parse_qs

import pytest
from openlineage.client.transport.http import TokenProvider

from spark_lineage.delivery.spool import Spool
from spark_lineage.delivery.transports import openlineage, tokens
from spark_lineage.delivery.transports.base import UnsettledError
from spark_lineage.delivery.worker import Worker
from spark_lineage.errors import ConfigError, RejectedError, RetriableError
from tests.delivery.conftest import HttpTarget, reply
from tests.delivery.doubles import event

SECRET = "s3cr3t-w0rd"
LONG = 60.0


@pytest.fixture
def issuer():
    """A token endpoint: gives ``t1``, ``t2``, ... that live for an hour."""
    made = HttpTarget()
    made.life = 3600

    def give(handler):
        told = {"access_token": f"t{len(made.requests)}", "expires_in": made.life}
        reply(handler, 200, body=json.dumps(told).encode())

    made.answers = [give]
    yield made
    made.close()


def transport(http_target, **auth):
    section = {"type": "http", "url": http_target.url, "auth": auth}
    (target,) = openlineage.targets(section, 5.0)
    return target.transport


def oauth2(http_target, issuer, **more):
    return transport(
        http_target,
        type="oauth2",
        clientId="ann",
        clientSecret=SECRET,
        tokenEndpoint=issuer.url + "/token",
        **more,
    )


def bearers(http_target):
    return [headers["Authorization"] for _, headers, _ in http_target.requests]


def only(*allowed):
    """Takes what comes with one of these tokens."""

    def answer(handler):
        reply(handler, 201 if handler.headers["Authorization"] in allowed else 401)

    return answer


def test_oauth2_as_rfc_6749_says(http_target, issuer):
    sender = oauth2(http_target, issuer, scope="lineage")
    sender.send(event(1))
    sender.send(event(2))
    sender.close()
    ((path, headers, body),) = issuer.requests
    assert path == "/token"
    pair = base64.b64encode(f"ann:{SECRET}".encode()).decode()
    assert headers["Authorization"] == f"Basic {pair}"
    assert headers["Content-Type"] == "application/x-www-form-urlencoded"
    assert parse_qs(body.decode()) == {"grant_type": ["client_credentials"], "scope": ["lineage"]}
    assert bearers(http_target) == ["Bearer t1", "Bearer t1"]


def test_oauth2_with_the_secret_in_the_body(http_target, issuer):
    sender = oauth2(http_target, issuer, clientAuthMethod="client_secret_post")
    sender.send(event(1))
    sender.close()
    ((_, headers, body),) = issuer.requests
    assert "Authorization" not in headers
    assert parse_qs(body.decode()) == {
        "grant_type": ["client_credentials"],
        "client_id": ["ann"],
        "client_secret": [SECRET],
    }


def test_jwt_as_openlineage_asks_for_it(http_target, issuer):
    issuer.answers = [lambda h: reply(h, 200, body=b'{"token": "j", "expiresIn": 3600}')]
    sender = transport(
        http_target, type="jwt", apiKey=SECRET, token_endpoint=issuer.url, responseType="cloud_iam"
    )
    sender.send(event(1))
    sender.send(event(2))
    sender.close()
    ((_, _, body),) = issuer.requests
    assert parse_qs(body.decode()) == {
        "grant_type": ["urn:ietf:params:oauth:grant-type:jwt-bearer"],
        "response_type": ["cloud_iam"],
        "apikey": [SECRET],
    }
    assert bearers(http_target) == ["Bearer j", "Bearer j"]


def test_a_token_is_asked_for_again_before_it_expires(http_target, issuer):
    issuer.life = 100  # less than the 120 seconds before which it is asked for again
    sender = oauth2(http_target, issuer)
    sender.send(event(1))
    sender.send(event(2))
    sender.close()
    assert bearers(http_target) == ["Bearer t1", "Bearer t2"]


def test_the_time_before_can_be_set(http_target, issuer):
    issuer.life = 100
    sender = oauth2(http_target, issuer, tokenRefreshBuffer=10)
    sender.send(event(1))
    sender.send(event(2))
    sender.close()
    assert bearers(http_target) == ["Bearer t1", "Bearer t1"]


def test_a_token_that_is_refused_is_asked_for_again_once(http_target, issuer):
    http_target.answers = [only("Bearer t2", "Bearer t3")]
    sender = oauth2(http_target, issuer)
    sender.send(event(1))
    sender.send(event(2))
    assert bearers(http_target) == ["Bearer t1", "Bearer t2", "Bearer t2"]
    http_target.answers = [401]
    with pytest.raises(UnsettledError, match="HTTP 401"):
        sender.send(event(3))
    assert bearers(http_target)[3:] == ["Bearer t2", "Bearer t3"]
    sender.close()


def test_a_key_that_is_refused_is_not_tried_twice_and_the_event_waits(http_target, tmp_path):
    http_target.answers = [401]
    spool = Spool(tmp_path, "app")
    spool.put([event(1)])
    worker = Worker(spool, transport(http_target, type="api_key", apiKey=SECRET))
    worker.start()
    assert worker.flush(0.1) is False
    assert worker.counts()["attempts"] == len(http_target.requests)
    assert worker.counts()["dead"] == 0
    http_target.answers = [201]
    assert worker.flush(LONG)
    worker.close(LONG)


@pytest.mark.parametrize(
    "answer",
    [
        500,
        401,
        302,
        lambda handler: reply(handler, 200, body=b"no json " + SECRET.encode()),
        lambda handler: reply(handler, 200, body=b'{"other": "x"}'),
        lambda handler: reply(handler, 200, body=b"[]"),
    ],
    ids=["500", "401", "302", "garbage", "no-token", "list"],
)
def test_without_a_token_nothing_is_sent_and_nothing_told(http_target, issuer, answer):
    issuer.answers = [answer]
    sender = oauth2(http_target, issuer)
    with pytest.raises(RetriableError, match="no credentials") as caught:
        sender.send(event(1))
    sender.close()
    assert SECRET not in str(caught.value)
    assert http_target.requests == []
    assert len(issuer.requests) == 1


def test_a_token_endpoint_that_hangs_holds_nobody_past_the_deadline(http_target, issuer):
    issuer.answers = [lambda handler: issuer.released.wait(60)]
    sender = oauth2(http_target, issuer)
    began = time.monotonic()
    with pytest.raises(RetriableError, match="no credentials"):
        sender.send(event(1), timeout=0.3)
    assert time.monotonic() - began < LONG / 2
    sender.close()


def test_an_answer_that_repeats_the_token_is_kept_without_it(http_target, issuer):
    http_target.answers = [lambda handler: reply(handler, 422, body=b"Bearer t1 may not")]
    sender = oauth2(http_target, issuer)
    with pytest.raises(RejectedError) as caught:
        sender.send(event(1))
    assert caught.value.answer == "Bearer *** may not"
    sender.close()


def test_a_provider_of_the_librarys_is_made_anew(http_target):
    http_target.answers = [401, 201]
    sender = transport(http_target, type=f"{__name__}.Counting")
    sender.send(event(1))
    assert bearers(http_target) == ["Bearer p1", "Bearer p2"]
    sender.close()


def test_the_life_of_a_token_may_stand_in_it():
    claims = base64.urlsafe_b64encode(json.dumps({"exp": 4_000_000_000}).encode()).decode()
    assert tokens._expiry(f"x.{claims.rstrip('=')}.y") == 4_000_000_000
    assert tokens._expiry("opaque") == 0.0
    assert tokens._expiry("a.!.c") == 0.0


@pytest.mark.parametrize(
    ("auth", "key"),
    [
        ({"type": "jwt"}, "auth.apiKey"),
        ({"type": "jwt", "apiKey": SECRET}, "auth.tokenEndpoint"),
        ({"type": "oauth2"}, "auth.clientId"),
        ({"type": "oauth2", "clientId": "x"}, "auth.clientSecret"),
        (
            {"type": "oauth2", "clientId": "x", "clientSecret": SECRET, "clientAuthMethod": "z"},
            "auth.clientAuthMethod",
        ),
        ({"type": "no.such.Provider", "password": SECRET}, "auth.type"),
    ],
)
def test_what_is_missing_is_named(auth, key):
    with pytest.raises(ConfigError, match=key) as caught:
        tokens.create(auth)
    assert SECRET not in str(caught.value)


def test_no_authorization():
    assert tokens.create({}) is None


class Counting(TokenProvider):
    made = 0

    def __init__(self, config):
        super().__init__(config)
        Counting.made += 1
        self._bearer = f"Bearer p{Counting.made}"

    def get_bearer(self):
        return self._bearer
