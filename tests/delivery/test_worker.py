from __future__ import annotations

import logging
import threading
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spark_lineage.delivery import log, sender
from spark_lineage.delivery import worker as module
from spark_lineage.delivery.spool import Spool, adopt
from spark_lineage.delivery.worker import Worker
from spark_lineage.errors import RejectedError, RetriableError
from tests.delivery.doubles import Target, event, numbers

LONG = 30.0  # no test waits this long unless something is broken


@pytest.fixture
def spool(tmp_path):
    return Spool(tmp_path / "spool", "app")


@pytest.fixture
def hasty(monkeypatch):
    """Retries follow at once."""
    monkeypatch.setattr(module, "FIRST_PAUSE", 0.005)
    monkeypatch.setattr(module, "LONGEST_PAUSE", 0.02)


def running(spool, target):
    worker = Worker(spool, target)
    worker.start()
    return worker


def put(worker, spool, *events):
    spool.put(list(events))
    worker.wake()


def test_delivers_in_order_and_removes_what_was_taken(spool, target, tmp_path):
    worker = running(spool, target)
    put(worker, spool, event(1), event(2))
    put(worker, spool, event(3))
    assert worker.flush(LONG) is True
    assert numbers(target.taken) == [1, 2, 3]
    assert worker.counts() == {
        "delivered": 3,
        "pending": 0,
        "dead": 0,
        "dropped": {},
        "attempts": 3,
        "failed": 0,
        "shrunk": 0,
    }
    assert worker.close(LONG) is True
    assert target.closed == 1
    assert list((tmp_path / "spool").iterdir()) == []


def test_a_start_is_parked_before_its_end(spool, target, hasty):
    target.faults = [RetriableError("HTTP 500"), RetriableError("HTTP 500"), None]
    worker = running(spool, target)
    put(worker, spool, event(1), event(2, eventType="COMPLETE"))
    assert worker.flush(LONG)
    assert target.attempts == [1, 1, 1, 2]
    worker.close(LONG)


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(faults=st.lists(st.sampled_from(["ok", "retry", "reject", "surprise"]), max_size=12))
def test_order_holds_whatever_the_target_answers(tmp_path_factory, faults):
    kinds = {
        "ok": lambda: None,
        "retry": lambda: RetriableError("later", retry_after=0.0),
        "reject": lambda: RejectedError("HTTP 422"),
        "surprise": lambda: ValueError("a fault of ours"),
    }
    target = Target()
    target.faults = [kinds[name]() for name in faults]
    spool = Spool(tmp_path_factory.mktemp("spool"), "app")
    spool.put([event(number) for number in range(8)])
    worker = Worker(spool, target)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "FIRST_PAUSE", 0.001)
        patch.setattr(module, "URGENT_PAUSE", 0.001)
        worker.start()
        assert worker.flush(LONG)
    dead = numbers([letter.event for letter in spool.dead()])
    taken = numbers(target.taken)
    assert taken == sorted(taken)
    assert dead == sorted(dead)
    assert sorted(taken + dead) == list(range(8))
    assert target.attempts == sorted(target.attempts)
    worker.close(LONG)


def test_a_refused_event_is_a_dead_letter_and_the_next_goes_on(spool, target, caplog):
    target.faults = [RejectedError("HTTP 422", "field x")]
    worker = running(spool, target)
    put(worker, spool, event(1), event(2))
    assert worker.flush(LONG)
    assert numbers(target.taken) == [2]
    (letter,) = spool.dead()
    assert (letter.reason, letter.answer, letter.event) == ("HTTP 422", "field x", event(1))
    assert "refused lineage events, 1 so far (HTTP 422)" in caplog.text
    worker.close(LONG)


def test_an_event_that_breaks_our_transport_does_not_block_the_rest(spool, target, hasty):
    target.faults = [KeyError("x")] * sender.UNEXPECTED_LIMIT
    worker = running(spool, target)
    put(worker, spool, event(1), event(2))
    assert worker.flush(LONG)
    assert target.attempts == [1] * sender.UNEXPECTED_LIMIT + [2]
    assert [letter.reason for letter in spool.dead()] == ["KeyError: 'x'"]
    worker.close(LONG)


