"""Catalogs that need a server: named by their settings alone, on records made by hand."""

from __future__ import annotations

from typing import Any

import pytest

from spark_lineage.lineage.datasets.lakehouse import is_bookkeeping, maintained, relation
from spark_lineage.lineage.datasets.naming import Naming
from spark_lineage.lineage.model import Dataset, Input, Lineage, Output
from spark_lineage.lineage.options import LineageOptions
from spark_lineage.plan import decode
from spark_lineage.plan.node import PlanNode

ICEBERG = "org.apache.iceberg.spark.SparkCatalog"
DELTA_TABLE = "org.apache.spark.sql.delta.catalog.DeltaTableV2"


def names(conf: dict[str, str], table: dict[str, Any], **fields: Any) -> list[Dataset]:
    """The data sets of a V2 relation over this table, in a session with these settings."""
    given = {"table": table, **fields}
    record = {
        "formatVersion": 1,
        "kind": "execution",
        "phase": "END",
        "session": {"conf": conf, "database": "default"},
        "strings": [],
        "shapes": [["DataSourceV2Relation", "x.DataSourceV2Relation", "P", list(given)]],
        "nodes": [[0, 0, [], *given.values()]],
        "plans": {"analyzed": 0, "optimized": None},
    }
    decoded = decode(record)
    return relation(Naming(decoded, LineageOptions()), PlanNode(decoded, 0)) or []


def iceberg(name: str, location: str, **more: Any) -> dict[str, Any]:
    return {
        "c": "SparkTable",
        "class": "org.apache.iceberg.spark.source.SparkTable",
        "name": name,
        "tableName": name,
        "metadata": False,
        "properties": {"map": [["location", location]]},
        **more,
    }


def catalog(**settings: str) -> dict[str, str]:
    return {
        "spark.sql.catalog.lake": ICEBERG,
        **{f"spark.sql.catalog.lake.{key.replace('_', '-')}": v for key, v in settings.items()},
    }


@pytest.mark.parametrize(
    ("conf", "namespace", "kind"),
    [
        (catalog(type="hadoop", warehouse="s3a://b/wh"), "s3://b/wh", "hadoop"),
        (catalog(type="hive", uri="thrift://meta:9083"), "hive://meta:9083", "hive"),
        (
            {**catalog(type="hive"), "spark.hadoop.hive.metastore.uris": "thrift://m:9083"},
            "hive://m:9083",
            "hive",
        ),
        (
            catalog(type="rest", uri="https://me:pw@Rest.example/catalog/", warehouse="s3://b/w"),
            "https://Rest.example/catalog",
            "rest",
        ),
        (
            catalog(catalog_impl="org.apache.iceberg.rest.RESTCatalog", uri="http://rest:8181"),
            "http://rest:8181",
            "rest",
        ),
        (
            catalog(type="jdbc", uri="jdbc:postgresql://u:p@db/cat", warehouse="s3://b/wh"),
            "s3://b/wh",
            "jdbc",
        ),
    ],
)
def test_a_catalog_names_its_tables(conf: dict[str, str], namespace: str, kind: str) -> None:
    (found,) = names(
        conf,
        iceberg("lake.db.t", "s3a://b/wh/db/t"),
        catalog={"c": "SparkCatalog", "class": ICEBERG, "name": "lake"},
        identifier={"c": "Identifier", "namespace": ["db"], "name": "t"},
    )
    assert (found.namespace.lower(), found.name) == (namespace.lower(), "db.t")
    assert found.symlinks == (("s3://b", "wh/db/t", "LOCATION"),)
    assert found.facts["catalog"]["framework"] == "iceberg"
    assert found.facts["catalog"]["type"] == kind
    assert "pw" not in str(found)


@pytest.mark.parametrize(
    ("last", "more"),
    [
        ("t", {}),
        ("branch_b1", {"branch": "b1"}),
        ("tag_x", {}),
        ("snapshot_id_12", {"version": "12"}),
        ("history", {"metadata": True, "tableName": "lake.db.t.history"}),
    ],
)
def test_views_of_one_table_are_that_table(last: str, more: dict[str, Any]) -> None:
    parts = ["db"] if last == "t" else ["db", "t"]
    (found,) = names(
        catalog(type="hadoop", warehouse="/wh"),
        iceberg("lake.db.t", "/wh/db/t", **more),
        catalog={"c": "SparkCatalog", "class": ICEBERG, "name": "lake"},
        identifier={"c": "Identifier", "namespace": parts, "name": last},
    )
    assert (found.namespace, found.name) == ("file:/wh", "db.t")


