"""What a relation, a table or a path is called: one identity however it was reached."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from spark_lineage.lineage.datasets import connectors, files, hudi, kafka, lakehouse
from spark_lineage.lineage.datasets.aliases import Aliases
from spark_lineage.lineage.datasets.asked import (
    asked_paths,
    format_in,
    hive_format,
    path_in,
    texts_of,
)
from spark_lineage.lineage.datasets.jdbc import jdbc_table
from spark_lineage.lineage.datasets.paths import absolute, place_of
from spark_lineage.lineage.datasets.remote import Remote, remote_query, remote_relation
from spark_lineage.lineage.datasets.schema import Schema, parse_schema, schema_of
from spark_lineage.lineage.datasets.tables import SESSION_CATALOG, Tables
from spark_lineage.lineage.model import Dataset
from spark_lineage.lineage.options import LineageOptions
from spark_lineage.plan.node import PlanNode, Record

#: A class's own ``toString`` without a name in it.
_NAMELESS: Final = re.compile(r"[\w.$]+@[0-9a-f]+")
_MAX_NAME: Final = 200
_VIEW: Final = {"datasetType": {"datasetType": "VIEW"}}


class Naming:
    """Names the data sets of one record, under the namespaces that the user chose."""

    def __init__(self, record: Record, options: LineageOptions) -> None:
        self.record = record
        self.options = options
        self.by_path = options.dataset_identity == "path"
        self.tables = Tables(record.conf, self.by_path)
        self.aliases = Aliases(options.namespace_aliases, options.namespace_patterns)

    def _told(self, dataset: Dataset) -> Dataset:
        return self.aliases.told(dataset)

    def _all(self, datasets: Iterable[Dataset]) -> list[Dataset]:
        return [self._told(dataset) for dataset in datasets]

    # -- paths ------------------------------------------------------------

    def path(
        self, uri: str, trim: bool = True, schema: Schema = (), form: str | None = None
    ) -> Dataset:
        """The data set that a URI-encoded path belongs to, with the part of it as ``subset``.

        ``trim``: whether globs have their meaning: so in what is read, not in what is written.
        """
        place = place_of(absolute(uri, self.record.conf), globs=trim)
        return self._told(files.dataset_of([place], schema, form))

    def paths(self, asked: Iterable[str], encoded: Iterable[str] = ()) -> list[Dataset]:
        """The data sets of paths as users write them (each may be a list with commas)."""
        single = [part.strip() for text in asked for part in text.split(",") if part.strip()]
        found = files.read([], single, {}, self.record.conf) if single else []
        found += files.read(list(encoded), [], {}, self.record.conf)
        return self._all(found)

    def rdd(self, described: Mapping[str, Any]) -> list[Dataset]:
        """What the RDDs below a described RDD read: files, and tables behind JDBC."""
        record = self.record
        found = self.paths(
            record.texts(described.get("paths")), record.texts(described.get("files"))
        )
        for raw in described.get("jdbc") or ():
            found += self._all(remote_relation(record.mapping(raw), ()).datasets)
        return list(dict.fromkeys(found))

    def described_path(self, raw: Any) -> str | None:
        """The URI-encoded text of a described Path or URI, or of a path in plain text."""
        if isinstance(raw, dict):
            return self.record.text(raw.get("uri"))
        plain = self.record.text(raw)
        return plain.replace("%", "%25") if plain else plain

    # -- tables -----------------------------------------------------------

    def catalog_table(self, described: Any, query_schema: Schema = ()) -> Dataset | None:
        """A table (or view) of the session catalog, from a described CatalogTable."""
        if path := lakehouse.path_named(self.record, described):
            return self.path(path, False, query_schema, "delta")
        found = self._catalog_table(described, query_schema)
        return None if found is None else self._told(found)

    def _catalog_table(self, described: Any, query_schema: Schema = ()) -> Dataset | None:
        if not isinstance(described, dict):
            return None
        text = self.record.text
        table = text(described.get("table"))
        if not table:
            return None
        database = text(described.get("database")) or self._database()
        catalog = text(described.get("catalog"))
        kind = text(described.get("tableType"))
        place = self.tables.place_of(database, text(described.get("location")))
        provider = text(described.get("provider"))
        schema = parse_schema(text(described.get("schema"))) or query_schema
        if (provider or "").lower() == "hudi":
            schema = hudi.user_columns(schema)
        facts: dict[str, Any] = {
            "provider": provider,
            "tableType": kind,
            "partitionColumns": self.record.texts(described.get("partitionColumns")),
        }
        layer = files.storage(provider)
        if layer is not None:
            form = hive_format(text(described.get("inputFormat")))
            facts["storage"] = {**layer, "fileFormat": form} if form else layer
        if kind == "VIEW":
            facts["datasetType"] = {"datasetType": "VIEW"}
        elif kind:
            facts["datasetType"] = {"datasetType": "TABLE", "subType": kind}
        if catalog and catalog != SESSION_CATALOG:
            return self.tables.table_of(catalog, [database, table], schema, place, facts)
        behind: list[Dataset] | None = None
        if provider and layer is None:
            options = self.record.mapping(described.get("options"))
            behind = self._behind(provider, options)
        if behind is not None:
            # What a table over a connector holds is kept there.
            place = None
        elif place is None and kind != "VIEW":
            place = self.tables.default_location(database, table)
            facts["guessed"] = self.tables.guessed()
        found = self.tables.session_table(database, table, schema, place, facts)
        if layer is not None and layer["storageLayer"] in lakehouse.FORMATS:
            found = lakehouse.of_framework(found, layer["storageLayer"])
        links = tuple((each.namespace, each.name, "TABLE") for each in behind or ())
        return replace(found, symlinks=(*found.symlinks, *links))

    def identifier(self, described: Any, schema: Schema = (), view: bool = False) -> Dataset | None:
        """A table (or view) that is known by its TableIdentifier only."""
        if not isinstance(described, dict):
            return None
        text = self.record.text
        table = text(described.get("table")) or text(described.get("name"))
        if not table:
            return None
        database = text(described.get("database")) or self._database()
        facts = _VIEW if view else None
        return self._told(self.tables.session_table(database, table, schema, facts=facts))

    def read_files(self, roots: list[str], schema: Schema, form: str) -> list[Dataset]:
        """What a format with files of its own reads: URI-encoded places of one table."""
        places = [absolute(root, self.record.conf) for root in roots]
        return self._all(files.read(places, [], {}, self.record.conf, schema, form))

    def owned(
        self,
        catalog: str,
        parts: list[str],
        schema: Schema,
        place: str | None,
        form: str,
    ) -> Dataset:
        """A table in this format of a catalog, which may be the session's."""
        facts = {"storage": {"storageLayer": form}}
        if catalog != SESSION_CATALOG:
            return self.table_of(catalog, parts, schema, place, facts)
        database = ".".join(parts[:-1]) or self._database()
        found = self.tables.session_table(database, parts[-1], schema, place, facts)
        return self._told(lakehouse.of_framework(found, form))

    def namespace(self) -> str:
        """The session catalog's namespace."""
        return self.aliases.of(self.tables.namespace())

    def table_of(
        self,
        catalog: str,
        parts: list[str],
        schema: Schema,
        place: str | None = None,
        facts: Mapping[str, Any] | None = None,
    ) -> Dataset:
        """A table of another catalog than the session's."""
        return self._told(self.tables.table_of(catalog, parts, schema, place, facts))

    def _database(self) -> str:
        found = self.record.session.get("database")
        return found if isinstance(found, str) and found else "default"

    # -- relations --------------------------------------------------------

    def relation(self, node: PlanNode) -> list[Dataset]:
        """The data sets that a leaf relation reads; none for rows that are in the query."""
        if node.class_name == "StreamingDataSourceV2ScanRelation" and node.refs("relation"):
            node = PlanNode(self.record, node.refs("relation")[0])
        own = lakehouse.relation(self, node)
        if own is not None:
            return own
        described = node.raw("relation")
        table = self._catalog_table(node.raw("catalogTable") or node.raw("tableMeta"))
        if table is not None:
            return [self._told(table)]
        if isinstance(described, dict):
            return self._all(self._base_relation(described))
        return self.v2_table(node)

    def _base_relation(self, described: dict[str, Any]) -> list[Dataset]:
        text = self.record.text
        kind = self.record.class_of(described)
        schema = parse_schema(text(described.get("schema")))
        if kind == "JDBCRelation":
            return list(self._jdbc(described, schema).datasets)
        options = self.record.mapping(described.get("options"))
        if kind == "HadoopFsRelation":
            return self._files(described, "rootPaths", options, schema)
        name = text(described.get("class")) or str(kind)
        found = self._of_options(name, options, schema)
        if found is not None:
            return found
        found = self._of_path(name, options, schema)
        if found is not None:
            return found
        own = connectors.generic(str(kind), options, schema)
        if own is not None:
            return [own]
        shown = text(described.get("text")) or name
        nameless = _NAMELESS.fullmatch(shown) or len(shown) > _MAX_NAME
        return [connectors.of(("spark", name if nameless else shown), schema)]

    def _of_options(
        self, provider: str | None, options: Mapping[str, Any], schema: Schema = ()
    ) -> list[Dataset] | None:
        """What a connector's options name; None if no rule knows the connector."""
        lowered = texts_of(options)
        if kafka.is_kafka(lowered):
            return self._topics(lowered, schema)
        url = lowered.get("url", "")
        if (provider or "").lower() in ("jdbc", "jdbcrelationprovider"):
            return list(remote_relation(options, schema).datasets) if url else None
        remote = self._queried(provider, options, schema)
        if remote is not None:
            return list(remote.datasets)
        return connectors.named(provider, options, self.record.conf, schema)

    def _behind(self, provider: str, options: Mapping[str, Any]) -> list[Dataset] | None:
        """The data set that a table over a connector is another name of; none for a query."""
        lowered = texts_of(options)
        query = self._queried(provider, options, ())
        if query is None and lowered.get("url", "").startswith("jdbc:"):
            query = remote_relation(options, ())
        if query is not None and query.lineage is not None:
            return []
        return self._of_options(provider, options)

    def _queried(
        self, provider: str | None, options: Mapping[str, Any], schema: Schema
    ) -> Remote | None:
        """What a connector reads by a query's text; None if it reads a table."""
        found = connectors.queried(provider, options, self.record.conf)
        if found is None:
            return None
        masking, literals = self.options.masking_functions, self.options.literals
        return remote_query(*found, schema, masking, literals)

    def _topics(self, options: Mapping[str, str], schema: Schema) -> list[Dataset]:
        planned = [
            topic
            for scan in self.record.scans
            for topic in scan.get("topics") or ()
            if isinstance(topic, str)
        ]
        return kafka.read(options, schema, planned) or kafka.written(options, (), schema)

    def _of_path(
        self, provider: str | None, options: Mapping[str, Any], schema: Schema
    ) -> list[Dataset] | None:
        asked = asked_paths(options)
        if not asked:
            return None
        form = format_in(provider)
        return files.read([], asked, texts_of(options), self.record.conf, schema, form)

    def _files(
        self, described: dict[str, Any], key: str, options: Mapping[str, Any], schema: Schema
    ) -> list[Dataset]:
        """Files that Spark's own sources read: V1's relation or V2's table."""
        raw = described.get(key)
        complete = not (isinstance(raw, list) and any(isinstance(item, dict) for item in raw))
        asked = asked_paths(options) or self.record.texts(described.get("paths"))
        form = (self.record.text(described.get("format")) or "").lower() or None
        conf = self.record.conf
        # The index of what a stream wrote keeps the path as it was asked for.
        roots = [absolute(root, conf) for root in self.record.texts(raw)]
        return files.read(roots, asked, texts_of(options), conf, schema, form, complete)

    def _jdbc(self, described: dict[str, Any], schema: Schema) -> Remote:
        text = self.record.text
        statements = {key: text(described.get(key)) for key in ("dbtable", "query", "prepareQuery")}
        return remote_relation(
            {
                **self.record.mapping(described.get("options")),
                **{key: value for key, value in statements.items() if value is not None},
            },
            schema,
            text(described.get("condition")),
            self.options.masking_functions,
            self.options.literals,
        )

    def remote(self, node: PlanNode) -> Remote | None:
        """What a leaf reads by a query's text that another database answers; None for others."""
        described, text = node.raw("relation"), self.record.text
        if node.raw("catalogTable") is not None:
            # A table of the catalog over another database goes by the catalog's name.
            return None
        found: Remote | None = None
        if isinstance(described, dict):
            schema = parse_schema(text(described.get("schema")))
            kind = self.record.class_of(described)
            if kind == "JDBCRelation":
                found = self._jdbc(described, schema)
            elif kind != "HadoopFsRelation":
                options = self.record.mapping(described.get("options"))
                found = self._queried(text(described.get("class")) or kind, options, schema)
        elif isinstance(table := node.raw("table"), dict) and node.raw("catalog") is None:
            options = {
                **self.record.mapping(table.get("options")),
                **self.record.mapping(node.raw("options")),
            }
            schema = parse_schema(text(table.get("schema")))
            found = self._queried(text(table.get("class")), options, schema)
        if found is None or found.lineage is None:
            return None
        return replace(found, datasets=tuple(self._all(found.datasets)))

    def v2_table(self, node: PlanNode) -> list[Dataset]:
        """The data set of a DataSource V2 relation, or of a resolved table of a command."""
        own = lakehouse.relation(self, node)
        if own is not None:
            return own
        table = node.raw("table")
        schema: Schema = ()
        if isinstance(table, dict):
            schema = parse_schema(self.record.text(table.get("schema")))
            if isinstance(table.get("v1"), dict):
                found = self._catalog_table(table["v1"], schema)
                if found is not None:
                    return [self._told(found)]
        return self._all(self._v2_table(node, table, schema))

    def _v2_table(self, node: PlanNode, table: Any, schema: Schema) -> list[Dataset]:
        catalog = self._catalog_name(node.raw("catalog"))
        parts = self._identifier_parts(node.raw("identifier"))
        url = self._jdbc_url(table)
        if url and parts:
            return [jdbc_table(url, parts, schema)]
        place = self._property(table, "location")
        if catalog and parts:
            if catalog == SESSION_CATALOG:
                return [self._session_parts(parts, schema, place)]
            return [self.tables.table_of(catalog, parts, schema, place)]
        if not isinstance(table, dict):
            return self._stream(node)
        kind = self.record.class_of(table) or ""
        if kind.rstrip("$") in connectors.NO_DATA:
            return []
        options = {
            **self.record.mapping(table.get("options")),
            **self.record.mapping(node.raw("options")),
        }
        if "paths" in table:
            return self._files(table, "rootPaths", options, schema)
        name, full = self.record.text(table.get("name")), self.record.text(table.get("class"))
        for found in (
            self._of_options(full or kind, options, schema),
            self._of_path(name, options, schema),
        ):
            if found is not None:
                return found
        place = place or path_in(name or "")
        if place:
            return files.read([place], [], {}, self.record.conf, schema)
        own = connectors.generic(name or kind, options, schema)
        if own is None and (name or kind):
            own = connectors.of((catalog or "spark", name or kind), schema)
        return [own] if own is not None else []

    def _stream(self, node: PlanNode) -> list[Dataset]:
        """What a stream reads of which Spark 3 keeps the scan alone: Kafka's has its options.

        A connector's is named by its class; Spark's other ones hold no data.
        """
        raw = node.raw("scan")
        scan: dict[str, Any] = raw if isinstance(raw, dict) else {}
        name = self.record.text(scan.get("class"))
        options = texts_of(self.record.mapping(scan.get("options")))
        schema = schema_of(self.record, node.output())
        if kafka.is_kafka(options):
            return self._topics(options, schema)
        if name is None or name.startswith("org.apache.spark."):
            return []
        return [connectors.of(("spark", name), schema)]

    def _session_parts(self, parts: list[str], schema: Schema, place: str | None) -> Dataset:
        database = ".".join(parts[:-1]) or self._database()
        return self.tables.session_table(database, parts[-1], schema, place)

    def _jdbc_url(self, table: Any) -> str | None:
        """The URL that the table of a JDBC catalog was loaded from."""
        if not isinstance(table, dict):
            return None
        options = self.record.mapping(table.get("options"))
        url = next((value for key, value in options.items() if key.lower() == "url"), None)
        return url if isinstance(url, str) and url.startswith("jdbc:") else None

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

    def resolved_identifier(
        self, node: PlanNode, schema: Schema = (), view: bool = False, iceberg: bool = False
    ) -> Dataset | None:
        """The table or view that a command names (a resolved name or table, a relation).

        ``iceberg`` says that a table, which is known by its name only, is one of Iceberg's.
        """
        known = lakehouse.described(self, node)
        if known is not None:
            return known
        catalog = self._catalog_name(node.raw("catalog"))
        parts = self._identifier_parts(node.raw("identifier"))
        if not parts:
            found = self.relation(node) if node.has("relation") or node.has("table") else []
            return found[0] if found else None
        table = node.raw("table")
        if isinstance(table, dict) and isinstance(table.get("v1"), dict):
            return self.catalog_table(table["v1"], schema)
        place = None if view else self._property(table, "location")
        facts: Mapping[str, Any] = _VIEW if view else {}
        own = iceberg and self.tables.hands_iceberg_on
        if catalog in (None, SESSION_CATALOG) and not own:
            database = ".".join(parts[:-1]) or self._database()
            if place_named := lakehouse.path_in_name(database, parts[-1]):
                return self.path(place_named, False, schema, "delta")
            if not place and not view:
                facts = {"guessed": self.tables.guessed()}
                place = self.tables.default_location(database, parts[-1])
            return self._told(self.tables.session_table(database, parts[-1], schema, place, facts))
        return self.table_of(catalog or SESSION_CATALOG, parts, schema, place, facts)

    # -- writers ------------------------------------------------------------

    def saved_by(
        self, provider: Any, raw: Any, schema: Schema = (), topics: Iterable[str] = ()
    ) -> list[Dataset]:
        """What a writer's options name: tables, topics, a path; none if they name nothing.

        ``provider`` is the described data source, ``topics`` the values of a ``topic`` column.
        """
        options = self.record.mapping(raw)
        lowered = texts_of(options)
        if kafka.is_kafka(lowered):
            return self._all(kafka.written(lowered, topics, schema))
        name = None
        if isinstance(provider, dict):
            name = self.record.text(provider.get("class")) or self.record.class_of(provider)
        url = lowered.get("url", "")
        found = connectors.named(name, options, self.record.conf, schema)
        if found is None and url.startswith("jdbc:"):
            found = [jdbc_table(url, lowered.get("dbtable", ""), schema)]
        if not found and lowered.get("path"):
            place = absolute(lowered["path"].replace("%", "%25"), self.record.conf)
            return [self.path(place, False, schema, format_in(name))]
        if found is None and name:
            own = connectors.generic(format_in(name) or name, options, schema)
            found = [own or connectors.of(("spark", name), schema)]
        return self._all(found or ())
