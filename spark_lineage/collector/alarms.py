"""Alarms: thresholds on the totals of the store, told to a webhook when they change."""

from __future__ import annotations

import logging
import operator
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from spark_lineage.collector.health import WATCHED
from spark_lineage.collector.webhook import Webhook
from spark_lineage.errors import ConfigError

logger = logging.getLogger(__name__)
_TESTS: dict[str, Callable[[float, float], bool]] = {"<": operator.lt, ">": operator.gt}


@dataclass(frozen=True)
class Rule:
    """One threshold, such as ``coverage<0.9``."""

    text: str
    name: str
    sign: str
    limit: float

    def rings(self, totals: dict[str, Any]) -> bool:
        """Whether the totals are beyond it."""
        return _TESTS[self.sign](float(totals[self.name]), self.limit)


def rule(text: str) -> Rule:
    """Read ``NAME<NUMBER`` or ``NAME>NUMBER``. Raises ``ConfigError``."""
    match = re.fullmatch(r"\s*(\w+)\s*([<>])\s*([0-9.]+)\s*", text)
    if not match or match[1] not in WATCHED:
        raise ConfigError("--alarm", text, f"one of {', '.join(WATCHED)}, then < or > and a number")
    return Rule(f"{match[1]}{match[2]}{match[3]}", match[1], match[2], float(match[3]))


class Alarms:
    """Looks at the totals again and again, and tells a webhook what began or ended to ring."""

    def __init__(
        self, rules: list[Rule], totals: Callable[[], dict[str, Any]], webhook: Webhook | None
    ) -> None:
        self._rules = rules
        self._totals = totals
        self._webhook = webhook
        self.ringing: dict[str, bool] = {one.text: False for one in rules}

    def look(self) -> list[dict[str, Any]]:
        """Look once; gives what changed, and tells the webhook."""
        totals = self._totals() if self._rules else {}
        changes = []
        for one in self._rules:
            rings = one.rings(totals)
            if rings != self.ringing[one.text]:
                self.ringing[one.text] = rings
                state = "ringing" if rings else "over"
                changes.append({"alarm": one.text, "state": state, "value": totals[one.name]})
        if changes and self._webhook:
            self._webhook.put({"alarms": changes, "totals": totals})
        return changes

    def watch(self, ended: threading.Event, seconds: float) -> None:
        """Look every so many seconds until ``ended`` is set."""
        while not ended.wait(seconds):
            try:
                self.look()
            except Exception:
                logger.exception("the alarms could not be looked at")
