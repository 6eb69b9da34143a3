"""What the collector's page must name: every path, command, option and figure."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from spark_lineage.cli import COMMANDS
from spark_lineage.collector import health
from spark_lineage.collector.app import create

PAGE = (Path(__file__).parents[2] / "docs" / "collector.md").read_text(encoding="utf-8")


def _paths() -> list[str]:
    app = create("sqlite://")
    found = [
        path
        for path, operations in app.openapi()["paths"].items()
        if not any("marquez" in one.get("tags", ()) for one in operations.values())
    ]
    app.state.collector.close()
    return sorted(found)


@pytest.mark.parametrize("path", _paths())
def test_every_path_is_named(path: str) -> None:
    # `/quarantine[/N]`, `POST …/N/replay`: what is below another is named by its end.
    whole = path.replace("{number}", "N")
    below = whole.rpartition("/")[2]
    assert whole in PAGE or re.search(rf"…(/N)?/{re.escape(below)}\b|\[/{below}\]", PAGE), path


@pytest.mark.parametrize(
    "command", [name for name, (_, group) in COMMANDS.items() if group in ("Ask", "Mend", "Keep")]
)
def test_every_command_that_asks_or_keeps_is_named(command: str) -> None:
    assert re.search(rf"(`|spark-lineage |\|){re.escape(command)}\b", PAGE), command


@pytest.mark.parametrize("name", health.WATCHED)
def test_every_figure_is_named(name: str) -> None:
    assert f"`{name}`" in PAGE


def test_every_option_of_the_service_is_named() -> None:
    text = Path("spark_lineage/cli/collector.py")
    source = (Path(__file__).parents[2] / text).read_text(encoding="utf-8")
    names = re.findall(r"^    (\w+): (?:Annotated|Db)", source, re.MULTILINE)
    shown = {"anyone": "open"}
    for name in names:
        assert f"--{shown.get(name, name).replace('_', '-')}" in PAGE, name
