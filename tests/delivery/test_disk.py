"""The spool's disk: full, read-only, gone, corrupted. Nothing is lost that can be kept."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import stat

import pytest

from spark_lineage.delivery import spool as module
from spark_lineage.delivery.spool import Spool, adopt
from spark_lineage.delivery.worker import Worker
from tests.delivery.doubles import event, numbers
from tests.delivery.test_spool import drain
from tests.support.python import run_python

LONG = 60.0


def test_a_disk_that_is_really_full(tmp_path):
    """A limit on the size of files is to SQLite what a full disk is."""
    done = run_python(
        f"""
        import resource, signal
        from spark_lineage.delivery.spool import Spool
        from spark_lineage.delivery.worker import Worker

        class Target:
            description = "test"
            taken = []
            def send(self, event, timeout=None):
                self.taken.append(event["number"])
            def close(self):
                pass

        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        spool = Spool({str(tmp_path)!r}, "app")
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))
        for number in range(50):
            spool.put([{{"number": number, "text": "x" * 10_000}}])
        counts = spool.counts()
        print(counts["pending"], counts["dropped"])
        worker = Worker(spool, Target())
        worker.start()
        print(worker.flush(60), Target.taken == list(range(50)))
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
        spool.put([{{"number": 50}}])
        worker.wake()
        print(worker.flush(60), spool.counts())
        worker.close(10)
        """
    )
    lines = done.stdout.splitlines()
    assert lines[:2] == ["50 {}", "True True"], done.stderr
    assert lines[2] == "True {'delivered': 51, 'pending': 0, 'dead': 0, 'dropped': {}}"
    assert "lineage events wait in memory" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "seteuid"), reason="this system has no users")
def test_a_directory_that_is_read_only(tmp_path):
    """Tried by a user who may not write there."""
    tmp_path.chmod(stat.S_IRUSR | stat.S_IXUSR)
    done = run_python(
        f"""
        import os
        from spark_lineage.delivery.spool import Spool
        if os.geteuid() == 0:
            os.seteuid(65534)
        spool = Spool({str(tmp_path)!r}, "app")
        spool.put([{{"number": 1}}, {{"number": 2}}])
        entry = spool.head()
        spool.done(entry)
        print(spool.path, entry.event)
        spool.close()
        print(spool.counts())
        """
    )
    assert done.stdout.splitlines() == [
        "None {'number': 1}",
        "{'delivered': 1, 'pending': 0, 'dead': 0, 'dropped': {'memory_at_end': 1}}",
    ], done.stderr
    assert "lineage events wait in memory only" in done.stderr
    assert "1 lineage events were in memory only and are lost" in done.stderr


def test_a_database_that_becomes_read_only(tmp_path, caplog):
    spool = Spool(tmp_path, "app")
    spool.put([event(1)])
    spool._disk.connection.execute("PRAGMA query_only=ON")
    spool.put([event(2)])
    assert "takes nothing" in caplog.text
    entry = spool.head()
    spool.done(entry)  # which the disk does not take, but it is not sent again
    assert drain(spool) == [2]
    spool.close()


def test_a_directory_that_is_removed_is_written_again(tmp_path, caplog):
    folder = tmp_path / "spool"
    spool = Spool(folder, "app")
    spool.put([event(1), event(2)])
    spool.bury(spool.head(), "HTTP 422", "no")
    shutil.rmtree(folder)
    spool.put([event(3)])
    assert "has been written again" in caplog.text
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    for path in folder.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(adopt(folder)) == []  # it is in use
    assert numbers([letter.event for letter in spool.dead()]) == [1]
    assert spool.counts()["dead"] == 1
    assert drain(spool) == [2, 3]
    spool.close()


def test_what_was_put_after_the_directory_was_removed_survives_a_kill(tmp_path):
    folder = tmp_path / "spool"
    done = run_python(
        f"""
        import os, shutil, signal
        from spark_lineage.delivery.spool import Spool
        spool = Spool({str(folder)!r}, "app")
        spool.put([{{"number": 1}}])
        shutil.rmtree({str(folder)!r})
        spool.put([{{"number": 2}}])
        os.kill(os.getpid(), signal.SIGKILL)
        """
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    (orphan,) = adopt(folder)
    assert drain(orphan) == [1, 2]
    orphan.close()


def test_a_directory_that_cannot_be_made_again(tmp_path, caplog):
    folder = tmp_path / "spool"
    spool = Spool(folder, "app")
    spool.put([event(1)])
    shutil.rmtree(folder)
    folder.write_text("in the way")
    spool.put([event(2)])
    assert drain(spool) == [1, 2]
    assert "wait in memory" in caplog.text
    spool.close()


def test_a_removed_directory_in_the_middle_of_delivery(tmp_path, target):
    folder = tmp_path / "spool"
    spool = Spool(folder, "app")
    worker = Worker(spool, target)
    worker.start()
    target.gate.clear()
    spool.put([event(1)])
    worker.wake()
    assert target.entered.wait(LONG)
    shutil.rmtree(folder)
    spool.put([event(2)])
    target.gate.set()
    assert worker.flush(LONG)
    # At least once: the one that was under way may be there twice.
    assert list(dict.fromkeys(numbers(target.taken))) == [1, 2]
    worker.close(LONG)


@pytest.mark.parametrize("act", ["done", "bury"])
def test_corruption_found_while_removing(tmp_path, act):
    """Else the same event would be sent for ever."""
    spool = Spool(tmp_path, "app")
    spool.put([event(1)])
    entry = spool.head()

    def broken(*args):
        raise sqlite3.DatabaseError("database disk image is malformed")

    setattr(spool._disk, act, broken)
    if act == "done":
        spool.done(entry)
    else:
        spool.bury(entry, "HTTP 422", "")
    assert spool.head() is None
    assert spool.counts()["dropped"] == {"spool_corrupted": 1}
    spool.put([event(2)])
    assert drain(spool) == [2]
    spool.close()


def test_a_second_corruption_overwrites_no_evidence(tmp_path):
    for content in (b"first" * 100, b"second" * 100, b"third" * 100):
        (tmp_path / "events-app.db").write_bytes(content)
        spool = Spool(tmp_path, "app")
        assert spool.losses() == {"spool_corrupted": 1}
        spool.close()
    kept = sorted(path.name for path in tmp_path.iterdir())
    assert kept == [
        "events-app.db.corrupt",
        "events-app.db.corrupt-1",
        "events-app.db.corrupt-2",
    ]


def test_losses_are_those_of_this_process(tmp_path, monkeypatch):
    spool = Spool(tmp_path, "app", max_bytes=10)
    spool.put([event(1)])
    assert spool.losses() == {"spool_full": 1}
    spool._disk.put(["1"])  # so that the file stays
    spool.close()
    again = Spool(tmp_path, "app", max_bytes=10)
    assert again.counts()["dropped"] == {"spool_full": 1}
    assert again.losses() == {}
    again.put([event(2)])
    assert again.losses() == {"spool_full": 1}
    again.close()


def test_several_at_once_are_bounded_by_number_and_bytes(tmp_path):
    spool = Spool(tmp_path, "app")
    spool.put([event(number) for number in range(5)])
    size = len('{"eventType":"START","run":{"runId":"r1"},"number":1}')
    assert [entry.event["number"] for entry in spool.heads(3)] == [0, 1, 2]
    assert [entry.event["number"] for entry in spool.heads(9, 2 * size)] == [0, 1]
    assert [entry.event["number"] for entry in spool.heads(9, 1)] == [0]
    spool.done(*spool.heads(4))
    assert spool.counts()["delivered"] == 4
    assert drain(spool) == [4]
    spool.close()


def test_all_bodies_in_pieces(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "CHUNK", 3)
    spool = Spool(tmp_path, "app")
    spool.put([event(number) for number in range(8)])
    assert [body.count('"number"') for body in spool.bodies()] == [1] * 8
    drain(spool)
    spool.close()


def test_dead_letters_of_ended_applications_can_be_revived(tmp_path):
    for name in ("one", "two"):
        spool = Spool(tmp_path, name)
        spool.put([event(1)])
        spool.bury(spool.head(), "HTTP 422", "")
        if name == "one":
            spool.close()
    assert module.revive(tmp_path) == 1  # the other is in use
    (orphan,) = adopt(tmp_path)
    assert drain(orphan) == [1]
    orphan.close()
    spool.close()
    assert module.revive(tmp_path, lambda target: target == "other") == 0
    assert module.revive(tmp_path) == 1
    assert module.revive(tmp_path / "nowhere") == 0
