"""Several events at once, to a target that answers as OpenLineage's specification says."""

from __future__ import annotations

import json

import pytest

from spark_lineage.delivery import sender
from spark_lineage.delivery import worker as module
from spark_lineage.delivery.spool import Spool
from spark_lineage.delivery.transports.base import UnsettledError
from spark_lineage.delivery.transports.batch import verdicts
from spark_lineage.delivery.transports.http import HttpTransport
from spark_lineage.delivery.worker import Worker
from spark_lineage.errors import RetriableError
from tests.delivery.conftest import reply
from tests.delivery.doubles import event, numbers

PATH = "/api/v1/lineage"
LONG = 60.0


def answer(received, *failed, status=200):
    """The specification's answer; ``failed`` are (index, reason, retriable)."""
    body = {
        "status": "partial_success" if failed else "success",
        "summary": {
            "received": received,
            "successful": received - len(failed),
            "failed": len(failed),
            "retriable": sum(retriable for _, _, retriable in failed),
            "non_retriable": sum(not retriable for _, _, retriable in failed),
        },
        "failed_events": [
            {"index": index, "reason": reason, "retriable": retriable}
            for index, reason, retriable in failed
        ],
    }
    return lambda handler: reply(handler, status, body=json.dumps(body).encode())


def singles(http_target):
    return [json.loads(body)["number"] for _, _, body in http_target.requests]


def batches(http_target):
    return [numbers(batch) for batch in http_target.batches]


def deliver(http_target, tmp_path, count):
    spool = Spool(tmp_path, "app")
    spool.put([event(number) for number in range(count)])
    worker = Worker(spool, HttpTransport(http_target.url + PATH))
    worker.start()
    assert worker.flush(LONG)
    dead = [(x.event["number"], x.reason, x.answer) for x in spool.dead()]
    counts = worker.counts()
    worker.close(LONG)
    return dead, counts


@pytest.fixture
def hasty(monkeypatch):
    monkeypatch.setattr(module, "FIRST_PAUSE", 0.005)
    monkeypatch.setattr(module, "URGENT_PAUSE", 0.005)


def test_all_that_waits_goes_at_once(http_target, tmp_path):
    http_target.batch_answers = [answer(100), answer(100), answer(50)]
    dead, counts = deliver(http_target, tmp_path, 250)
    assert batches(http_target) == [
        list(range(100)),
        list(range(100, 200)),
        list(range(200, 250)),
    ]
    assert singles(http_target) == []
    assert dead == []
    assert (counts["delivered"], counts["attempts"]) == (250, 3)


def test_204_is_a_success_too(http_target, tmp_path):
    http_target.batch_answers = [204]
    deliver(http_target, tmp_path, 10)
    assert batches(http_target) == [list(range(10))]
    assert singles(http_target) == []


def test_a_single_event_is_no_batch(http_target, tmp_path):
    deliver(http_target, tmp_path, 1)
    assert (batches(http_target), singles(http_target)) == ([], [0])


@pytest.mark.parametrize("status", [200, 201, 207, 302, 400, 403, 404, 405, 415, 422, 501], ids=str)
def test_a_target_without_batches_is_asked_once(http_target, tmp_path, status):
    """Also one that says 200 to whatever it is sent: it has not got the events."""
    http_target.batch_answers = [status]
    deliver(http_target, tmp_path, 120)
    assert len(batches(http_target)) == 1
    assert singles(http_target) == list(range(120))


def test_another_answer_than_the_specifications_is_no_delivery(http_target, tmp_path):
    http_target.batch_answers = [lambda handler: reply(handler, 200, body=b'{"events": 10}')]
    deliver(http_target, tmp_path, 10)
    assert singles(http_target) == list(range(10))


def test_a_summary_that_does_not_add_up_is_no_delivery(http_target, tmp_path):
    http_target.batch_answers = [answer(7)]
    deliver(http_target, tmp_path, 10)
    assert singles(http_target) == list(range(10))


def test_failed_events_become_dead_letters_with_their_reason(http_target, tmp_path):
    http_target.batch_answers = [answer(10, (3, "no such field", False), (9, "bad", False))]
    dead, counts = deliver(http_target, tmp_path, 10)
    assert dead == [
        (3, "refused in a batch", "no such field"),
        (9, "refused in a batch", "bad"),
    ]
    assert counts["delivered"] == 8


def test_what_follows_a_retriable_event_is_repeated_after_it(http_target, tmp_path, hasty):
    """Else the start of a run could be told after its end."""
    http_target.batch_answers = [
        answer(10, (1, "bad", False), (4, "locked", True)),
        answer(5, (0, "locked", True)),
        answer(4),
    ]
    dead, counts = deliver(http_target, tmp_path, 10)
    assert batches(http_target)[0] == list(range(10))
    assert singles(http_target)[0] == 4
    assert [number for number, _, _ in dead] == [1]
    assert counts["delivered"] == 9
    # In the order in which the target took them last, all are in order.
    assert batches(http_target)[1] == [5, 6, 7, 8]


