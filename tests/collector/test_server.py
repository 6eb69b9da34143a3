"""The command as a user starts and ends it."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.collector.build import event

COMMAND = [sys.executable, "-m", "spark_lineage.cli", "collector"]


@contextmanager
def started(folder: Path, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    process = subprocess.Popen(
        [*COMMAND, "--db", f"sqlite:///{folder / 'c.db'}", *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        found = re.fullmatch(r"listening on (http://127\.0\.0\.1:\d+)\n", line)
        assert found, line
        yield process, found[1]
    finally:
        process.kill()
        process.communicate()


@pytest.fixture
def taken() -> Iterator[int]:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        yield listening.getsockname()[1]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_serves_until_it_is_told_to_end(tmp_path: Path, number: signal.Signals) -> None:
    with started(tmp_path, "--port", "0") as (process, url):
        # An open connection must not delay the end.
        with httpx.Client(base_url=url, trust_env=False) as client:
            assert client.post("/api/v1/lineage", json=event()).status_code == 201
            assert client.get("/healthz").json()["events"] == 1
            begin = time.monotonic()
            process.send_signal(number)
            output, errors = process.communicate(timeout=20)
        assert (process.returncode, output, errors) == (0, "", "")
        assert time.monotonic() - begin < 10


def test_what_was_acknowledged_survives_a_kill(tmp_path: Path) -> None:
    with started(tmp_path, "--port", "0") as (process, url):
        for run in range(20):
            answer = httpx.post(f"{url}/api/v1/lineage", json=event(run=run), trust_env=False)
            assert answer.status_code == 201
        process.kill()
        process.wait()
    with started(tmp_path, "--port", "0") as (_, url):
        assert httpx.get(f"{url}/healthz", trust_env=False).json()["events"] == 20


def test_a_taken_port_is_a_clear_error(tmp_path: Path, taken: int) -> None:
    done = subprocess.run(
        [*COMMAND, "--port", str(taken), "--db", str(tmp_path / "c.db")],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith(f"error: port {taken} on 127.0.0.1 is taken; choose another")


def test_any_port_takes_another_and_says_so(tmp_path: Path, taken: int) -> None:
    with started(tmp_path, "--port", str(taken), "--any-port") as (process, url):
        assert not url.endswith(f":{taken}")
        assert httpx.get(f"{url}/healthz", trust_env=False).json()["status"] == "ok"
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=20)
        assert errors == f"port {taken} is taken; another is used\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--db", "mysql://u:secret@h/d"), "allowed: a path, sqlite:///"),
        (("--host", "192.0.2.1", "--db", "c.db"), "cannot listen on 192.0.2.1"),
        (("--port", "no"), "--port"),
    ],
)
def test_wrong_options(tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    done = subprocess.run(
        [*COMMAND, "--port", "0", *arguments],
        capture_output=True, text=True, timeout=60, check=False, cwd=tmp_path,
        env={"HOME": str(tmp_path), "PYTHONPATH": str(Path(__file__).parents[2]), "PATH": ""},
    )  # fmt: skip
    assert done.returncode == 2
    assert message in done.stderr
    assert "secret" not in done.stderr
    assert "Traceback" not in done.stderr


def test_without_its_extra_it_says_what_to_install(tmp_path: Path) -> None:
    script = (
        "import sys; sys.modules['fastapi'] = None\n"
        "from spark_lineage.cli import main; main(['collector'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True, text=True, timeout=60, check=False, env={"HOME": str(tmp_path),
        "PYTHONPATH": str(Path(__file__).parents[2])},
    )  # fmt: skip
    assert done.returncode == 2
    assert "pip install 'spark-lineage[collector]'" in done.stderr


def test_the_default_database_is_in_the_home_directory(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [*COMMAND, "--port", "0"], stdout=subprocess.PIPE, text=True,
        env={"HOME": str(tmp_path), "PYTHONPATH": str(Path(__file__).parents[2])},
    )  # fmt: skip
    assert process.stdout is not None
    process.stdout.readline()
    process.terminate()
    process.communicate(timeout=20)
    assert (tmp_path / ".spark_lineage" / "collector.db").exists()


def test_no_module_of_the_agent_is_loaded() -> None:
    script = (
        "import json, sys, spark_lineage.collector.app\n"
        "print(json.dumps([m for m in sys.modules if m.startswith('spark_lineage')]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    loaded = json.loads(done.stdout)
    assert not [name for name in loaded if ".agent" in name or ".delivery" in name]
