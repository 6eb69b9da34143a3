"""The job that meets a fault: a write, a read, a result that is printed."""

from __future__ import annotations

from dataclasses import dataclass, replace

#: Events of :data:`SCRIPT` itself: START and end of the application, of the write, of the read.
EVENTS = 6

SCRIPT = """
import os, sys, time
from pyspark.sql import SparkSession, functions as F

def meet():
    # The fault happens here, by the hand of another process.
    open("ready", "w").close()
    until = time.time() + 120
    while not os.path.exists("go") and time.time() < until:
        time.sleep(0.05)

def job(spark, folder="numbers"):
    spark.range(100).select("id", (F.col("id") % 7).alias("g")).write.parquet(folder)
    return spark.read.parquet(folder).groupBy("g").agg(F.sum("id").alias("s"))

if __name__ == "__main__":
    spark = SparkSession.builder.appName("faults").getOrCreate()
    {enable}
    query = job(spark)
    {during}
    print("result", [tuple(row) for row in query.orderBy("g").collect()], flush=True)
    {end}
"""

MEET = "meet()"

#: One line, as what stands in its place without it: a traceback tells lines.
ENABLE = "import spark_lineage; spark_lineage.enable(spark)"


@dataclass(frozen=True)
class Parts:
    """What a fault adds to the script; each is a block of statements."""

    during: str = ""
    end: str = ""

    def alone(self, meets: bool) -> Parts:
        """The parts of the job without lineage, which meets nobody unless it ``meets``."""
        return self if meets or self.during != MEET else replace(self, during="")

    def script(self, enable: bool) -> str:
        return SCRIPT.format(
            enable=ENABLE if enable else "pass", during=_block(self.during), end=_block(self.end)
        )


def _block(code: str) -> str:
    lines = [line.strip("\n") for line in code.splitlines() if line.strip()]
    if not lines:
        return "pass"
    cut = min(len(line) - len(line.lstrip()) for line in lines)
    return "\n    ".join(line[cut:] for line in lines)