def test_retry_after_is_honoured(spool, target, monkeypatch):
    monkeypatch.setattr(module, "FIRST_PAUSE", 0.001)
    monkeypatch.setattr(module, "URGENT_PAUSE", 0.001)
    target.faults = [RetriableError("HTTP 503", retry_after=0.5)]
    worker = running(spool, target)
    began = time.monotonic()
    put(worker, spool, event(1))
    assert worker.flush(LONG)  # does not hurry what the target asked for
    assert time.monotonic() - began >= 0.5
    assert target.attempts == [1, 1]
    worker.close(LONG)


def test_flush_hurries_a_back_off(spool, target, monkeypatch):
    monkeypatch.setattr(module, "FIRST_PAUSE", 600.0)
    monkeypatch.setattr(module, "LONGEST_PAUSE", 600.0)
    target.faults = [RetriableError("refused")]
    worker = running(spool, target)
    put(worker, spool, event(1))
    assert target.entered.wait(LONG)
    assert worker.flush(LONG)
    assert numbers(target.taken) == [1]
    worker.close(LONG)


def test_a_new_event_does_not_hurry_a_back_off(spool, target, monkeypatch):
    monkeypatch.setattr(module, "FIRST_PAUSE", 600.0)
    monkeypatch.setattr(module, "LONGEST_PAUSE", 600.0)
    target.always = RetriableError("refused")
    worker = running(spool, target)
    put(worker, spool, event(1))
    assert target.entered.wait(LONG)
    for number in range(2, 20):
        put(worker, spool, event(number))
        time.sleep(0.005)
    assert target.attempts == [1]
    target.always = None
    assert worker.close(LONG)


def test_back_off_grows_to_a_limit_with_jitter(spool, target):
    worker = Worker(spool, target)
    worker._failures = 1
    first = {worker._back_off() for _ in range(50)}
    worker._failures = 4
    fourth = {worker._back_off() for _ in range(50)}
    worker._failures = 10_000
    last = {worker._back_off() for _ in range(50)}
    assert all(0.25 <= pause <= 0.5 for pause in first)
    assert all(2.0 <= pause <= 4.0 for pause in fourth)
    assert all(30.0 <= pause <= 60.0 for pause in last)
    assert len(first) > 10
    worker.close(0)


@pytest.mark.parametrize("method", ["flush", "close"])
def test_a_hanging_target_holds_nobody_past_the_deadline(spool, target, method, tmp_path):
    target.gate.clear()
    worker = running(spool, target)
    put(worker, spool, event(1))
    assert target.entered.wait(LONG)
    began = time.monotonic()
    assert getattr(worker, method)(0.2) is False
    assert 0.2 <= time.monotonic() - began < LONG / 2
    target.gate.set()
    assert worker.close(LONG) is True
    assert numbers(target.taken) == [1]


def test_after_a_close_in_the_middle_of_a_post_the_thread_lets_go(spool, target, tmp_path):
    target.gate.clear()
    worker = running(spool, target)
    put(worker, spool, event(1))
    assert target.entered.wait(LONG)
    assert worker.close(0.05) is False
    target.gate.set()
    deadline = time.monotonic() + LONG
    while not target.closed and time.monotonic() < deadline:
        time.sleep(0.01)
    assert target.closed == 1
    assert list((tmp_path / "spool").iterdir()) == []


def test_what_is_left_at_close_waits_for_the_next(spool, target, tmp_path):
    target.always = RetriableError("refused")
    worker = running(spool, target)
    put(worker, spool, event(1), event(2))
    assert worker.close(0.05) is False
    assert worker.counts()["pending"] == 2
    deadline = time.monotonic() + LONG
    while not target.closed and time.monotonic() < deadline:
        time.sleep(0.01)
    (orphan,) = adopt(tmp_path / "spool")
    second = Target()
    after = running(Spool(tmp_path / "spool", "other"), second)
    after.take_over(orphan)
    deadline = time.monotonic() + LONG
    while len(second.taken) < 2 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert numbers(second.taken) == [1, 2]
    after.close(LONG)
    assert list((tmp_path / "spool").iterdir()) == []


