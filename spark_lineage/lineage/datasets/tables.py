"""Tables of catalogs: which catalog, what it calls them, where it keeps them.

A table is named by its catalog (``hive://host:port`` and ``database.table``; Glue's ARN and
``table/database/table``; without a metastore server the warehouse's location) and has its
storage path as a ``LOCATION`` symlink; ``spark.lineage.dataset.identity=path`` turns it round.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from spark_lineage.lineage.datasets import connectors, paimon
from spark_lineage.lineage.datasets.iceberg import IcebergCatalog, glue_name, iceberg_catalog
from spark_lineage.lineage.datasets.jdbc import database_of, jdbc_table
from spark_lineage.lineage.datasets.paths import location, name_of_path
from spark_lineage.lineage.datasets.schema import Schema
from spark_lineage.lineage.model import Dataset

SESSION_CATALOG: Final = "spark_catalog"
_METASTORE: Final = (
    "hive.metastore.uris",
    "spark.hadoop.hive.metastore.uris",
    "spark.hive.metastore.uris",
)
_FACTORY: Final = "hive.metastore.client.factory.class"
_GLUE_ACCOUNT: Final = (
    "hive.metastore.glue.catalogid",
    "spark.hadoop.hive.metastore.glue.catalogid",
    "spark.glue.accountId",
)
_GLUE_REGION: Final = ("spark.hadoop.aws.region", "aws.region")
_JDO: Final = (
    "javax.jdo.option.ConnectionURL",
    "spark.hadoop.javax.jdo.option.ConnectionURL",
)
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


class Tables:
    """Names the tables of one session's catalogs, from its configuration alone."""

    def __init__(self, conf: Mapping[str, str], by_path: bool = False) -> None:
        self.conf = conf
        self.by_path = by_path
        self.warehouse = conf.get("spark.sql.warehouse.dir")
        # Where the session was made without Hive, a metastore that is configured is not used.
        hive = conf.get("spark.sql.catalogImplementation") != "in-memory"
        self.metastore = self._first(_METASTORE) if hive else None
        self.glue = self._glue() if hive else None
        self._is_shared = hive and self._shares()

    def _first(self, keys: tuple[str, ...]) -> str | None:
        return next((self.conf[key] for key in keys if self.conf.get(key)), None)

    def _shares(self) -> bool:
        """Whether others have the same catalog: all but a metastore that is in the driver."""
        database = self._first(_JDO)
        embedded = not database or database.startswith("jdbc:derby:")
        return bool(self.metastore or self._factory()) or not embedded

    def _factory(self) -> str | None:
        return self._first((_FACTORY, "spark.hadoop." + _FACTORY, "spark." + _FACTORY))

    def _glue(self) -> str | None:
        """Glue's ARN where it is the metastore, and region and account are known."""
        factory = self._factory()
        if not factory or "glue" not in factory.lower():
            return None
        account, region = self._first(_GLUE_ACCOUNT), self._first(_GLUE_REGION)
        return f"arn:aws:glue:{region}:{account}" if account and region else None

    # -- the session's catalog --------------------------------------------

    def namespace(self) -> str:
        """The session catalog's namespace: its metastore, else the warehouse's location."""
        if self.glue:
            return self.glue
        if self.metastore:
            return metastore_namespace(self.metastore)
        if self.warehouse:
            return location(self.warehouse)
        return "spark"

    def session_table(
        self,
        database: str,
        table: str,
        schema: Schema = (),
        place: str | None = None,
        facts: Mapping[str, Any] | None = None,
    ) -> Dataset:
        """A table of the session's catalog; ``place`` is its URI-encoded location."""
        database, table = self.stored(database), self.stored(table)
        name = glue_name([database, table]) if self.glue else f"{database}.{table}"
        known = {**self.session_facts(), **(facts or {})}
        return self.named(self.namespace(), name, schema, place, known)

    def session_facts(self) -> dict[str, Any]:
        """What is known of any table of the session's catalog."""
        conf = self.conf
        catalog = {"framework": "hive", "type": "hive", "name": SESSION_CATALOG, "source": "spark"}
        database = self._first(_JDO)
        if self.glue:
            catalog["type"] = "glue"
            catalog["metadataUri"] = self.glue
        elif self.metastore:
            catalog["metadataUri"] = ",".join(
                re.sub(r"//[^/@]*@", "//", uri) for uri in re.split(r"[,\s]+", self.metastore)
            )
        elif conf.get("spark.sql.catalogImplementation") != "hive":
            catalog["framework"], catalog["type"] = "spark", "in-memory"
        elif database:
            catalog["metadataUri"] = database_of(database).namespace
        if self.warehouse:
            catalog["warehouseUri"] = location(self.warehouse)
        return {"catalog": catalog}

    def stored(self, name: str) -> str:
        """A name as the session's catalog has it: in small letters, as a metastore always does.

        Spark's own catalog keeps it as written where names are case-sensitive
        (``SessionCatalog.formatTableName``).
        """
        own = self.conf.get("spark.sql.catalogImplementation") != "hive"
        sensitive = self.conf.get("spark.sql.caseSensitive", "false").lower() == "true"
        return name if own and sensitive else name.lower()

    @property
    def hands_iceberg_on(self) -> bool:
        """Whether the session's catalog has Iceberg's tables in another catalog than the others.

        Iceberg's session catalog hands them to one of its own, which is the metastore (``hive``)
        or any other.
        """
        implementation, settings = self._settings(SESSION_CATALOG)
        if _framework(implementation) != "iceberg":
            return False
        return iceberg_catalog(settings, implementation, None).kind != "hive"

    def _settings(self, catalog: str) -> tuple[str, dict[str, str]]:
        """A catalog's class, and its settings without ``spark.sql.catalog.<name>.``."""
        prefix = f"spark.sql.catalog.{catalog}"
        settings = {
            key.removeprefix(prefix + "."): value
            for key, value in self.conf.items()
            if key.startswith(prefix + ".")
        }
        return self.conf.get(prefix) or "", settings

    def default_location(self, database: str, table: str) -> str | None:
        """Where the session's catalog puts a table that has no location of its own.

        Known of the database ``default`` alone, which lies in the warehouse: any other may have
        been made with a location of its own. None also where others share the catalog, as theirs
        need not lie in this session's warehouse.
        """
        if not self.warehouse or self._is_shared or self.stored(database) != "default":
            return None
        return f"{self.warehouse.rstrip('/')}/{self.stored(table)}"

    def place_of(self, database: str, place: str | None) -> str | None:
        """A table's location as it is; one that is relative lies in its database's.

        That is the warehouse for ``default``, and a folder there for others that were made
        without a location of their own (``SessionCatalog.makeQualifiedTablePath``).
        """
        if not place or place.startswith("/") or _SCHEME.match(place) or not self.warehouse:
            return place
        name = self.stored(database)
        folder = "" if name == "default" else f"/{name}.db"
        return f"{self.warehouse.rstrip('/')}{folder}/{place}"

    def guessed(self) -> str:
        """Which name a table has whose place is not known: its ``path`` or the ``table``'s."""
        return "path" if self.by_path else "table"

    # -- any catalog --------------------------------------------------------

    def named(
        self,
        namespace: str,
        name: str,
        schema: Schema,
        place: str | None,
        facts: Mapping[str, Any],
        links: tuple[tuple[str, str, str], ...] = (),
    ) -> Dataset:
        """A table under its catalog's name with its path as a symlink, or the other way round."""
        known = {"datasetType": {"datasetType": "TABLE"}, **facts}
        if place:
            path = name_of_path(place, trim=False)
            if self.by_path:
                links = ((namespace, name, "TABLE"), *links)
                namespace, name = path
            else:
                links = ((*path, "LOCATION"), *links)
        known["dataSource"] = {"name": namespace, "uri": namespace}
        return Dataset(namespace, name, schema, links, known)

    def table_of(
        self,
        catalog: str,
        parts: list[str],
        schema: Schema,
        place: str | None = None,
        facts: Mapping[str, Any] | None = None,
    ) -> Dataset:
        """A table of another catalog than the session's, by the catalog's settings.

        The namespace is the database of a JDBC catalog, what an Iceberg catalog's kind tells,
        the metastore or the server that the catalog's ``uri`` names, its ``warehouse``, else the
        catalog's own name.
        """
        implementation, settings = self._settings(catalog)
        url = settings.get("url")
        if url and url.startswith("jdbc:"):
            found = jdbc_table(url, parts, schema)
            told = {**found.facts, **_catalog(catalog, "jdbc", "jdbc", found.namespace, None)}
            return Dataset(found.namespace, found.name, schema, found.symlinks, told)
        own = connectors.catalog_table(implementation, parts, settings, self.conf, schema)
        if own is not None:
            return own
        uri, warehouse = settings.get("uri"), settings.get("warehouse")
        kind = settings.get("type") or settings.get("metastore") or settings.get("catalog-type")
        framework = _framework(implementation) or catalog
        iceberg: IcebergCatalog | None = None
        if framework == "iceberg":
            metastore = self.namespace() if self.metastore or self.glue else None
            account, region = self._first(_GLUE_ACCOUNT), self._first(_GLUE_REGION)
            iceberg = iceberg_catalog(settings, implementation, metastore, account, region)
            kind = iceberg.kind
            if catalog != SESSION_CATALOG and "datasetType" not in (facts or {}):
                facts = {"storage": {"storageLayer": "iceberg"}, **(facts or {})}
        if framework == "paimon":
            kind = kind or "filesystem"
            parts = [*parts[:-1], paimon.table_name(parts[-1])]
            place = place or paimon.place_in(settings, parts)
            facts = {"storage": {"storageLayer": "paimon"}, **(facts or {})}
        if iceberg is not None and iceberg.namespace is not None:
            namespace = iceberg.namespace
        elif uri and uri.startswith("thrift:"):
            namespace = metastore_namespace(uri)
        elif warehouse and _is_path(warehouse):
            namespace = location(warehouse)
        elif uri and "://" in uri:
            namespace = _server(uri)
        elif catalog == SESSION_CATALOG:
            namespace = self.namespace()
        else:
            namespace = catalog
        told = _catalog(
            catalog,
            framework,
            kind or framework,
            _metadata(iceberg, uri),
            location(warehouse) if warehouse and _is_path(warehouse) else None,
        )
        name = ".".join(parts) if iceberg is None else iceberg.name(parts)
        return self.named(namespace, name, schema, place, {**told, **(facts or {})})


