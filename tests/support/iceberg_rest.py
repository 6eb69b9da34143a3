"""An Iceberg REST catalog in a process of its own: Iceberg's REST layer, behind a token."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.jobs import spark_home
from tests.support.maven import jars
from tests.support.ports import free_port, listens

_ICEBERG = "org.apache.iceberg:iceberg-core:1.11.0"
CLIENT, SECRET, TOKEN = "lake-client", "s3cret-of-the-lake", "t0ken-of-the-lake"


@contextmanager
def running_rest_catalog(home: Path, *warehouses: str) -> Iterator[int]:
    """Its port, for a client who has ``CLIENT:SECRET`` or ``TOKEN``; keeps all in ``home``."""
    path = jars(
        _ICEBERG,
        f"{_ICEBERG}:tests",
        "org.eclipse.jetty:jetty-servlet:11.0.25",
        "org.xerial:sqlite-jdbc:3.46.1.3",
    )
    home_jars = spark_home() / "jars"
    for name in ("hadoop-client-*.jar", "commons-logging-*.jar"):
        path = [*path, *sorted(home_jars.glob(name))]
    java = os.path.join(os.environ["JAVA_HOME"], "bin/java") if "JAVA_HOME" in os.environ else None
    port, log = free_port(), home / "log"
    with log.open("w") as written:
        server = subprocess.Popen(
            [
                java or shutil.which("java") or "java",
                "-Xmx256m",
                *("-cp", os.pathsep.join(map(str, path))),
                str(Path(__file__).with_name("IcebergRest.java")),
                *(str(port), str(home), CLIENT, SECRET, TOKEN, *warehouses),
            ],
            cwd=home,
            stdout=written,
            stderr=subprocess.STDOUT,
        )
    try:
        end = time.monotonic() + 120
        while not listens(port):
            assert server.poll() is None, log.read_text()[-3000:]
            assert time.monotonic() < end, "the REST catalog does not come up"
            time.sleep(0.2)
        yield port
    finally:
        server.kill()
        server.wait(30)
