"""What the steps of ``versions_*.json`` call, whatever they write, in the job that runs them."""

import threading
from pathlib import Path

from pyspark import InheritableThread
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

spark = SparkSession.getActiveSession()
home = Path.cwd()
src = spark.table("src")


def drain():
    """Until Spark's listeners have been told all."""
    spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()


def called(name):
    """What is run from here on is called so."""
    spark.sparkContext.setJobDescription(name)


def fails(work):
    """The work has to fail."""
    try:
        work()
    except Exception:
        return
    raise AssertionError("the step was to fail")


def at_once(works):
    """Run each in a thread of its own."""
    running = [InheritableThread(target=work) for work in works]
    for each in running:
        each.start()
    for each in running:
        each.join()


def together(name, count):
    """Two rows that are not there before so many tasks want such rows."""
    where = home / name
    where.mkdir()
    where = str(where)

    def wait(value):
        import os
        import time

        from pyspark import TaskContext

        open(f"{where}/{TaskContext.get().taskAttemptId()}", "w").close()
        end = time.time() + 20
        while len(os.listdir(where)) < count and time.time() < end:
            time.sleep(0.05)
        time.sleep(0.3)
        return value

    return src.coalesce(1).select(F.udf(wait, "int")("id").alias("id"), "name")


def arrive(files=1):
    """So many files more for the streams' source."""
    for _ in range(files):
        src.coalesce(1).write.mode("append").json(str(home / "in"))


def started(writer, name):
    """A stream's writer: one file a batch, what has arrived and no more."""
    writer = writer.option("checkpointLocation", f"cp/{name}")
    return writer.trigger(availableNow=True)


def arrived():
    read = spark.readStream.schema("id INT, name STRING")
    return read.option("maxFilesPerTrigger", 1).json(str(home / "in"))


def forget_last(name):
    """As after a crash between a batch's commit and the stream's note of it."""
    notes = home / "cp" / name / "commits"
    last = max(int(each.name) for each in notes.iterdir() if each.name.isdigit())
    for each in notes.glob(f"*{last}*"):
        each.unlink()


def pause():
    """Time for the listeners: a batch that waited for them would wait for ever."""
    threading.Event().wait(0.5)
