"""A Jupyter kernel that executes cells."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tests.places import told
from tests.support.jobs import Jobs

SECONDS = 240

pytestmark = [
    pytest.mark.places,
    # jupyter_client's and zmq's own.
    pytest.mark.filterwarnings("ignore::DeprecationWarning:zmq"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:jupyter_client"),
]

START = """
from pyspark.sql import SparkSession
builder = SparkSession.builder.appName("notebook")
for key, value in {conf!r}.items():
    builder = builder.config(key, value)
spark = builder.getOrCreate()
"""
WRITE_NUMBERS = "spark.range(5).withColumnRenamed('id', 'a').write.saveAsTable('numbers')"
WRITE_LATER = "spark.sql('SELECT a + 1 AS b FROM numbers').write.saveAsTable('later')"


class Notebook:
    """One kernel, and a client that executes cells in it."""

    def __init__(self, jobs: Jobs) -> None:
        from jupyter_client.manager import KernelManager

        self.jobs = jobs
        self.manager: Any = KernelManager(kernel_name="python3")
        self.manager.kernel_spec.argv[0] = sys.executable
        self.manager.start_kernel(
            cwd=str(jobs.folder),
            env=jobs.environment(
                IPYTHONDIR=str(jobs.folder / "ipython"), PYDEVD_DISABLE_FILE_VALIDATION="1"
            ),
        )
        self.client: Any = self.manager.blocking_client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=SECONDS)

    def run(self, cell: str) -> str:
        """Execute a cell and give what it printed; the test fails with its error."""
        printed: list[str] = []

        def take(message: dict[str, Any]) -> None:
            content = message["content"]
            if message["msg_type"] == "stream" and content["name"] == "stdout":
                printed.append(content["text"])
            elif message["msg_type"] == "execute_result":
                printed.append(content["data"]["text/plain"])

        reply = self.client.execute_interactive(cell, timeout=SECONDS, output_hook=take)
        assert reply["content"]["status"] == "ok", reply["content"]
        return "".join(printed)

    def shut_down(self) -> int:
        """End it as a person does from the menu, and give its exit code.

        Jupyter kills a kernel that takes too long.
        """
        process = self.manager.provisioner.process
        self.manager.shutdown_kernel()
        self.client.stop_channels()
        code: int = process.returncode
        return code

    def end(self) -> None:
        """End whatever is left."""
        if self.manager.is_alive():
            self.manager.shutdown_kernel(now=True)
        self.client.stop_channels()


@pytest.fixture
def notebook(jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> Iterator[Notebook]:
    pytest.importorskip("jupyter_client")
    pytest.importorskip("ipykernel")
    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(jobs.folder / "runtime"))
    notebook = Notebook(jobs)
    yield notebook
    notebook.end()


def _all_events(jobs: Jobs) -> list[told.Event]:
    """What was delivered, and what the kernel's end left in the spool."""
    done = subprocess.run(
        [sys.executable, "-m", "spark_lineage.cli", "replay", "--spool", str(jobs.spool)],
        env=jobs.environment(
            SPARK_LINEAGE_TRANSPORT_TYPE="file", SPARK_LINEAGE_TRANSPORT_PATH=str(jobs.events)
        ),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return jobs.read()


def _assert_told(jobs: Jobs) -> None:
    events = _all_events(jobs)
    told.assert_each_run_has_one_end(events)
    later = told.written(events, "default.later")
    assert told.sources(later) == {"b": {("default.numbers", "a", "TRANSFORMATION")}}
    assert later["job"]["name"] == "notebook.default.later"
    told.application(events)


def test_the_extension_before_there_is_a_session(notebook: Notebook) -> None:
    assert "as soon as there is a SparkSession" in notebook.run("%load_ext spark_lineage")
    assert "spark_lineage" not in notebook.run("1 + 1")
    assert "spark_lineage is on for" in notebook.run(START.format(conf=notebook.jobs.conf()))
    notebook.run(WRITE_NUMBERS)
    assert "spark_lineage" not in notebook.run(WRITE_LATER)
    assert notebook.shut_down() != -signal.SIGKILL
    _assert_told(notebook.jobs)


def test_the_extension_in_a_running_session(notebook: Notebook) -> None:
    notebook.run(START.format(conf=notebook.jobs.conf()))
    notebook.run(WRITE_NUMBERS)
    assert "spark_lineage is on for" in notebook.run("%load_ext spark_lineage")
    notebook.run(WRITE_LATER)
    assert "IDENTITY" in notebook.run(
        "import spark_lineage; spark_lineage.lineage_of(spark.table('later')).to_dict()"
    )
    assert notebook.shut_down() != -signal.SIGKILL
    _assert_told(notebook.jobs)


def test_a_session_made_anew_after_its_stop(notebook: Notebook) -> None:
    notebook.run("%load_ext spark_lineage")
    notebook.run(START.format(conf=notebook.jobs.conf()))
    notebook.run(WRITE_NUMBERS)
    notebook.run("spark.stop()")
    assert "spark_lineage is on for" in notebook.run(START.format(conf=notebook.jobs.conf()))
    notebook.run("spark.range(5).write.parquet('other')")
    assert notebook.shut_down() != -signal.SIGKILL
    events = _all_events(notebook.jobs)
    assert len({told.context(event)["applicationId"] for event in events}) == 2
    told.written(events, "other")


def test_an_absent_collector_does_not_hold_up_the_kernels_end(notebook: Notebook) -> None:
    conf = {
        **notebook.jobs.conf(),
        "spark.lineage.transport.type": "http",
        "spark.lineage.transport.url": "http://127.0.0.1:9",
    }
    del conf["spark.lineage.transport.path"], conf["spark.lineage.shutdown.timeout"]
    notebook.run("%load_ext spark_lineage")
    notebook.run(START.format(conf=conf))
    notebook.run(WRITE_NUMBERS)
    assert notebook.shut_down() != -signal.SIGKILL
    assert notebook.jobs.read() == []
    events = _all_events(notebook.jobs)
    told.assert_each_run_has_one_end(events)
    told.written(events, "default.numbers")
