"""Records of what a program runs, by a listener in Python (the product's is in the bridge)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from spark_lineage.plan import Record, decode
from tests.lineage.bench import Bench


class _Listener:
    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.texts: list[str] = []

    def onSuccess(self, name: str, query: Any, nanos: int) -> None:
        self.texts.append(self.bench.bridge.encode(query))

    def onFailure(self, name: str, query: Any, error: Any) -> None:
        self.texts.append(self.bench.bridge.encode(query))

    class Java:
        implements = ("org.apache.spark.sql.util.QueryExecutionListener",)


@contextmanager
def captured(bench: Bench) -> Iterator[list[Record]]:
    """The records of all executions of the block, filled when it ends."""
    from pyspark.java_gateway import ensure_callback_server_started

    ensure_callback_server_started(bench.spark.sparkContext._gateway)
    listener = _Listener(bench)
    manager = bench.spark._jsparkSession.listenerManager()
    bus = bench.spark.sparkContext._jsc.sc().listenerBus()
    bus.waitUntilEmpty()
    manager.register(listener)
    records: list[Record] = []
    try:
        yield records
        bus.waitUntilEmpty()
    finally:
        # Unregistering compares proxies, and each crossing makes a new one: it removes nothing.
        manager.clear()
    records.extend(decode(json.loads(text)) for text in listener.texts)
