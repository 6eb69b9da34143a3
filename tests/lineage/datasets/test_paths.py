"""Paths as names."""

from __future__ import annotations

import pytest

from spark_lineage.lineage.datasets.paths import absolute, location, name_of_path, place_of


@pytest.mark.parametrize(
    ("uri", "namespace", "name"),
    [
        ("file:/d/t", "file", "/d/t"),
        ("file:///d/t/", "file", "/d/t"),
        ("/d//t", "file", "/d/t"),
        ("s3a://bkt/dir/t", "s3://bkt", "dir/t"),
        ("s3n://bkt//dir/t/", "s3://bkt", "dir/t"),
        ("s3://bkt", "s3://bkt", "/"),
        ("gs://b/d/t", "gs://b", "d/t"),
        ("abfss://c@ACC.dfs.core.windows.net/d/t", "abfss://c@acc.dfs.core.windows.net", "d/t"),
        ("abfs://c@acc.dfs.core.windows.net/d", "abfss://c@acc.dfs.core.windows.net", "d"),
        ("hdfs://NN:8020/d/t", "hdfs://nn:8020", "/d/t"),
        ("dbfs:/d/t", "dbfs", "/d/t"),
        ("wasb://c@acc.blob.core.windows.net/d", "wasbs://c@acc.blob.core.windows.net", "d"),
        ("abfss://c:s3cret@acc.dfs.core.windows.net/d", "abfss://c@acc.dfs.core.windows.net", "d"),
        ("s3a://KEY:s3cret@bkt/d", "s3://bkt", "d"),
        ("hdfs://etl@NN:8020/D", "hdfs://nn:8020", "/D"),
        ("sftp://etl:s3cret@h:22/d", "sftp://h:22", "/d"),
        ("file:/d/with%20space", "file", "/d/with space"),
        ("file:/d/100%25/%C3%BC", "file", "/d/100%/ü"),
    ],
)
def test_one_name_for_one_place(uri: str, namespace: str, name: str) -> None:
    assert name_of_path(uri, trim=False) == (namespace, name)


@pytest.mark.parametrize(
    ("uri", "name"),
    [
        ("file:/lake/ev/dt=1", "/lake/ev"),
        ("file:/lake/ev/dt=1/h=2/", "/lake/ev"),
        ("file:/lake/ev/*", "/lake/ev"),
        ("file:/lake/20*/x", "/lake"),
        ("file:/lake/{a,b}/c", "/lake"),
        ("file:/lake/ev", "/lake/ev"),
        ("file:/a=b", "/a=b"),
        ("file:/lake/ev/dt=1/part-00000-1a2b-c000.snappy.parquet", "/lake/ev"),
        ("file:/lake/ev/dt=1/extra.csv", "/lake/ev"),
        ("file:/lake/ev/000000_0", "/lake/ev"),
        (
            "file:/lake/ev/dt=x/"
            "2c702959-5b89-4004-a97f-a6d552b40517-0_0-146-0_20261130162012450.parquet",
            "/lake/ev",
        ),
        ("file:/lake/ev/rates.csv", "/lake/ev/rates.csv"),
    ],
)
def test_partitions_and_globs_are_trimmed_from_what_is_read(uri: str, name: str) -> None:
    assert name_of_path(uri, trim=True) == ("file", name)


def test_a_tables_location_is_not_trimmed() -> None:
    assert name_of_path("file:/lake/a=b", trim=False) == ("file", "/lake/a=b")


def test_a_location_is_one_text() -> None:
    assert location("file:///tmp/wh/") == "file:/tmp/wh"
    assert location("/tmp/wh") == "file:/tmp/wh"
    assert location("hdfs://NN:8020/wh") == "hdfs://nn:8020/wh"
    assert location("s3a://b/wh") == "s3://b/wh"


def test_values_of_partitions_are_as_they_were_before_they_were_escaped() -> None:
    # Spark escapes in the directory's name, and the URI encodes that once more.
    found = place_of("file:/ev/at=2026-01-01%2010%253A00")
    assert found.partitions == (("at", "2026-01-01 10:00"),)


def test_in_what_is_written_globs_are_letters() -> None:
    assert place_of("file:/a/b[1]", globs=False).name == "/a/b[1]"


@pytest.mark.parametrize(
    ("path", "conf", "found"),
    [
        ("/d", {}, "/d"),
        ("d", {"user.dir": "/home/x"}, "/home/x/d"),
        ("/d", {"fs.defaultFS": "hdfs://nn:8020"}, "hdfs://nn:8020/d"),
        ("hdfs:///d", {"fs.defaultFS": "hdfs://nn:8020/"}, "hdfs://nn:8020/d"),
        ("hdfs:///d", {"fs.defaultFS": "s3a://bkt"}, "hdfs:///d"),
        ("s3a://b/d", {"fs.defaultFS": "hdfs://nn:8020"}, "s3a://b/d"),
    ],
)
def test_what_hadoop_adds_to_a_path(path: str, conf: dict[str, str], found: str) -> None:
    assert absolute(path, conf) == found


def test_the_names_are_those_of_openlineage() -> None:
    from openlineage.client.naming import dataset as ol

    pairs = [
        ("s3a://bkt/d/t", ol.S3("bkt", "d/t")),
        ("gs://bkt/d/t", ol.GCS("bkt", "d/t")),
        ("hdfs://nn:8020/d/t", ol.HDFS("nn", "8020", "/d/t")),
        ("file:/d/t", ol.LocalFileSystem("/d/t")),
        ("file://host/d/t", ol.RemoteFileSystem("host", "/d/t")),
        ("abfs://c@acc.dfs.core.windows.net/d/t", ol.ABFSS("c", "acc", "d/t")),
        ("dbfs://workspace/d/t", ol.DBFS("workspace", "/d/t")),
    ]
    for uri, theirs in pairs:
        assert name_of_path(uri, trim=False) == (theirs.get_namespace(), theirs.get_name())
    # Theirs puts a blob store under the host of Data Lake Storage; a path has its own host.
    blob = ol.WASBS("c", "acc", "d/t")
    ours = name_of_path("wasbs://c@acc.blob.core.windows.net/d/t", trim=False)
    assert ours == (blob.get_namespace().replace(".dfs.", ".blob."), blob.get_name())
