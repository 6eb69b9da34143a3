"""Tables by their catalogs, and namespaces under the names that users give them."""

from __future__ import annotations

from typing import Any

import pytest

from spark_lineage.lineage.datasets import Naming
from spark_lineage.lineage.datasets.aliases import Aliases
from spark_lineage.lineage.model import Dataset
from spark_lineage.lineage.options import LineageOptions
from tests.lineage.datasets.records import SCHEMA, Made

GLUE = {
    "hive.metastore.client.factory.class": (
        "com.amazonaws.glue.catalog.metastore.AWSGlueDataCatalogHiveClientFactory"
    ),
    "hive.metastore.glue.catalogid": "123456789012",
    "aws.region": "eu-west-1",
}
WAREHOUSE = {"spark.sql.warehouse.dir": "file:/wh"}


def table(conf: dict[str, str], chosen: LineageOptions | None = None, **described: Any) -> Dataset:
    made = Made(conf)
    known = {
        "catalog": "spark_catalog",
        "database": "shop",
        "table": "orders",
        "tableType": "MANAGED",
        "provider": "parquet",
        "location": "s3a://lake/a%20b/",
        "schema": SCHEMA,
    }
    catalog_table = made.described("CatalogTable", **{**known, **described})
    node = made.node("HiveTableRelation", tableMeta=catalog_table)
    (found,) = Naming(node.record, chosen or LineageOptions()).relation(node)
    return found


@pytest.mark.parametrize(
    ("conf", "namespace", "name", "kind"),
    [
        (
            {"hive.metastore.uris": "thrift://MS:9083,thrift://b"},
            "hive://ms:9083",
            None,
            "hive",
        ),
        (
            {"spark.hadoop.hive.metastore.uris": "thrift://u@ms:9083"},
            "hive://ms:9083",
            None,
            "hive",
        ),
        (GLUE, "arn:aws:glue:eu-west-1:123456789012", "table/shop/orders", "glue"),
        ({**GLUE, "aws.region": ""}, "file:/wh", None, "hive"),
        ({}, "file:/wh", None, "in-memory"),
        (
            {
                "hive.metastore.uris": "thrift://ms:9083",
                "spark.sql.catalogImplementation": "in-memory",
            },
            "file:/wh",
            None,
            "in-memory",
        ),
    ],
)
def test_a_table_goes_by_its_metastore(
    conf: dict[str, str], namespace: str, name: str | None, kind: str
) -> None:
    hive = {"spark.sql.catalogImplementation": "hive"} if conf else {}
    found = table({**WAREHOUSE, **hive, **conf})
    assert (found.namespace, found.name) == (namespace, name or "shop.orders")
    assert found.symlinks == (("s3://lake", "a b", "LOCATION"),)
    assert found.facts["catalog"]["type"] == kind
    assert found.facts["catalog"]["name"] == "spark_catalog"
    assert found.facts["catalog"]["warehouseUri"] == "file:/wh"
    assert found.facts["storage"] == {"storageLayer": "files", "fileFormat": "parquet"}
    assert found.facts["datasetType"] == {"datasetType": "TABLE", "subType": "MANAGED"}


@pytest.mark.parametrize(
    ("conf", "name"),
    [
        ({}, "shop.orders"),
        ({"spark.sql.caseSensitive": "true"}, "Shop.Orders"),
        (
            {"spark.sql.caseSensitive": "true", "spark.sql.catalogImplementation": "hive"},
            "shop.orders",
        ),
    ],
)
def test_a_name_is_as_the_catalog_keeps_it(conf: dict[str, str], name: str) -> None:
    found = table({**WAREHOUSE, **conf}, database="Shop", table="Orders")
    assert found.name == name


HIVE = {**WAREHOUSE, "spark.sql.catalogImplementation": "hive"}
JDO = "spark.hadoop.javax.jdo.option.ConnectionURL"


