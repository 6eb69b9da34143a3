"""What the listener tells of jobs of RDDs, and what of them it keeps."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from tests.bridge.conftest import Captured

pytestmark = pytest.mark.spark


def _text(record: dict[str, Any], reference: int) -> str:
    return str(record["strings"][-1 - reference])


def _kept(spark: Any) -> list[int]:
    """How many jobs and stages the capture still holds."""
    jvm = spark._jvm
    type_of = spark.sparkContext._jsc.sc().getClass().getClassLoader()
    loader = jvm.Thread.currentThread().getContextClassLoader() or type_of
    reflect = jvm.org.apache.commons.lang3.reflect.FieldUtils
    capture = reflect.readStaticField(loader.loadClass("io.sparklineage.Capture"), "current", True)
    jobs = reflect.readField(capture, "jobs", True)
    return [reflect.readField(jobs, name, True).size() for name in ("running", "byStage")]


@pytest.fixture
def source(folder: Path) -> str:
    path = folder / "in.txt"
    path.write_text("a\nb\nc\n")
    return str(path)


@pytest.mark.smoke
def test_a_write_is_told_at_start_and_end(captured: Captured, folder: Path, source: str) -> None:
    context = captured.spark.sparkContext
    context.setJobGroup("nightly", "the copy")
    try:
        context.textFile(source).saveAsTextFile(str(folder / "out"))
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)
        context.setLocalProperty("spark.job.description", None)
    start, end = captured.take("job")
    for record in (start, end):
        job = record["job"]
        assert [_text(record, path) for path in job["rdd"]["paths"]] == [source]
        assert _text(record, job["output"]["path"]) == f"file:{folder / 'out'}"
        assert _text(record, job["output"]["format"]).endswith("mapred.TextOutputFormat")
        assert job["scope"] == "saveAsTextFile"
        assert (job["group"], job["description"]) == ("nightly", "the copy")
        assert job["operations"] == ["textFile", "map", "saveAsTextFile"]
        assert job["seen"] is True
        assert "user.dir" in record["session"]["conf"]
    assert (start["phase"], start["job"]["outcome"], start["job"]["metrics"]) == ("START", None, {})
    assert (end["phase"], end["job"]["outcome"], end["job"]["error"]) == ("END", "SUCCESS", None)
    assert end["job"]["metrics"]["recordsRead"] == end["job"]["metrics"]["recordsWritten"] == 3
    assert start["job"]["startTime"] <= end["job"]["endTime"]


def test_a_failure_is_told_with_its_cause(captured: Captured, source: str) -> None:
    lines = captured.spark.sparkContext.textFile(source)
    with pytest.raises(Exception, match="no such thing"):
        lines.map(lambda line: {}[f"no such thing as {line}"]).count()
    job = captured.take("job")[-1]["job"]
    assert job["outcome"] == "FAILURE"
    # Spark 4 gives the Python error itself, Spark 3.5 the job's abortion by it.
    assert job["error"]["class"].startswith("org.apache.spark.")
    assert "no such thing" in job["error"]["message"]


def test_secrets_in_paths_and_texts_stay(captured: Captured, folder: Path) -> None:
    context = captured.spark.sparkContext
    (folder / "in.txt?sig=hunter2").write_text("a\n")
    context.setLocalProperty("spark.job.description", "password=hunter2")
    try:
        context.textFile(f"{folder}/in.txt?sig=hunter2").collect()
    finally:
        context.setLocalProperty("spark.job.description", None)
    (start, _) = captured.take("job")
    assert "in.txt?sig=" in str(start)
    assert "hunter2" not in str(start)


def test_a_table_behind_a_frame_is_told_without_its_password(captured: Captured) -> None:
    spark = captured.spark
    url = "jdbc:derby:memory:rdd_jobs;create=true"
    spark.range(3).write.jdbc(url, "numbers", "overwrite", {"password": "hunter2"})
    captured.take()
    spark.read.jdbc(url, "numbers", properties={"password": "hunter2"}).rdd.count()
    (start, _) = captured.take("job")
    (options,) = start["job"]["rdd"]["jdbc"]
    known = {_text(start, key): _text(start, value) for key, value in options["map"]}
    assert known["dbtable"] == "numbers"
    assert "hunter2" not in str(start)


def test_jobs_without_files_and_jobs_of_queries_are_not_told(
    captured: Captured, folder: Path, source: str
) -> None:
    spark = captured.spark
    spark.sparkContext.parallelize(range(9)).map(str).count()
    spark.range(9).rdd.count()
    spark.read.text(source).collect()
    spark.read.option("inferSchema", True).csv(source)
    spark.read.text(source).groupBy("value").count().write.parquet(str(folder / "parquet"))
    assert captured.take("job") == []


def test_many_jobs_leave_nothing_behind(captured: Captured, source: str) -> None:
    lines = captured.spark.sparkContext._jsc.textFile(source, 1)
    for _ in range(300):
        lines.count()
    records = captured.take("job")
    assert len(records) == 600
    assert _kept(captured.spark) == [0, 0]
    assert captured.status()["failures"] == 0


class _Late:
    """A listener that holds up those after it until the job is over."""

    def __init__(self) -> None:
        self.over = threading.Event()

    def onJobStart(self, event: Any) -> None:
        assert self.over.wait(60)

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("on"):
            raise AttributeError(name)
        return lambda event: None

    class Java:
        implements = ("org.apache.spark.scheduler.SparkListenerInterface",)


def test_a_job_that_has_ended_is_told_by_what_the_event_holds(
    captured: Captured, folder: Path, source: str
) -> None:
    """The bus is behind: the job's own objects are gone when its start comes."""
    java_gateway = pytest.importorskip("pyspark.java_gateway")
    context = captured.spark.sparkContext
    java_gateway.ensure_callback_server_started(context._gateway)
    captured.close()
    late = _Late()
    bus = captured.context.listenerBus()
    bus.addToQueue(late, "spark-lineage")
    try:
        late.over.set()
        captured.install()
        late.over.clear()
        context._jsc.textFile(source).saveAsTextFile(str(folder / "out"))
        late.over.set()
        start, end = captured.take("job")
    finally:
        late.over.set()
        bus.removeListener(late)
    for record in (start, end):
        job = record["job"]
        assert job["seen"] is False
        assert [_text(record, path) for path in job["rdd"]["paths"]] == [source]
        assert job["output"] is None
        assert job["scope"] == "saveAsTextFile"
    assert end["job"]["metrics"]["recordsWritten"] == 3
