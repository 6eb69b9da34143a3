"""What a reader or writer of files is given, as one data set and the part of it that was meant."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from spark_lineage.lineage.model import Dataset, Lineage
from tests.lineage.datasets.conftest import Ended

pytestmark = pytest.mark.spark

DAY = "2026-01-0"


@pytest.fixture(params=["v1", "v2"])
def source(request: pytest.FixtureRequest, ended: Ended) -> Iterator[Ended]:
    """Both of Spark's file sources."""
    spark = ended.bench.spark
    if request.param == "v2":
        spark.conf.set("spark.sql.sources.useV1SourceList", "")
    yield ended
    spark.conf.unset("spark.sql.sources.useV1SourceList")


@pytest.fixture
def events(ended: Ended, tmp_path: Path) -> str:
    """Files of three days, each of two hours."""
    path = str(tmp_path / "ev")
    spark = ended.bench.spark
    spark.range(6).selectExpr(
        "id AS a", f"concat('{DAY}', CAST(id % 3 + 1 AS INT)) AS dt", "CAST(id % 2 AS INT) AS hr"
    ).write.partitionBy("dt", "hr").parquet(path)
    return path


def only(lineage: Lineage) -> Dataset:
    assert len(lineage.inputs) == 1, lineage.inputs
    return lineage.inputs[0].dataset


def part(dataset: Dataset) -> Any:
    return dataset.facts.get("subset")


def partition(**dimensions: str) -> dict[str, Any]:
    identifier = "/".join(f"{key}={value}" for key, value in dimensions.items())
    return {"identifier": identifier, "dimensions": dimensions}


def test_a_directory_is_all_of_the_data_set(source: Ended, events: str) -> None:
    read = source.bench.spark.read
    dataset = only(source.lineage(lambda: read.parquet(events + "//").select("a").collect()))
    assert (dataset.namespace, dataset.name) == ("file", events)
    assert part(dataset) is None
    assert dataset.facts["storage"] == {"storageLayer": "files", "fileFormat": "parquet"}
    assert dataset.facts["dataSource"] == {"name": "file", "uri": "file"}


@pytest.mark.parametrize(
    "paths",
    [
        ["/dt=2026-01-01"],
        ["/dt=2026-01-02/hr=1/"],
        ["/dt=2026-01-01/hr=0", "/dt=2026-01-02/hr=1"],
    ],
)
def test_partition_directories_are_parts_of_it(
    source: Ended, events: str, paths: list[str]
) -> None:
    spark = source.bench.spark
    dataset = only(
        source.lineage(lambda: spark.read.parquet(*[events + p for p in paths]).collect())
    )
    assert (dataset.namespace, dataset.name) == ("file", events)
    told = part(dataset)
    assert told["type"] == "partition"
    assert [item["identifier"] for item in told["partitions"]] == [p.strip("/") for p in paths]


def test_with_a_base_path_too(source: Ended, events: str) -> None:
    spark = source.bench.spark
    reader = spark.read.option("basePath", events)
    dataset = only(
        source.lineage(
            lambda: reader.parquet(events + "/dt=2026-01-01", events + "/dt=2026-01-03").collect()
        )
    )
    assert dataset.name == events
    assert part(dataset) == {
        "type": "partition",
        "partitions": [partition(dt="2026-01-01"), partition(dt="2026-01-03")],
    }


def test_a_glob_over_partitions_is_the_partitions_it_matched(source: Ended, events: str) -> None:
    spark = source.bench.spark
    dataset = only(
        source.lineage(lambda: spark.read.parquet(events + "/dt=2026-01-0[12]/hr=0").collect())
    )
    assert dataset.name == events
    assert part(dataset)["partitions"] == [
        partition(dt="2026-01-01", hr="0"),
        partition(dt="2026-01-02", hr="0"),
    ]


def test_any_other_glob_is_a_location(source: Ended, tmp_path: Path) -> None:
    spark = source.bench.spark
    for name in ("2024-01", "2024-02", "2025-01"):
        spark.range(1).write.json(str(tmp_path / "logs" / name))
    asked = f"{tmp_path}/logs/2024-*"
    dataset = only(source.lineage(lambda: spark.read.json(asked).collect()))
    assert dataset.name == f"{tmp_path}/logs"
    assert part(dataset) == {"type": "location", "locations": [f"file:{asked}"]}


