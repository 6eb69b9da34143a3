"""Batches as OpenLineage's specification has them (``POST /lineage/batch``).

The answer is 204, or 200 with a summary and the events that failed, each with its
index, the reason, and whether it may be sent again.
"""

from __future__ import annotations

import json
from typing import Any

from spark_lineage.delivery.transports.base import ANSWER_LIMIT
from spark_lineage.errors import RejectedError

MOST_EVENTS = 100
MOST_BYTES = 1 << 20  # of all events of a batch, unless the first is larger
FAULTS_UNTIL_NONE = 3

Verdicts = list[RejectedError | None]


def verdicts(status: int, body: str, count: int) -> Verdicts | None:
    """What became of the events of a batch, up to the first that is to be sent again.

    None where the answer is not the specification's.
    """
    if status == 204:
        return [None] * count
    if status != 200:
        return None
    try:
        answer = json.loads(body)
        failed = {int(told["index"]): told for told in answer.get("failed_events") or ()}
        summary = answer["summary"]
        if int(summary["received"]) != count or int(summary["failed"]) != len(failed):
            return None
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
    if not all(0 <= index < count for index in failed):
        return None
    return _until_retriable(failed, count)


def _until_retriable(failed: dict[int, dict[str, Any]], count: int) -> Verdicts:
    result: Verdicts = []
    for index in range(count):
        told = failed.get(index)
        if told is None:
            result.append(None)
            continue
        if told.get("retriable"):
            break
        reason = str(told.get("reason") or "no reason given")[:ANSWER_LIMIT]
        result.append(RejectedError("refused in a batch", reason))
    return result


class Asked:
    """Whether a target takes batches: unknown until it has answered one."""

    def __init__(self) -> None:
        self._proven = False
        self._faults = 0

    def learn(self, status: int, understood: bool) -> int:
        """Take an answer into account; gives how many events may go at once from now on."""
        if understood:
            self._proven = True
        elif not self._proven:
            # A gateway before a target that is down answers 5xx too: not known yet, then.
            down = status >= 500 and status != 501
            self._faults += 1 if down or status in (401, 407, 413, 429) else FAULTS_UNTIL_NONE
        return MOST_EVENTS if self._proven or self._faults < FAULTS_UNTIL_NONE else 1
