"""The agent's loop: lease records, turn them into events, spool them, acknowledge.

One code path for both hosts: a daemon thread in a PySpark process, or the main
thread of the sidecar. An event is in the spool before its record is
acknowledged, so a killed agent loses nothing that was acknowledged.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from spark_lineage.agent.guard import Failures, guarded, logger
from spark_lineage.agent.link import Link, is_unreachable
from spark_lineage.agent.runs import Runs
from spark_lineage.config import Settings
from spark_lineage.delivery.dispatch import Delivery
from spark_lineage.openlineage.run import RunError

LEASE_RECORDS = 200
LEASE_BYTES = 8 << 20
LEASE_SECONDS = 1.0
REPORT_SECONDS = 2.0
MAX_PAUSE_SECONDS = 5.0
MAX_UNREACHABLE = 20


class Host:
    """Takes the records of one bridge to the end; built where it runs.

    ``link`` is the claimed bridge, ``name`` names the spool's file (the
    application's id), ``program`` is the program's file where this process runs it.
    """

    def __init__(
        self, link: Link, settings: Settings, name: str, program: str | None = None
    ) -> None:
        self._link = link
        self._name = name
        self._failures = Failures()
        self._runs = Runs(settings, self._failures, program)
        self._delivery = Delivery(settings, name)
        self._stopping = threading.Event()
        self._reported_at = 0.0
        self._pending = 0
        self._acknowledged = -1
        self._waiting: tuple[list[dict[str, Any]], int] | None = None

    def start(self) -> None:
        """Start delivery, of what earlier agents on this machine left as well; says so."""
        self._delivery.start()
        logger.info("lineage of %s goes to %s", self._name, self._delivery.description)

    def run(self, ended: Callable[[], bool] | None = None) -> None:
        """Poll until :meth:`stop`, or until ``ended`` when nothing waits; never raises."""
        pause, unreachable = 0.0, 0
        while not self._stopping.is_set() and unreachable < MAX_UNREACHABLE:
            try:
                taken = self.poll(LEASE_SECONDS)
                pause, unreachable = 0.0, 0
            except Exception as error:
                if self._stopping.is_set():
                    break
                unreachable = unreachable + 1 if is_unreachable(error) else 0
                self._failures.add("taking records", error)
                if is_unreachable(error) and self._is_ended(ended):
                    break
                pause = min(MAX_PAUSE_SECONDS, max(0.1, pause * 2))
                self._stopping.wait(pause)
                continue
            self._report(force=taken > 0 or self._pending > 0)
            if not taken and self._is_ended(ended):
                break

    def _is_ended(self, ended: Callable[[], bool] | None) -> bool:
        try:
            return ended is not None and ended()
        except Exception as error:
            self._failures.add("asking the bridge", error)
            return False

    def poll(self, timeout: float) -> int:
        """Take what there is, waiting up to ``timeout`` seconds; gives how many records."""
        if self._waiting is not None:
            self._keep(*self._waiting)
        records = self._link.lease(LEASE_RECORDS, LEASE_BYTES, timeout)
        if not records:
            return 0
        self._runs.undelivered = self._delivery.counts()["dropped"]
        events: list[dict[str, Any]] = []
        for record in records:
            events += self._runs.take(record)
        self._keep(events, int(records[-1]["sequence"]))
        return len(records)

    def _keep(self, events: list[dict[str, Any]], sequence: int) -> None:
        """Spool events, then acknowledge their records; what fails comes first next time."""
        self._waiting = (events, sequence)
        if events:
            self._delivery.put(events)
            # Not a second time, should the acknowledgement fail.
            self._waiting = ([], sequence)
        self._link.ack(sequence)
        self._waiting = None
        self._acknowledged = sequence
        self._delivery.wake()

    def end_applications(self, error: RunError | None = None, died: bool = False) -> None:
        """End the runs that are still open: their end will not be told any more.

        ``died``: the driver went without telling its end.
        """
        with guarded(self._failures, "ending runs"):
            self._delivery.put(self._runs.end_all(error, died))
            self._delivery.wake()

    def drain(self, timeout: float) -> bool:
        """Wait until all records are taken; False if time ran out or the JVM is gone."""
        try:
            return self._link.drain(timeout)
        except Exception as error:
            self._failures.add("waiting for the bridge", error)
            return False

    def flush(self, timeout: float) -> bool:
        """Wait until the bridge is empty and the target has all; False if time ran out."""
        deadline = time.monotonic() + timeout
        if not self.drain(timeout):
            return False
        return self._delivery.flush(max(0.0, deadline - time.monotonic()))

    def stop(self, timeout: float) -> None:
        """End the loop and delivery within ``timeout`` seconds; what is left stays spooled."""
        deadline = time.monotonic() + timeout
        self._stopping.set()
        with guarded(self._failures, "ending delivery"):
            self._delivery.close(max(0.0, deadline - time.monotonic()))

    def state(self) -> dict[str, Any]:
        """Counts of the spool and of failures, as the bridge keeps them for others."""
        return {
            **self._delivery.counts(),
            "acknowledged": self._acknowledged,
            "failures": self._failures.counts(),
            "held": self._runs.held(),
        }

    def _report(self, force: bool) -> None:
        now = time.monotonic()
        if not force and now - self._reported_at < REPORT_SECONDS:
            return
        self._reported_at = now
        with guarded(self._failures, "reporting to the bridge"):
            state = self.state()
            self._pending = int(state["pending"])
            self._link.report(state)
