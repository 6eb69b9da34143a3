"""Paimon's and Hudi's tables by what the bridge tells of them, on records made by hand."""

from __future__ import annotations

from typing import Any

import pytest

from spark_lineage.lineage.datasets import Naming, hudi, paimon
from spark_lineage.lineage.datasets.lakehouse import is_bookkeeping, reader_made, within
from spark_lineage.lineage.model import Dataset, Input, Lineage, Output, Unexplained
from spark_lineage.lineage.options import LineageOptions
from tests.lineage.datasets.records import SCHEMA, Made

CATALOG = "org.apache.paimon.spark.SparkCatalog"
FILES = {
    "spark.sql.catalog.pm": CATALOG,
    "spark.sql.catalog.pm.warehouse": "s3a://lake/wh/",
}
HIVE = {
    **FILES,
    "spark.sql.catalog.pm.metastore": "hive",
    "spark.sql.catalog.pm.uri": "thrift://MS:9083",
}


def table(made: Made, name: str, **properties: str) -> dict[str, Any]:
    full = "org.apache.paimon.spark.SparkTable"
    return made.described(
        "SparkTable", **{"class": full, "name": name, "properties": properties, "schema": SCHEMA}
    )


def read(conf: dict[str, str], name: str, by_path: bool = False, **properties: str) -> Dataset:
    made = Made(conf)
    node = made.node(
        "DataSourceV2Relation",
        table=table(made, name, **properties),
        catalog=made.described("SparkCatalog", **{"class": CATALOG, "name": "pm"}),
        identifier=made.described("Identifier", namespace=["db"], name=name.rpartition(".")[2]),
        options=made.map({}),
    )
    options = LineageOptions(dataset_identity="path" if by_path else "table")
    (found,) = Naming(node.record, options).relation(node)
    return found


@pytest.mark.parametrize(
    "name", ["db.t", "db.t$branch_b", "t$files", "t$branch_b$snapshots", "t$audit_log"]
)
def test_branches_and_system_tables_are_of_the_table(name: str) -> None:
    found = read(FILES, name)
    assert (found.namespace, found.name) == ("s3://lake/wh", "db.t")
    # A catalog in a file system keeps a table at its name's path.
    assert found.symlinks == (("s3://lake", "wh/db.db/t", "LOCATION"),)
    assert found.facts["storage"] == {"storageLayer": "paimon"}


def test_a_table_has_one_name_where_paths_are_names() -> None:
    for name in ("db.t", "t$files"):
        found = read(FILES, name, by_path=True)
        assert (found.namespace, found.name) == ("s3://lake", "wh/db.db/t")
        assert found.symlinks == (("s3://lake/wh", "db.t", "TABLE"),)


def test_another_metastore_may_keep_a_table_anywhere() -> None:
    assert read(HIVE, "db.t").symlinks == ()
    found = read(HIVE, "db.t", path="s3a://else/100%")
    assert (found.namespace, found.name) == ("hive://ms:9083", "db.t")
    assert found.symlinks == (("s3://else", "100%", "LOCATION"),)


@pytest.mark.parametrize(
    ("conf", "path", "named"),
    [
        (FILES, "s3a://lake/wh/db.db/t", ("s3://lake/wh", "db.t")),
        (FILES, "s3a://lake/wh/other.db/t", ("s3://lake/wh", "other.t")),
        (FILES, "s3a://lake/else/db.db/t", ("s3://lake", "else/db.db/t")),
        (HIVE, "s3a://lake/wh/db.db/t", ("s3://lake", "wh/db.db/t")),
        ({}, "s3a://lake/wh/db.db/t", ("s3://lake", "wh/db.db/t")),
    ],
    ids=["by its place", "another database", "another place", "another metastore", "no catalog"],
)
def test_a_table_without_a_catalog_is_found_by_the_catalogs_settings(
    conf: dict[str, str], path: str, named: tuple[str, str]
) -> None:
    made = Made(conf)
    described = table(made, "db.t", path=path)
    node = made.node("PaimonTruncateTableCommand", v2Table=described)
    found = paimon.by_settings(Naming(node.record, LineageOptions()), described)
    assert found is not None
    assert (found.namespace, found.name) == named


@pytest.mark.parametrize(
    ("given", "options", "version"),
    [
        ({"scan.snapshot-id": "7"}, {}, "7"),
        ({}, {"scan.snapshot-id": "8"}, "8"),
        ({"scan.tag-name": "seven"}, {}, None),
        ({"scan.snapshot-id": "7", "branch": "b"}, {}, None),
        ({}, {}, None),
    ],
)
def test_a_snapshot_is_told_where_it_was_asked_for_by_its_number(
    given: dict[str, str], options: dict[str, str], version: str | None
) -> None:
    made = Made(FILES)
    described = table(made, "db.t", **given)
    node = made.node("DataSourceV2Relation", table=described, options=made.map(options))
    assert paimon.snapshot(node.record, node) == version


