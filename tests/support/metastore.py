"""A Hive metastore in a process of its own, from the jars that Spark itself has."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.jobs import spark_home
from tests.support.ports import free_port, listens

SITE = """
<configuration>
  <property>
    <name>javax.jdo.option.ConnectionURL</name><value>jdbc:derby:memory:m;create=true</value>
  </property>
  <property><name>datanucleus.schema.autoCreateAll</name><value>true</value></property>
  <property><name>hive.metastore.schema.verification</name><value>false</value></property>
  <property><name>hive.metastore.warehouse.dir</name><value>{warehouse}</value></property>
</configuration>
"""
# Spark has Log4j without what Hive's own configuration of it needs.
LOG = """
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
rootLogger.level = ERROR
rootLogger.appenderRef.console.ref = console
"""
SELECTOR = "org.apache.logging.log4j.core.selector.ClassLoaderContextSelector"


@contextmanager
def running_metastore(home: Path) -> Iterator[tuple[str, Path]]:
    """Its address, and the location of its default database; all it writes is in ``home``."""
    (home / "hive-site.xml").write_text(SITE.format(warehouse=home / "warehouse"))
    (home / "hive-log4j2.properties").write_text(LOG)
    java = os.path.join(os.environ["JAVA_HOME"], "bin/java") if "JAVA_HOME" in os.environ else None
    port, log = free_port(), (home / "log").open("w+")
    server = subprocess.Popen(
        [
            java or shutil.which("java") or "java",
            "-Xmx256m",
            f"-Dlog4j2.contextSelector={SELECTOR}",
            "--add-opens=java.base/java.lang=ALL-UNNAMED",
            "--add-opens=java.base/java.net=ALL-UNNAMED",
            *("-cp", f"{home}:{spark_home()}/jars/*"),
            *("org.apache.hadoop.hive.metastore.HiveMetaStore", "-p", str(port)),
        ],
        cwd=home,
        stdout=log,
        stderr=subprocess.STDOUT,
    )
    try:
        end = time.monotonic() + 120
        while not listens(port):
            assert server.poll() is None, (home / "log").read_text()[-3000:]
            assert time.monotonic() < end, "the metastore does not come up"
            time.sleep(0.2)
        yield f"localhost:{port}", home / "warehouse"
    finally:
        server.kill()
        server.wait(30)
        log.close()
