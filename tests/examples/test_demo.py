"""``spark-lineage demo`` as a person runs it: on a taken port, until Ctrl-C."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.jobs import Jobs

COLUMNS = {
    "customer_id": r"IDENTITY\s+INPUT_FIELDS\s+orders\.customer_id",
    "region_label": r"TRANSFORMATION\s+INPUT_FIELDS\s+upper\(orders\.region\)",
    "total_amount": r"AGGREGATION\s+INPUT_FIELDS\s+sum\(orders\.amount\)",
    "customer_seq": r"TRANSFORMATION\s+SYSTEM\s+row_number\(\) OVER",
    "region_group": r"TRANSFORMATION\s+CONSTANT\s+CASE WHEN upper\(orders\.region\) = 'NORTH'",
}
WAIT_SECONDS = 200


@pytest.fixture
def taken() -> Iterator[int]:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


def _wait_for(process: subprocess.Popen[str], log: Path, text: str) -> str:
    deadline = time.monotonic() + WAIT_SECONDS
    while text not in log.read_text() and process.poll() is None:
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.2)
    return log.read_text()


def test_the_demo_shows_the_lineage_and_serves_until_it_is_stopped(jobs: Jobs, taken: int) -> None:
    log = jobs.folder / "demo.log"
    with log.open("w") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "spark_lineage.cli", "demo", "--port", str(taken)],
            cwd=jobs.folder,
            env=jobs.environment(),
            stdout=output,
            stderr=subprocess.STDOUT,
            text=True,
        )
    try:
        shown = _wait_for(process, log, "until Ctrl-C")
        found = re.search(r"^collector: (http://\S+)", shown, re.MULTILINE)
        assert found, shown
        url = found[1]
        assert not url.endswith(f":{taken}")
        for name, line in COLUMNS.items():
            assert re.search(rf"{name}\s+\S+\s+{line}", shown), shown
        for kind, columns in (
            ("JOIN", "customers.customer_id, orders.customer_id"),
            ("FILTER", "customers.customer_level, orders.amount, orders.status"),
            ("GROUP_BY", "orders.customer_id, orders.region"),
            ("SORT", "orders.amount"),
        ):
            assert re.search(rf"{kind}\s+{re.escape(columns)}\s*$", shown, re.MULTILINE), shown

        asked = subprocess.run(
            [sys.executable, "-m", "spark_lineage.cli", "impact", "orders.amount", "--url", url],
            capture_output=True,
            text=True,
            check=False,
        )
        assert asked.returncode == 0, asked.stderr
        assert "total_amount" in asked.stdout

        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0, log.read_text()
        with socket.socket() as probe:
            assert probe.connect_ex(("127.0.0.1", int(url.rsplit(":", 1)[1]))) != 0
    finally:
        process.terminate()
        process.wait(60)
