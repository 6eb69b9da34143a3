"""Records made by hand: one node that reads or writes, with what a connector gives it."""

from __future__ import annotations

from typing import Any

from spark_lineage.plan import Record, decode
from spark_lineage.plan.node import PlanNode

SCHEMA = '{"type":"struct","fields":[{"name":"id","type":"long","nullable":true,"metadata":{}}]}'


class Made:
    """A record under construction: texts are interned as the bridge does."""

    def __init__(self, conf: dict[str, str] | None = None) -> None:
        self.strings: list[str] = []
        self.conf = conf or {}

    def text(self, text: str | None) -> int | None:
        if text is None:
            return None
        if text not in self.strings:
            self.strings.append(text)
        return -1 - self.strings.index(text)

    def map(self, options: dict[str, str]) -> dict[str, Any]:
        return {"map": [[self.text(key), self.text(value)] for key, value in options.items()]}

    def described(self, kind: str, **values: Any) -> dict[str, Any]:
        """A described object; texts and maps of texts are interned."""
        found: dict[str, Any] = {"c": self.text(kind)}
        for key, value in values.items():
            if isinstance(value, str):
                found[key] = self.text(value)
            elif isinstance(value, list):
                found[key] = [self.text(item) for item in value]
            elif isinstance(value, dict) and "c" not in value:
                found[key] = self.map(value)
            else:
                found[key] = value
        return found

    def node(self, kind: str, **fields: Any) -> PlanNode:
        """The one plan node of the record."""
        record = self.record(kind, list(fields), [[0, 0, [], *fields.values()]])
        return PlanNode(record, 0)

    def record(self, kind: str, fields: list[str], nodes: list[Any]) -> Record:
        return decode(
            {
                "formatVersion": 1,
                "session": {"database": "default", "conf": self.conf},
                "strings": self.strings,
                "shapes": [[kind, f"org.example.{kind}", "P", fields]],
                "nodes": nodes,
                "plans": {"analyzed": 0, "optimized": None},
            }
        )
