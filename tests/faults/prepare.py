"""What has to be wrong before a job starts; each gives settings and environment to add."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
import textwrap
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.jobs import spark_home

ROOT = Path(__file__).parents[2]


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
    site = folder / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(
        textwrap.dedent(
            """
            import time
            real, began = time.time, time.monotonic()
            time.time = lambda: real() - (3600 if time.monotonic() - began > 2 else 0)
            """
        )
    )
    return _python(folder, f'PYTHONPATH={site}:$PYTHONPATH exec {sys.executable} "$@"')


def _python(folder: Path, line: str) -> Prepared:
    wrapper = folder / "python"
    wrapper.write_text(f"#!/bin/bash\n{line}\n")
    wrapper.chmod(0o755)
    return Prepared(conf={"spark.lineage.python": str(wrapper)})


def spool_is_a_file(folder: Path) -> Prepared:
    path = folder / "file"
    path.touch()
    return Prepared(conf={"spark.lineage.spool.dir": str(path)})


def no_home(folder: Path) -> Prepared:
    # Below a device not even root can make a directory.
    return Prepared({"spark.lineage.spool.dir": None}, {"HOME": "/dev/null/home"})


def faulty_source(folder: Path) -> Prepared:
    classes = folder / "classes"
    jars = ":".join(str(path) for path in (spark_home() / "jars").glob("*.jar"))
    source = Path(__file__).parent / "java" / "Faulty.java"
    subprocess.run(
        ["javac", "-nowarn", "-d", str(classes), "-cp", jars, str(source)],
        check=True, capture_output=True,
    )  # fmt: skip
    jar = folder / "faulty.jar"
    with zipfile.ZipFile(jar, "w") as archive:
        for path in classes.rglob("*.class"):
            archive.write(path, path.relative_to(classes))
    return Prepared(jars=[str(jar)])


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
    "spool is a file": spool_is_a_file,
    "no home": no_home,
    "faulty source": faulty_source,
    "other jar": other_jar,
}
