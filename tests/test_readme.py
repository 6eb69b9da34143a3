"""README says what is: its settings, its commands, its calls."""

from __future__ import annotations

import re
from pathlib import Path

from spark_lineage.config import SETTINGS
from tests.faults.faults import FAULTS

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
FAULTS_PAGE = (ROOT / "docs" / "faults.md").read_text()


def settings_table() -> str:
    """The table of README, from the settings themselves."""
    rows = ["| `spark.lineage.` | allowed | meaning |", "|---|---|---|"]
    for setting in SETTINGS:
        rows.append(f"| `{setting.key}` | {setting.allowed} | {setting.meaning} |")
    return "\n".join(rows)


def test_readme_lists_every_setting_as_it_is() -> None:
    assert settings_table() in README


def test_readme_names_only_make_targets_that_exist() -> None:
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    assert set(re.findall(r"make ([a-z-]+)", README)) <= targets


def test_docs_tell_of_every_fault_as_the_last_run_did() -> None:
    """The table is made by ``python -m tests.faults.report --docs``."""
    rows = re.findall(r"^\| ([^|]+) \| (same|OTHER) \| (same|OTHER) \|", FAULTS_PAGE, re.MULTILINE)
    assert rows == [(fault.name, "same", "same") for fault in FAULTS]


def test_readme_counts_every_fault() -> None:
    """The first of the faults is none."""
    part = README.partition("## What happens when something fails")[2].partition("\n## ")[0]
    counts = re.findall(r"^\| [^|]+ \| (\d+) \|", part, re.MULTILINE)
    assert sum(map(int, counts)) == len(FAULTS) - 1
    assert f"{len(FAULTS) - 1} real jobs" in part
