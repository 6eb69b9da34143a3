"""What the steps of ``versions_iceberg.json`` call."""

import json

from writing import *  # noqa: F403
from writing import arrived, at_once, called, drain, home, pause, spark, src, started, together

#: How Iceberg for Spark 4 names what it commits; that for Spark 3 takes a writer's option alone.
NAMES = "spark.sql.iceberg.snapshot-property.step"


def begin(name, facts):
    """A step: what it commits has its name, and what has come since the last one was that one's."""
    spark.conf.set(NAMES, name)
    known = facts.setdefault("made", {})
    for place in home.glob("ice/db/*/metadata/*.metadata.json"):
        for snapshot in json.loads(place.read_text()).get("snapshots", []):
            known.setdefault(str(snapshot["snapshot-id"]), facts.get("step"))
    facts["step"] = name


def append(table, name, rows=src):
    rows.writeTo(table).option("snapshot-property.step", name).append()


def _work(table, name, rows):
    def run():
        called(name)
        append(table, name, rows)

    return run


def threads(table, count):
    """Appends of several threads at the same time."""
    spark.conf.unset(NAMES)
    rows = together("flags", 2)
    at_once([_work(table, f"thread {number}", rows) for number in range(count)])


def beside(table, name):
    """An append during which a catalog that shares nothing with this one's commits."""
    spark.conf.unset(NAMES)
    rows = together("beside", 2)
    other = table.replace("ice.", "beside.")
    at_once([_work(table, name, rows), _work(other, "another writer", rows)])


def stream(table, name):
    started(arrived().writeStream.format("iceberg"), name).toTable(table).awaitTermination()
    drain()


def foreach_batch(table):
    def write(rows, batch):
        append(table, f"batch {batch}", rows)
        pause()

    started(arrived().writeStream.foreachBatch(write), "fb").start().awaitTermination()
    drain()
