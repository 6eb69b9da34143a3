"""What a relation, a table or a path is called: one identity however it was reached."""

from __future__ import annotations

import json
import re
from typing import Any

from spark_lineage.lineage.datasets.jdbc import jdbc_table
from spark_lineage.lineage.datasets.paths import location, name_of_path
from spark_lineage.lineage.datasets.schema import Schema, parse_schema
from spark_lineage.lineage.model import Dataset
from spark_lineage.lineage.options import LineageOptions
from spark_lineage.plan.node import PlanNode, Record

_METASTORE = (
    "hive.metastore.uris",
    "spark.hadoop.hive.metastore.uris",
    "spark.hive.metastore.uris",
)
_SESSION_CATALOG = "spark_catalog"


class Naming:
    """Names the data sets of one record."""

    def __init__(self, record: Record, options: LineageOptions) -> None:
        self.record = record
        self.by_path = options.dataset_identity == "path"
        conf = record.conf
        self.metastore = next((conf[key] for key in _METASTORE if conf.get(key)), None)
        self.warehouse = conf.get("spark.sql.warehouse.dir")

    # -- paths ------------------------------------------------------------

    def path(self, uri: str, trim: bool = True, schema: Schema = (), **facts: Any) -> Dataset:
        """The data set at a URI-encoded path."""
        namespace, name = name_of_path(uri, trim)
        return Dataset(namespace, name, schema, facts=facts)

    def described_path(self, raw: Any) -> str | None:
        """The text of a described Path or URI, or of a plain text."""
        if isinstance(raw, dict):
            return self.record.text(raw.get("uri"))
        return self.record.text(raw)

    # -- tables -----------------------------------------------------------

    def catalog_table(self, described: Any, query_schema: Schema = ()) -> Dataset | None:
        """A table (or view) of the session catalog, from a described CatalogTable."""
        if not isinstance(described, dict):
            return None
        text = self.record.text
        table = text(described.get("table"))
        if not table:
            return None
        database = text(described.get("database")) or self._database()
        catalog = text(described.get("catalog"))
        kind = text(described.get("tableType"))
        place = text(described.get("location"))
        schema = parse_schema(text(described.get("schema"))) or query_schema
        if place is None and kind != "VIEW":
            place = self._default_location(database, table)
        facts = {
            "provider": text(described.get("provider")),
            "tableType": kind,
            "partitionColumns": self.record.texts(described.get("partitionColumns")),
        }
        if catalog and catalog != _SESSION_CATALOG:
            return self.table_of(catalog, [database, table], schema, place, facts)
        return self._named(self.namespace(), f"{database}.{table}", schema, place, facts)

    def identifier(self, described: Any, schema: Schema = ()) -> Dataset | None:
        """A table that is known by its TableIdentifier only."""
        if not isinstance(described, dict):
            return None
        text = self.record.text
        table = text(described.get("table")) or text(described.get("name"))
        if not table:
            return None
        database = text(described.get("database")) or self._database()
        return self._named(self.namespace(), f"{database}.{table}", schema, None, {})

    def namespace(self) -> str:
        """The session catalog's namespace: its metastore, else the warehouse's location."""
        if self.metastore:
            first = re.split(r"[,\s]+", self.metastore.strip())[0]
            return "hive://" + first.split("://", 1)[-1].rstrip("/")
        if self.warehouse:
            return location(self.warehouse)
        return "spark"

    def _database(self) -> str:
        found = self.record.session.get("database")
        return found if isinstance(found, str) and found else "default"

    def _default_location(self, database: str, table: str) -> str | None:
        if not self.warehouse:
            return None
        folder = "" if database == "default" else f"/{database}.db"
        return f"{self.warehouse.rstrip('/')}{folder}/{table}"

    def _named(
        self, namespace: str, name: str, schema: Schema, place: str | None, facts: dict[str, Any]
    ) -> Dataset:
        if not place:
            return Dataset(namespace, name, schema, facts=facts)
        path_namespace, path_name = name_of_path(place, trim=False)
        if self.by_path:
            link = ((namespace, name, "TABLE"),)
            return Dataset(path_namespace, path_name, schema, link, facts)
        link = ((path_namespace, path_name, "LOCATION"),)
        return Dataset(namespace, name, schema, link, facts)

    def table_of(
        self,
        catalog: str,
        parts: list[str],
        schema: Schema,
        place: str | None = None,
        facts: dict[str, Any] | None = None,
    ) -> Dataset:
        """A table of another catalog than the session's."""
        conf = self.record.conf
        prefix = f"spark.sql.catalog.{catalog}."
        url = conf.get(prefix + "url")
        name = ".".join(parts)
        if url and url.startswith("jdbc:"):
            return jdbc_table(url, name, schema)
        uri = conf.get(prefix + "uri")
        warehouse = conf.get(prefix + "warehouse")
        if uri and uri.startswith("thrift:"):
            namespace = "hive://" + uri.split("://", 1)[-1].rstrip("/")
        elif warehouse:
            namespace = location(warehouse)
        elif catalog == _SESSION_CATALOG:
            namespace = self.namespace()
        else:
            namespace = catalog
        return self._named(namespace, name, schema, place, facts or {})

    # -- relations --------------------------------------------------------

    def relation(self, node: PlanNode) -> list[Dataset]:
        """The data sets that a leaf relation reads; none for rows that are in the query."""
        described = node.raw("relation")
        table = self.catalog_table(node.raw("catalogTable") or node.raw("tableMeta"))
        if table is not None:
            return [table]
        if isinstance(described, dict):
            return self._base_relation(described)
        return self.v2_table(node)

    def _base_relation(self, described: dict[str, Any]) -> list[Dataset]:
        kind = self.record.class_of(described)
        schema = parse_schema(self.record.text(described.get("schema")))
        options = self.record.mapping(described.get("options"))
        if kind == "HadoopFsRelation":
            return self._paths(
                self.record.texts(described.get("rootPaths")),
                options,
                schema,
                self.record.text(described.get("format")),
            )
        if kind == "JDBCRelation":
            options = {key.lower(): value for key, value in options.items()}
            url = str(options.get("url") or "")
            return [
                jdbc_table(url, str(options.get("dbtable") or options.get("query") or ""), schema)
            ]
        path = options.get("path")
        if path:
            return [self.path(str(path), schema=schema)]
        name = self.record.text(described.get("text")) or self.record.text(described.get("class"))
        return [Dataset("spark", name or str(kind), schema)]

    def _paths(
        self, roots: list[str], options: dict[str, Any], schema: Schema, form: str | None
    ) -> list[Dataset]:
        lowered = {key.lower(): value for key, value in options.items()}
        base = lowered.get("basepath")
        if isinstance(base, str) and base:
            roots = [base]
        found: dict[Dataset, None] = {}
        for root in roots:
            found[self.path(root, schema=schema, provider=form)] = None
        wanted = lowered.get("path")
        if len(found) > 1 and isinstance(wanted, str) and re.search(r"[*?\[{]", wanted):
            # rootPaths are the glob's matches; the data set is what the glob is over.
            _, name = name_of_path(wanted, trim=True, encoded=False)
            if all(item.name.startswith(name) for item in found):
                return [Dataset(next(iter(found)).namespace, name, schema)]
        return list(found)

    def v2_table(self, node: PlanNode) -> list[Dataset]:
        """The data set of a DataSource V2 relation, or of a resolved table of a command."""
        text = self.record.text
        table = node.raw("table")
        options = self.record.mapping(node.raw("options"))
        schema: Schema = ()
        if isinstance(table, dict):
            schema = parse_schema(text(table.get("schema")))
            if isinstance(table.get("v1"), dict):
                found = self.catalog_table(table["v1"], schema)
                if found is not None:
                    return [found]
        catalog = self._catalog_name(node.raw("catalog"))
        parts = self._identifier_parts(node.raw("identifier"))
        if catalog and parts:
            return [self.table_of(catalog, parts, schema, self._property(table, "location"))]
        paths = self._option_paths(options)
        if paths:
            return self._paths(paths, {}, schema, None)
        name = text(table.get("name")) if isinstance(table, dict) else None
        place = self._property(table, "location") or _path_in(name or "")
        if place:
            return [self.path(place, schema=schema)]
        return [Dataset(catalog or "spark", name, schema)] if name else []

    def _catalog_name(self, raw: Any) -> str | None:
        return self.record.text(raw.get("name")) if isinstance(raw, dict) else None

    def _identifier_parts(self, raw: Any) -> list[str]:
        if not isinstance(raw, dict):
            return []
        name = self.record.text(raw.get("name"))
        return [*self.record.texts(raw.get("namespace")), name] if name else []

    def _property(self, table: Any, key: str) -> str | None:
        if not isinstance(table, dict):
            return None
        value = self.record.mapping(table.get("properties")).get(key)
        return value if isinstance(value, str) else None

    @staticmethod
    def _option_paths(options: dict[str, Any]) -> list[str]:
        several = options.get("paths")
        if isinstance(several, str) and several.startswith("["):
            try:
                return [str(item) for item in json.loads(several)]
            except ValueError:
                return []
        single = options.get("path")
        return [single] if isinstance(single, str) and single else []

    def resolved_identifier(self, node: PlanNode, schema: Schema = ()) -> Dataset | None:
        """The table that a command names (ResolvedIdentifier, ResolvedTable, a relation)."""
        catalog = self._catalog_name(node.raw("catalog"))
        parts = self._identifier_parts(node.raw("identifier"))
        if not parts:
            found = self.relation(node) if node.has("relation") or node.has("table") else []
            return found[0] if found else None
        table = node.raw("table")
        if isinstance(table, dict) and isinstance(table.get("v1"), dict):
            return self.catalog_table(table["v1"], schema)
        if catalog in (None, _SESSION_CATALOG):
            database = ".".join(parts[:-1]) or self._database()
            place = self._default_location(database, parts[-1])
            return self._named(self.namespace(), f"{database}.{parts[-1]}", schema, place, {})
        return self.table_of(catalog or "", parts, schema)

    def saved(self, raw: Any, schema: Schema = ()) -> Dataset | None:
        """What the options of a writer name: a JDBC table or a path."""
        options = {key.lower(): value for key, value in self.record.mapping(raw).items()}
        url, path = options.get("url"), options.get("path")
        if isinstance(url, str) and url.startswith("jdbc:"):
            return jdbc_table(url, str(options.get("dbtable") or ""), schema)
        if isinstance(path, str):
            return self.path(path, trim=False, schema=schema)
        return None


def _path_in(name: str) -> str | None:
    """The path in the name of a V2 file table ("json file:/a/b")."""
    match = re.match(r"\w+ ((?:[a-z0-9]+:)?/[^,]*)", name, re.I)
    return match[1] if match else None
