"""What is over a limit, what is secret, and what happens once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.bridge.conftest import Captured
from tests.bridge.records import dumps

pytestmark = pytest.mark.spark

SECRET = "tiger-7f3a"


@pytest.fixture
def bare(spark: Any) -> Iterator[Captured]:
    """Not installed yet: the test says with which limits."""
    captured = Captured(spark)
    yield captured
    captured.close()


def _wide(spark: Any) -> Any:
    return spark.range(3).selectExpr(*[f"id + {n} AS c{n}" for n in range(60)])


def test_a_plan_over_the_limit_leaves_the_rest(bare: Captured, spark: Any) -> None:
    bare.install(plan_nodes=50)
    _wide(spark).collect()
    start, end = bare.take()
    for record in (start, end):
        assert record["plans"] == {"analyzed": None, "optimized": None}
        assert "analyzed plan left out" in record["bridge"]["truncated"]
        assert "spark.lineage.plan.nodes" in record["bridge"]["truncated"]
    assert end["execution"]["outcome"] == "SUCCESS"
    assert end["scans"][0]["class"] == "RangeExec"


def test_the_optimized_plan_goes_first(bare: Captured, spark: Any) -> None:
    bare.install()
    _wide(spark).collect()
    start, end = bare.take()
    sizes = [len(json.dumps(record, separators=(",", ":"))) for record in (start, end)]
    between = sum(sizes) // 2
    assert end["plans"]["optimized"] is not None
    bare.bridge.uninstall()
    bare.install(record_bytes=between)
    _wide(spark).collect()
    end = bare.ends()[-1]
    assert end["plans"]["analyzed"] is not None
    assert end["plans"]["optimized"] is None
    assert end["bridge"]["truncated"].startswith("optimized plan left out")
    assert "spark.lineage.record.bytes" in end["bridge"]["truncated"]
    assert len(json.dumps(end, separators=(",", ":"))) <= between


def test_a_full_queue_drops_and_counts_and_the_next_record_tells(
    bare: Captured, spark: Any
) -> None:
    bare.install(queue_records=3)
    before = bare.status()["dropped"].get("queue.records", 0)
    for _ in range(4):
        spark.range(3).collect()
    kept = bare.take()
    assert len(kept) == 3
    spark.range(3).collect()
    after = bare.take()
    assert after[0]["bridge"]["dropped"]["queue.records"] - before == 5
    assert after[0]["sequence"] == kept[-1]["sequence"] + 1
    assert bare.status()["dropped"] == after[0]["bridge"]["dropped"]


def test_a_wrong_limit_is_refused_by_name(bare: Captured) -> None:
    bare.bridge.configure(json.dumps({"queue.bytes": "lots"}))
    with pytest.raises(Exception, match=r"spark\.lineage\.queue\.bytes.*lots.*positive size"):
        bare.bridge.install(bare.context)


def test_installed_twice_tells_once(bare: Captured, spark: Any) -> None:
    bare.install()
    second = Captured(spark)
    assert second.bridge.install(second.context)
    try:
        spark.range(3).collect()
        assert [record["phase"] for record in bare.take()] == ["START", "END"]
        # One lease: the second is told that the first has it.
        assert not second.bridge.claim("sidecar:other")
        assert json.loads(second.bridge.lease(10, 1 << 20, 0)) == []
        bare.bridge.uninstall()
        spark.range(3).collect()
        assert [record["phase"] for record in bare.take()] == ["START", "END"]
    finally:
        second.bridge.uninstall()
    spark.range(3).collect()
    assert bare.take() == []


def test_a_second_class_loader_does_not_tell_again(bare: Captured, spark: Any) -> None:
    bare.install()
    gateway = spark.sparkContext._gateway
    jvm = gateway.jvm
    urls = gateway.new_array(jvm.java.net.URL, 1)
    urls[0] = jvm.java.io.File(spark.conf.get("spark.jars")).toURI().toURL()
    spark_loader = bare.context.getClass().getClassLoader()
    loaded = jvm.java.net.URLClassLoader(urls, spark_loader).loadClass("io.sparklineage.Bridge")
    if loaded.equals(bare.bridge.getClass()):
        pytest.skip("this JVM has the jar on its class path")
    nothing = gateway.new_array(jvm.java.lang.Class, 0), gateway.new_array(jvm.java.lang.Object, 0)
    other = loaded.getDeclaredConstructor(nothing[0]).newInstance(nothing[1])

    def call(method: str, *arguments: Any) -> Any:
        # By reflection: py4j keeps methods by their class's name, and here are two of one name.
        types = gateway.new_array(jvm.java.lang.Class, len(arguments))
        values = gateway.new_array(jvm.java.lang.Object, len(arguments))
        for number, argument in enumerate(arguments):
            types[number] = jvm.java.lang.Class.forName("java.lang.Object")
            values[number] = argument
        return loaded.getMethod(method, types).invoke(other, values)

    assert call("install", bare.context) is False
    spark.range(3).collect()
    assert [record["phase"] for record in bare.take()] == ["START", "END"]
    bare.bridge.uninstall()
    assert call("install", bare.context) is True
    call("uninstall")


def test_the_lease_survives_in_the_bridge_until_acknowledged(bare: Captured, spark: Any) -> None:
    bare.install()
    spark.range(3).collect()
    bare.context.listenerBus().waitUntilEmpty(60_000)
    first = json.loads(bare.bridge.lease(10, 1 << 20, 0))
    assert len(first) == 2
    assert json.loads(bare.bridge.lease(10, 1 << 20, 0)) == []
    bare.bridge.release()
    assert bare.bridge.claim("driver:another")
    assert json.loads(bare.bridge.lease(10, 1 << 20, 0)) == first
    bare.bridge.ack(first[0]["sequence"])
    assert bare.status()["queued"] == 1
    assert not bare.bridge.drain(50)
    bare.bridge.ack(first[1]["sequence"])
    assert bare.bridge.drain(5_000)


def test_status_and_report(bare: Captured, spark: Any) -> None:
    bare.install()
    spark.range(3).collect()
    bare.take()
    bare.bridge.report(json.dumps({"pending": 2}))
    status = bare.status()
    assert status["agent"] == {"pending": 2}
    assert status["owner"] == "driver:test"
    assert status["applicationId"] == spark.sparkContext.applicationId
    assert status["applicationEnded"] is False
    assert status["off"] is None
    assert status["failures"] == 0
    assert status["queued"] == status["leased"] == status["queuedBytes"] == 0
    assert status["acknowledged"] == status["lastSequence"]


def test_secrets_stay_in_the_driver(bare: Captured, spark: Any) -> None:
    bare.install()
    statements = [
        f"CREATE TABLE j (a INT) USING parquet OPTIONS (password '{SECRET}', "
        f"'k.secret.x' = '{SECRET}')",
        f"CREATE TABLE p (a INT) USING parquet TBLPROPERTIES ('api.key' = '{SECRET}', "
        f"'url' = 'jdbc:x://u:{SECRET}@h/db')",
        f"SET spark.my.password={SECRET}",
        f"SELECT id FROM range(1) WHERE '{'s3a://key:' + SECRET + '@bucket/x'}' <> 'b'",
    ]
    try:
        for statement in statements:
            spark.sql(statement).collect()
        spark.read.option("password", SECRET).option("sfToken", SECRET).option(
            "header", "true"
        ).csv(spark.sparkContext.parallelize(["a,b"])).collect()
        with pytest.raises(Exception, match="no way"):
            spark.sql(f"SELECT raise_error('no way: password={SECRET}')").collect()
        spark.conf.set("spark.sql.catalog.my.secretKey", SECRET)
        spark.range(1).collect()
        records = bare.take()
    finally:
        spark.conf.unset("spark.sql.catalog.my.secretKey")
        for table in "jp":
            spark.sql(f"DROP TABLE IF EXISTS {table}")
    assert len(records) > 10
    for record in records:
        text = dumps(record)
        assert SECRET not in text, text[max(0, text.index(SECRET) - 200) :][:300]
