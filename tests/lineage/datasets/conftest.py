"""Records of what really ran: with the executed plan's scans, as the bridge takes them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from spark_lineage.lineage import Lineage, LineageOptions, derive
from spark_lineage.plan import Record, decode
from tests.lineage.bench import Bench


class Ended:
    """Runs a program, and gives the records of its executions' ends."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.context = bench.spark.sparkContext._jsc.sc()

    def records(self, program: Callable[[], Any]) -> list[Record]:
        """What each execution of the program said at its end."""
        bridge = self.bench.bridge
        assert bridge.install(self.context)
        assert bridge.claim("driver:tests")
        try:
            self._take()
            program()
            taken = self._take()
        finally:
            bridge.release()
            bridge.uninstall()
        return [
            decode(record)
            for record in taken
            if record["kind"] == "execution" and record["phase"] == "END"
        ]

    def _take(self) -> list[dict[str, Any]]:
        self.context.listenerBus().waitUntilEmpty()
        taken: list[dict[str, Any]] = json.loads(self.bench.bridge.lease(1_000_000, 1 << 30, 0))
        if taken:
            self.bench.bridge.ack(taken[-1]["sequence"])
        return taken

    def lineage(self, program: Callable[[], Any], **options: Any) -> Lineage:
        """The lineage of the program's last execution."""
        return derive(self.records(program)[-1], LineageOptions(**options))


@pytest.fixture
def ended(bench: Bench) -> Ended:
    """For what only an execution's end knows."""
    return Ended(bench)
