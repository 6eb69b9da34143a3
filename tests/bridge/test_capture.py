"""What the listener tells of real executions."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from tests.bridge.conftest import Captured
from tests.bridge.records import fields, names, of_class, read, simple, tree

pytestmark = pytest.mark.spark


def _last(captured: Captured, **execution: Any) -> dict[str, Any]:
    found = [
        end
        for end in captured.ends()
        if all(end["execution"][key] == value for key, value in execution.items())
    ]
    assert found
    return found[-1]


@pytest.mark.smoke
def test_an_insert_is_told_whole(captured: Captured, spark: Any) -> None:
    spark.sql("CREATE TABLE t (a INT, b STRING) USING parquet")
    spark.sql("CREATE TABLE s (a INT, b STRING, p INT) USING parquet PARTITIONED BY (p)")
    spark.sql("INSERT INTO s VALUES (1, 'x', 1), (2, 'y', 2)")
    captured.take()
    text = "INSERT INTO t SELECT a, upper(b) FROM s WHERE p = 2 AND a > 0"
    spark.sql(text)
    records = captured.take()
    assert [record["phase"] for record in records] == ["START", "END"]
    start, end = records
    assert start["plans"]["analyzed"] is not None
    assert start["plans"]["optimized"] is None
    for record in records:
        assert record["execution"]["sql"] == text
        assert record["execution"]["stars"] is False
        assert record["session"]["catalog"] == "spark_catalog"
        assert record["session"]["database"] == "default"
        assert "spark.sql.warehouse.dir" in record["session"]["conf"]
    execution = end["execution"]
    assert execution["outcome"] == "SUCCESS"
    assert execution["error"] is None
    assert execution["rootId"] == execution["id"] == start["execution"]["id"]
    assert execution["startTime"] <= execution["endTime"]
    assert tree(end, end["plans"]["analyzed"])[0] == "InsertIntoHadoopFsRelationCommand"
    (scan,) = end["scans"]
    assert scan["class"] == "FileSourceScanExec"
    assert scan["columns"] == ["a", "b", "p"]
    assert names(end, scan["output"]) == ["a", "b", "p"]
    assert len(scan["partitionFilters"]) == 2
    assert scan["dataFilters"]
    assert scan["metrics"]["numFiles"] == 1
    assert scan["metrics"]["numOutputRows"] == 1
    assert read(end, scan["source"])["format"] == "parquet"
    (write,) = end["writes"]
    assert write["class"] == "InsertIntoHadoopFsRelationCommand"
    assert write["metrics"]["numOutputRows"] == 1
    assert write["version"] is None
    assert execution["written"]["rows"] == 1
    assert execution["written"]["bytes"] == write["metrics"]["numOutputBytes"]
    (table,) = [t["catalogTable"] for t in of_class(end, "LogicalRelation") if t["catalogTable"]][
        -1:
    ]
    assert (table["database"], table["table"], table["provider"]) == ("default", "s", "parquet")
    assert table["location"].startswith("file:/")


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE c USING parquet AS SELECT id AS a FROM range(3)",
        "CREATE VIEW w AS SELECT 1 AS one",
        "CREATE TABLE e (a INT) USING parquet",
        "SELECT id + 1 FROM range(3)",
        "INSERT OVERWRITE DIRECTORY '{folder}/o' USING parquet SELECT 1 AS a",
        "SHOW TABLES",
    ],
)
def test_the_statement_is_told_though_versions_lose_it(
    captured: Captured, spark: Any, statement: str, folder: Path
) -> None:
    text = statement.format(folder=folder)
    spark.sql(text).collect()
    ends = captured.ends()
    assert text in [end["execution"]["sql"] for end in ends]


def test_a_frame_has_no_statement(captured: Captured, spark: Any, folder: Path) -> None:
    spark.range(3).selectExpr("id AS a").write.parquet(str(folder / "o"))
    end = captured.ends()[-1]
    assert end["execution"]["sql"] is None
    assert "parquet at" in end["execution"]["description"]
    assert "DataFrameWriter" in end["execution"]["callSite"]


@pytest.mark.parametrize(
    "call_site", ["select at Job.scala:12", "show at <unknown>:0", "describe at Job.java:7"]
)
def test_a_call_site_is_no_statement(captured: Captured, spark: Any, call_site: str) -> None:
    spark.sparkContext.setJobDescription(call_site)
    spark.range(3).collect()
    spark.sparkContext.setJobDescription(None)
    assert captured.ends()[-1]["execution"]["sql"] is None


def test_the_body_of_a_function_is_no_statement(captured: Captured, spark: Any) -> None:
    if spark.version < "4":
        pytest.skip("SQL functions came with Spark 4.0")
    spark.sql("CREATE TABLE counted (id BIGINT) USING parquet")
    spark.sql("CREATE FUNCTION most() RETURNS BIGINT RETURN (SELECT max(id) FROM counted)")
    captured.take()
    text = "CREATE TABLE mosts USING parquet AS SELECT id, most() AS m FROM counted"
    spark.sql(text)
    told = {end["execution"]["sql"] for end in captured.ends()}
    assert text in told
    assert told <= {text, None}
    spark.sql("DROP FUNCTION most")


def test_nested_executions_name_their_root(captured: Captured, spark: Any) -> None:
    spark.range(3).write.saveAsTable("nested")
    ends = captured.ends()
    assert len(ends) >= 2
    roots = {end["execution"]["rootId"] for end in ends}
    assert len(roots) == 1
    assert roots <= {end["execution"]["id"] for end in ends}


def test_every_session_is_seen(captured: Captured, spark: Any) -> None:
    other = spark.newSession()
    other.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    other.range(3).collect()
    end = captured.ends()[-1]
    assert end["session"]["conf"]["spark.sql.session.timeZone"] == "Asia/Tokyo"
    assert end["session"]["id"] == end["execution"]["sessionId"]
    spark.range(3).collect()
    assert captured.ends()[-1]["session"]["id"] != end["session"]["id"]


def test_a_failure_is_told(captured: Captured, spark: Any) -> None:
    with pytest.raises(Exception, match="no such thing"):
        spark.sql("SELECT raise_error('no such thing') FROM range(2)").collect()
    end = captured.ends()[-1]
    assert end["execution"]["outcome"] == "FAILURE"
    assert "no such thing" in end["execution"]["error"]["message"]
    assert end["execution"]["error"]["class"].startswith("org.apache.spark.")
    assert 0 < len(end["execution"]["error"]["stack"]) < 20_000
    assert end["plans"]["analyzed"] is not None


def test_an_analysis_error_is_the_jobs_and_no_failure_of_ours(
    captured: Captured, spark: Any
) -> None:
    with pytest.raises(Exception, match="nowhere"):
        spark.sql("SELECT * FROM nowhere")
    for end in captured.ends():
        assert end["execution"]["outcome"] == "FAILURE"
        assert end["plans"] == {"analyzed": None, "optimized": None}
    assert captured.status()["failures"] == 0


def test_stars(captured: Captured, spark: Any) -> None:
    for text, star in [
        ("SELECT * FROM range(2)", True),
        ("SELECT count(*) FROM range(2)", False),
        ("SELECT x.* FROM (SELECT struct(id) AS x FROM range(2))", True),
        ("SELECT id FROM range(2) WHERE id IN (SELECT * FROM range(1))", True),
    ]:
        assert captured.analyze(text)["execution"]["stars"] is star, text


def test_scans_are_found_inside_adaptive_plans_and_subqueries(
    captured: Captured, spark: Any, folder: Path
) -> None:
    for name in "lr":
        spark.range(50).selectExpr("id", f"id % 7 AS {name}").write.parquet(str(folder / name))
    left, right = (spark.read.parquet(str(folder / name)) for name in "lr")
    left.createOrReplaceTempView("lefts")
    right.createOrReplaceTempView("rights")
    captured.take()
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    try:
        spark.sql(
            "SELECT l, count(1) FROM lefts JOIN rights USING (id) "
            "WHERE r > (SELECT min(r) FROM rights) GROUP BY l"
        ).collect()
    finally:
        spark.conf.unset("spark.sql.autoBroadcastJoinThreshold")
    end = captured.ends()[-1]
    scanned = [read(end, scan["source"])["rootPaths"][0][-1] for scan in end["scans"]]
    assert sorted(scanned) == ["l", "r", "r"]
    assert all(scan["metrics"]["numOutputRows"] == 50 for scan in end["scans"])


def test_a_cached_relation_tells_what_it_was_made_of(captured: Captured, spark: Any) -> None:
    frame = spark.range(5).selectExpr("id", "id * 2 AS twice").cache()
    try:
        captured.take()
        frame.select("twice").collect()
        end = captured.ends()[-1]
        (builder,) = of_class(end, "CachedRDDBuilder")
        assert simple(end, builder["logicalPlan"]) == "Project"
        (scan,) = end["scans"]
        assert scan["class"] == "InMemoryTableScanExec"
        assert scan["columns"] == ["twice"]
    finally:
        frame.unpersist()


def test_rdds_tell_their_identity_and_paths(captured: Captured, spark: Any, folder: Path) -> None:
    source = folder / "text"
    source.mkdir()
    (source / "a.txt").write_text("1\n")
    spark.sparkContext.textFile(str(source)).map(lambda line: (line,)).toDF(["a"]).collect()
    end = captured.ends()[-1]
    rdds = [row["rdd"] for row in of_class(end, "LogicalRDD")]
    assert len({rdd["id"] for rdd in rdds}) == 1
    assert all(isinstance(rdd["id"], int) for rdd in rdds)
    assert rdds[0]["paths"] == [str(source)]


def test_user_data_stays_out(captured: Captured, spark: Any) -> None:
    spark.createDataFrame([(f"person-{n}",) for n in range(1000)], ["name"]).collect()
    spark.sql("SELECT * FROM VALUES ('person-1'), ('person-2') AS t(name)").collect()
    for end in captured.ends():
        assert not [text for text in end["strings"] if "person" in text]


def test_the_plan_in_a_commands_field_is_kept(captured: Captured, spark: Any) -> None:
    record = captured.analyze("CREATE TABLE x USING parquet AS SELECT id AS a FROM range(3)")
    command = fields(record, record["plans"]["analyzed"])
    assert simple(record, command["query"]) in ("Project", "SubqueryAlias")
    record = captured.analyze("SELECT id FROM range(3) WHERE EXISTS (SELECT 1 FROM range(2))")
    assert [simple(record, row["plan"]) for row in of_class(record, "Exists")] == ["Project"]


def test_analyze_runs_nothing(captured: Captured, spark: Any) -> None:
    captured.analyze("CREATE TABLE never USING parquet AS SELECT 1 AS a")
    assert not spark.catalog.tableExists("never")
    assert captured.take() == []


def test_a_queue_of_its_own_on_the_bus(captured: Captured, spark: Any) -> None:
    spark.range(3).collect()
    captured.take()
    begun = time.monotonic()
    assert captured.bridge.drain(20_000)
    assert time.monotonic() - begun < 5
    queues = captured.context.listenerBus().activeQueues()
    assert "spark-lineage" in str(queues.mkString(","))
