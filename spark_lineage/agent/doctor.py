"""Checks of what reporting needs on this machine, each with what to do where it fails."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from spark_lineage import config
from spark_lineage.agent import jar
from spark_lineage.config import Settings
from spark_lineage.errors import SparkLineageError
from spark_lineage.version import __version__

MIN_JAVA = 8
MIN_SPARK = (3, 4)
TIMEOUT = 20.0


@dataclass(frozen=True)
class Finding:
    """One check: ``ok`` is None where it does not apply; ``remedy`` says what to do."""

    what: str
    ok: bool | None
    found: str
    remedy: str = ""


def examine(
    environ: Mapping[str, str] | None = None, conf: Mapping[str, str] | None = None
) -> Iterator[Finding]:
    """Check Java, Spark, the jar, Python, the settings, the collector and the spool.

    ``environ`` is the environment (default: this process's), ``conf`` further
    settings as in a Spark configuration.
    """
    environ = os.environ if environ is None else environ
    yield java(environ)
    yield spark(environ)
    yield bridge()
    yield python(environ)
    try:
        settings = config.load(dict(conf or {}), environ)
    except SparkLineageError as error:
        yield Finding("settings", False, str(error), "set it to what is allowed, or remove it")
        return
    yield Finding("settings", True, "valid")
    yield collector(settings)
    yield spool(settings)


def java(environ: Mapping[str, str]) -> Finding:
    """The Java that Spark would start."""
    home = environ.get("JAVA_HOME")
    program = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    remedy = "install a JDK (17 runs every Spark from 3.4 on), or set JAVA_HOME to one"
    if not program or not Path(program).exists():
        return Finding("Java", False, f"not found{f' in {home}' if home else ''}", remedy)
    try:
        done = subprocess.run(
            [program, "-version"], capture_output=True, text=True, timeout=TIMEOUT, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Finding("Java", False, f"{program} does not run: {error}", remedy)
    match = re.search(r'version "(?:1\.)?(\d+)', done.stderr + done.stdout)
    if not match:
        return Finding("Java", False, f"{program} tells no version", remedy)
    return Finding("Java", int(match[1]) >= MIN_JAVA, f"{match[1]} ({program})", remedy)


def spark(environ: Mapping[str, str]) -> Finding:
    """The Spark of SPARK_HOME, of this Python, or of the PATH."""
    remedy = "pip install 'spark-lineage[spark]', or set SPARK_HOME to an installed Spark"
    home = environ.get("SPARK_HOME")
    if home is None:
        found = importlib.util.find_spec("pyspark")
        submit = shutil.which("spark-submit")
        if found and found.origin:
            home = str(Path(found.origin).parent)
        elif submit:
            home = str(Path(submit).resolve().parent.parent)
    if home is None:
        return Finding("Spark", False, "not found", remedy)
    for core in sorted(Path(home, "jars").glob("spark-core_*.jar")):
        version = core.stem.split("-")[-1]
        numbers = tuple(int(part) for part in re.findall(r"\d+", version)[:2])
        supported = numbers >= MIN_SPARK
        return Finding("Spark", supported, f"{version} ({home})", "use Spark 3.4 or newer")
    return Finding("Spark", False, f"no Spark in {home}", remedy)


def bridge() -> Finding:
    """The jar, and whether it belongs to this package."""
    try:
        path = jar.path()
        with zipfile.ZipFile(path) as content:
            manifest = content.read("META-INF/MANIFEST.MF").decode()
    except (SparkLineageError, OSError, KeyError, zipfile.BadZipFile) as error:
        return Finding("bridge", False, str(error), "install the package again")
    match = re.search(r"^Implementation-Version: *(\S+)", manifest, re.MULTILINE)
    version = match[1] if match else "unknown"
    return Finding(
        "bridge", version == __version__, f"{version} ({path})", "install the package again"
    )


def python(environ: Mapping[str, str]) -> Finding:
    """The Python that the plugin would start the agent with."""
    for source, program in (
        ("SPARK_LINEAGE_PYTHON", environ.get("SPARK_LINEAGE_PYTHON")),
        ("PYSPARK_PYTHON", environ.get("PYSPARK_PYTHON")),
        ("this one; 'submit-args' names it", sys.executable),
    ):
        if not program:
            continue
        try:
            done = subprocess.run(
                [program, "-c", "import spark_lineage; print(spark_lineage.__version__)"],
                capture_output=True,
                text=True,
                timeout=TIMEOUT,
                check=False,
                env=dict(environ),
            )
        except (OSError, subprocess.TimeoutExpired):
            continue
        if done.returncode == 0:
            version = done.stdout.strip()
            return Finding(
                "Python",
                version == __version__,
                f"{program} ({source}) has spark_lineage {version}",
                "install the same version of spark-lineage for that Python",
            )
    return Finding(
        "Python", False, "no Python that can import spark_lineage",
        "pip install spark-lineage for the driver's Python, or set spark.lineage.python",
    )  # fmt: skip


def collector(settings: Settings) -> Finding:
    """Whether the target of the http transport answers."""
    from spark_lineage.delivery.transports import describe

    target = describe(settings)
    if settings.transport_type not in (None, "http") or "http" not in target:
        return Finding("collector", None, f"events go to {target}")
    import requests

    url = settings.transport_url or config.DEFAULT_URL
    try:
        answer = requests.get(f"{url}/healthz", timeout=settings.transport_timeout)
    except requests.RequestException as error:
        return Finding(
            "collector", False, f"{target}: {type(error).__name__}",
            "start one ('spark-lineage collector'), or set spark.lineage.transport.url; "
            "until then events wait in the spool",
        )  # fmt: skip
    if answer.status_code == 404:
        return Finding("collector", None, f"{target} answers, and is not this project's collector")
    return Finding(
        "collector", answer.ok, f"{target}: {answer.status_code}", "look into the collector's log"
    )


def spool(settings: Settings) -> Finding:
    """Whether events can wait on this machine."""
    folder = Path(settings.spool_dir)
    remedy = "make it writable for the job's user, or set spark.lineage.spool.dir"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        return Finding("spool", False, f"{folder}: {error.strerror or error}", remedy)
    left = len([*folder.glob("events-*.db"), *folder.glob("records-*.jsonl")])
    if left:
        return Finding(
            "spool", True, f"{folder}: {left} files of running or earlier applications",
            "'spark-lineage replay' delivers what earlier ones left",
        )  # fmt: skip
    return Finding("spool", True, f"{folder}: empty")
