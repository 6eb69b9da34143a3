from __future__ import annotations

import os
import signal
import sqlite3
import stat
import subprocess
import sys
import textwrap
import threading
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spark_lineage.delivery import spool as module
from spark_lineage.delivery import store as store_module
from spark_lineage.delivery.spool import Spool, adopt
from spark_lineage.errors import DeliveryError
from tests.delivery.doubles import event, numbers
from tests.support.python import environment, run_python


def drain(spool: Spool) -> list[int]:
    taken = []
    while (entry := spool.head()) is not None:
        taken.append(entry.event["number"])
        spool.done(entry)
    return taken


def files(directory) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def run_and_kill(directory, code: str) -> None:
    """Run code that opens ``spool`` and prints a line; then it is killed."""
    script = textwrap.dedent(
        f"""
        import sys, time
        from spark_lineage.delivery.spool import Spool
        spool = Spool({str(directory)!r}, "app")
        """
    ) + textwrap.dedent(code)
    script += "\nprint('ready', flush=True)\ntime.sleep(60)\n"
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        env=environment(),
    )
    assert process.stdout is not None
    with process.stdout:
        assert process.stdout.readline().strip() == "ready"
        process.send_signal(signal.SIGKILL)
        process.wait()


def test_first_in_first_out(tmp_path):
    spool = Spool(tmp_path, "app")
    spool.put([event(1), event(2)])
    spool.put([event(3)])
    assert spool.pending() == 3
    assert drain(spool) == [1, 2, 3]
    assert spool.counts() == {"delivered": 3, "pending": 0, "dead": 0, "dropped": {}}
    spool.close()


def test_head_stays_until_done(tmp_path):
    spool = Spool(tmp_path, "app")
    spool.put([event(1)])
    first, second = spool.head(), spool.head()
    assert first is not None
    assert second is not None
    assert first.event == second.event == event(1)
    spool.close()


@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(st.lists(st.integers(0, 3), max_size=4), max_size=6))
def test_order_holds_whatever_is_put_taken_and_reopened(tmp_path_factory, batches):
    directory = tmp_path_factory.mktemp("spool")
    expected: list[int] = []
    taken: list[int] = []
    number = 0
    for batch in batches:
        spool = Spool(directory, "app")
        for takes in batch:
            spool.put([event(number), event(number + 1)])
            expected += [number, number + 1]
            number += 2
            for _ in range(takes):
                if (entry := spool.head()) is not None:
                    taken.append(entry.event["number"])
                    spool.done(entry)
        spool.close()
    spool = Spool(directory, "app")
    taken += drain(spool)
    spool.close()
    assert taken == expected
    assert files(directory) == []


def test_events_survive_a_kill(tmp_path):
    run_and_kill(tmp_path, 'spool.put([{"number": 1}, {"number": 2}]); spool.put([{"number": 3}])')
    (orphan,) = adopt(tmp_path)
    assert drain(orphan) == [1, 2, 3]
    orphan.close()
    assert files(tmp_path) == []


def test_the_next_of_the_same_application_goes_on(tmp_path):
    run_and_kill(tmp_path, 'spool.put([{"number": 1}])')
    spool = Spool(tmp_path, "app")
    spool.put([event(2)])
    assert drain(spool) == [1, 2]
    spool.close()


def test_kill_in_the_middle_of_writing_keeps_what_was_put(tmp_path):
    run_and_kill(
        tmp_path,
        """
        import threading
        def forever():
            number = 0
            while True:
                spool.put([{"number": number}, {"number": number + 1}])
                number += 2
        threading.Thread(target=forever, daemon=True).start()
        while spool.pending() < 50:
            time.sleep(0.001)
        """,
    )
    (orphan,) = adopt(tmp_path)
    taken = drain(orphan)
    assert len(taken) >= 50
    assert len(taken) % 2 == 0  # each put is all or nothing
    assert taken == list(range(len(taken)))
    orphan.close()