def test_a_file_of_its_own_and_a_part_file(source: Ended, tmp_path: Path) -> None:
    spark = source.bench.spark
    own = tmp_path / "rates.csv"
    own.write_text("1\n")
    dataset = only(source.lineage(lambda: spark.read.csv(str(own)).collect()))
    assert (dataset.name, part(dataset)) == (str(own), None)
    spark.range(1).write.csv(str(tmp_path / "dir"))
    file = next(str(f) for f in (tmp_path / "dir").iterdir() if f.name.startswith("part-"))
    dataset = only(source.lineage(lambda: spark.read.csv(file).collect()))
    assert dataset.name == f"{tmp_path}/dir"
    assert part(dataset) == {"type": "location", "locations": [f"file:{file}"]}


def test_odd_characters_are_kept_as_they_are(source: Ended, tmp_path: Path) -> None:
    spark = source.bench.spark
    path = f"{tmp_path}/c sv%41+ü#1"
    written = source.lineage(lambda: spark.range(1).write.csv(path))
    assert written.outputs[0].dataset is not None
    assert written.outputs[0].dataset.name == path
    dataset = only(source.lineage(lambda: spark.read.csv(path + "/").collect()))
    assert (dataset.namespace, dataset.name) == ("file", path)


def test_a_relative_path_starts_in_the_drivers_folder(source: Ended, tmp_path: Path) -> None:
    spark = source.bench.spark
    spark.range(1).write.csv(str(tmp_path / "rel"))
    path = os.path.relpath(tmp_path / "rel")
    frame = spark.read.schema("a STRING").csv(path)
    folder = os.path.normpath(only(source.lineage(lambda: frame.collect())).name)
    assert folder == str(tmp_path / "rel")


def test_paths_of_several_data_sets_stay_apart(source: Ended, tmp_path: Path) -> None:
    spark = source.bench.spark
    for name in ("one", "two"):
        spark.range(1).write.orc(str(tmp_path / name))
    both = [str(tmp_path / "one"), str(tmp_path / "two"), str(tmp_path / "one")]
    lineage = source.lineage(lambda: spark.read.orc(both).collect())
    assert [item.dataset.name for item in lineage.inputs] == both[:2]


@pytest.mark.parametrize("form", ["parquet", "orc", "json", "csv", "text", "xml", "binaryFile"])
def test_each_format(ended: Ended, tmp_path: Path, form: str) -> None:
    spark = ended.bench.spark
    if form == "xml" and ended.bench.version < (4, 0):
        pytest.skip("built into Spark 4")
    path = str(tmp_path / form)
    frame = spark.range(2).selectExpr("CAST(id AS STRING) AS value")
    option = {"rowTag": "r"} if form == "xml" else {}
    if form == "binaryFile":
        frame.write.text(path)
    else:
        lineage = ended.lineage(lambda: frame.write.format(form).options(**option).save(path))
        dataset = lineage.outputs[0].dataset
        assert dataset is not None
        assert (dataset.namespace, dataset.name) == ("file", path)
        assert dataset.facts["storage"]["fileFormat"] == form
    reader = spark.read.format(form).options(**option)
    dataset = only(ended.lineage(lambda: reader.load(path).collect()))
    assert (dataset.namespace, dataset.name) == ("file", path)
    assert dataset.facts["storage"]["fileFormat"] == form.lower()


def test_the_filters_of_partitions_that_ran(source: Ended, events: str) -> None:
    spark = source.bench.spark
    frame = spark.read.parquet(events).where("dt >= DATE'2026-01-02' AND a > 0 AND hr IN (1, 7)")
    told = part(only(source.lineage(lambda: frame.select("a").collect())))

    def compared(column: str, comparison: str, value: str) -> dict[str, Any]:
        return {
            "type": "compare",
            "left": {"type": "field", "field": column},
            "right": {"type": "literal", "value": value},
            "comparison": comparison,
        }

    def both(operator: str, left: Any, right: Any) -> dict[str, Any]:
        return {"type": "binary", "operator": operator, "left": left, "right": right}

    days = compared("dt", "GREATER_EQUAL_THAN", "2026-01-02")
    hours = both("OR", compared("hr", "EQUAL", "1"), compared("hr", "EQUAL", "7"))
    assert told in (both("AND", hours, days), both("AND", days, hours))