def test_a_batch_that_is_too_large_goes_in_parts(http_target, tmp_path):
    def limited(handler):
        events = http_target.batches[-1]
        if len(events) > 20:
            reply(handler, 413)
        else:
            answer(len(events))(handler)

    http_target.batch_answers = [limited]
    deliver(http_target, tmp_path, 100)
    delivered = [n for batch in batches(http_target) if len(batch) <= 20 for n in batch]
    assert sorted(delivered + singles(http_target)) == list(range(100))


def test_a_batch_is_bounded_by_bytes(http_target, tmp_path, monkeypatch):
    monkeypatch.setattr(sender, "BATCH_BYTES", 5_000)
    http_target.batch_answers = [204]
    spool = Spool(tmp_path, "app")
    spool.put([event(number, text="x" * 1_000) for number in range(12)])
    worker = Worker(spool, HttpTransport(http_target.url + PATH))
    assert worker.close(LONG)
    assert batches(http_target) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]


def test_an_outage_is_no_answer_to_the_question(http_target, tmp_path, hasty):
    http_target.answers = [503, 503, 201]
    http_target.batch_answers = [502, answer(49)]
    spool = Spool(tmp_path, "app")
    spool.put([event(number) for number in range(50)])
    worker = Worker(spool, HttpTransport(http_target.url + PATH))
    worker.start()
    assert worker.flush(LONG)
    assert len(batches(http_target)) >= 2
    assert worker.counts()["delivered"] == 50
    worker.close(LONG)


def test_a_black_hole_for_batches_only_does_not_hold_the_queue(http_target, tmp_path, hasty):
    http_target.batch_answers = [lambda handler: http_target.released.wait(60)]
    spool = Spool(tmp_path, "app")
    spool.put([event(number) for number in range(200)])
    worker = Worker(spool, HttpTransport(http_target.url + PATH, timeout=0.5))
    worker.start()
    assert worker.flush(LONG)
    assert singles(http_target) == list(range(200))
    assert len(batches(http_target)) == 3
    worker.close(LONG)


def test_a_slow_target_gets_as_many_as_it_can_take(http_target, tmp_path, hasty):
    """As one that needs a while for each event: whole batches would never be in time."""

    def slow(handler):
        events = http_target.batches[-1]
        if len(events) > 10:
            http_target.released.wait(60)
        else:
            answer(len(events))(handler)

    http_target.batch_answers = [answer(100), slow]
    spool = Spool(tmp_path, "app")
    spool.put([event(number) for number in range(200)])
    worker = Worker(spool, HttpTransport(http_target.url + PATH, timeout=0.3))
    worker.start()
    assert worker.flush(LONG)
    late = [batch for batch in batches(http_target) if len(batch) > 10]
    assert len(late) < 12  # the first, halves of it until it fits, and now and then one too many
    worker.close(LONG)


def test_a_first_event_to_repeat_is_retriable(http_target):
    http_target.batch_answers = [answer(2, (0, "locked", True))]
    transport = HttpTransport(http_target.url + PATH)
    with pytest.raises(UnsettledError, match="first event of a batch"):
        transport.send_batch([event(0), event(1)])
    transport.close()


def test_busy_is_retriable_with_its_time(http_target):
    http_target.batch_answers = [lambda handler: reply(handler, 429, {"Retry-After": "7"})]
    transport = HttpTransport(http_target.url + PATH)
    with pytest.raises(RetriableError) as caught:
        transport.send_batch([event(0), event(1)])
    assert caught.value.retry_after == 7.0
    assert transport.most > 1
    transport.close()


def test_the_batch_goes_beside_the_endpoint_with_its_query(http_target):
    transport = HttpTransport(http_target.url + "/take/it?team=data", compress=True)
    http_target.batch_answers = [204]
    # `HttpTarget` tells a batch by the end of the path, which the query would hide.
    assert transport.send_batch([event(0), event(1)]) == []
    (path, headers, _) = http_target.requests[0]
    assert path == "/take/it/batch?team=data"
    assert headers["Content-Encoding"] == "gzip"
    transport.close()


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (200, ""),
        (200, "[]"),
        (200, "{}"),
        (200, '{"summary": {"received": 2, "failed": 1}}'),
        (200, '{"summary": {"received": 2, "failed": 1}, "failed_events": [{"index": 2}]}'),
        (200, '{"summary": {"received": 2, "failed": 1}, "failed_events": [{"index": "x"}]}'),
        (201, '{"summary": {"received": 2, "failed": 0}}'),
    ],
)
def test_what_is_no_answer_of_the_specification(status, body):
    assert verdicts(status, body, 2) is None
