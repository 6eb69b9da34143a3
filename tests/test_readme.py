"""README says what is: its settings, its commands, its calls."""

from __future__ import annotations

import re
from pathlib import Path

from spark_lineage.config import SETTINGS

README = (Path(__file__).parents[1] / "README.md").read_text()


def settings_table() -> str:
    """The table of README, from the settings themselves."""
    rows = ["| `spark.lineage.` | allowed | meaning |", "|---|---|---|"]
    for setting in SETTINGS:
        rows.append(f"| `{setting.key}` | {setting.allowed} | {setting.meaning} |")
    return "\n".join(rows)


def test_readme_lists_every_setting_as_it_is() -> None:
    assert settings_table() in README


def test_readme_names_only_make_targets_that_exist() -> None:
    makefile = (Path(__file__).parents[1] / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    assert set(re.findall(r"make ([a-z-]+)", README)) <= targets