@pytest.mark.parametrize(
    ("conf", "place"),
    [
        (WAREHOUSE, "/wh/orders"),
        (HIVE, "/wh/orders"),
        ({**HIVE, JDO: "jdbc:derby:memory:m"}, "/wh/orders"),
        ({**HIVE, JDO: "jdbc:mysql://db/hive"}, None),
        ({**HIVE, "hive.metastore.uris": "thrift://ms:9083"}, None),
        ({**HIVE, **GLUE}, None),
        ({**HIVE, **GLUE, "aws.region": ""}, None),
        ({**WAREHOUSE, JDO: "jdbc:mysql://db/hive"}, "/wh/orders"),
    ],
)
def test_a_place_is_guessed_only_where_no_other_can_have_chosen_it(
    conf: dict[str, str], place: str | None
) -> None:
    conf = {"spark.sql.catalogImplementation": "in-memory", **conf}
    found = table(conf, location=None, database="default")
    assert [name for _, name, kind in found.symlinks if kind == "LOCATION"] == [place] * bool(place)
    # A database may have been made with a location of its own.
    found = table(conf, location=None, database="shop")
    assert not [name for _, name, kind in found.symlinks if kind == "LOCATION"]


def test_an_embedded_metastore_is_told_without_its_password() -> None:
    found = table(
        {
            **WAREHOUSE,
            "spark.sql.catalogImplementation": "hive",
            "javax.jdo.option.ConnectionURL": "jdbc:mysql://u:s3cret@db/hive?password=s3cret",
        }
    )
    assert found.namespace == "file:/wh"
    assert found.facts["catalog"]["metadataUri"] == "mysql://db:3306"


def test_the_names_of_glue_and_hive_are_those_of_openlineage() -> None:
    from openlineage.client.naming import dataset as ol

    glue = ol.AWSGlue("eu-west-1", "123456789012", "shop", "orders")
    found = table({**WAREHOUSE, **GLUE})
    assert (found.namespace, found.name) == (glue.get_namespace(), glue.get_name())
    hive = ol.Hive("ms", "9083", "shop", "orders")
    found = table({"hive.metastore.uris": "thrift://ms:9083"})
    assert (found.namespace, found.name) == (hive.get_namespace(), hive.get_name())


def test_identity_by_path_turns_names_round() -> None:
    found = table(WAREHOUSE, LineageOptions(dataset_identity="path"))
    assert (found.namespace, found.name) == ("s3://lake", "a b")
    assert found.symlinks == (("file:/wh", "shop.orders", "TABLE"),)
    assert found.facts["dataSource"] == {"name": "s3://lake", "uri": "s3://lake"}


def test_a_table_over_a_connector_points_there() -> None:
    found = table(
        WAREHOUSE,
        provider="jdbc",
        location="file:/wh/orders",
        options={"url": "jdbc:mysql://u:s3cret@h/shop", "dbtable": "orders"},
    )
    assert (found.namespace, found.name) == ("file:/wh", "shop.orders")
    assert found.symlinks == (("mysql://h:3306", "shop.orders", "TABLE"),)


def test_a_view_has_no_place() -> None:
    found = table(WAREHOUSE, tableType="VIEW", location=None, provider=None)
    assert found.symlinks == ()
    assert found.facts["datasetType"] == {"datasetType": "VIEW"}


@pytest.mark.parametrize(
    ("namespace", "told"),
    [
        ("hdfs://nn1:8020", "hdfs://cluster"),
        ("hdfs://nn2:8020", "hdfs://cluster"),
        ("hdfs://nn2:9000", "hdfs://nn2:9000"),
        ("kafka://nn1:9092", "kafka://cluster"),
        ("s3://raw-prod", "lake"),
        ("abfss://c@acc.dfs.core.windows.net", "abfss://c@blob"),
        ("postgres://db-7.internal:5432", "postgres://db:5432"),
        ("file", "file"),
    ],
)
def test_namespaces_have_the_names_that_were_chosen(namespace: str, told: str) -> None:
    aliases = Aliases(
        (
            ("nn1", "cluster"),
            ("nn2:8020", "cluster"),
            ("s3://raw-prod", "lake"),
            ("acc.dfs.core.windows.net", "blob"),
        ),
        ((r"postgres://db-\d+\.internal(:\d+)?", r"postgres://db\1"),),
    )
    assert aliases.of(namespace) == told


def test_symlinks_have_them_too() -> None:
    options = LineageOptions(namespace_aliases=(("lake", "all"), ("ms", "meta")))
    found = table({"hive.metastore.uris": "thrift://ms:9083"}, options)
    assert found.namespace == "hive://meta"
    assert found.symlinks == (("s3://all", "a b", "LOCATION"),)
    assert found.facts["dataSource"] == {"name": "hive://meta", "uri": "hive://meta"}