def test_private_files(tmp_path):
    directory = tmp_path / "deep" / "spool"
    spool = Spool(directory, "app")
    spool.put([event(1)])
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    for path in directory.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
    spool.close()


def test_an_existing_file_is_made_private(tmp_path):
    path = tmp_path / "events-app.db"
    path.touch()
    path.chmod(0o644)
    spool = Spool(tmp_path, "app")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    spool.close()


def test_empty_spool_leaves_nothing_and_full_one_stays(tmp_path):
    spool = Spool(tmp_path, "app")
    spool.close()
    assert files(tmp_path) == []
    spool = Spool(tmp_path, "app")
    spool.put([event(1)])
    spool.close()
    assert "events-app.db" in files(tmp_path)


def test_name_of_an_application_cannot_leave_the_directory(tmp_path):
    spool = Spool(tmp_path / "spool", "../../evil/name")
    spool.put([event(1)])
    assert spool.path == str(tmp_path / "spool" / "events-.._.._evil_name.db")
    spool.close()


def test_two_owners_of_one_name_use_two_files(tmp_path):
    one, two = Spool(tmp_path, "app"), Spool(tmp_path, "app")
    assert one.path != two.path
    one.put([event(1)])
    two.put([event(2)])
    assert (drain(one), drain(two)) == ([1], [2])
    one.close()
    two.close()
    assert files(tmp_path) == []


def test_adopt_leaves_what_is_in_use(tmp_path):
    owner = Spool(tmp_path, "app")
    owner.put([event(1)])
    assert list(adopt(tmp_path)) == []
    owner.close()
    (orphan,) = adopt(tmp_path)
    assert list(adopt(tmp_path)) == []
    orphan.close()


def test_adopt_removes_what_is_empty_and_leaves_other_files(tmp_path):
    run_and_kill(tmp_path, 'spool.put([{"number": 1}]); spool.done(spool.head())')
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "events-gone.db.lock").touch()
    assert list(adopt(tmp_path)) == []
    assert files(tmp_path) == ["notes.txt"]


def test_adopt_of_a_missing_directory(tmp_path):
    assert list(adopt(tmp_path / "nowhere")) == []


def test_a_newer_format_is_left_alone(tmp_path):
    path = tmp_path / "events-app.db"
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version=99")
    connection.close()
    assert list(adopt(tmp_path)) == []
    spool = Spool(tmp_path, "app")
    assert spool.path == str(tmp_path / "events-app-1.db")
    spool.close()
    assert path.exists()


def test_bounded_by_bytes_the_newest_is_refused_and_counted(tmp_path):
    size = len('{"eventType":"START","run":{"runId":"r1"},"number":1}')
    spool = Spool(tmp_path, "app", max_bytes=2 * size)
    spool.put([event(1), event(2), event(3)])
    spool.put([event(4)])
    assert spool.counts()["dropped"] == {"spool_full": 2}
    assert drain(spool) == [1, 2]
    spool.put([event(5)])
    assert drain(spool) == [5]
    spool.close()


def test_bounded_by_age(tmp_path, monkeypatch):
    now = [1_000_000.0]
    monkeypatch.setattr(store_module.time, "time", lambda: now[0])
    spool = Spool(tmp_path, "app", max_age=100.0)
    spool.put([event(1)])
    now[0] += 90
    spool.put([event(2)])
    now[0] += 70
    assert drain(spool) == [2]
    assert spool.counts()["dropped"] == {"too_old": 1}
    spool.close()


def test_a_clock_that_jumps_back_makes_nothing_old(tmp_path, monkeypatch):
    now = [1_000_000.0]
    monkeypatch.setattr(store_module.time, "time", lambda: now[0])
    spool = Spool(tmp_path, "app", max_age=100.0)
    spool.put([event(1)])
    now[0] -= 500_000
    spool.put([event(2)])
    assert drain(spool) == [1, 2]
    spool.close()


