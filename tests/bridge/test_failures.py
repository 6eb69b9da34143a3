"""A query whose capture fails: the record says so, and five in a row switch it off."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.bridge.conftest import Captured
from tests.support.faulty import faulty_jar

pytestmark = pytest.mark.spark

MACHINE = ("StackOverflowError", "OutOfMemoryError")
LINKAGE = ("NoSuchMethodError", "NoClassDefFoundError")


@pytest.fixture(scope="module")
def faulty(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The source is known to the session."""
    jar: Path = faulty_jar(tmp_path_factory.mktemp("faulty"))
    jvm = spark._jvm
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    loader.addURL(jvm.java.io.File(str(jar)).toURI().toURL())


@pytest.fixture
def fresh(spark: Any, faulty: None) -> Iterator[Captured]:
    """A capture of its own, with no failures yet."""
    captured = Captured(spark)
    captured.install()
    yield captured
    captured.take()
    captured.close()


def _fail(spark: Any, error: str = "OutOfMemoryError") -> None:
    """Two failures: a record of the start and one of the end."""
    spark.read.format("Faulty").option("error", error).load().collect()


@pytest.mark.parametrize("error", LINKAGE)
def test_an_object_that_cannot_be_described_leaves_the_plan(
    fresh: Captured, spark: Any, error: str
) -> None:
    _fail(spark, error)
    start, end = fresh.take()
    assert start["plans"]["analyzed"] is not None
    assert None not in end["plans"].values()
    for record in (start, end):
        assert f"Relation not described: java.lang.{error}" in record["bridge"]["truncated"]
    assert fresh.status()["failures"] == 0


@pytest.mark.parametrize("error", MACHINE)
def test_what_cannot_be_encoded_leaves_the_rest(fresh: Captured, spark: Any, error: str) -> None:
    before = fresh.status()["dropped"].get(f"failure.{error}", 0)
    _fail(spark, error)
    start, end = fresh.take()
    for record in (start, end):
        assert record["plans"] == {"analyzed": None, "optimized": None}
        assert f"analyzed: java.lang.{error}" in record["bridge"]["truncated"]
    assert end["execution"]["outcome"] == "SUCCESS"
    assert fresh.status()["failures"] == 2
    assert fresh.status()["dropped"][f"failure.{error}"] - before == 2
    assert fresh.status()["off"] is None


def test_a_success_between_begins_anew(fresh: Captured, spark: Any) -> None:
    for _ in range(3):
        _fail(spark)
        _fail(spark)
        spark.range(3).collect()
    assert fresh.take()
    assert fresh.status()["failures"] == 12
    assert fresh.status()["off"] is None


def test_five_in_a_row_switch_the_capture_off(fresh: Captured, spark: Any) -> None:
    before = fresh.status()["dropped"].get("switched.off", 0)
    for _ in range(3):
        _fail(spark)
    records = fresh.take()
    assert len(records) == 5
    status = fresh.status()
    assert status["off"] == "5 failures in a row, the last: java.lang.OutOfMemoryError"
    assert status["failures"] == 5
    assert status["running"] == 0
    for _ in range(4):
        spark.range(3).collect()
    assert fresh.take() == []
    # The end of the last that failed, and these four.
    assert fresh.status()["dropped"]["switched.off"] - before == 5


def test_a_new_capture_is_on_again(fresh: Captured, spark: Any) -> None:
    for _ in range(3):
        _fail(spark)
    fresh.take()
    assert fresh.status()["off"] is not None
    fresh.close()
    fresh.install()
    assert fresh.status()["off"] is None
    spark.range(3).collect()
    assert [record["phase"] for record in fresh.take()] == ["START", "END"]
