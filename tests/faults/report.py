"""Print the table of the last run of each fault: ``python -m tests.faults.report [--docs]``.

``--docs`` prints the short one that docs/faults.md has.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.faults.faults import FAULTS, Fault

FOLDER = Path(__file__).parents[2] / "build" / "faults"
Row = dict[str, Any]


def _same(key: str) -> Callable[[Fault, Row], str]:
    return lambda _, row: "same" if row[key] else "OTHER"


def _dropped(_: Fault, row: Row) -> str:
    told = [f"{number} {reason}" for reason, number in sorted(row["dropped"].items())]
    return ", ".join(told) or "0"


def _agent(_: Fault, row: Row) -> str:
    return f"{row['agent_mib']:.0f}" if row["agent_mib"] else "-"


def _in_the_end(fault: Fault, row: Row) -> str:
    return str(row["after_replay"]) + (f" of {fault.events}" if fault.events is not None else "")


Column = tuple[str, Callable[[Fault, Row], str]]
SHORT: tuple[Column, ...] = (
    ("fault", lambda fault, _: fault.name),
    ("result", _same("same_result")),
    ("exit code", _same("same_code")),
    ("at exit", lambda _, row: f"{row['exit_seconds']:+.1f} s"),
    ("delivered", lambda _, row: str(row["delivered"])),
    ("spooled", lambda _, row: str(row["waiting"] + row["refused"])),
    ("dropped", _dropped),
    ("in the end", _in_the_end),
)
LONG: tuple[Column, ...] = (
    *SHORT,
    ("in all", lambda _, row: f"{row['extra_seconds']:+.1f} s"),
    ("agent MiB", _agent),
    ("refused", lambda _, row: str(row["refused"])),
    ("repeated", lambda _, row: str(row["repeated"])),
)


def table(columns: tuple[Column, ...]) -> list[str]:
    """The table's lines, a fault each that has been run."""
    told = {}
    for path in FOLDER.glob("*.json"):
        row = json.loads(path.read_text())
        told[row["fault"]] = row
    cells = [[name for name, _ in columns], ["---"] * len(columns)]
    for fault in FAULTS:
        if fault.name in told:
            cells.append([cell(fault, told[fault.name]) for _, cell in columns])
    return ["| " + " | ".join(line) + " |" for line in cells]


def main() -> None:
    print("\n".join(table(SHORT if "--docs" in sys.argv[1:] else LONG)))


if __name__ == "__main__":
    main()
