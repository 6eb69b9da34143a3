"""Iceberg's catalogs: what their tables are called, by the catalog's settings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from spark_lineage.lineage.datasets.jdbc import snowflake_namespace
from spark_lineage.lineage.datasets.paths import location


@dataclass(frozen=True)
class IcebergCatalog:
    """A catalog's kind, and the namespace of its tables where its kind tells one.

    ``prefix`` stands before a table's own name where one server has several catalogs;
    ``server`` is the address of the server that has the catalog, without user and password.
    """

    kind: str
    namespace: str | None = None
    prefix: str = ""
    server: str | None = None

    def name(self, parts: list[str]) -> str:
        """What a table with these parts of a name is called in the namespace."""
        if (self.namespace or "").startswith(_GLUE_ARN):
            return glue_name(parts)
        return ".".join([self.prefix, *parts] if self.prefix else parts)


def iceberg_catalog(
    settings: Mapping[str, str],
    implementation: str,
    metastore: str | None,
    account: str | None = None,
    region: str | None = None,
) -> IcebergCatalog:
    """The Iceberg catalog of these ``settings``, which are without their prefix.

    ``metastore`` is the session's namespace where it is a Hive metastore, ``account`` and
    ``region`` are the session's of AWS. OpenLineage's forms: a Hive catalog is its metastore, a
    REST or Nessie catalog its server, Glue and S3 Tables are their ARN, any other is its
    warehouse. A REST server has a catalog for each of its warehouses: the name of one stands
    before the table's, as OpenLineage has it for Snowflake's.
    """
    own = (settings.get("catalog-impl") or implementation).rsplit(".", 1)[-1]
    known = _KINDS.get(own) or (own if settings.get("catalog-impl") else "hive")
    kind = (settings.get("type") or "").lower() or known
    uri, warehouse = settings.get("uri") or "", settings.get("warehouse") or ""
    server = _server(uri)
    if kind == "hive" and not uri.startswith("thrift:"):
        return IcebergCatalog(kind, metastore)
    if kind == "glue":
        catalog = settings.get("glue.id") or settings.get("glue.account-id")
        role = re.match(r"arn:[\w-]+:iam::(\d+):", settings.get("client.assume-role.arn") or "")
        owner = catalog or (role[1] if role else account)
        place = (settings.get("client.assume-role.region") if role else None) or settings.get(
            "client.region"
        )
        return IcebergCatalog(kind, _glue(owner, place or region))
    if kind == "rest" and server:
        return _rest(server, warehouse, account)
    if kind == "nessie" and server:
        return IcebergCatalog(kind, server, server=server)
    if warehouse.startswith(_S3_TABLES_ARN):
        return IcebergCatalog(kind, warehouse)
    if kind in ("hadoop", "jdbc") and "/" in warehouse:
        return IcebergCatalog(kind, location(warehouse))
    return IcebergCatalog(kind)


def glue_name(parts: list[str]) -> str:
    """What a table of AWS Glue is called under Glue's ARN: Glue keeps names in small letters."""
    return "/".join(["table", *parts]).lower()


def _rest(server: str, warehouse: str, account: str | None) -> IcebergCatalog:
    if warehouse.startswith(_S3_TABLES_ARN):
        return IcebergCatalog("rest", warehouse, server=server)
    host = re.split(r"[/:]", server.split("://", 1)[1])[0]
    glue = _GLUE_HOST.fullmatch(host)
    if glue:
        # Glue's own REST endpoint has the tables that its other clients have.
        return IcebergCatalog("rest", _glue(warehouse or account, glue[1]) or server, "", server)
    prefix = "" if "/" in warehouse else warehouse
    if host.endswith(_SNOWFLAKE):
        return IcebergCatalog("rest", snowflake_namespace(host), prefix, server)
    return IcebergCatalog("rest", server, prefix, server)


def _glue(catalog: str | None, region: str | None) -> str | None:
    """The ARN of a Glue catalog, by its account's number or its own id; None where unknown."""
    found = re.match(r"(\d+)(?::s3tablescatalog/([^/]+))?", catalog or "")
    if not found or not region:
        return None
    if found[2]:
        return f"{_S3_TABLES_ARN}{region}:{found[1]}:bucket/{found[2]}"
    return f"{_GLUE_ARN}{region}:{found[1]}"


def _server(uri: str) -> str | None:
    """A server's address without user, query and fragment.

    The path stays: one server may have several catalogs.
    """
    match = re.match(r"([A-Za-z][\w+.\-]*)://([^/?#]*)([^?#]*)", uri)
    if not match:
        return None
    scheme, authority, path = match.groups()
    return f"{scheme}://{authority.rpartition('@')[2]}".lower() + path.rstrip("/")


_KINDS: Final = {
    "HadoopCatalog": "hadoop",
    "HiveCatalog": "hive",
    "RESTCatalog": "rest",
    "JdbcCatalog": "jdbc",
    "GlueCatalog": "glue",
    "NessieCatalog": "nessie",
    "DynamoDbCatalog": "dynamodb",
    "BigQueryMetastoreCatalog": "bigquery",
    "SnowflakeCatalog": "snowflake",
    "S3TablesCatalog": "s3tables",
}
_GLUE_ARN: Final = "arn:aws:glue:"
_S3_TABLES_ARN: Final = "arn:aws:s3tables:"
_GLUE_HOST: Final = re.compile(r"glue(?:-fips)?\.([\w-]+)\.(?:amazonaws\.com(?:\.cn)?|api\.aws)")
_SNOWFLAKE: Final = (".snowflakecomputing.com", ".snowflakecomputing.cn")
