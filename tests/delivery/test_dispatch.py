"""Several targets: each has its own place, and one that is dead holds back no other."""

from __future__ import annotations

import json
import threading
import time

import pytest

from spark_lineage import config
from spark_lineage.delivery import dispatch, files, transports
from spark_lineage.delivery import worker as module
from spark_lineage.delivery.dispatch import Delivery
from spark_lineage.delivery.spool import Spool, adopt
from spark_lineage.delivery.transports import Target as Named
from spark_lineage.errors import ConfigError, DeliveryError, RejectedError, RetriableError
from tests.delivery.conftest import HttpTarget
from tests.delivery.doubles import Target, event, numbers

LONG = 60.0


@pytest.fixture
def two(monkeypatch):
    """Targets ``a`` and ``b``, in memory."""
    made = {"a": Target(), "b": Target()}
    monkeypatch.setattr(
        transports, "targets", lambda *_: [Named(name, made[name]) for name in made]
    )
    return made


@pytest.fixture
def one(monkeypatch):
    target = Target()
    monkeypatch.setattr(transports, "targets", lambda *_: [Named("", target)])
    return target


@pytest.fixture
def delivery(tmp_path):
    made = []

    def make(name="app", **options):
        settings = config.load({}, {}, {"spool_dir": str(tmp_path / "spool"), **options})
        made.append(Delivery(settings, name, {}))
        return made[-1]

    yield make
    for each in made:
        each.close(0.5)


def files_in(tmp_path):
    folder = tmp_path / "spool"
    return sorted(p.name for p in folder.iterdir() if p.suffix == ".db")


def put(delivery, *events):
    delivery.put(list(events))
    delivery.wake()


def wait(condition):
    deadline = time.monotonic() + LONG
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert condition()


def test_each_target_gets_each_event(two, delivery, tmp_path):
    both = delivery()
    both.start()
    put(both, event(1), event(2))
    put(both, event(3))
    assert both.flush(LONG)
    assert numbers(two["a"].taken) == numbers(two["b"].taken) == [1, 2, 3]
    counts = both.counts()
    assert (counts["delivered"], counts["pending"]) == (3, 0)
    assert both.close(LONG)
    assert files_in(tmp_path) == []


def test_a_dead_target_holds_back_no_other(two, delivery, tmp_path):
    two["a"].always = RetriableError("refused")
    both = delivery()
    both.start()
    put(both, *(event(number) for number in range(20)))
    wait(lambda: len(two["b"].taken) == 20)
    assert both.flush(0.1) is False
    counts = both.counts()
    assert (counts["delivered"], counts["pending"]) == (0, 20)
    assert counts["targets"]["a"]["pending"] == 20
    assert counts["targets"]["b"]["pending"] == 0
    assert both.close(1.0) is False
    wait(lambda: files_in(tmp_path) == ["events-app@a.db"])


def test_a_hanging_target_holds_back_no_other(two, delivery):
    two["a"].gate.clear()
    both = delivery()
    both.start()
    put(both, event(1), event(2))
    wait(lambda: len(two["b"].taken) == 2)
    two["a"].gate.set()
    assert both.flush(LONG)
    assert numbers(two["a"].taken) == [1, 2]


def test_a_dead_target_fills_no_others_spool(two, delivery):
    size = len(json.dumps(event(1), separators=(",", ":")))
    two["a"].always = RetriableError("refused")
    both = delivery(spool_bytes=2 * size)
    both.start()
    for number in range(1, 6):
        put(both, event(number))
        wait(lambda number=number: number in numbers(two["b"].taken))
    counts = both.counts()
    assert counts["dropped"] == {"spool_full": 3}
    assert counts["targets"]["b"]["dropped"] == {}


def test_each_target_may_refuse(two, delivery):
    two["a"].faults = [RejectedError("HTTP 422")]
    both = delivery()
    both.start()
    put(both, event(1), event(2))
    assert both.flush(LONG)
    assert numbers(two["a"].taken) == [2]
    assert numbers(two["b"].taken) == [1, 2]
    assert both.counts()["dead"] == 1


def test_what_is_left_for_a_target_goes_to_that_target(two, delivery):
    two["a"].always = RetriableError("refused")
    first = delivery("one")
    first.start()
    put(first, event(1), event(2))
    wait(lambda: len(two["b"].taken) == 2)
    first.close(0.2)
    two["a"].always = None
    second = delivery("two")
    second.start()
    assert second.flush(LONG, everything=True)
    assert numbers(two["a"].taken) == [1, 2]
    assert numbers(two["b"].taken) == [1, 2]


def test_a_spool_that_names_no_target_goes_to_the_first(two, delivery, tmp_path):
    left = Spool(tmp_path / "spool", "left")
    left.put([event(1)])
    left.close()
    both = delivery()
    both.start()
    assert both.flush(LONG, everything=True)
    assert numbers(two["a"].taken) == [1]
    assert two["b"].taken == []


