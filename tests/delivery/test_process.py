"""Fork, and the interpreter's end: each in a process of its own."""

from __future__ import annotations

import os
import signal

import pytest

from spark_lineage.delivery.spool import adopt
from tests.support.python import run_python


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_sends_nothing_and_breaks_nothing(tmp_path):
    done = run_python(
        f"""
        import os, sys, threading, warnings
        warnings.simplefilter("ignore")
        from spark_lineage.delivery.spool import Spool, adopt
        from spark_lineage.delivery.worker import Worker
        from spark_lineage.errors import RetriableError

        parent = os.getpid()
        gate = threading.Event()

        class Target:
            description = "test"
            def send(self, event, timeout=None):
                if os.getpid() != parent:
                    print("SENT BY CHILD", flush=True)
                if not gate.is_set():
                    raise RetriableError("closed")
                print("sent", event["number"], flush=True)
            def close(self):
                pass

        spool = Spool({str(tmp_path)!r}, "app")
        worker = Worker(spool, Target())
        worker.start()
        spool.put([{{"number": 1}}, {{"number": 2}}])
        worker.wake()
        child = os.fork()
        if child == 0:
            spool.put([{{"number": 99}}])
            worker.start()
            worker.wake()
            assert worker.flush(5) is True
            assert spool.pending() == 0
            assert threading.active_count() == 1
            assert list(adopt({str(tmp_path)!r})) == []
            worker.close(5)
            spool.close()
            sys.exit(0)  # runs all of the interpreter's end, destructors too
        assert os.waitpid(child, 0)[1] == 0
        gate.set()
        print("flushed", worker.flush(30))
        spool.put([{{"number": 3}}])
        worker.wake()
        print("closed", worker.close(30), os.listdir({str(tmp_path)!r}))
        """
    )
    assert done.stdout.splitlines() == [
        "sent 1",
        "sent 2",
        "flushed True",
        "sent 3",
        "closed True []",
    ], done.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_childs_end_takes_nothing_from_its_parents_spool(tmp_path):
    done = run_python(
        f"""
        import os, signal, sys, warnings
        warnings.simplefilter("ignore")
        from spark_lineage.delivery.spool import Spool

        spool = Spool({str(tmp_path)!r}, "app")
        spool.put([{{"number": 1}}])
        child = os.fork()
        if child == 0:
            sys.exit(0)
        os.waitpid(child, 0)
        spool.put([{{"number": 2}}])
        os.kill(os.getpid(), signal.SIGKILL)
        """
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    (orphan,) = adopt(tmp_path)
    assert orphan.pending() == 2
    orphan.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_child_that_outlives_its_parent_does_not_hold_the_spool(tmp_path):
    done = run_python(
        f"""
        import os, signal, time, warnings
        warnings.simplefilter("ignore")
        from spark_lineage.delivery.spool import Spool, adopt

        read, write = os.pipe()
        parent = os.fork()
        if parent == 0:
            spool = Spool({str(tmp_path)!r}, "app")
            spool.put([{{"number": 1}}])
            if os.fork() == 0:
                os.write(write, b"%d" % os.getpid())
                time.sleep(60)
            time.sleep(60)
        grandchild = int(os.read(read, 20))
        os.kill(parent, signal.SIGKILL)
        os.waitpid(parent, 0)
        try:
            (orphan,) = adopt({str(tmp_path)!r})
            print(orphan.head().event)
            orphan.close()
        finally:
            os.kill(grandchild, signal.SIGKILL)
        """
    )
    assert done.stdout.splitlines() == ["{'number': 1}"], done.stderr


def test_interpreter_exit_after_a_late_start(tmp_path):
    """Started from an exit handler, where newer Pythons start no thread: still delivered."""
    done = run_python(
        f"""
        import atexit
        from spark_lineage.delivery.spool import Spool
        from spark_lineage.delivery.worker import Worker

        class Target:
            description = "test"
            def send(self, event, timeout=None):
                print("sent", event["number"], flush=True)
            def close(self):
                print("closed", flush=True)

        def end():
            spool = Spool({str(tmp_path)!r}, "app")
            worker = Worker(spool, Target())
            worker.start()
            spool.put([{{"number": 1}}])
            worker.wake()
            print(worker.close(30), flush=True)

        atexit.register(end)
        """
    )
    assert (done.returncode, done.stdout.splitlines()) == (0, ["sent 1", "closed", "True"]), (
        done.stderr
    )


def test_exit_is_not_held_by_a_hanging_target(tmp_path):
    done = run_python(
        f"""
        import threading
        from spark_lineage.delivery.spool import Spool
        from spark_lineage.delivery.worker import Worker

        class Target:
            description = "test"
            def send(self, event, timeout=None):
                threading.Event().wait(3600)
            def close(self):
                pass

        spool = Spool({str(tmp_path)!r}, "app")
        worker = Worker(spool, Target())
        worker.start()
        spool.put([{{"number": 1}}])
        worker.wake()
        print(worker.close(0.2))
        """
    )
    assert (done.returncode, done.stdout.split()) == (0, ["False"]), done.stderr
    (orphan,) = adopt(tmp_path)
    assert orphan.head().event == {"number": 1}
    orphan.close()