def test_our_own_events_go_before_those_of_others(spool, target, tmp_path):
    left = Spool(tmp_path / "spool", "left")
    left.put([event(10), event(11)])
    target.gate.clear()
    worker = running(spool, target)
    worker.take_over(left)
    assert target.entered.wait(LONG)  # 10 is under way
    put(worker, spool, event(1), event(2))
    target.gate.set()
    assert worker.flush(LONG)
    deadline = time.monotonic() + LONG
    while len(target.taken) < 4 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert numbers(target.taken) == [10, 1, 2, 11]
    worker.close(LONG)


@pytest.mark.parametrize("started", [True, False])
def test_flush_of_everything_waits_for_what_was_taken_over(spool, target, tmp_path, started):
    left = Spool(tmp_path / "spool", "left")
    left.put([event(10), event(11)])
    worker = Worker(spool, target)
    worker.take_over(left)
    if started:
        worker.start()
    assert worker.flush(LONG, everything=True)
    assert numbers(target.taken) == [10, 11]
    worker.close(LONG)
    assert list((tmp_path / "spool").iterdir()) == []


def test_taking_over_after_the_end_gives_it_back(spool, target, tmp_path):
    left = Spool(tmp_path / "spool", "left")
    left.put([event(10)])
    worker = running(spool, target)
    worker.close(LONG)
    worker.take_over(left)
    (again,) = adopt(tmp_path / "spool")
    again.close()


def test_without_a_thread_flush_delivers_within_its_deadline(spool, target, monkeypatch):
    def refuse(self):
        raise RuntimeError("can't create new thread at interpreter shutdown")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    worker = running(spool, target)
    put(worker, spool, event(1), event(2))
    assert target.taken == []
    assert worker.flush(LONG) is True
    assert numbers(target.taken) == [1, 2]
    assert all(timeout is not None and timeout <= LONG for timeout in target.timeouts)
    target.always = RetriableError("refused")
    put(worker, spool, event(3))
    began = time.monotonic()
    assert worker.flush(0.3) is False
    assert 0.3 <= time.monotonic() - began < LONG / 2
    assert worker.close(0.05) is False


def test_a_worker_that_was_never_started_delivers_at_close(spool, target):
    spool.put([event(1)])
    assert Worker(spool, target).close(LONG) is True
    assert numbers(target.taken) == [1]


def test_start_twice_is_one_thread(spool, target):
    worker = running(spool, target)
    worker.start()
    names = [thread.name for thread in threading.enumerate()]
    assert names.count("spark-lineage-delivery") == 1
    assert all(t.daemon for t in threading.enumerate() if t.name == "spark-lineage-delivery")
    worker.close(LONG)
    worker.close(LONG)
    worker.start()
    assert "spark-lineage-delivery" not in [thread.name for thread in threading.enumerate()]


def test_failures_are_logged_once_then_once_a_minute(spool, target, hasty, monkeypatch, caplog):
    caplog.set_level(logging.INFO, "spark_lineage")
    target.faults = [RetriableError("refused")] * 10
    worker = running(spool, target)
    put(worker, spool, event(1))
    assert worker.flush(LONG)
    texts = [record.getMessage() for record in caplog.records]
    assert texts == [
        "lineage events cannot be delivered to the test (refused); they wait in "
        f"{spool.path} until they can",
        "lineage events are delivered to the test again",
    ]
    caplog.clear()
    monkeypatch.setattr(log, "SUMMARY_SECONDS", 0.0)
    target.faults = [RetriableError("refused")] * 3
    put(worker, spool, event(2))
    assert worker.flush(LONG)
    texts = [record.getMessage() for record in caplog.records]
    assert len(texts) == 4
    assert texts[1].endswith("could not be delivered to the test (refused); 1 wait")
    worker.close(LONG)


def test_a_fault_of_the_spool_does_not_end_the_thread(spool, target, hasty):
    real, failing = spool.head, [True]

    def head():
        if failing:
            raise OSError("no space left on device")
        return real()

    spool.head = head
    worker = running(spool, target)
    put(worker, spool, event(1))
    time.sleep(0.05)
    failing.clear()
    assert worker.flush(LONG)
    assert numbers(target.taken) == [1]
    worker.close(LONG)
