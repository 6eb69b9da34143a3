"""The whole way to a real collector: what waited through an outage is there, once."""

from __future__ import annotations

import threading

import pytest
import requests

from spark_lineage import config
from spark_lineage.collector.server import running
from spark_lineage.delivery.dispatch import Delivery
from spark_lineage.lineage.model import Lineage
from spark_lineage.openlineage.events import EventBuilder
from tests.delivery.conftest import HttpTarget, reply
from tests.openlineage.samples import SUMMARY_LINEAGE, run

LONG = 120.0
RUNS = 500


def events(count):
    """START and COMPLETE of many runs."""
    builder = EventBuilder()
    for number in range(count):
        this = run(
            run_id=f"018c2f1e-0000-7000-8000-{number:012x}",
            start_time=1_700_000_000_000 + number * 10,
            end_time=1_700_000_000_005 + number * 10,
        )
        yield builder.start(this, Lineage((), ()))
        yield builder.end(this, SUMMARY_LINEAGE, "COMPLETE")


@pytest.fixture
def delivery(tmp_path):
    made = []

    def make(url):
        settings = config.load({}, {}, {"transport_url": url, "spool_dir": str(tmp_path / "spool")})
        made.append(Delivery(settings, "app", {}))
        made[-1].start()
        return made[-1]

    yield make
    for each in made:
        each.close(1.0)


def runs_of(url):
    answer = requests.get(url + "/api/v1/runs", params={"limit": 1000}, timeout=60)
    return answer.json()["runs"]


def test_a_thousand_events_that_waited_arrive_once_each(delivery, tmp_path):
    with running(f"sqlite:///{tmp_path / 'collector.db'}") as url:
        host, _, port = url.removeprefix("http://").rpartition(":")
    sender = delivery(url)  # where nobody listens now
    told = list(events(RUNS))
    sender.put(told)
    sender.wake()
    assert sender.flush(0.3) is False
    assert sender.counts()["pending"] == 1000
    with running(f"sqlite:///{tmp_path / 'collector.db'}", host, int(port)) as url:
        assert sender.flush(LONG)
        counts = sender.counts()
        assert (counts["delivered"], counts["dead"], counts["dropped"]) == (1000, 0, {})
        # This collector takes batches: ten posts or so, and the failed ones before.
        assert counts["attempts"] - counts["failed"] < 40
        found = runs_of(url)
        assert len({told["id"] for told in found}) == len(found) == RUNS
        before = requests.get(url + "/healthz", timeout=60).json()
        # Some of it again, as after a kill at the wrong moment: nothing is there twice.
        sender.put(told[-60:])
        sender.wake()
        assert sender.flush(LONG)
        after = requests.get(url + "/healthz", timeout=60).json()
        assert after["events"] == before["events"]


def test_a_collector_that_dies_in_the_middle_of_posts(delivery, tmp_path):
    """A proxy before it cuts every third post off after the collector has it."""
    with running(f"sqlite:///{tmp_path / 'collector.db'}") as url:
        proxy, lock = HttpTarget(), threading.Lock()

        def forward(handler):
            with lock:
                path, _, body = proxy.requests[-1]
                number = len(proxy.requests)
            answer = requests.post(url + path, data=body, timeout=60)
            if number % 3 == 0:
                handler.close_connection = True
                return
            reply(handler, answer.status_code, body=answer.content)

        proxy.answers = [forward]
        sender = delivery(proxy.url)
        sender.put(list(events(20)))
        sender.wake()
        assert sender.flush(LONG)
        proxy.close()
        assert len(proxy.requests) > 40
        assert sender.counts()["delivered"] == 40
        assert len(runs_of(url)) == 20
