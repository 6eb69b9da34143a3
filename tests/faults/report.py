"""Print the table of the last run of the faults: ``python -m tests.faults.report``."""

from __future__ import annotations

import json
from pathlib import Path

from tests.faults.faults import FAULTS

FOLDER = Path(__file__).parents[2] / "build" / "faults"
HEAD = ("fault", "result", "exit code", "extra s", "delivered", "waiting", "refused",
        "counted as dropped", "after replay")  # fmt: skip


def rows() -> list[tuple[str, ...]]:
    told = {}
    for path in FOLDER.glob("*.json"):
        row = json.loads(path.read_text())
        told[row["fault"]] = row
    found = []
    for fault in FAULTS:
        row = told.get(fault.name)
        if row is None:
            continue
        dropped = ", ".join(f"{n} {reason}" for reason, n in sorted(row["dropped"].items()))
        found.append(
            (
                fault.name,
                "same" if row["same_result"] else "OTHER",
                "same" if row["same_code"] else "OTHER",
                f"{row['extra_seconds']:.1f}",
                str(row["delivered"]),
                str(row["waiting"]),
                str(row["refused"]),
                dropped or "0",
                str(row["after_replay"]) + (f" of {fault.events}" if fault.events else ""),
            )
        )
    return found


def main() -> None:
    for row in (HEAD, ("---",) * len(HEAD), *rows()):
        print("| " + " | ".join(row) + " |")


if __name__ == "__main__":
    main()