def test_dead_letters_keep_the_answer_and_can_be_revived(tmp_path):
    spool = Spool(tmp_path, "app")
    spool.put([event(1), event(2)])
    entry = spool.head()
    assert entry is not None
    spool.bury(entry, "HTTP 422", "no such field")
    (letter,) = spool.dead()
    assert (letter.reason, letter.answer, letter.event) == ("HTTP 422", "no such field", event(1))
    assert spool.counts() == {"delivered": 0, "pending": 1, "dead": 1, "dropped": {}}
    spool.close()
    spool = Spool(tmp_path, "app")
    assert spool.revive() == 1
    assert spool.dead() == []
    assert drain(spool) == [2, 1]
    spool.close()


def test_dead_letters_keep_the_file_but_are_not_adopted(tmp_path):
    spool = Spool(tmp_path, "app")
    spool.put([event(1)])
    spool.bury(spool.head(), "HTTP 422", "")
    spool.close()
    assert list(adopt(tmp_path)) == []
    assert "events-app.db" in files(tmp_path)


def test_dead_letters_are_bounded(tmp_path):
    spool = Spool(tmp_path, "app", max_bytes=1_000)
    for number in range(10):
        spool.put([event(number, text="x" * 50)])
        spool.bury(spool.head(), "HTTP 422", "")
    assert numbers([letter.event for letter in spool.dead()]) == [8, 9]
    assert spool.counts()["dropped"] == {"dead_letters_full": 8}
    assert spool.counts()["dead"] == 10
    spool.close()


@pytest.mark.parametrize(
    "content", [b"this is no database" * 100, b"SQLite format 3\x00" + b"\xff" * 8192]
)
def test_a_corrupted_file_is_set_aside_and_counted(tmp_path, content, caplog):
    (tmp_path / "events-app.db").write_bytes(content)
    spool = Spool(tmp_path, "app")
    spool.put([event(1)])
    assert (tmp_path / "events-app.db.corrupt").read_bytes() == content
    assert spool.counts()["dropped"] == {"spool_corrupted": 1}
    assert drain(spool) == [1]
    assert "set aside" in caplog.text
    spool.close()


def test_corruption_under_way_is_set_aside_too(tmp_path):
    spool = Spool(tmp_path, "app")
    spool.put([event(1)])
    # As SQLite says it when it finds a page that cannot be.
    disk = spool._disk

    def broken(*args):
        raise sqlite3.DatabaseError("database disk image is malformed")

    disk.put = broken
    spool.put([event(2)])
    assert drain(spool) == [2]
    assert spool.counts()["dropped"] == {"spool_corrupted": 1}
    assert (tmp_path / "events-app.db.corrupt").exists()
    spool.close()


def test_without_a_directory_events_wait_in_memory(tmp_path, caplog):
    (tmp_path / "file").touch()
    spool = Spool(tmp_path / "file" / "spool", "app")
    assert spool.path is None
    assert "memory only" in caplog.text
    spool.put([event(1), event(2)])
    assert drain(spool) == [1, 2]
    spool.put([event(3)])
    spool.close()
    counts = spool.counts()
    assert (counts["delivered"], counts["dropped"]) == (2, {"memory_at_end": 1})


def test_a_full_disk_diverts_to_memory_and_back_in_order(tmp_path):
    spool = Spool(tmp_path, "app")
    spool.put([event(1)])
    disk = spool._disk
    put = disk.put

    def full(*args):
        raise sqlite3.OperationalError("database or disk is full")

    disk.put = full
    spool.put([event(2)])
    spool.put([event(3)])
    disk.put = put
    spool.put([event(4)])  # room again, but 2 and 3 go first
    assert drain(spool) == [1, 2, 3, 4]
    spool.put([event(5)])
    assert disk.pending() == 1
    assert drain(spool) == [5]
    assert spool.counts() == {"delivered": 5, "pending": 0, "dead": 0, "dropped": {}}
    spool.close()


def test_what_is_in_memory_goes_to_disk_at_the_end_if_it_can(tmp_path):
    spool = Spool(tmp_path, "app")
    disk = spool._disk
    put = disk.put

    def full(*args):
        raise sqlite3.OperationalError("database or disk is full")

    disk.put = full
    spool.put([event(1)])
    disk.put = put
    spool.close()
    (orphan,) = adopt(tmp_path)
    assert drain(orphan) == [1]
    orphan.close()


