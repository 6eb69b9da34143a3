"""A target in memory, and events."""

from __future__ import annotations

import threading
from typing import Any


def event(number: int, **more: Any) -> dict[str, Any]:
    return {"eventType": "START", "run": {"runId": f"r{number}"}, "number": number, **more}


def numbers(events: list[dict[str, Any]]) -> list[int]:
    return [told["number"] for told in events]


class Target:
    """A transport; ``faults`` are raised in order, one for each attempt, None is success."""

    description = "the test"

    def __init__(self) -> None:
        self.taken: list[dict[str, Any]] = []
        self.attempts: list[int] = []
        self.timeouts: list[float | None] = []
        self.faults: list[Exception | None] = []
        self.always: Exception | None = None
        self.gate = threading.Event()
        self.gate.set()
        self.entered = threading.Event()
        self.closed = 0

    def send(self, told: dict[str, Any], timeout: float | None = None) -> None:
        self.attempts.append(told["number"])
        self.timeouts.append(timeout)
        self.entered.set()
        self.gate.wait(30)
        fault = self.faults.pop(0) if self.faults else self.always
        if fault is not None:
            raise fault
        self.taken.append(told)

    def close(self) -> None:
        self.closed += 1
