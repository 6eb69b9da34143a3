"""``spark-lineage doctor``: each thing that can be wrong, and its remedy."""

from __future__ import annotations

import http.server
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from spark_lineage import config
from spark_lineage.agent import doctor


@pytest.fixture
def collector() -> Iterator[str]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/healthz" else 404)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def _free() -> str:
    probe = http.server.HTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler)
    port = probe.server_port
    probe.server_close()
    return f"http://127.0.0.1:{port}"


def test_a_collector_that_answers_and_one_that_does_not(collector: str) -> None:
    assert doctor.collector(config.load({}, {}, {"transport_url": collector})).ok is True
    absent = doctor.collector(config.load({}, {}, {"transport_url": _free()}))
    assert absent.ok is False
    assert "spark-lineage collector" in absent.remedy
    file = config.load({}, {}, {"transport_type": "file", "transport_path": "/x"})
    assert doctor.collector(file).ok is None


def test_java_missing_and_present(tmp_path: Path) -> None:
    assert doctor.java({"JAVA_HOME": str(tmp_path)}).ok is False
    fake = tmp_path / "bin" / "java"
    fake.parent.mkdir()
    fake.write_text("#!/bin/sh\necho 'openjdk version \"17.0.1\" 2021' >&2\n")
    fake.chmod(0o755)
    found = doctor.java({"JAVA_HOME": str(tmp_path)})
    assert found.ok is True
    assert found.found.startswith("17 ")


@pytest.mark.parametrize(("version", "ok"), [("3.3.4", False), ("3.4.0", True), ("4.3.0", True)])
def test_the_version_of_spark(tmp_path: Path, version: str, ok: bool) -> None:
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / f"spark-core_2.13-{version}.jar").touch()
    assert doctor.spark({"SPARK_HOME": str(tmp_path)}).ok is ok
    assert doctor.spark({"SPARK_HOME": str(tmp_path / "nowhere")}).ok is False


def test_the_jar_is_of_this_version() -> None:
    assert doctor.bridge().ok is True


def test_a_spool_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    wrong = doctor.spool(config.load({}, {}, {"spool_dir": str(tmp_path / "file" / "spool")}))
    assert wrong.ok is False
    assert "spark.lineage.spool.dir" in wrong.remedy
    good = doctor.spool(config.load({}, {}, {"spool_dir": str(tmp_path / "spool")}))
    assert good.ok is True
    assert (tmp_path / "spool").stat().st_mode & 0o777 == 0o700


def test_the_command_says_what_is_wrong_and_what_to_do(tmp_path: Path, collector: str) -> None:
    def run(*more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "spark_lineage.cli", "doctor", *more],
            env={**os.environ, "HOME": str(tmp_path), "SPARK_LINEAGE_TRANSPORT_URL": collector},
            capture_output=True,
            text=True,
            check=False,
        )

    good = run()
    assert good.returncode == 0, good.stdout + good.stderr
    assert [line.split()[:2] for line in good.stdout.splitlines()] == [
        ["ok", what]
        for what in ("Java", "Spark", "bridge", "Python", "settings", "collector", "spool")
    ]
    wrong = run("--conf", "spark.lineage.queue.bytes=lots")
    assert wrong.returncode == 1
    assert "WRONG settings   spark.lineage.queue.bytes is 'lots'; allowed: a positive size" in (
        wrong.stdout
    )