def test_a_single_target_leaves_what_is_for_others(one, delivery, tmp_path):
    left = Spool(tmp_path / "spool", "left", target="a")
    left.put([event(1)])
    left.close()
    single = delivery()
    single.start()
    assert single.flush(LONG, everything=True)
    assert one.taken == []
    assert files_in(tmp_path) == ["events-app.db", "events-left@a.db"]


def test_orphans_are_looked_for_again_now_and_then(one, delivery, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "ORPHAN_SECONDS", 0.05)
    monkeypatch.setattr(module, "LONGEST_PAUSE", 0.05)
    single = delivery()
    single.start()
    assert single.flush(LONG, everything=True)
    left = Spool(tmp_path / "spool", "left")
    left.put([event(1)])
    left.close()
    wait(lambda: numbers(one.taken) == [1])


def test_a_target_that_is_down_takes_over_nothing(one, delivery, tmp_path, monkeypatch):
    """Another agent on this machine may have one that works."""
    monkeypatch.setattr(module, "ORPHAN_SECONDS", 0.0)
    single = delivery()
    single.start()
    assert single.flush(LONG, everything=True)
    one.always = RetriableError("refused")
    put(single, event(1))
    wait(lambda: len(one.attempts) >= 2)
    left = Spool(tmp_path / "spool", "left")
    left.put([event(2)])
    left.close()
    wait(lambda: len(one.attempts) >= 4)
    (orphan,) = (s for s in adopt(tmp_path / "spool") if s.path and "left" in s.path)
    orphan.close()
    one.always = None


def test_what_orphans_lost_is_counted(one, delivery, tmp_path, monkeypatch):
    (tmp_path / "spool").mkdir()
    (tmp_path / "spool" / "events-broken.db").write_bytes(b"no database" * 100)
    with monkeypatch.context() as patch:
        patch.setattr("spark_lineage.delivery.store.time.time", lambda: 1_000_000.0)
        old = Spool(tmp_path / "spool", "old")
        old.put([event(1), event(2)])
        old.close()
    single = delivery()
    single.start()
    assert single.flush(LONG, everything=True)
    assert single.counts()["dropped"] == {"spool_corrupted": 1, "too_old": 2}


def test_what_an_orphan_loses_while_it_is_ours_is_counted_too(one, delivery, tmp_path):
    left = Spool(tmp_path / "spool", "left")
    left.put([event(1), event(2)])
    left._disk.connection.execute("UPDATE events SET body = '{' WHERE id = 1")
    left.close()
    single = delivery()
    single.start()
    assert single.flush(LONG, everything=True)
    assert numbers(one.taken) == [2]
    assert single.totals() == {"delivered": 1, "refused": 0, "pending": 0}
    assert single.counts()["dropped"] == {"unreadable": 1}


@pytest.mark.parametrize("moment", ["losses", "close"])
def test_what_an_orphan_lost_is_counted_at_each_moment(
    one, delivery, tmp_path, monkeypatch, moment
):
    left = Spool(tmp_path / "spool", "left")
    left.put([event(1), event(2)])
    left._disk.connection.execute("UPDATE events SET body = '{' WHERE id = 1")
    left.close()
    single = delivery()
    seen, original = [], getattr(Spool, moment)

    def look(spool):
        """Count in another thread just when the orphan is let go of."""
        deliverer = threading.current_thread().name == "spark-lineage-delivery"
        if deliverer and "left" in (spool.path or "") and not seen:
            seen.append({})
            other = threading.Thread(target=lambda: seen.append(single.counts()["dropped"]))
            other.start()
            other.join(LONG)
        return original(spool)

    monkeypatch.setattr(Spool, moment, look)
    single.start()
    wait(lambda: len(seen) == 2)
    assert seen[1] == {"unreadable": 1}
    assert single.flush(LONG, everything=True)
    assert single.counts()["dropped"] == {"unreadable": 1}


def test_what_is_no_longer_waiting_is_counted_as_delivered(one, delivery, monkeypatch):
    single = delivery()
    seen, original = [], Spool.done

    def done(spool, *entries):
        original(spool, *entries)
        seen.append(single.totals())

    monkeypatch.setattr(Spool, "done", done)
    single.start()
    put(single, event(1))
    wait(lambda: seen)
    assert seen == [{"delivered": 1, "refused": 0, "pending": 0}]


def test_what_an_orphan_lost_is_counted_after_the_end(one, delivery, tmp_path):
    left = Spool(tmp_path / "spool", "left")
    left.put([event(1), event(2)])
    left._disk.connection.execute("UPDATE events SET body = '{' WHERE id = 1")
    left.close()
    one.always = RetriableError("refused")
    single = delivery()
    single.start()
    wait(lambda: single.counts()["dropped"] == {"unreadable": 1})
    single.close(1.0)
    assert single.counts()["dropped"] == {"unreadable": 1}


