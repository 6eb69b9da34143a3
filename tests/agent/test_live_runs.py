"""How real runs end, what they read and wrote, and that runs side by side never mix."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.agent.live import Event, Live, read, written
from tests.support.spark import PYSPARK_WARNINGS

pytestmark = [
    pytest.mark.spark,
    *[pytest.mark.filterwarnings(ignored) for ignored in PYSPARK_WARNINGS],
]

THREADS = 8
ROUNDS = 3


@pytest.fixture(scope="module")
def live(spark: Any) -> Iterator[Live]:
    live = Live(spark)
    spark.range(100).selectExpr("id", "id % 7 AS v").coalesce(1).write.saveAsTable("numbers")
    yield live
    live.close()
    spark.sql("DROP TABLE numbers")


@pytest.fixture(scope="module")
def parts(live: Live, tmp_path_factory: pytest.TempPathFactory) -> str:
    """50 rows in three partitions: 17 with p = 0 and with p = 1, 16 with p = 2."""
    folder = str(tmp_path_factory.mktemp("live") / "parts")
    frame = live.spark.range(50).selectExpr("id", "id % 3 AS p").coalesce(1)
    frame.write.partitionBy("p").parquet(folder)
    return folder


def _sql(live: Live, *statements: str) -> Callable[[], None]:
    return lambda: [live.spark.sql(one) for one in statements] and None


# -- ends


def _cancelled(live: Live, folder: Path, cancel: Callable[[Any], None]) -> Event:
    """The end of a query that waits in its task until it is cancelled."""
    from pyspark.sql.functions import udf

    context = live.spark.sparkContext
    told: list[str] = []
    wait = udf(lambda value: (time.sleep(60), value)[1], "long")

    def query() -> None:
        context.setJobGroup("waiting", "waits", False)
        try:
            live.spark.range(1).select(wait("id").alias("a")).write.parquet(str(folder / "never"))
        except Exception as error:
            told.append(str(error))

    def both() -> None:
        thread = threading.Thread(target=query)
        thread.start()
        deadline = time.monotonic() + 60
        while not context.statusTracker().getActiveStageIds() and time.monotonic() < deadline:
            time.sleep(0.05)
        cancel(context)
        thread.join(60)

    end = live.end(both)
    assert "cancelled" in told[0]
    return end


@pytest.mark.parametrize("how", ["group", "all", "stage"])
def test_what_somebody_cancelled_is_an_abort(live: Live, tmp_path: Path, how: str) -> None:
    cancel = {
        "group": lambda context: context.cancelJobGroup("waiting"),
        "all": lambda context: context.cancelAllJobs(),
        "stage": lambda context: context._jsc.sc().cancelStage(
            context.statusTracker().getActiveStageIds()[0]
        ),
    }[how]
    end = _cancelled(live, tmp_path, cancel)
    assert end["eventType"] == "ABORT"
    assert "cancelled" in end["run"]["facets"]["errorMessage"]["message"]
    (output,) = end["outputs"]
    assert "outputStatistics" not in output.get("outputFacets", {})


def test_a_failure_is_a_fail_also_if_it_speaks_of_cancelling(live: Live, tmp_path: Path) -> None:
    def fail() -> None:
        frame = live.spark.range(1).selectExpr(
            "CAST(raise_error('Job 1 cancelled') AS STRING) AS x"
        )
        with pytest.raises(Exception, match="Job 1 cancelled"):
            frame.write.parquet(str(tmp_path / "never"))

    end = live.end(fail)
    assert end["eventType"] == "FAIL"
    facet = end["run"]["facets"]["errorMessage"]
    assert "Job 1 cancelled" in facet["message"]
    assert facet["stackTrace"].count("\n") <= 5 * 21


def test_an_analysis_error_fails_where_spark_tells_of_it_and_no_phase_is_run(live: Live) -> None:
    def wrong() -> None:
        with pytest.raises(Exception, match="nowhere"):
            live.spark.sql("INSERT INTO numbers SELECT id, 0 FROM nowhere")

    ends = live.ends(wrong)
    if live.spark.version.startswith("3."):
        assert ends == []
        return
    (end,) = ends
    assert end["eventType"] == "FAIL"
    assert "nowhere" in end["run"]["facets"]["errorMessage"]["message"]
    assert (end["inputs"], end["outputs"]) == ([], [])
    record = next(record for record in live.records if record["phase"] == "END")
    assert record["plans"] == {"analyzed": None, "optimized": None}


# -- statistics


def test_what_a_scan_and_a_write_did(live: Live, tmp_path: Path) -> None:
    end = live.end(lambda: live.spark.table("numbers").write.parquet(str(tmp_path / "copy")))
    size = sum(file.stat().st_size for file in (tmp_path / "copy").glob("*.parquet"))
    assert written(end, "/copy") == {"rowCount": 100, "size": size, "fileCount": 1}
    source = read(end, "default.numbers")
    assert source is not None
    assert (source["rowCount"], source["fileCount"]) == (100, 1)
    assert source["size"] > 0


def test_each_scan_of_one_input_counts(live: Live, tmp_path: Path) -> None:
    def join() -> None:
        live.spark.sql(
            "SELECT /*+ MERGE(b) */ a.id FROM numbers a JOIN numbers b ON a.id = b.v"
        ).write.parquet(str(tmp_path / "joined"))

    end = live.end(join)
    source = read(end, "default.numbers")
    assert source is not None
    assert (source["rowCount"], source["fileCount"]) == (200, 2)
    assert (written(end, "/joined") or {})["rowCount"] == 100


def test_only_the_partitions_read_count(live: Live, parts: str, tmp_path: Path) -> None:
    frame = live.spark.read.parquet(parts).where("p = 1")
    end = live.end(lambda: frame.write.parquet(str(tmp_path / "one")))
    source = read(end, "/parts")
    assert source is not None
    assert (source["rowCount"], source["fileCount"]) == (17, 1)


def test_a_count_reads_rows_without_columns(live: Live, parts: str) -> None:
    source = read(live.end(live.spark.table("numbers").count), "default.numbers")
    assert source is not None
    assert source["rowCount"] == 100


def test_a_subquerys_scan_is_its_own_inputs(live: Live, parts: str, tmp_path: Path) -> None:
    query = f"SELECT id FROM numbers WHERE v > (SELECT max(p) FROM parquet.`{parts}`)"
    end = live.end(lambda: live.spark.sql(query).write.parquet(str(tmp_path / "sub")))
    assert (read(end, "default.numbers") or {})["rowCount"] == 100
    assert (read(end, "/parts") or {})["rowCount"] == 50
    # v is 0 to 6 in turn; 14 or 15 times each, above 2 are 3, 4, 5 and 6.
    assert (written(end, "/sub") or {})["rowCount"] == sum(id % 7 > 2 for id in range(100))


def test_a_cached_scan_reads_nothing(live: Live, parts: str, tmp_path: Path) -> None:
    cached = live.spark.read.parquet(parts).cache()
    cached.count()
    end = live.end(lambda: cached.write.parquet(str(tmp_path / "again")))
    cached.unpersist()
    assert read(end, "/parts") is None
    assert (written(end, "/again") or {})["rowCount"] == 50


def test_each_output_of_a_multi_insert_has_its_own(live: Live) -> None:
    live.spark.sql("CREATE TABLE few (id BIGINT) USING parquet")
    live.spark.sql("CREATE TABLE many (id BIGINT) USING parquet")
    ends = live.ends(
        _sql(
            live,
            "FROM numbers INSERT INTO few SELECT id WHERE id < 10 INSERT INTO many SELECT id",
        )
    )
    rows = {
        output["name"]: output["outputFacets"]["outputStatistics"]["rowCount"]
        for end in ends
        for output in end["outputs"]
    }
    live.spark.sql("DROP TABLE few")
    live.spark.sql("DROP TABLE many")
    assert rows == {"default.few": 10, "default.many": 100}
    # One run on Spark 4, which scans twice; two on 3.
    assert sum((read(end, "default.numbers") or {})["rowCount"] for end in ends) in (110, 200)


def test_a_table_made_by_nested_executions_is_counted_once(live: Live) -> None:
    end = live.end(_sql(live, "CREATE TABLE made USING parquet AS SELECT * FROM numbers"))
    live.spark.sql("DROP TABLE made")
    assert (written(end, "default.made") or {})["rowCount"] == 100
    assert (read(end, "default.numbers") or {})["rowCount"] == 100


def test_rows_of_a_v2_scan_and_of_jdbc(live: Live, parts: str, tmp_path: Path) -> None:
    live.spark.conf.set("spark.sql.sources.useV1SourceList", "")
    try:
        frame = live.spark.read.parquet(parts)
        end = live.end(lambda: frame.write.format("csv").save(str(tmp_path / "v2")))
    finally:
        live.spark.conf.unset("spark.sql.sources.useV1SourceList")
    assert read(end, "/parts") == {"rowCount": 50}
    assert (written(end, "/v2") or {})["rowCount"] == 50

    url = "jdbc:derby:memory:live"
    frame = live.spark.range(3)
    frame.write.jdbc(f"{url};create=true", "T")
    end = live.end(lambda: live.spark.read.jdbc(url, "T").write.parquet(str(tmp_path / "t")))
    assert read(end, "T") == {"rowCount": 3}


def test_the_result_of_a_command_is_no_second_reading(live: Live, tmp_path: Path) -> None:
    live.spark.sql("CREATE TABLE target (id BIGINT, v BIGINT) USING parquet")
    ends = live.ends(lambda: live.spark.sql("INSERT INTO target SELECT * FROM numbers").collect())
    live.spark.sql("DROP TABLE target")
    (insert,) = [end for end in ends if end["outputs"]]
    assert (read(insert, "default.numbers") or {})["rowCount"] == 100
    for other in ends:
        if other is not insert:
            assert other["inputs"] == []


# -- side by side


def test_runs_side_by_side_do_not_mix(live: Live, tmp_path: Path) -> None:
    """Threads, each with a session and a pool of its own, and all with data sets of their own."""

    def work(number: int) -> None:
        session = live.spark.newSession() if number % 2 else live.spark
        context = session.sparkContext
        context.setLocalProperty("spark.scheduler.pool", f"pool{number}")
        for turn in range(ROUNDS):
            name, rows = f"in_{number}_{turn}", 10 * number + turn + 1
            source, target = str(tmp_path / name), str(tmp_path / f"out_{number}_{turn}")
            session.range(rows).coalesce(1).write.parquet(source)
            view = f"view_{number}_{turn}"
            session.read.parquet(source).createOrReplaceTempView(view)
            session.sql(
                f"INSERT OVERWRITE DIRECTORY '{target}' USING parquet "
                f"SELECT id, '{number}.{turn}' AS mark FROM {view}"
            )

    def all_of_them() -> None:
        threads = [threading.Thread(target=work, args=(number,)) for number in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)

    live.events()
    all_of_them()
    events = live.events()
    ends: dict[str, list[str]] = {}
    for event in events:
        ends.setdefault(event["run"]["runId"], []).append(event["eventType"])
    assert set(map(tuple, ends.values())) == {("START", "COMPLETE")}

    seen = set()
    for end in [event for event in events if event["eventType"] == "COMPLETE"]:
        for output in end["outputs"]:
            base = output["name"].rsplit("/", 1)[-1]
            if not base.startswith("out_"):
                continue
            number, turn = map(int, base.split("_")[1:])
            seen.add((number, turn))
            rows = 10 * number + turn + 1
            assert [one["name"].rsplit("/", 1)[-1] for one in end["inputs"]] == [
                f"in_{number}_{turn}"
            ]
            assert (read(end, f"in_{number}_{turn}") or {})["rowCount"] == rows
            assert (written(end, base) or {})["rowCount"] == rows
            text = end["job"]["facets"]["sql"]["query"]
            assert f"'{number}.{turn}'" in text
            assert base in end["job"]["name"]
    assert seen == {(number, turn) for number in range(THREADS) for turn in range(ROUNDS)}
    versions = {
        end["job"]["facets"]["sparkLineage_version"]["planHash"]
        for end in events
        if any("/out_" in output["name"] for output in end["outputs"])
    }
    assert len(versions) == THREADS * ROUNDS
