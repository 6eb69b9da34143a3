"""Records of executed queries: with the scans of the executed plan, as a job's are."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from spark_lineage.agent.link import Link, connect

_LEASE_BYTES = 64 << 20
#: Adaptive execution replaces scans of empty tables, and with them what the scans tell; to
#: compile code costs more than the queries take.
_SETTINGS = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


class Capture:
    """Runs queries one after the other and gives the record of each one's end."""

    def __init__(self, spark: Any, link: Link) -> None:
        self.spark = spark
        self.link = link

    def text(self, frame: Any) -> str:
        """Run a DataFrame; the record of its end, as JSON text."""
        self._take()
        frame.collect()
        ends = [r for r in self._take() if r.get("phase") == "END" and r["kind"] == "execution"]
        return json.dumps(ends[-1])

    def _take(self) -> list[dict[str, Any]]:
        self.spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
        found: list[dict[str, Any]] = []
        while batch := self.link.lease(1000, _LEASE_BYTES, 0.0):
            found += batch
            self.link.ack(batch[-1]["sequence"])
        return found


@contextmanager
def capturing(spark: Any) -> Iterator[Capture]:
    """Listen to the session's context for the time of the block."""
    link = connect(spark.sparkContext)
    link.install(spark.sparkContext._jsc.sc())
    if not link.claim("driver:benchmark"):
        raise RuntimeError("another agent takes this application's records")
    before = {key: spark.conf.get(key) for key in _SETTINGS}
    for key, value in _SETTINGS.items():
        spark.conf.set(key, value)
    try:
        yield Capture(spark, link)
    finally:
        for key, value in before.items():
            spark.conf.set(key, value)
        link.release()
        link.uninstall()
