"""Connectors by recorded sets of options: read as a V1 relation or a V2 table, and written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from spark_lineage.lineage.datasets import Naming
from spark_lineage.lineage.model import Dataset
from spark_lineage.lineage.options import LineageOptions
from tests.lineage.datasets.records import SCHEMA, Made

SETS = json.loads(Path(__file__).with_name("connectors.json").read_text(encoding="utf-8"))
WAYS = [(case, way) for case in SETS for way in case["as"]]


def named(case: dict[str, Any], way: str) -> list[Dataset]:
    made = Made(case.get("conf"))
    full = case["class"]
    short = full.rsplit(".", 1)[-1]
    options = {key: masked(key, value) for key, value in case["options"].items()}
    if way == "relation":
        relation = made.described(
            short, **{"class": full, "text": f"{full}@1f2e3d", "options": options, "schema": SCHEMA}
        )
        node = made.node("LogicalRelation", relation=relation, catalogTable=None)
        return Naming(node.record, LineageOptions()).relation(node)
    if way == "v2":
        table = made.described(
            short, **{"class": full, "name": full, "properties": {}, "schema": SCHEMA}
        )
        node = made.node("DataSourceV2Relation", table=table, options=made.map(options))
        return Naming(node.record, LineageOptions()).relation(node)
    provider = made.described(short, **{"class": full})
    node = made.node("SaveIntoDataSourceCommand", dataSource=provider, options=made.map(options))
    naming = Naming(node.record, LineageOptions())
    return naming.saved_by(node.raw("dataSource"), node.raw("options"))


def masked(key: str, value: str) -> str:
    """As the bridge writes it."""
    secret = any(
        word in key.lower() for word in ("password", "secret", "credential", "key", "pass")
    )
    return "*********(redacted)" if secret and "keyspace" not in key else value


@pytest.mark.parametrize(("case", "way"), WAYS, ids=lambda value: str(value)[:40])
def test_a_connector_is_named_by_its_options(case: dict[str, Any], way: str) -> None:
    found = named(case, way)
    assert [[each.namespace, each.name] for each in found] == case["names"]
    for each in found:
        assert "s3cret" not in repr(each)
        assert each.facts["dataSource"] == {"name": each.namespace, "uri": each.namespace}
    if way != "saved":
        assert all(each.schema == (("id", "long", None),) for each in found)


@pytest.mark.parametrize(
    ("full", "names"),
    [
        ("com.acme.spark.AcmeScan", [("spark", "com.acme.spark.AcmeScan")]),
        ("org.apache.spark.sql.execution.streaming.sources.RateStreamTable$$anon$1", []),
    ],
)
def test_a_stream_of_an_unknown_connector_is_named_by_its_scan(
    full: str, names: list[tuple[str, str]]
) -> None:
    made = Made()
    scan = made.described(full.rsplit(".", 1)[-1], **{"class": full})
    node = made.node(
        "StreamingDataSourceV2Relation", output=[], scan=scan, catalog=None, identifier=None
    )
    found = Naming(node.record, LineageOptions()).relation(node)
    assert [(each.namespace, each.name) for each in found] == names


@pytest.mark.parametrize("kind", ["NoopTable$", "RateStreamTable", "ConsoleTable$"])
def test_what_holds_no_data_is_no_data_set(kind: str) -> None:
    made = Made()
    table = made.described(kind, **{"class": f"org.example.{kind}", "name": "noop-table"})
    node = made.node("DataSourceV2Relation", table=table, options=made.map({}))
    assert Naming(node.record, LineageOptions()).relation(node) == []


@pytest.mark.parametrize(
    ("conf", "parts", "namespace", "name"),
    [
        (
            {"spark.sql.catalog.c": "org.apache.paimon.spark.SparkCatalog"},
            ["db", "t"],
            "c",
            "db.t",
        ),
        (
            {
                "spark.sql.catalog.c": "org.apache.paimon.spark.SparkCatalog",
                "spark.sql.catalog.c.warehouse": "s3a://lake/wh/",
            },
            ["db", "t"],
            "s3://lake/wh",
            "db.t",
        ),
        (
            {
                "spark.sql.catalog.c": "org.apache.paimon.spark.SparkCatalog",
                "spark.sql.catalog.c.metastore": "hive",
                "spark.sql.catalog.c.uri": "thrift://MS:9083",
                "spark.sql.catalog.c.warehouse": "s3a://lake/wh",
            },
            ["db", "t"],
            "hive://ms:9083",
            "db.t",
        ),
        (
            {
                "spark.sql.catalog.c": "com.datastax.spark.connector.datasource.CassandraCatalog",
                "spark.sql.catalog.c.spark.cassandra.connection.host": "c1",
            },
            ["shop", "orders"],
            "cassandra://c1:9042",
            "shop.orders",
        ),
        (
            {
                "spark.sql.catalog.c": "com.acme.Catalog",
                "spark.sql.catalog.c.uri": "https://u:p@Acme.example:8443/api?token=x",
            },
            ["a", "b", "t"],
            "https://acme.example:8443",
            "a.b.t",
        ),
    ],
)
def test_tables_of_any_catalog(
    conf: dict[str, str], parts: list[str], namespace: str, name: str
) -> None:
    made = Made(conf)
    table = made.described("T", **{"class": "org.example.T", "name": "x", "properties": {}})
    node = made.node(
        "DataSourceV2Relation",
        table=table,
        catalog=made.described("C", **{"class": conf["spark.sql.catalog.c"], "name": "c"}),
        identifier=made.described("Identifier", namespace=parts[:-1], name=parts[-1]),
        options=made.map({}),
    )
    (found,) = Naming(node.record, LineageOptions()).relation(node)
    assert (found.namespace, found.name) == (namespace, name)
