"""Build the bridge's jar from source: JDK and pyspark are all it needs.

Run as a program (``python jvm_bridge/build.py``) or called by the build hook
and the Makefile. The jar is the same, byte for byte, for the same sources and
compiler; it is built again only if the sources, this file or the version have
changed.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCES = HERE / "src" / "main" / "java"
ROOT = HERE.parent
JAR = ROOT / "spark_lineage" / "jars" / "spark-lineage-bridge.jar"
DIGEST_KEY = "Source-Digest"
# What the sources are compiled against; naming them keeps the class path of
# jars that refer to absent ones out of javac's warnings.
LIBRARIES = (
    "hadoop-client-api-*.jar",
    "jackson-*.jar",
    "jsr305-*.jar",
    "metrics-core-*.jar",
    "py4j-*.jar",
    "scala-library-*.jar",
    "slf4j-api-*.jar",
    "spark-*.jar",
)
ZIP_EPOCH = (1980, 1, 1, 0, 0, 0)


class BuildError(Exception):
    """The jar cannot be built; the message says what to do."""


def version() -> str:
    """The package's version, read without importing the package."""
    text = (ROOT / "spark_lineage" / "version.py").read_text(encoding="utf-8")
    match = re.search(r'^__version__ = "([^"]+)"', text, re.MULTILINE)
    if not match:
        raise BuildError("spark_lineage/version.py has no __version__")
    return match[1]


def digest() -> str:
    """A hash of all that the jar is made from."""
    hasher = hashlib.sha256(version().encode())
    for path in [Path(__file__).resolve(), *sorted(SOURCES.rglob("*.java"))]:
        hasher.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return hasher.hexdigest()


def is_current(jar: Path = JAR) -> bool:
    """Whether the jar was built from the sources as they are."""
    try:
        with zipfile.ZipFile(jar) as archive:
            manifest = archive.read("META-INF/MANIFEST.MF").decode()
    except (OSError, KeyError, zipfile.BadZipFile):
        return False
    return f"{DIGEST_KEY}: {digest()[:48]}" in manifest.splitlines()


def spark_jars() -> Path:
    """The directory of jars of this Python's pyspark."""
    spec = importlib.util.find_spec("pyspark")
    if spec is None or not spec.submodule_search_locations:
        raise BuildError(
            "pyspark is not installed for " + sys.executable + ": the bridge is compiled against "
            "its jars. Install it (pip install pyspark), or install a wheel, which has the jar."
        )
    jars = Path(next(iter(spec.submodule_search_locations))) / "jars"
    if not list(jars.glob("spark-core_*.jar")):
        raise BuildError(f"{jars} has no Spark jars; install pyspark from PyPI")
    return jars


def javac() -> str:
    """The compiler of the JDK."""
    found = shutil.which("javac")
    if found is None:
        raise BuildError(
            "javac is not on PATH: install a JDK, 17 for instance (a JRE has no compiler), "
            "or install a wheel, which has the jar."
        )
    return found


def compile_sources(target: Path) -> None:
    """Compile to Java 8 bytecode."""
    jars = spark_jars()
    class_path = ":".join(str(jar) for pattern in LIBRARIES for jar in sorted(jars.glob(pattern)))
    sources = [str(path) for path in sorted(SOURCES.rglob("*.java"))]
    options = ["--release", "8", "-encoding", "UTF-8", "-g:source,lines,vars"]
    warnings = ["-Xlint:all,-options,-path", "-Werror", "-proc:none"]
    command = [javac(), *options, *warnings, "-d", str(target), "-cp", class_path, *sources]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise BuildError("javac failed:\n" + result.stdout + result.stderr)


def write_jar(classes: Path, jar: Path) -> None:
    """Write the jar with fixed times and order, so that it can be built again the same."""
    manifest = (
        "Manifest-Version: 1.0\r\n"
        "Implementation-Title: spark-lineage-bridge\r\n"
        f"Implementation-Version: {version()}\r\n"
        f"{DIGEST_KEY}: {digest()[:48]}\r\n\r\n"
    )
    jar.parent.mkdir(parents=True, exist_ok=True)
    part = jar.with_suffix(".part")
    with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as archive:
        _add(archive, "META-INF/MANIFEST.MF", manifest.encode())
        for path in sorted(classes.rglob("*.class")):
            _add(archive, path.relative_to(classes).as_posix(), path.read_bytes())
    part.replace(jar)


def _add(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    info = zipfile.ZipInfo(name, ZIP_EPOCH)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = 0o644 << 16
    archive.writestr(info, content)


def build(jar: Path = JAR, force: bool = False) -> bool:
    """Build the jar unless it is current; whether it was built. Raises :class:`BuildError`."""
    if not force and is_current(jar):
        return False
    with tempfile.TemporaryDirectory() as directory:
        classes = Path(directory)
        compile_sources(classes)
        write_jar(classes, jar)
    return True


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="Build the bridge's jar from source.")
    parser.add_argument("--output", type=Path, default=JAR, help="where the jar goes")
    parser.add_argument("--force", action="store_true", help="build also if it is current")
    arguments = parser.parse_args()
    try:
        built = build(arguments.output, arguments.force)
    except BuildError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"{'built' if built else 'up to date'}: {arguments.output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
