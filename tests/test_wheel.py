"""A wheel built here, in an empty environment without javac, reports a job."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

from tests.support.jobs import Jobs, spark_home

ROOT = Path(__file__).parents[1]


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    out = tmp_path / "dist"
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(out), "."]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (built,) = out.glob("*.whl")
    return built


@pytest.mark.timeout(600)
def test_the_wheel_runs_a_job_without_a_compiler(jobs: Jobs, wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as content:
        names = content.namelist()
    assert "spark_lineage/jars/spark-lineage-bridge.jar" in names
    assert not [n for n in names if n.startswith(("tests", "jvm_bridge", "benchmarks"))]

    environment = tmp_path / "empty"
    venv.create(environment, with_pip=True)
    python = environment / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", str(wheel)], check=True)

    # Spark is there already, as on a cluster: not in the environment, but in SPARK_HOME.
    tools = tmp_path / "bin"
    tools.mkdir()
    for program in Path("/usr/bin").iterdir():
        if not program.name.startswith(("javac", "python")):
            (tools / program.name).symlink_to(program)
    java = shutil.which("java")
    if java and not (tools / "java").exists():
        (tools / "java").symlink_to(java)
    home = spark_home()
    clean = {
        "PATH": str(tools),
        "HOME": str(tmp_path),
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": str(python),
    }
    if "JAVA_HOME" in os.environ:
        clean["JAVA_HOME"] = os.environ["JAVA_HOME"]
    assert shutil.which("javac", path=str(tools)) is None
    options = subprocess.run(
        [environment / "bin" / "spark-lineage", "submit-args"],
        env=clean,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert options[0] == "--jars"
    assert str(environment) in options[1]
    script = jobs.script(
        """
        from pyspark.sql import SparkSession
        spark = SparkSession.builder.appName("wheel").getOrCreate()
        spark.range(3).selectExpr("id * 2 AS twice").write.parquet("out")
        """
    )
    command = [str(home / "bin" / "spark-submit"), *options]
    for key, value in jobs.conf().items():
        command += ["--conf", f"{key}={value}"]
    done = subprocess.run(
        [*command, str(script)],
        cwd=jobs.folder,
        env=clean,
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    kinds = [e["eventType"] for e in jobs.read() if e["outputs"]]
    assert kinds == ["START", "COMPLETE"], done.stderr
