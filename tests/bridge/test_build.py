"""How the jar is built."""

from __future__ import annotations

import importlib.util
import struct
import subprocess
import sys
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

from spark_lineage.agent import jar
from spark_lineage.version import __version__

BUILD = Path(__file__).parents[2] / "jvm_bridge" / "build.py"


@pytest.fixture(scope="module")
def build() -> ModuleType:
    spec = importlib.util.spec_from_file_location("bridge_build_under_test", BUILD)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_jar_is_java_8_and_of_this_version() -> None:
    with zipfile.ZipFile(jar.path()) as archive:
        assert (
            f"Implementation-Version: {__version__}"
            in archive.read("META-INF/MANIFEST.MF").decode()
        )
        classes = [name for name in archive.namelist() if name.endswith(".class")]
        assert "io/sparklineage/LineagePlugin.class" in classes
        for name in classes:
            magic, _, major = struct.unpack(">IHH", archive.read(name)[:8])
            assert (magic, major) == (0xCAFEBABE, 52), name


@pytest.mark.spark
def test_the_same_sources_give_the_same_jar(build: ModuleType, tmp_path: Path) -> None:
    pytest.importorskip("pyspark")
    one, two = tmp_path / "one.jar", tmp_path / "two.jar"
    assert build.build(one)
    assert build.build(two)
    assert one.read_bytes() == two.read_bytes()
    assert not build.build(one)


def test_changed_sources_make_it_stale(
    build: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert build.is_current()
    assert not build.is_current(tmp_path / "absent.jar")
    (tmp_path / "New.java").write_text("class New {}")
    monkeypatch.setattr(build, "SOURCES", tmp_path)
    assert not build.is_current()


def test_what_is_missing_is_said(build: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(build.BuildError, match="javac is not on PATH: install a JDK"):
        build.javac()
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(build.BuildError, match="pyspark is not installed"):
        build.spark_jars()


def test_the_program_fails_with_a_message(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(BUILD), "--output", str(tmp_path / "x.jar")],
        env={"PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.startswith("error: javac is not on PATH")
    assert "Traceback" not in done.stderr
