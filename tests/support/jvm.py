"""How the tests' JVMs are started: many are short, and most of their time is their start.

``python -m tests.support.jvm`` makes an archive of Spark's classes beside the Python that
runs it (Java's class data sharing); with it, and with the quick compiler alone, a small job
takes less than half of the processor time. Where there is no archive, or it does not fit a
JVM's class path, that JVM loads its classes from the jars as ever.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from tests.support.jobs import Jobs

ARCHIVE = Path(sys.prefix) / "spark.jsa"
# Only errors are logged, on stderr: a warning that an archive does not fit goes to stdout else,
# which is where some tests read results.
# Frames of the quick compiler are larger: analyzing a deep plan needs a larger stack.
OPTIONS = "-Xss4m -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xlog:disable -Xlog:all=error:stderr"
_VARIABLE = "JDK_JAVA_OPTIONS"
_JOB = """
from pyspark.sql import SparkSession, functions as F
spark = SparkSession.builder.getOrCreate()
spark.range(9).select("id", (F.col("id") % 3).alias("k")).write.parquet("one")
spark.read.parquet("one").createOrReplaceTempView("v")
spark.sql("SELECT k, sum(id) AS s FROM v WHERE id > 1 GROUP BY k").write.saveAsTable("two")
spark.sql("SELECT * FROM v JOIN two USING (k) ORDER BY s").collect()
spark.read.json(spark.sparkContext.parallelize(['{"a": 1}'])).write.csv("three")
"""


def use() -> None:
    """Let all JVMs that this process and its children start from now on be quick ones."""
    before = os.environ.get(_VARIABLE, "")
    if OPTIONS not in before:
        shared = f" -XX:SharedArchiveFile={ARCHIVE}" if ARCHIVE.exists() else ""
        os.environ[_VARIABLE] = f"{before} {OPTIONS}{shared}".strip()


def make() -> None:
    """Make the archive, by a job whose classes it then holds."""
    with tempfile.TemporaryDirectory() as folder:
        jobs = Jobs(Path(folder))
        os.environ[_VARIABLE] = OPTIONS
        ARCHIVE.unlink(missing_ok=True)
        conf = {"spark.driver.extraJavaOptions": f"-XX:ArchiveClassesAtExit={ARCHIVE}"}
        done = jobs.submit(jobs.script(_JOB), dict(conf), timeout=600)
    if done.code or not ARCHIVE.exists():
        print(f"no archive of Spark's classes: the tests are slower\n{done.stderr[-2000:]}")


if __name__ == "__main__":
    make()
