"""Runs Python code in a process of its own, as if this checkout were installed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


def environment() -> dict[str, str]:
    path = os.environ.get("PYTHONPATH")
    return {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{path}" if path else str(ROOT)}


def run_python(code: str, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=timeout,
        env=environment(),
        check=False,
    )


def cli(*arguments: str) -> str:
    """What the library's program prints for these arguments; it must end well."""
    done = subprocess.run(
        [sys.executable, "-m", "spark_lineage.cli", *arguments],
        capture_output=True,
        text=True,
        env=environment(),
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def kept_of(events: Path, folder: Path) -> list[dict[str, Any]]:
    """The data sets that a collector holds of a file of events; its store is in ``folder``."""
    store = f"sqlite:///{folder}/store.db"
    cli("import", "--db", store, str(events))
    graph: dict[str, list[dict[str, Any]]] = json.loads(
        cli("export", "--db", store, "--graph", "--json")
    )
    return graph["datasets"]
