"""Which executions are one action of the user, where Spark does not say so itself.

Nested executions name their root. A multi-insert (``FROM t INSERT INTO a ...
INSERT INTO b ...``) is one execution from Spark 4.0 on; before, each of its
inserts is a root of its own, one after the other with the same text.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

MAX_SESSIONS = 1_000

_QUOTED = re.compile(
    r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|`[^`]*`|--[^\n]*|/\*.*?\*/", re.DOTALL
)
_INSERT = re.compile(r"\binsert\s+(?:into|overwrite)\b", re.IGNORECASE)


@dataclass
class _Going:
    """A multi-insert of which some inserts have started."""

    sql: str
    action: str
    left: int


class Actions:
    """The ids of one application's actions. Not thread-safe."""

    def __init__(self) -> None:
        self._going: OrderedDict[str, _Going] = OrderedDict()
        self._ids: OrderedDict[int, str] = OrderedDict()
        self._groups: OrderedDict[str, None] = OrderedDict()

    def is_first(self, group: str) -> bool:
        """Whether no execution of this job group was asked for before."""
        first = group not in self._groups
        self._groups[group] = None
        while len(self._groups) > MAX_SESSIONS:
            self._groups.popitem(last=False)
        return first

    def id_of(self, record: dict[str, Any]) -> str:
        """The action's id: the same for all executions of it, at START and END."""
        execution, app = record["execution"], record["app"]
        root = execution.get("rootId")
        number = int(execution["id"] if root is None else root)
        known = self._ids.get(number)
        if known is None:
            known = f"{app.get('id')}:{number}"
            sql = execution.get("sql")
            if sql and str(app.get("sparkVersion") or "").startswith("3."):
                known = self._multi_insert(str(execution.get("sessionId")), sql, known)
            # A start without its text must not settle the id before the end has it.
            if sql or record["phase"] == "END":
                self._ids[number] = known
                while len(self._ids) > MAX_SESSIONS:
                    self._ids.popitem(last=False)
        return known

    def _multi_insert(self, session: str, sql: str, action: str) -> str:
        going = self._going.get(session)
        if going is not None and going.sql == sql and going.left > 0:
            going.left -= 1
            return going.action
        self._going.pop(session, None)
        inserts = len(_INSERT.findall(_QUOTED.sub(" ", sql)))
        if inserts > 1:
            self._going[session] = _Going(sql, action, inserts - 1)
            while len(self._going) > MAX_SESSIONS:
                self._going.popitem(last=False)
        return action
