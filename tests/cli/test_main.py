from __future__ import annotations

import json
import subprocess
import sys

import pytest

from spark_lineage import __version__
from spark_lineage.cli import COMMANDS
from tests.cli.conftest import Run

HEAVY = ("fastapi", "sqlalchemy", "uvicorn", "openlineage", "requests", "pydantic", "sqlglot",
         "pyspark", "py4j")  # fmt: skip


def test_help_names_every_command(run: Run) -> None:
    done = run("--help")
    assert done.code == 0
    for name in COMMANDS:
        assert name in done.out


def test_without_a_command_help_is_shown(run: Run) -> None:
    done = run()
    assert "Usage" in done.out + done.err


def test_version(run: Run) -> None:
    assert run("--version").out == f"spark-lineage {__version__}\n"


@pytest.mark.parametrize("name", list(COMMANDS))
def test_help_of_each_command(run: Run, name: str) -> None:
    done = run(name, "--help")
    assert done.code == 0
    assert f"spark-lineage {name}" in done.out


def test_an_unknown_command(run: Run) -> None:
    done = run("explian")
    assert done.code == 2
    assert "explian" in done.err


def test_help_loads_nothing_heavy() -> None:
    script = (
        "import contextlib, json, sys\n"
        "from spark_lineage.cli import main\n"
        "with contextlib.suppress(SystemExit): main(['--help'])\n"
        "print(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    loaded = json.loads(done.stdout.splitlines()[-1])
    assert not set(HEAVY) & set(loaded)
