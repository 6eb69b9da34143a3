"""The arrows of the design: a module imports only from its left."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "spark_lineage"
ORDER = ["errors", "version", "config", "plan", "lineage", "openlineage", "delivery", "agent"]
FREE = {"cli", "__init__"}
ALLOWED = {name: set(ORDER[: i + 1]) for i, name in enumerate(ORDER)}
ALLOWED["collector"] = {"errors", "version", "config", "openlineage", "collector"}
JVM = {"py4j", "pyspark"}
FILES = sorted(PACKAGE.rglob("*.py"))


def _imports(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def _part(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_a_module_imports_only_from_its_left(path: Path) -> None:
    part = _part(path)
    if part in FREE or part == "examples":
        return
    for name in _imports(path):
        top, *rest = name.split(".")
        if top == "spark_lineage":
            assert rest[0] in ALLOWED[part], f"{part} imports {name}"
        if part != "agent":
            assert top not in JVM, f"only the agent imports {top}"


def test_no_file_has_grown_past_500_lines() -> None:
    # A migration is written by Alembic once and never again: it grows no more.
    long = [
        f"{path}: {count}"
        for path in [*FILES, *PACKAGE.parent.joinpath("jvm_bridge").rglob("*.java")]
        if "migrations/versions" not in str(path)
        and (count := len(path.read_text().splitlines())) >= 500
    ]
    assert long == []
