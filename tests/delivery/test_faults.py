"""What a collector can do wrong, and what becomes of the events: none is lost."""

from __future__ import annotations

import json
import socket
import time

import pytest

from spark_lineage import config
from spark_lineage.delivery.dispatch import Delivery
from tests.delivery.conftest import reply
from tests.delivery.doubles import event, numbers

LONG = 60.0


def black_hole(handler):
    time.sleep(1.0)  # longer than the post may take
    handler.close_connection = True


def byte_by_byte(handler):
    handler.close_connection = True
    for byte in b"HTTP/1.1 201 Created\r\nX-Slow: " + b"x" * 30:
        handler.wfile.write(bytes([byte]))
        handler.wfile.flush()
        time.sleep(0.03)


def garbage(handler):
    handler.wfile.write(b"\x00\xff\x00 no HTTP \r\n\r\n")
    handler.close_connection = True


def dies(handler):
    handler.connection.shutdown(socket.SHUT_RDWR)
    handler.close_connection = True


def with_headers(status, **headers):
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda handler: reply(handler, status, headers)


PASSING = {
    "500": 500,
    "502": 502,
    "503 Retry-After": with_headers(503, Retry_After="0"),
    "401": 401,
    "403": 403,
    "404": 404,
    "429": 429,
    "redirect": with_headers(302, Location="http://elsewhere.example/login"),
    "garbage": garbage,
    "dies in the middle of a post": dies,
    "black hole": black_hole,
    "byte by byte": byte_by_byte,
}


@pytest.fixture
def delivery(http_target, tmp_path):
    options = {
        "transport_url": http_target.url,
        "transport_timeout": "300ms",
        "spool_dir": str(tmp_path),
    }
    made = Delivery(config.load({}, {}, options), "app", {})
    made.start()
    yield made
    made.close(1.0)


@pytest.mark.parametrize("fault", PASSING)
def test_while_it_lasts_events_wait_and_then_all_arrive_in_order(http_target, delivery, fault):
    http_target.answers = http_target.batch_answers = [PASSING[fault]]
    told = [event(1, eventType="START", run={"runId": "a"}), event(2, run={"runId": "a"}), event(3)]
    delivery.put(told)
    delivery.wake()
    assert delivery.flush(0.4) is False
    counts = delivery.counts()
    assert (counts["pending"], counts["delivered"], counts["dead"]) == (3, 0, 0)
    assert counts["dropped"] == {}
    http_target.answers, http_target.batch_answers = [201], [404]
    start = len(http_target.requests)
    assert delivery.flush(LONG)
    posted = [json.loads(body)["number"] for _, _, body in http_target.requests[start:]]
    assert list(dict.fromkeys(posted)) == [1, 2, 3]
    counts = delivery.counts()
    assert (counts["pending"], counts["delivered"], counts["dead"]) == (0, 3, 0)


@pytest.mark.parametrize("status", [400, 410, 413, 415, 422])
def test_what_will_never_be_taken_is_kept_with_the_answer(http_target, delivery, status):
    refusal = b'{"message": "field x"}'
    http_target.answers = [lambda handler: reply(handler, status, body=refusal), 201]
    # With nothing in it that could be left out.
    delivery.put([{"number": 1}])
    delivery.wake()
    assert delivery.flush(LONG)
    delivery.put([{"number": 2}])
    delivery.wake()
    assert delivery.flush(LONG)
    (letter,) = delivery._spools[0].dead()
    assert (letter.event, letter.answer) == ({"number": 1}, refusal.decode())
    assert letter.reason.startswith(f"HTTP {status}")
    counts = delivery.counts()
    assert (counts["pending"], counts["delivered"], counts["dead"]) == (0, 1, 1)
    assert numbers([letter.event]) == [1]
