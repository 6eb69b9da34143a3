"""Java of the tests, compiled as its users would against the installed Spark."""

from __future__ import annotations

import shutil
import subprocess
import zipfile
from pathlib import Path

from tests.support.jobs import spark_home
from tests.support.parts import missing


def compiled(source: Path, folder: Path) -> Path:
    """A jar in ``folder`` with the classes of a Java file; the test is skipped without a JDK."""
    if shutil.which("javac") is None:
        missing("javac")
    classes = folder / f"{source.stem}-classes"
    classes.mkdir()
    subprocess.run(
        ["javac", "-nowarn", "-cp", f"{spark_home()}/jars/*", "-d", str(classes), str(source)],
        check=True,
        capture_output=True,
    )
    jar = folder / f"{source.stem}.jar"
    with zipfile.ZipFile(jar, "w") as archive:
        for path in classes.rglob("*.class"):
            archive.write(path, path.relative_to(classes))
    return jar
