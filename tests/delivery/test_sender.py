"""Events that are too large, and events that the target never takes."""

from __future__ import annotations

import json
import logging

import pytest

from spark_lineage.delivery import sender
from spark_lineage.delivery import worker as module
from spark_lineage.delivery.spool import Spool
from spark_lineage.delivery.transports.base import TooLargeError, UnsettledError
from spark_lineage.delivery.transports.http import HttpTransport
from spark_lineage.delivery.worker import Worker
from spark_lineage.errors import RejectedError, RetriableError
from spark_lineage.openlineage.events import EventBuilder
from tests.delivery.conftest import reply
from tests.delivery.doubles import Target, event, numbers
from tests.openlineage.samples import SUMMARY_LINEAGE, run

LONG = 60.0


@pytest.fixture(autouse=True)
def hasty(monkeypatch):
    monkeypatch.setattr(module, "FIRST_PAUSE", 0.002)
    monkeypatch.setattr(module, "URGENT_PAUSE", 0.002)


class Picky(Target):
    """Raises what ``judge`` gives for an event, each time."""

    def __init__(self, judge):
        super().__init__()
        self.judge = judge

    def send(self, told, timeout=None):
        self.attempts.append(told.get("number"))
        fault = self.judge(told)
        if fault is not None:
            raise fault
        self.taken.append(told)


def deliver(tmp_path, target, *events):
    spool = Spool(tmp_path, "app")
    spool.put(list(events))
    worker = Worker(spool, target)
    worker.start()
    return spool, worker


# --- too large


def limited(size):
    return lambda handler: reply(
        handler, 413 if int(handler.headers["Content-Length"]) > size else 201
    )


def test_an_event_shrinks_until_it_is_taken(http_target, tmp_path, caplog):
    told = EventBuilder().end(run(sql="SELECT " + "x" * 50_000), SUMMARY_LINEAGE, "COMPLETE")
    told["run"]["facets"]["sparkLineage_plan"] = {"plan": "y" * 50_000}
    http_target.answers = [limited(20_000)]
    transport = HttpTransport(http_target.url + "/api/v1/lineage")
    _, worker = deliver(tmp_path, transport, told, event(2))
    assert worker.flush(LONG)
    taken = json.loads(http_target.requests[-2][2])
    quality = taken["run"]["facets"]["sparkLineage_quality"]
    assert quality["facetsDropped"] == ["sparkLineage_plan", "columnLineage.description", "sql"]
    assert taken["outputs"][0]["facets"]["columnLineage"]["fields"].keys() == {
        "customer_id",
        "total_amount",
        "customer_seq",
    }
    assert "sql" not in taken["job"]["facets"]
    counts = worker.counts()
    assert (counts["delivered"], counts["shrunk"], counts["dead"]) == (2, 1, 0)
    assert (
        "found lineage events too large, 1 so far; the last went without "
        "sparkLineage_plan, columnLineage.description, sql" in caplog.text
    )
    worker.close(LONG)
    assert list(tmp_path.iterdir()) == []


def test_one_that_is_too_large_whatever_is_left_out_is_a_dead_letter_as_it_was(tmp_path):
    whole = EventBuilder().end(run(), SUMMARY_LINEAGE, "COMPLETE")
    target = Picky(lambda told: TooLargeError("HTTP 413", "at most 10") if "run" in told else None)
    spool, worker = deliver(tmp_path, target, whole, {"number": 2})
    assert worker.flush(LONG)
    (letter,) = spool.dead()
    assert (letter.reason, letter.answer, letter.event) == ("HTTP 413", "at most 10", whole)
    assert numbers(target.taken) == [2]
    assert worker.counts()["shrunk"] == 0
    worker.close(LONG)


# --- never taken


