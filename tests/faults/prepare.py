"""What has to be wrong before a job starts; each gives settings and environment to add."""

from __future__ import annotations

import importlib.util
import os
import shutil
import site
import subprocess
import sys
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.faulty import faulty_jar
from tests.support.parts import missing

ROOT = Path(__file__).parents[2]
#: What PySpark uses where it is there, compiled for this Python alone.
COMPILED = ("numpy", "pandas", "pyarrow")


@dataclass
class Prepared:
    """Settings (None: left out), environment, and jars of a job."""

    conf: dict[str, str | None] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    jars: list[str] = field(default_factory=list)
    bridge: Path | None = None


def small_files(folder: Path) -> Prepared:
    """To SQLite in the agent a limit on the size of files is what a full disk is."""
    return _python(folder, f'trap "" XFSZ; ulimit -f 8; exec {sys.executable} "$@"')


def clock(folder: Path) -> Prepared:
    """Two seconds after the agent has started its clock jumps back an hour."""
    return _site(
        folder,
        """
        import time
        real, began = time.time, time.monotonic()
        time.time = lambda: real() - (3600 if time.monotonic() - began > 2 else 0)
        """,
    )


def _site(folder: Path, code: str) -> Prepared:
    """The agent's Python runs this code before all else."""
    (folder / "site").mkdir()
    (folder / "site" / "sitecustomize.py").write_text(textwrap.dedent(code))
    return _python(folder, f'PYTHONPATH={folder / "site"}:$PYTHONPATH exec {sys.executable} "$@"')


def _python(folder: Path, line: str) -> Prepared:
    wrapper = folder / "python"
    wrapper.write_text(f"#!/bin/bash\n{line}\n")
    wrapper.chmod(0o755)
    return Prepared(conf={"spark.lineage.python": str(wrapper)})


def poisoned_agent(folder: Path) -> Prepared:
    """In the agent whatever writes a data set called ``poison`` cannot be merged to a run."""
    return _site(
        folder,
        """
        import spark_lineage.agent.runs as runs
        real = runs.merge

        def merge(lineages):
            outputs = [output for each in lineages for output in each.outputs]
            if any(output.dataset and "poison" in output.dataset.name for output in outputs):
                raise ValueError("a fault of the agent")
            return real(lineages)

        runs.merge = merge
        """,
    )


def newer_python(folder: Path) -> Prepared:
    """A Python of 3.12 or later runs the job, with what is installed here and is pure Python."""
    for python in _pythons():
        told = subprocess.run(
            [python, "-c", "import sys; print(sys.version_info >= (3, 12))"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if told.stdout.strip() == "True":
            packages = folder / "packages"
            packages.mkdir()
            for path in (p for each in site.getsitepackages() for p in Path(each).iterdir()):
                if path.name not in COMPILED:
                    (packages / path.name).symlink_to(path)
            paths = os.pathsep.join([str(ROOT), str(packages)])
            return Prepared(environment={"PYSPARK_PYTHON": python, "PYTHONPATH": paths})
    missing("a Python of 3.12 or later")
    raise AssertionError


def _pythons() -> list[str]:
    found = [sys.executable, *(shutil.which(f"python3.{n}") for n in range(20, 11, -1))]
    kept = sorted(Path.home().glob(".pyenv/versions/3.1[2-9]*/bin/python"))
    return [str(python) for python in (*found, *kept) if python]


def spool_is_a_file(folder: Path) -> Prepared:
    path = folder / "file"
    path.touch()
    return Prepared(conf={"spark.lineage.spool.dir": str(path)})


def no_home(folder: Path) -> Prepared:
    # Below a device not even root can make a directory.
    return Prepared({"spark.lineage.spool.dir": None}, {"HOME": "/dev/null/home"})


def faulty_source(folder: Path) -> Prepared:
    return Prepared(jars=[str(faulty_jar(folder))])


def other_jar(folder: Path) -> Prepared:
    """A jar whose records have a format that this package does not know."""
    shutil.copytree(ROOT / "jvm_bridge", folder / "jvm_bridge")
    (folder / "spark_lineage").mkdir()
    (folder / "spark_lineage" / "version.py").write_text('__version__ = "99.0.0"\n')
    builder = folder / "jvm_bridge/src/main/java/io/sparklineage/RecordBuilder.java"
    text = builder.read_text()
    changed = text.replace("FORMAT_VERSION = 1;", "FORMAT_VERSION = 99;")
    assert changed != text
    builder.write_text(changed)
    spec = importlib.util.spec_from_file_location("other_build", folder / "jvm_bridge/build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    jar = folder / "other.jar"
    module.build(jar)
    return Prepared(bridge=jar)


PREPARE: dict[str, Callable[[Path], Prepared]] = {
    "": lambda folder: Prepared(),
    "small files": small_files,
    "clock": clock,
    "poisoned agent": poisoned_agent,
    "newer Python": newer_python,
    "spool is a file": spool_is_a_file,
    "no home": no_home,
    "faulty source": faulty_source,
    "other jar": other_jar,
}