@pytest.mark.parametrize(
    ("name", "own", "added"),
    [("db.t", True, None), ("t$audit_log", True, "rowkind"), ("t$files", False, None)],
)
def test_columns_that_a_view_adds_are_not_the_tables(
    name: str, own: bool, added: str | None
) -> None:
    made = Made(FILES)
    node = made.node("DataSourceV2Relation", table=table(made, name), options=made.map({}))
    found = reader_made(node.record, node)
    assert (found is not None) is own
    if found is not None:
        assert "__paimon_file_path" in found
        assert "id" not in found
        assert added is None or added in found


@pytest.mark.parametrize(
    ("kind", "more", "own"),
    [
        ("HadoopFsRelation", {"index": "HoodieFileIndex"}, True),
        ("HadoopFsRelation", {"index": "HoodieCDCFileIndex"}, False),
        ("MergeOnReadSnapshotRelation", {"options": {"path": "/t"}}, True),
        ("MergeOnReadSnapshotRelation", {"options": {"path": "/t/.hoodie/metadata"}}, False),
        ("TimelineRelation", {"options": {"path": "/t"}}, False),
        ("CDCRelation", {"options": {"path": "/t"}}, False),
    ],
)
def test_hudi_tells_a_tables_rows_from_what_it_keeps_beside_them(
    kind: str, more: dict[str, Any], own: bool
) -> None:
    made = Made()
    files = {"rootPaths": ["/t"]} if kind == "HadoopFsRelation" else {}
    full = f"org.apache.hudi.{kind}"
    relation = made.described(kind, **{"class": full, "schema": SCHEMA}, **files, **more)
    node = made.node("LogicalRelation", relation=relation, catalogTable=None)
    (found,) = Naming(node.record, LineageOptions()).relation(node)
    assert (found.namespace, found.name) == ("file", "/t")
    assert found.schema == ((("id", "long", None),) if own else ())
    assert found.facts["storage"] == {"storageLayer": "hudi"}
    assert reader_made(node.record, node) == (hudi.OWN_COLUMNS if own else None)


def test_a_hudi_table_without_a_commit_and_without_a_name_is_no_data_set() -> None:
    made = Made()
    relation = made.described(
        "EmptyRelation", **{"class": "org.apache.hudi.EmptyRelation", "schema": SCHEMA}
    )
    node = made.node("LogicalRelation", relation=relation, catalogTable=None)
    assert Naming(node.record, LineageOptions()).relation(node) == []


USERS = "org.apache.spark.sql.Dataset.collect(Dataset.scala:1)"


@pytest.mark.parametrize(
    "frame",
    [
        "org.apache.hudi.SparkBaseIndexSupport.getCandidateFiles(S.scala:1)",
        "org.apache.spark.sql.hudi.command.procedures.ShowCommits.call(S.scala:1)",
        "org.apache.paimon.spark.commands.PaimonSparkWriter.write(P.scala:1)",
    ],
)
def test_what_a_format_starts_and_reads_no_data_set_is_bookkeeping(frame: str) -> None:
    nothing, table = Lineage(outputs=(Output(None),)), Dataset("file", "/t")
    record = {"execution": {"callSite": f"{USERS}\n{frame}", "name": "collect"}}
    assert is_bookkeeping(record, nothing)
    assert not is_bookkeeping(record, Lineage(inputs=(Input(table),)))
    assert not is_bookkeeping({"execution": {"callSite": USERS, "name": "collect"}}, nothing)


def test_what_paimons_writer_reads_whole_is_carried_over() -> None:
    read = Lineage(unexplained=(Unexplained("file", "/t", "a"),), explained={"SCAN": 1})
    frame = "org.apache.paimon.spark.commands.PaimonSparkWriter.write(P.scala:1)"
    inside = {"execution": {"callSite": f"{USERS}\n{frame}"}}
    found = within(inside, read)
    assert (found.unexplained, found.explained) == ((), {"SCAN": 1, "CARRIED_OVER": 1})
    assert within({"execution": {"callSite": USERS}}, read) == read
    # An execution that writes a table tells what it reads for it.
    writing = Lineage(outputs=(Output(Dataset("file", "/o")),), unexplained=read.unexplained)
    assert within(inside, writing) == writing