def test_two_readings_of_one_data_set_are_one_part(source: Ended, events: str) -> None:
    spark = source.bench.spark
    one = spark.read.parquet(events).where("hr = 1").select("a")
    other = spark.read.parquet(events).where("hr = 0").select("a")
    told = part(only(source.lineage(lambda: one.union(other).collect())))
    assert (told["type"], told["operator"]) == ("binary", "OR")
    whole = spark.read.parquet(events).select("a")
    assert part(only(source.lineage(lambda: one.union(whole).collect()))) is None


def test_a_filter_without_words_makes_the_part_larger(source: Ended, events: str) -> None:
    spark = source.bench.spark
    frame = spark.read.parquet(events).where("day(dt) > 0 AND hr = 1")
    told = part(only(source.lineage(lambda: frame.select("a").collect())))
    assert (told["type"], told["left"]["field"]) == ("compare", "hr")
    frame = spark.read.parquet(events).where("day(dt) > 0 OR hr = 1")
    assert part(only(source.lineage(lambda: frame.select("a").collect()))) is None


def test_a_partition_written_by_its_path_is_a_part(source: Ended, tmp_path: Path) -> None:
    spark = source.bench.spark
    path = f"{tmp_path}/out/x=1"
    lineage = source.lineage(lambda: spark.range(1).write.mode("overwrite").parquet(path))
    dataset = lineage.outputs[0].dataset
    assert dataset is not None
    assert dataset.name == f"{tmp_path}/out"
    assert part(dataset) == {"type": "partition", "partitions": [partition(x="1")]}
    # What is read under that path is of the same data set.
    assert only(source.lineage(lambda: spark.read.parquet(path).collect())).name == dataset.name


def test_a_static_partition_of_a_table_is_a_part(ended: Ended) -> None:
    spark = ended.bench.spark
    for form in ("parquet", "hive"):
        name = f"pt_{form}"
        spark.sql(
            f"CREATE TABLE {name} (a BIGINT, dt STRING, hr STRING) USING {form}"
            " PARTITIONED BY (dt, hr)"
        )
        lineage = ended.lineage(
            lambda name=name: spark.sql(
                f"INSERT OVERWRITE {name} PARTITION (dt = 'x', hr) SELECT id, 'h' FROM range(2)"
            )
        )
        dataset = lineage.outputs[0].dataset
        assert dataset is not None
        assert part(dataset) == {"type": "partition", "partitions": [partition(dt="x")]}
        # Dynamic: which partitions there are is in the rows only.
        spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
        lineage = ended.lineage(
            lambda name=name: spark.sql(
                f"INSERT OVERWRITE {name} SELECT id, 'y', 'h' FROM range(2)"
            )
        )
        spark.conf.unset("spark.sql.sources.partitionOverwriteMode")
        assert lineage.outputs[0].dataset is not None
        assert part(lineage.outputs[0].dataset) is None
        told = part(only(ended.lineage(lambda n=name: spark.table(n).where("dt = 'x'").collect())))
        assert told["left"]["field"] == "dt"


def test_rows_of_an_rdd_come_from_its_files(source: Ended, events: str, tmp_path: Path) -> None:
    spark = source.bench.spark
    rows = spark.read.parquet(events).rdd.map(lambda row: (row[0],))
    lineage = source.lineage(lambda: spark.createDataFrame(rows, "a BIGINT").collect())
    assert only(lineage).name == events
    (tmp_path / "a,b.txt").write_text("1\n")
    (tmp_path / "c.txt").write_text("1\n")
    lines = spark.sparkContext.textFile(f"{tmp_path}/c.txt,{tmp_path}/ev/*/*")
    frame = spark.createDataFrame(lines.map(lambda line: (line,)), "a STRING")
    lineage = source.lineage(lambda: frame.collect())
    assert [item.dataset.name for item in lineage.inputs] == [f"{tmp_path}/c.txt", events]


def test_rows_without_a_source_invent_none(ended: Ended) -> None:
    spark = ended.bench.spark
    frame = spark.createDataFrame([(1,), (2,)], "a INT")
    assert ended.lineage(lambda: frame.collect()).inputs == ()
    rows = spark.sparkContext.parallelize([(1,)])
    assert ended.lineage(lambda: spark.createDataFrame(rows, "a INT").collect()).inputs == ()
    lineage = ended.lineage(lambda: frame.write.format("noop").mode("overwrite").save())
    assert [output.dataset for output in lineage.outputs] == [None]
