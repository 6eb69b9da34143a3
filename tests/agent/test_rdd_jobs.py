"""Jobs of RDDs, which no query tells of: a real job whose steps are runs."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from tests.agent.live import read, written
from tests.support.jobs import Finished, Jobs

SCRIPT = """
    import os
    from pyspark.sql import SparkSession

    here = os.getcwd()
    for name in ("in", "alone", "looped", "took", "loud", "new", "asked", "inferred", "framed",
                 "java", "renamed", "grouped"):
        with open(f"{name}.txt", "w") as file:
            file.write("a,1\\nb,2\\nc,3\\n")
    spark = SparkSession.builder.appName("rdds").getOrCreate()
    sc = spark.sparkContext
    bus = sc._jsc.sc().listenerBus()

    def do(action):
        try:
            action()
        except Exception as error:
            print("caught", type(error).__name__)
        bus.waitUntilEmpty(60_000)

    lines = sc.textFile("in.txt", 3)
    TEXT = "org.apache.hadoop.io.Text"
    NUMBER = "org.apache.hadoop.io.LongWritable"
    NEW = "org.apache.hadoop.mapreduce.lib"

    # What is written.
    do(lambda: lines.map(str.upper).saveAsTextFile(here + "/upper"))
    do(lambda: lines.union(sc.textFile(f"file://{here}/alone.txt")).distinct(1)
       .saveAsTextFile("both of them"))
    do(lambda: sc.parallelize(["x"]).saveAsTextFile("made"))
    do(lambda: lines.map(lambda line: (line, 1)).saveAsSequenceFile("sequence"))
    do(lambda: lines.map(lambda line: (line, 1)).saveAsNewAPIHadoopDataset({
        "mapreduce.job.outputformat.class": NEW + ".output.TextOutputFormat",
        "mapreduce.job.output.key.class": TEXT,
        "mapreduce.job.output.value.class": "org.apache.hadoop.io.IntWritable",
        "mapreduce.output.fileoutputformat.outputdir": here + "/dataset"}))
    do(lambda: sc.textFile("grouped.txt", 2).sortBy(lambda line: line, numPartitions=2)
       .saveAsPickleFile("pickled"))
    do(lambda: sc.pickleFile("pickled").saveAsTextFile("unpickled"))
    do(lambda: sc.textFile("loud.txt").map(lambda line: 1 // 0).saveAsTextFile("failed"))
    do(lambda: lines.saveAsTextFile(here + "/upper"))

    # What is only read.
    do(lambda: sc.textFile("in.txt").mapPartitions(lambda part: [len(list(part))]).collect())
    do(lambda: sc.textFile("took.txt", 3).filter(lambda line: line[0] == "c").take(1))
    looped = sc.textFile("looped.txt", 3)
    do(lambda: [None for line in looped.toLocalIterator()])
    do(lambda: looped.foreach(lambda line: None))
    do(lambda: sc.newAPIHadoopFile("new.txt", NEW + ".input.TextInputFormat", NUMBER, TEXT).count())
    do(lambda: sc.hadoopRDD("org.apache.hadoop.mapred.TextInputFormat", NUMBER, TEXT,
       conf={"mapreduce.input.fileinputformat.inputdir": here + "/asked.txt"}).count())

    # Java's and Scala's.
    java = sc._jsc.textFile("java.txt", 3)
    do(lambda: java.zipWithIndex().saveAsTextFile("indexed"))
    do(lambda: sc._jsc.sc().textFile("java.txt", 1).saveAsObjectFile("objects"))
    do(lambda: java.take(3))
    renamed = sc._jsc.sc().textFile("renamed.txt", 1)
    renamed.dependencies().head().rdd().setName("my favourite")
    do(lambda: renamed.count())

    # What is a query's, or nothing's.
    do(lambda: sc.parallelize(range(9)).count())
    do(lambda: spark.read.option("inferSchema", True).csv("inferred.txt"))
    frame = spark.read.schema("name STRING, n INT").csv("framed.txt")
    do(lambda: frame.rdd.map(lambda row: row.name).saveAsTextFile("from_frame"))
    do(lambda: list(frame.toLocalIterator()))
    local = frame._jdf.toLocalIterator()
    do(lambda: [local.next() for _ in range(3)])
"""


@pytest.fixture(scope="module")
def finished(module_jobs: Jobs) -> Finished:
    return module_jobs.submit(module_jobs.script(SCRIPT))


@pytest.fixture(scope="module")
def jobs(finished: Finished) -> list[dict[str, Any]]:
    assert finished.code == 0, finished.stderr
    return [
        event
        for event in finished.events
        if event["job"]["facets"]["jobType"]["jobType"] == "RDD_JOB"
    ]


def names(event: dict[str, Any], side: str) -> list[str]:
    return sorted(each["name"].rsplit("/", 1)[-1] for each in event[side])


def the(jobs: list[dict[str, Any]], output: str) -> dict[str, Any]:
    (end,) = [
        event
        for event in jobs
        if event["eventType"] != "START" and names(event, "outputs") == [output]
    ]
    return end


@pytest.mark.smoke
@pytest.mark.parametrize(
    ("output", "inputs", "action"),
    [
        ("upper", ["in.txt"], "saveAsTextFile"),
        ("both of them", ["alone.txt", "in.txt"], "saveAsTextFile"),
        ("made", [], "saveAsTextFile"),
        ("sequence", ["in.txt"], "saveAsHadoopFile"),
        ("dataset", ["in.txt"], "saveAsNewAPIHadoopDataset"),
        ("pickled", ["grouped.txt"], "saveAsObjectFile"),
        ("unpickled", ["pickled"], "saveAsTextFile"),
        ("indexed", ["java.txt"], "saveAsTextFile"),
        ("objects", ["java.txt"], "saveAsObjectFile"),
        ("from_frame", ["framed.txt"], "saveAsTextFile"),
    ],
)
def test_what_is_saved_is_a_run_with_its_files(
    jobs: list[dict[str, Any]], output: str, inputs: list[str], action: str
) -> None:
    end = the(jobs, output)
    assert end["eventType"] == "COMPLETE"
    assert names(end, "inputs") == inputs
    assert end["job"]["name"] == f"rdds.{output.replace(' ', '_')}"
    assert end["run"]["facets"]["sparkLineage_context"]["action"] == action
    assert {each["namespace"] for each in [*end["inputs"], *end["outputs"]]} == {"file"}


def test_each_run_has_one_start_and_one_end(jobs: list[dict[str, Any]]) -> None:
    runs: dict[str, list[dict[str, Any]]] = {}
    for event in jobs:
        runs.setdefault(event["run"]["runId"], []).append(event)
    for start, end in runs.values():
        assert start["eventType"] == "START"
        assert end["eventType"] in ("COMPLETE", "FAIL")
        assert start["job"]["name"] == end["job"]["name"]
        assert [names(start, side) for side in ("inputs", "outputs")] == [
            names(end, side) for side in ("inputs", "outputs")
        ]


def test_columns_are_not_invented(jobs: list[dict[str, Any]]) -> None:
    end = the(jobs, "upper")
    assert "columnLineage" not in end["outputs"][0]["facets"]
    (quality,) = end["run"]["facets"]["sparkLineage_quality"]["outputs"]
    assert quality["availability"] == "UNAVAILABLE"
    assert quality["issues"] == ["an RDD's records have no columns that Spark knows"]


def test_what_is_only_read_is_a_run_for_each_action(jobs: list[dict[str, Any]]) -> None:
    """The several Spark jobs of ``take`` and ``toLocalIterator`` are one."""
    reads = Counter(
        (event["run"]["facets"]["sparkLineage_context"]["action"], *names(event, "inputs"))
        for event in jobs
        if event["eventType"] == "COMPLETE" and not event["outputs"]
    )
    assert reads == {
        ("collect", "in.txt"): 1,
        ("runJob", "took.txt"): 1,
        ("toLocalIterator", "looped.txt"): 1,
        ("foreach", "looped.txt"): 1,
        ("count", "new.txt"): 1,
        ("count", "asked.txt"): 1,
        ("take", "java.txt"): 1,
        ("count", "renamed.txt"): 1,
    }


def test_pythons_line_is_the_call_site(jobs: list[dict[str, Any]]) -> None:
    sites = [event["run"]["facets"]["sparkLineage_context"].get("callSite") for event in jobs]
    assert any(site.startswith("collect at ") and "job.py:" in site for site in sites)


def test_a_failed_job_is_a_fail_with_its_error(jobs: list[dict[str, Any]]) -> None:
    end = the(jobs, "failed")
    assert end["eventType"] == "FAIL"
    assert "ZeroDivisionError" in end["run"]["facets"]["errorMessage"]["message"]
    assert names(end, "inputs") == ["loud.txt"]
    assert written(end, "/failed") is None


def test_rows_read_and_written_are_the_jobs_own(jobs: list[dict[str, Any]]) -> None:
    end = the(jobs, "upper")
    assert read(end, "/in.txt") == {"rowCount": 3}
    assert written(end, "/upper") == {"rowCount": 3}
    # One batch of records for each partition.
    assert written(the(jobs, "pickled"), "/pickled") == {"rowCount": 2}
    # Which of the two files a row is of, nobody counts.
    assert read(the(jobs, "both of them"), "/in.txt") is None


def test_a_query_is_told_once(finished: Finished, jobs: list[dict[str, Any]]) -> None:
    """Neither the look at a file for its schema, nor the fetching of a query's rows, is a job."""
    assert not [event for event in jobs if "inferred.txt" in names(event, "inputs")]
    framed = [event for event in finished.of("COMPLETE") if "framed.txt" in names(event, "inputs")]
    kinds = Counter(event["job"]["facets"]["jobType"]["jobType"] for event in framed)
    assert kinds == {"RDD_JOB": 1, "QUERY": 2}
