"""Sessions in the tests' own process: each package of tests has a JVM of its own."""

from __future__ import annotations

import gc
import warnings
from typing import Any

# PySpark leaves the sockets of collect() to the garbage collector, and 3.5 asks for the
# version of pandas with distutils.
PYSPARK_WARNINGS = (
    "ignore:unclosed:ResourceWarning",
    "ignore::pytest.PytestUnraisableExceptionWarning",
    "ignore:distutils:DeprecationWarning",
)


def end(session: Any) -> None:
    """Stop a session and end its JVM: the next one starts with its own class path."""
    from pyspark import SparkContext

    session.stop()
    gateway = SparkContext._gateway
    SparkContext._gateway = SparkContext._jvm = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait(60)
        del gateway, session
        gc.collect()
