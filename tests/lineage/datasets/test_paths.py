"""Paths and JDBC addresses as names."""

from __future__ import annotations

import pytest

from spark_lineage.lineage.datasets import Naming
from spark_lineage.lineage.datasets.jdbc import jdbc_table
from spark_lineage.lineage.datasets.paths import location, name_of_path
from spark_lineage.lineage.options import LineageOptions
from spark_lineage.plan import decode


def naming(conf: dict[str, str] | None = None, identity: str = "table") -> Naming:
    record = decode({"formatVersion": 1, "session": {"database": "default", "conf": conf or {}}})
    return Naming(record, LineageOptions(dataset_identity=identity))


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
        ("file:/d/with%20space", "file", "/d/with space"),
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
    ],
)
def test_partitions_and_globs_are_trimmed_from_what_is_read(uri: str, name: str) -> None:
    assert name_of_path(uri, trim=True) == ("file", name)


def test_what_is_written_is_not_trimmed() -> None:
    assert name_of_path("file:/lake/a=b", trim=False) == ("file", "/lake/a=b")


def test_a_location_is_one_text() -> None:
    assert location("file:///tmp/wh/") == "file:/tmp/wh"
    assert location("/tmp/wh") == "file:/tmp/wh"
    assert location("hdfs://NN:8020/wh") == "hdfs://nn:8020/wh"
    assert location("s3a://b/wh") == "s3://b/wh"


@pytest.mark.parametrize(
    ("url", "table", "namespace", "name"),
    [
        (
            "jdbc:mysql://u:s3cret@H1:3306/shop?password=x",
            "orders",
            "mysql://h1:3306",
            "shop.orders",
        ),
        ("jdbc:postgresql://h/db", "public.t", "postgres://h", "db.public.t"),
        ("jdbc:derby:memory:out;create=true;user=x", "T", "derby:memory:out", "T"),
        ("jdbc:sqlserver://h:1433;databaseName=db;password=p", "t", "sqlserver://h:1433", "t"),
    ],
)
def test_nothing_secret_of_a_url_is_kept(url: str, table: str, namespace: str, name: str) -> None:
    found = jdbc_table(url, table)
    assert (found.namespace, found.name) == (namespace, name)


def test_a_metastore_names_the_catalog() -> None:
    assert naming({"hive.metastore.uris": "thrift://ms:9083,thrift://ms2:9083"}).namespace() == (
        "hive://ms:9083"
    )
    assert naming({"spark.sql.warehouse.dir": "file:/wh"}).namespace() == "file:/wh"


def test_identity_by_path_turns_names_round() -> None:
    named = naming({"spark.sql.warehouse.dir": "file:/wh"}, "path")
    found = named._named("file:/wh", "default.t", (), "file:/wh/t", {})
    assert (found.namespace, found.name) == ("file", "/wh/t")
    assert found.symlinks == (("file:/wh", "default.t", "TABLE"),)