def test_an_event_that_is_never_taken_does_not_hold_the_others(tmp_path, caplog):
    target = Picky(lambda told: UnsettledError("HTTP 500") if told["number"] == 1 else None)
    spool, worker = deliver(tmp_path, target, *(event(number) for number in range(4)))
    assert worker.flush(LONG)
    (letter,) = spool.dead()
    assert letter.event == event(1)
    assert letter.reason == "HTTP 500, 8 times, while the target takes other events"
    assert list(dict.fromkeys(numbers(target.taken))) == [0, 2, 3]
    assert target.attempts == [0, *[1] * sender.SUSPECT_ATTEMPTS, 2, 1, 2, 3]
    assert worker.counts()["dead"] == 1
    worker.close(LONG)


def test_a_target_that_is_down_blames_no_event(tmp_path):
    left = [UnsettledError("HTTP 500")] * 100

    def judge(told):
        return left.pop() if left else None

    target = Picky(judge)
    spool, worker = deliver(tmp_path, target, *(event(number) for number in range(4)))
    assert worker.flush(LONG)
    # One may be there twice: it was sent to find out, and again when it was its turn.
    assert set(numbers(target.taken)) == {0, 1, 2, 3}
    assert spool.dead() == []
    worker.close(LONG)


def test_a_target_that_comes_back_while_it_is_asked_blames_no_event(tmp_path):
    faults = [UnsettledError("HTTP 500")] * sender.SUSPECT_ATTEMPTS
    target = Picky(lambda told: faults.pop() if faults else None)
    spool, worker = deliver(tmp_path, target, *(event(number) for number in range(3)))
    assert worker.flush(LONG)
    assert spool.dead() == []
    # 1 was the question, 0 the answer; both go again in their order.
    assert target.attempts == [*[0] * sender.SUSPECT_ATTEMPTS, 1, 0, 0, 1, 2]
    worker.close(LONG)


def test_the_end_of_a_run_is_not_tried_before_its_start(tmp_path):
    """Not even to find out whose fault it is."""
    start = event(1, eventType="START", run={"runId": "same"})
    end = event(2, eventType="COMPLETE", run={"runId": "same"})
    attempts = []

    def judge(told):
        attempts.append(told["number"])
        return UnsettledError("HTTP 500") if len(attempts) <= 30 else None

    target = Picky(judge)
    spool, worker = deliver(tmp_path, target, start, end)
    assert worker.flush(LONG)
    assert attempts == [1] * 31 + [2]
    assert spool.dead() == []
    worker.close(LONG)


def test_one_that_is_busy_blames_no_event(tmp_path):
    faults = [RetriableError("HTTP 503", 0.0)] * 30
    target = Picky(lambda told: faults.pop() if faults and told["number"] == 1 else None)
    _, worker = deliver(tmp_path, target, event(1), event(2))
    assert worker.flush(LONG)
    assert numbers(target.taken) == [1, 2]
    worker.close(LONG)


def test_dead_letters_are_logged_once_then_once_a_minute(tmp_path, caplog):
    caplog.set_level(logging.INFO, "spark_lineage")
    target = Picky(lambda told: RejectedError("HTTP 422"))
    spool, worker = deliver(tmp_path, target, *(event(number) for number in range(50)))
    assert worker.flush(LONG)
    assert len(caplog.records) == 1
    assert spool.counts()["dead"] == 50
    worker.close(LONG)


# --- spools that others left


def test_a_spool_with_such_an_event_does_not_hold_other_spools(tmp_path):
    own = Spool(tmp_path, "own")
    poisoned, well = Spool(tmp_path, "poisoned"), Spool(tmp_path, "well")
    poisoned.put([event(1)])
    well.put([event(2), event(3)])
    target = Picky(lambda told: UnsettledError("HTTP 500") if told["number"] == 1 else None)
    worker = Worker(own, target, lambda lost: [poisoned, well])
    worker.start()
    assert worker.flush(0.5, everything=True) is False
    assert numbers(target.taken) == [2, 3]
    worker.close(LONG)
