"""A source for Spark that throws an error of the virtual machine at whoever captures it."""

from __future__ import annotations

from pathlib import Path

from tests.support.compiled import compiled


def faulty_jar(folder: Path) -> Path:
    """Compile ``Faulty`` into a jar in ``folder``: ``spark.read.format("Faulty")``.

    Its option ``error`` names the error: StackOverflowError, OutOfMemoryError,
    NoSuchMethodError or NoClassDefFoundError.
    """
    return compiled(Path(__file__).with_name("Faulty.java"), folder)