def test_a_disk_that_cannot_forget_does_not_send_twice(tmp_path):
    spool = Spool(tmp_path, "app")
    spool.put([event(1), event(2)])
    real = spool._disk.connection

    class Full:
        def __getattr__(self, name):
            return getattr(real, name)

        def execute(self, sql, *args):
            if sql.startswith("DELETE"):
                raise sqlite3.OperationalError("database or disk is full")
            return real.execute(sql, *args)

    spool._disk.connection = Full()
    entry = spool.head()
    spool.done(entry)
    assert spool.head().event == event(2)
    assert spool.pending() == 1
    spool._disk.connection = real
    assert drain(spool) == [2]
    assert spool.counts() == {"delivered": 2, "pending": 0, "dead": 0, "dropped": {}}
    spool.close()
    assert files(tmp_path) == []


def test_what_is_no_json_is_counted_and_the_rest_is_kept(tmp_path):
    spool = Spool(tmp_path, "app")
    spool.put([event(1), event(2, bad=object()), event(3, bad=float("nan")), event(4)])
    assert drain(spool) == [1, 4]
    assert spool.counts()["dropped"] == {"not_serialisable": 2}
    spool.close()


def test_any_text_survives(tmp_path):
    text = "ünï \x00 \ud800 \U0001f600"
    spool = Spool(tmp_path, "app")
    spool.put([event(1, text=text)])
    assert spool.head().event["text"] == text
    drain(spool)
    spool.close()


def test_a_closed_spool_takes_nothing(tmp_path):
    spool = Spool(tmp_path, "app")
    spool.put([event(1)])
    spool.close()
    spool.close()
    assert spool.pending() == 1
    assert spool.head() is None
    with pytest.raises(DeliveryError):
        spool.put([event(2)])


def test_many_threads_lose_nothing(tmp_path):
    spool = Spool(tmp_path, "app")

    def put(start: int) -> None:
        for number in range(start, start + 50):
            spool.put([event(number)])

    threads = [threading.Thread(target=put, args=(start,)) for start in range(0, 400, 50)]
    for thread in threads:
        thread.start()
    taken: list[int] = []
    deadline = time.monotonic() + 60
    while len(taken) < 400 and time.monotonic() < deadline:
        taken += drain(spool)
    for thread in threads:
        thread.join()
    assert sorted(taken) == list(range(400))
    for start in range(0, 400, 50):  # in order for each thread
        mine = [number for number in taken if start <= number < start + 50]
        assert mine == sorted(mine)
    spool.close()


def test_names_run_out(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(module, "MAX_NAMES", 1)
    one, two = Spool(tmp_path, "app"), Spool(tmp_path, "app")
    assert two.path is None
    one.close()
    two.close()


def test_without_file_locks_sqlite_keeps_two_apart(tmp_path, monkeypatch):
    monkeypatch.setattr("spark_lineage.delivery.lock.fcntl", None)
    script = f"""
from spark_lineage.delivery import lock
lock.fcntl = None
from spark_lineage.delivery.spool import Spool, adopt
spool = Spool({str(tmp_path)!r}, "app")
print(spool.path)
print(list(adopt({str(tmp_path)!r})))
spool.close()
"""
    spool = Spool(tmp_path, "app")
    spool.put([event(1)])
    done = run_python(script)
    assert done.stdout.split() == [str(tmp_path / "events-app-1.db"), "[]"]
    assert drain(spool) == [1]
    spool.close()


def test_the_directory_is_bound_to_the_process_umask_too(tmp_path):
    before = os.umask(0)
    try:
        spool = Spool(tmp_path / "spool", "app")
        spool.put([event(1)])
        assert {stat.S_IMODE(p.stat().st_mode) for p in (tmp_path / "spool").iterdir()} == {0o600}
        spool.close()
    finally:
        os.umask(before)