def test_events_for_one_target(two, delivery):
    both = delivery()
    both.start()
    both.put([event(1)], target="b")
    both.put([event(2)], target="gone")  # means the first
    both.wake()
    assert both.flush(LONG)
    assert (numbers(two["a"].taken), numbers(two["b"].taken)) == ([2], [1])


def test_without_threads_each_gets_its_share_of_the_time(two, delivery, monkeypatch):
    def refuse(self):
        raise RuntimeError("can't create new thread at interpreter shutdown")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    two["a"].always = RetriableError("refused")
    both = delivery()
    both.start()
    put(both, event(1), event(2))
    assert both.flush(1.0) is False
    assert numbers(two["b"].taken) == [1, 2]


def test_after_the_end_nothing_is_taken(two, delivery):
    both = delivery()
    both.close(LONG)
    with pytest.raises(DeliveryError):
        both.put([event(1)])


def test_a_single_targets_counts_are_those_of_its_worker(one, delivery):
    single = delivery()
    put(single, event(1))
    counts = single.counts()
    assert "targets" not in counts
    assert counts["pending"] == 1


# --- as OpenLineage configures it


@pytest.fixture
def other():
    made = HttpTarget()
    yield made
    made.close()


def composite(http_target, other, **more):
    return {
        "type": "composite",
        "transports": {
            "dead": {"type": "http", "url": "http://127.0.0.1:9/"},
            "x": {"type": "http", "url": http_target.url},
            "y": {"type": "http", "url": other.url, "endpoint": "take"},
        },
        **more,
    }


def test_openlineages_composite(http_target, other, delivery, tmp_path):
    several = delivery(transport_config=composite(http_target, other))
    several.start()
    put(several, event(1))
    wait(lambda: http_target.requests and other.requests)
    assert other.requests[0][0] == "/take"
    wait(lambda: several.counts()["targets"]["x"]["pending"] == 0)
    wait(lambda: several.counts()["targets"]["y"]["pending"] == 0)
    assert several.close(1.0) is False
    wait(lambda: files_in(tmp_path) == ["events-app@dead.db"])
    assert several.description.startswith("http://127.0.0.1:9/api/v1/lineage and http://")


def test_a_list_of_transports_is_named_by_place_or_name(http_target, other):
    section = {
        "type": "composite",
        "transports": [
            {"type": "http", "url": http_target.url},
            {"type": "console", "name": "log"},
            {"type": "composite", "name": "in", "transports": [{"type": "noop"}]},
        ],
    }
    settings = config.load({}, {}, {"transport_config": section})
    assert [target.name for target in transports.targets(settings, {})] == ["1", "log", "in.1"]


def test_the_first_that_takes_it(http_target, other, delivery):
    """continue_on_success: false is a fallback: one place in the spool, several addresses."""
    several = delivery(transport_config=composite(http_target, other, continue_on_success=False))
    several.start()
    put(several, event(1))
    assert several.flush(LONG)
    assert len(http_target.requests) == 1
    assert other.requests == []
    http_target.answers = [500]
    put(several, event(2))
    assert several.flush(LONG)
    assert json.loads(other.requests[0][2]) == event(2)


def test_none_of_them(http_target, other, delivery):
    http_target.answers = other.answers = [422]
    several = delivery(transport_config=composite(http_target, other, continue_on_success="false"))
    several.start()
    put(several, event(1))
    assert several.flush(0.6) is False  # the dead one may come back
    assert several.counts()["pending"] == 1


@pytest.mark.parametrize(
    "section",
    [
        {"type": "composite"},
        {"type": "composite", "transports": {}},
        {
            "type": "composite",
            "transports": [{"type": "noop", "name": "x"}, {"type": "noop", "name": "x"}],
        },
    ],
)
def test_a_composite_that_is_none(section):
    settings = config.load({}, {}, {"transport_config": section})
    with pytest.raises(ConfigError, match=r"transport\.transports"):
        transports.targets(settings, {})


def test_one_transport_is_asked_for_where_there_are_two(http_target, other):
    settings = config.load({}, {}, {"transport_config": composite(http_target, other)})
    with pytest.raises(ConfigError, match="one transport"):
        transports.create(settings, {})


def test_names_of_files():
    assert files.name_of("app", "", 0) == "events-app.db"
    assert files.name_of("a/b@c", "s3 x", 2) == "events-a_b_c-2@s3_x.db"
    assert files.target_of("events-a_b_c-2@s3_x.db") == "s3_x"
    assert files.target_of("events-app.db") == ""
    assert files.target_of("events-app.db.corrupt") is None
    assert files.target_of("records-app.jsonl") is None
    assert files.is_same("s3 x", "s3_x")
    assert not files.is_same("", "a")
    assert dispatch.ARCHIVE_SHARE < 1