def metastore_namespace(uris: str) -> str:
    """``hive://host:port`` of the first of a list of metastore URIs."""
    first = re.split(r"[,\s]+", uris.strip())[0]
    return "hive://" + first.split("://", 1)[-1].rsplit("@", 1)[-1].rstrip("/").lower()


def _metadata(iceberg: IcebergCatalog | None, uri: str | None) -> str | None:
    """The address of the server that has a catalog."""
    if iceberg is not None and (iceberg.server or iceberg.kind == "glue"):
        return iceberg.server or iceberg.namespace
    return _server(uri) if uri and "://" in uri else None


def _server(uri: str) -> str:
    """A server's address: scheme, host and port, no user and no path."""
    scheme, _, rest = uri.partition("://")
    return f"{scheme.lower()}://{re.split('[/?#]', rest)[0].rsplit('@', 1)[-1].lower()}"


def _is_path(text: str) -> bool:
    return text.startswith("/") or re.match(r"[A-Za-z][\w+.\-]*:/", text) is not None


def _framework(implementation: str) -> str | None:
    """The table format that a catalog's class is of."""
    word = implementation.lower()
    known = ("iceberg", "delta", "hudi", "paimon", "unity", "cassandra", "bigquery", "kudu")
    return next((name for name in known if name in word), None)


def _catalog(
    name: str, framework: str, kind: str, metadata: str | None, warehouse: str | None
) -> dict[str, Any]:
    catalog = {"framework": framework, "type": kind, "name": name, "source": "spark"}
    if metadata:
        catalog["metadataUri"] = metadata
    if warehouse:
        catalog["warehouseUri"] = warehouse
    return {"catalog": catalog}
