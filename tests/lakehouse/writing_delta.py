"""What the steps of ``versions_delta.json`` call."""

import shutil

from writing import *  # noqa: F403
from writing import F, arrived, at_once, called, drain, home, pause, spark, src, started, together

NAMES = "spark.databricks.delta.commitInfo.userMetadata"


def begin(name, facts):
    """A step: what it commits has its name."""
    spark.conf.set(NAMES, name)


def forget():
    """As a JVM that has opened no table yet."""
    spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()


def delta_table(path):
    from delta.tables import DeltaTable

    return DeltaTable.forPath(spark, path)


def append(path, name=None, rows=src, **options):
    writer = rows.write.format("delta").mode("append").options(**options)
    if name:
        writer = writer.option("userMetadata", name)
    writer.save(path)


def overwrite(path, rows=src, **options):
    rows.write.format("delta").mode("overwrite").options(**options).save(path)


def _committing(path):
    """Commits an empty transaction to a table, as a writer in another process does."""
    log = str(home / path / "_delta_log")

    # Its imports and names are its own: it runs in Python's workers, too.
    def commit():
        import glob
        import json
        import time

        last = max(int(each[-25:-5]) for each in glob.glob(f"{log}/*.json"))
        told = {"operation": "OTHER", "operationParameters": {}, "userMetadata": "another writer"}
        told["timestamp"] = int(time.time() * 1000)
        with open(f"{log}/{last + 1:020d}.json", "w") as out:
            out.write(json.dumps({"commitInfo": told}) + "\n")

    return commit


def another_writer(path):
    _committing(path)()


def meddled(path):
    """Rows while which are written another writer commits."""
    commit = _committing(path)

    def meddle(value):
        import time

        if value == 1:
            time.sleep(1)
            commit()
            time.sleep(0.5)
        return value

    return src.select(F.udf(meddle, "int")("id").alias("id"), "name")


def wipe(path):
    shutil.rmtree(home / path)


def threads(path, count):
    """Appends of several threads at the same time."""
    spark.conf.unset(NAMES)
    rows = together("flags", 2)

    def work(name):
        def run():
            called(name)
            append(path, name, rows)

        return run

    at_once([work(f"thread {number}") for number in range(count)])


def stream(path, name):
    started(arrived().writeStream.format("delta"), name).start(str(home / path)).awaitTermination()
    drain()


def stream_table(table):
    started(arrived().writeStream.format("delta"), table).toTable(table).awaitTermination()
    drain()


def foreach_batch(path):
    """Each batch is written twice: the second time Delta knows that it has it."""

    def write(rows, batch):
        for _ in range(2):
            append(path, f"batch {batch}", rows, txnAppId="fb", txnVersion=batch)
            pause()

    started(arrived().writeStream.foreachBatch(write), "fb").start().awaitTermination()
    drain()