@pytest.mark.parametrize(
    ("name", "metadata"), [("/wh/db/t", False), ("/wh/db/t#files", True), ("/wh/db/t.files", True)]
)
def test_a_path_is_named_by_the_path(name: str, metadata: bool) -> None:
    (found,) = names({}, iceberg(name, "/wh/db/t", metadata=metadata))
    assert (found.namespace, found.name) == ("file", "/wh/db/t")


def test_a_table_that_has_a_branch_like_name_keeps_it() -> None:
    (found,) = names(
        catalog(type="hadoop", warehouse="/wh"),
        iceberg("lake.db.branch_b1", "/wh/db/branch_b1"),
        catalog={"c": "SparkCatalog", "class": ICEBERG, "name": "lake"},
        identifier={"c": "Identifier", "namespace": ["db"], "name": "branch_b1"},
    )
    assert found.name == "db.branch_b1"


def test_a_delta_table_is_named_by_its_catalog_else_by_its_path() -> None:
    table = {"c": "DeltaTableV2", "class": DELTA_TABLE, "path": {"c": "Path", "uri": "s3a://b/t"}}
    known = {"c": "CatalogTable", "database": "d", "table": "t", "location": "s3a://b/t"}
    conf = {"spark.sql.warehouse.dir": "s3a://b/wh"}
    (by_path,) = names(conf, table)
    (by_table,) = names(conf, {**table, "v1": {**known, "tableType": "EXTERNAL"}})
    assert (by_path.namespace, by_path.name) == ("s3://b", "t")
    assert (by_table.namespace, by_table.name) == ("s3://b/wh", "d.t")
    assert by_table.symlinks == (("s3://b", "t", "LOCATION"),)


def test_bookkeeping_is_what_delta_starts_and_reads_no_data_set() -> None:
    frame = "org.apache.spark.sql.delta.Snapshot.compute(Snapshot.scala:1)"
    users = "org.apache.spark.sql.DataFrameWriter.save(DataFrameWriter.scala:1)"
    table, nothing = Dataset("file", "/t"), Lineage(outputs=(Output(None),))

    def record(call_site: str, name: str = "collect", *strings: str) -> dict[str, Any]:
        return {"execution": {"callSite": call_site, "name": name}, "strings": list(strings)}

    state = "Delta Table State #3 - file:/t/_delta_log"
    assert is_bookkeeping(record(f"{users}\n{frame}"), nothing)
    assert is_bookkeeping(record("", f"Cache {state}"), nothing)
    assert is_bookkeeping(record("", "collect", state), nothing)
    assert is_bookkeeping(record("", "collect", "DeltaLogFileIndex"), nothing)
    action = "org.apache.iceberg.spark.actions.RewriteDataFilesSparkAction.run(Rewrite.java:1)"
    assert is_bookkeeping(record(action), Lineage(inputs=(Input(table),)))
    assert not is_bookkeeping(record(users), nothing)
    assert not is_bookkeeping(record(frame), Lineage(inputs=(Input(table),)))
    assert not is_bookkeeping(record(frame), Lineage(outputs=(Output(table),)))
    assert not is_bookkeeping(record(frame), None)


def test_maintenance_is_of_the_one_table_that_it_shows() -> None:
    action = "org.apache.iceberg.spark.actions.ExpireSnapshotsSparkAction.expireFiles(E.java:1)"
    record = {"execution": {"callSite": action}}
    table = Dataset("file", "/t", facts={"version": {"datasetVersion": "1"}, "scanned": True})
    both = Lineage(inputs=(Input(table),), outputs=(Output(table),))
    found = maintained(record, both)
    assert found is not None
    assert found.inputs == ()
    assert [output.dataset for output in found.outputs] == [table]
    assert found.outputs[0].dataset is not None
    assert found.outputs[0].dataset.facts == {"maintenance": True}
    assert maintained(record, Lineage(inputs=(Input(table), Input(Dataset("file", "/u"))))) is None
    assert maintained(record, Lineage()) is None
    assert maintained({"execution": {"callSite": "DataFrameWriter.save"}}, both) is None
