"""Iceberg's catalogs by their settings: namespace and name of a table ``db.t``."""

from __future__ import annotations

import pytest

from spark_lineage.lineage.datasets.tables import Tables

GLUE = "arn:aws:glue:eu-west-1:123456789012"
BUCKET = "arn:aws:s3tables:eu-west-1:123456789012:bucket/lake"
ACCOUNT = {"spark.glue.accountId": "123456789012", "aws.region": "eu-west-1"}
FACTORY = "com.amazonaws.glue.catalog.metastore.AWSGlueDataCatalogHiveClientFactory"


def _named(settings: dict[str, str], conf: dict[str, str] | None = None) -> tuple[str, str]:
    prefix = "spark.sql.catalog.lake"
    own = {f"{prefix}.{key}": value for key, value in settings.items()}
    implementation = {prefix: "org.apache.iceberg.spark.SparkCatalog"}
    found = Tables({**implementation, **own, **(conf or {})}).table_of("lake", ["db", "t"], ())
    assert "pa55" not in str(found)
    return found.namespace, found.name


@pytest.mark.parametrize(
    ("uri", "namespace"),
    [
        ("http://rest:8181", "http://rest:8181"),
        ("HTTPS://Rest.Example/Catalog/", "https://rest.example/Catalog"),
        ("https://me:pa55@rest.example/a@b/c?token=pa55", "https://rest.example/a@b/c"),
        ("http://me:p@55@rest.example:80/#x", "http://rest.example:80"),
    ],
)
def test_a_rest_catalog_is_its_server(uri: str, namespace: str) -> None:
    assert _named({"type": "rest", "uri": uri}) == (namespace, "db.t")
    # A place is no catalog of the server's.
    for warehouse in ("s3://bucket/house", "/house"):
        settings = {"type": "REST", "uri": uri, "warehouse": warehouse}
        assert _named(settings) == (namespace, "db.t")
    settings = {"catalog-impl": "org.apache.iceberg.rest.RESTCatalog", "uri": uri}
    assert _named({**settings, "warehouse": "sales"}) == (namespace, "sales.db.t")


@pytest.mark.parametrize(
    ("uri", "warehouse", "expected"),
    [
        ("https://glue.eu-west-1.amazonaws.com/iceberg", "123456789012", (GLUE, "table/db/t")),
        ("https://glue.eu-west-1.amazonaws.com/iceberg", "", (GLUE, "table/db/t")),
        (
            "https://glue.eu-west-1.amazonaws.com/iceberg",
            "123456789012:s3tablescatalog/lake",
            (BUCKET, "db.t"),
        ),
        ("https://s3tables.eu-west-1.amazonaws.com/iceberg", BUCKET, (BUCKET, "db.t")),
        (
            "https://org-acct.snowflakecomputing.com/polaris/api/catalog",
            "SALES",
            ("snowflake://org-acct", "SALES.db.t"),
        ),
    ],
)
def test_a_service_that_has_other_doors_has_one_name(
    uri: str, warehouse: str, expected: tuple[str, str]
) -> None:
    settings = {"type": "rest", "uri": uri, "warehouse": warehouse}
    assert _named(settings, ACCOUNT) == expected


@pytest.mark.parametrize(
    ("settings", "conf"),
    [
        ({"type": "glue"}, ACCOUNT),
        ({"type": "glue", "glue.id": "123456789012", "client.region": "eu-west-1"}, {}),
        ({"type": "glue", "glue.account-id": "123456789012"}, {"aws.region": "eu-west-1"}),
        (
            {
                "type": "glue",
                "client.assume-role.arn": "arn:aws:iam::123456789012:role/reader",
                "client.assume-role.region": "eu-west-1",
            },
            {"spark.glue.accountId": "999999999999", "aws.region": "us-east-1"},
        ),
        (
            {"catalog-impl": "org.apache.iceberg.aws.glue.GlueCatalog", "warehouse": "s3://b/w"},
            {
                "hive.metastore.glue.catalogid": "123456789012",
                "spark.hadoop.aws.region": "eu-west-1",
            },
        ),
        # A Hive catalog, where Glue is the session's metastore.
        ({"type": "hive"}, {**ACCOUNT, "hive.metastore.client.factory.class": FACTORY}),
    ],
)
def test_a_glue_catalog_is_its_account(settings: dict[str, str], conf: dict[str, str]) -> None:
    assert _named(settings, conf) == (GLUE, "table/db/t")


def test_glue_has_small_letters_only() -> None:
    settings = {"spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog"}
    conf = {**settings, "spark.sql.catalog.lake.type": "glue", **ACCOUNT}
    assert Tables(conf).table_of("lake", ["Db", "T"], ()).name == "table/db/t"
    conf = {**ACCOUNT, "hive.metastore.client.factory.class": FACTORY}
    assert Tables(conf).session_table("Db", "T").name == "table/db/t"


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        # Whose account is not known has its warehouse.
        ({"type": "glue", "warehouse": "s3a://b/w/"}, ("s3://b/w", "db.t")),
        ({"type": "glue"}, ("lake", "db.t")),
        ({"catalog-impl": "software.amazon.s3tables.iceberg.S3TablesCatalog"}, ("lake", "db.t")),
        # A catalog of another kind is no Hive catalog.
        ({"catalog-impl": "com.example.OwnCatalog", "warehouse": "/w"}, ("file:/w", "db.t")),
        ({"type": "nessie", "uri": "http://n:19120/api/v1"}, ("http://n:19120/api/v1", "db.t")),
        ({}, ("hive://meta:9083", "db.t")),
    ],
)
def test_what_is_not_known_is_not_made_up(
    settings: dict[str, str], expected: tuple[str, str]
) -> None:
    assert _named(settings, {"hive.metastore.uris": "thrift://meta:9083"}) == expected


def test_a_bucket_of_tables_is_its_arn() -> None:
    own = {"catalog-impl": "software.amazon.s3tables.iceberg.S3TablesCatalog", "warehouse": BUCKET}
    assert _named(own) == (BUCKET, "db.t")
    federated = {"type": "glue", "glue.id": "123456789012:s3tablescatalog/lake"}
    assert _named(federated, ACCOUNT) == (BUCKET, "db.t")
