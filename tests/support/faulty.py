"""A source for Spark that throws an error of the virtual machine at whoever captures it."""

from __future__ import annotations

import subprocess
import zipfile
from pathlib import Path

from tests.support.jobs import spark_home


def faulty_jar(folder: Path) -> Path:
    """Compile ``Faulty`` into a jar in ``folder``: ``spark.read.format("Faulty")``.

    Its option ``error`` names the error: StackOverflowError, OutOfMemoryError,
    NoSuchMethodError or NoClassDefFoundError.
    """
    classes = folder / "classes"
    jars = ":".join(str(path) for path in (spark_home() / "jars").glob("*.jar"))
    source = Path(__file__).with_name("Faulty.java")
    subprocess.run(
        ["javac", "-nowarn", "-d", str(classes), "-cp", jars, str(source)],
        check=True, capture_output=True,
    )  # fmt: skip
    jar = folder / "faulty.jar"
    with zipfile.ZipFile(jar, "w") as archive:
        for path in classes.rglob("*.class"):
            archive.write(path, path.relative_to(classes))
    return jar
