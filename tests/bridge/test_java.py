"""What is inside the bridge and no session can show: run in a JVM without one."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from spark_lineage import config
from spark_lineage.agent import jar

JAVA = Path(__file__).parent / "java" / "io" / "sparklineage"
OPENS = [f"--add-opens=java.base/{p}=ALL-UNNAMED" for p in ("java.nio", "java.util", "sun.nio.ch")]


@pytest.fixture(scope="module")
def class_path(tmp_path_factory: pytest.TempPathFactory) -> str:
    pyspark = pytest.importorskip("pyspark")
    if shutil.which("javac") is None:
        pytest.skip("no javac")
    classes = tmp_path_factory.mktemp("classes")
    path = f"{jar.path()}:{Path(pyspark.__file__).parent / 'jars'}/*"
    sources = [str(source) for source in sorted(JAVA.glob("*.java"))]
    subprocess.run(
        ["javac", "-nowarn", "-proc:none", "-d", str(classes), "-cp", path, *sources], check=True
    )
    return f"{classes}:{path}"


@pytest.mark.spark
@pytest.mark.parametrize("name", sorted(path.stem for path in JAVA.glob("*Test.java")))
def test_inside(class_path: str, name: str) -> None:
    # A stack that is small makes recursion show.
    command = ["java", "-Xss512k", *OPENS, "-cp", class_path, "io.sparklineage.Check", name]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "ok test" in done.stdout


def test_the_bridge_knows_the_same_settings_as_the_agent() -> None:
    source = Path(__file__).parents[2] / "jvm_bridge/src/main/java/io/sparklineage/Settings.java"
    text = source.read_text()
    block = text[text.index("Arrays.asList(") : text.index("private static final Pattern SIZE")]
    assert set(re.findall(r'"([^"]+)"', block)) == {s.key for s in config.SETTINGS}
