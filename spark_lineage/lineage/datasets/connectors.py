"""Data sets of connectors, by the options they are given: no jar of theirs is needed.

Namespaces and names follow OpenLineage's naming specification where it has the system;
where it has none (MongoDB, Elasticsearch, Kudu, HBase, DynamoDB, ...) the same form is kept:
``scheme://host:port`` and the name inside the server. Hosts are in lower case; of several
that make one cluster, the first in alphabetical order counts. Nothing else of an address
is kept, so that no user and no password is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from spark_lineage.lineage.datasets import jdbc_engines, kafka
from spark_lineage.lineage.datasets.jdbc import Database, database_of, jdbc_table, parts_of
from spark_lineage.lineage.datasets.jdbc import snowflake_namespace as snowflake_space
from spark_lineage.lineage.datasets.schema import Schema
from spark_lineage.lineage.model import Dataset

Options = Mapping[str, str]
Named = tuple[str, str]

_TEXT: Final = re.compile(r"\$\{|\*{5}")
_SELECT: Final = re.compile(r"[\s(]*(?:select|with)\s", re.IGNORECASE)
#: Options in which a query may stand in a table's place.
_TABLES: Final = ("dbtable", "table", "path")
#: V2 tables behind which there is no data: what is made up, and what is thrown away or shown.
NO_DATA: Final = frozenset(
    {
        "ConsoleTable",
        "ForeachWriterTable",
        "MemorySink",
        "MemoryTable",
        "NoopTable",
        "RatePerMicroBatchTable",
        "RateStreamTable",
        "TextSocketTable",
    }
)


@dataclass(frozen=True)
class Connector:
    """One connector: words of its class or format, options that only it has, its rule."""

    words: tuple[str, ...]
    options: tuple[str, ...]
    name: Callable[[Options, Options], Named | None]
    #: The database that answers a query, where the connector takes one instead of a table.
    database: Callable[[Options, Options], Database | None] | None = None


def named(
    provider: str | None, options: Options, conf: Options, schema: Schema = ()
) -> list[Dataset] | None:
    """The data sets that a connector's options name; None if no rule here knows it.

    ``provider`` is the connector's format or class name. ``options`` may have keys in any
    case; ``conf`` is the session's configuration, in which some connectors look for what the
    options do not say. An empty list: known, but the options name no data set.
    """
    lowered = {key.lower(): str(value) for key, value in options.items() if value is not None}
    if kafka.is_kafka(lowered):
        return kafka.read(lowered, schema) or kafka.written(lowered, (), schema)
    connector = _connector(provider, lowered)
    if connector is None:
        return None
    settings = {key.lower(): str(value) for key, value in conf.items()}
    found = connector.name(lowered, settings)
    return [of(found, schema)] if found else []


def queried(provider: str | None, options: Options, conf: Options) -> tuple[Database, str] | None:
    """The database that a connector asks, and the query; None if it reads a table.

    ``provider``, ``options`` and ``conf`` are those of :func:`named`.
    """
    lowered = {key.lower(): str(value) for key, value in options.items() if value is not None}
    text = lowered.get("query") or next(
        (lowered[key] for key in _TABLES if _SELECT.match(lowered.get(key, ""))), None
    )
    connector = _connector(provider, lowered) if text else None
    if connector is None or connector.database is None or not text:
        return None
    settings = {key.lower(): str(value) for key, value in conf.items()}
    database = connector.database(lowered, settings)
    return None if database is None else (database, _bare(text))


def _bare(text: str) -> str:
    """A query without the brackets and the alias of a subquery."""
    text = text.strip().rstrip(";")
    return f"SELECT * FROM {text}" if text.startswith("(") else text


def of(found: Named, schema: Schema = (), kind: str = "TABLE") -> Dataset:
    """A data set by its name, with what a name alone tells of it."""
    namespace, name = found
    facts = {
        "dataSource": {"name": namespace, "uri": namespace},
        "datasetType": {"datasetType": kind},
    }
    return Dataset(namespace, name, schema, facts=facts)


def _connector(provider: str | None, options: Options) -> Connector | None:
    word = (provider or "").lower()
    for connector in CONNECTORS:
        if word and any(known in word for known in connector.words):
            return connector
    for connector in CONNECTORS:
        if any(key in options for key in connector.options):
            return connector
    return None


def _first(options: Options, *keys: str) -> str | None:
    for key in keys:
        value = options.get(key)
        if value and not _TEXT.search(value):
            return value.strip()
    return None


def hosts_of(text: str, port: int | None) -> list[str]:
    """The hosts of a list or a URL, ``host:port``, in alphabetical order, each once."""
    plain = re.sub(r"^[a-z][a-z0-9+.\-]*://", "", text.strip(), flags=re.IGNORECASE)
    plain = re.split(r"[/?#]", plain, maxsplit=1)[0].rsplit("@", 1)[-1]
    found: set[str] = set()
    for item in plain.split(","):
        host = re.sub(r"^[a-z]+://", "", item.strip().lower())
        if host:
            ported = re.search(r":\d+$", host)
            found.add(host if ported or not port else f"{host}:{port}")
    return sorted(found)


# -- the systems -------------------------------------------------------------


def _bigquery(options: Options, conf: Options) -> Named | None:
    """``bigquery`` and ``project.dataset.table``."""
    table = _first(options, "table", "path", "dbtable")
    if not table or re.search(r"\s", table):
        return None
    parts = table.replace("`", "").replace(":", ".").split(".")
    # A project of an organisation has a dot and a colon: example.com:project.
    name = parts[-1]
    dataset = parts[-2] if len(parts) > 1 else _first(options, "dataset", "materializationdataset")
    keys = ("project", "parentproject", "parentprojectid")
    project = ".".join(parts[:-2]) or _first(options, *keys) or _first(conf, *keys)
    return "bigquery", ".".join(part for part in (project, dataset, name) if part)


def _bigquery_queries(options: Options, conf: Options) -> Database:
    """Queries run in the project that pays for them; its tables need no project's name."""
    keys = ("parentproject", "parentprojectid", "project")
    project = _first(options, *keys) or _first(conf, *keys)
    return Database(jdbc_engines.BIGQUERY, "bigquery", project)


def _snowflake(options: Options, conf: Options) -> Named | None:
    """``snowflake://organisation-account`` and ``DATABASE.SCHEMA.TABLE``."""
    url = _first(options, "sfurl", "sfaccount", "url")
    table = _first(options, "dbtable")
    parts = parts_of(table) if table else None
    if not url or not parts:
        return None
    names = [text if quoted else text.upper() for text, quoted in parts]
    for key in ("sfschema", "sfdatabase"):
        wanted = 2 if key == "sfschema" else 3
        if len(names) < wanted:
            default = "PUBLIC" if key == "sfschema" else None
            value = _snowflake_name(_first(options, key)) or default
            if value:
                names.insert(0, value)
    return snowflake_space(url), ".".join(names)


def _snowflake_queries(options: Options, conf: Options) -> Database | None:
    url = _first(options, "sfurl", "sfaccount", "url")
    if not url:
        return None
    engine = jdbc_engines.SNOWFLAKE
    database, schema = (_snowflake_name(_first(options, key)) for key in ("sfdatabase", "sfschema"))
    return Database(engine, snowflake_space(url), database, schema or engine.schema)


def _snowflake_name(given: str | None) -> str | None:
    """A name as Snowflake keeps it: in upper case, unless it stands in quotes."""
    if given is None:
        return None
    return given.strip('"') if given.startswith('"') else given.upper()


def _by_url(options: Options, conf: Options) -> Named | None:
    """Redshift, SQL Server, Synapse: a JDBC URL and a table."""
    url, table = _first(options, "url", "jdbcurl"), _first(options, "dbtable", "table")
    if not url or not table:
        return None
    found = jdbc_table(url, table)
    return found.namespace, found.name


def _queries_by_url(options: Options, conf: Options) -> Database | None:
    url = _first(options, "url", "jdbcurl")
    return database_of(url) if url else None


def _mongodb(options: Options, conf: Options) -> Named | None:
    """``mongodb://host:port`` and ``database.collection``."""
    prefixes = ("", "spark.mongodb.", "spark.mongodb.read.", "spark.mongodb.write.")
    old = ("spark.mongodb.input.", "spark.mongodb.output.")
    both = {**conf, **options}

    def look(name: str) -> str | None:
        return _first(options, name) or _first(both, *(p + name for p in (*prefixes, *old)))

    uri = look("connection.uri") or look("uri")
    database, collection = look("database"), look("collection")
    hosts = ["localhost:27017"]
    if uri:
        service = uri.lower().startswith("mongodb+srv:")
        hosts = hosts_of(uri, None if service else 27017) or hosts
        path = uri.split("://", 1)[-1].rsplit("@", 1)[-1].partition("/")[2].partition("?")[0]
        first, _, rest = path.partition(".")
        database, collection = database or first or None, collection or rest or None
    if not database or not collection:
        return None
    return f"mongodb://{hosts[0]}", f"{database}.{collection}"


def _cassandra(options: Options, conf: Options) -> Named | None:
    """``cassandra://host:port`` and ``keyspace.table``."""
    keyspace, table = _first(options, "keyspace"), _first(options, "table")
    return _cassandra_table(options, conf, keyspace, table)


def _cassandra_table(
    options: Options, conf: Options, keyspace: str | None, table: str | None
) -> Named | None:
    if not keyspace or not table:
        return None
    both = {**conf, **options}
    port = _first(both, "spark.cassandra.connection.port") or "9042"
    host = _first(both, "spark.cassandra.connection.host") or "localhost"
    hosts = hosts_of(host, int(port) if port.isdigit() else 9042)
    return f"cassandra://{hosts[0]}", f"{keyspace}.{table}"


def _elasticsearch(options: Options, conf: Options) -> Named | None:
    """``elasticsearch://host:port`` and the index."""
    both = {**conf, **options}

    def look(name: str) -> str | None:
        for family in ("es", "opensearch"):
            found = _first(both, f"{family}.{name}", f"spark.{family}.{name}")
            if found:
                return found
        return None

    index = (
        _first(options, "resource", "path")
        or look("resource")
        or look("resource.read")
        or look("resource.write")
    )
    if not index:
        return None
    port = look("port") or "9200"
    hosts = hosts_of(look("nodes") or "localhost", int(port) if port.isdigit() else 9200)
    # Before version 7 a type stood behind the index.
    scheme = "opensearch" if any("opensearch." in key for key in options) else "elasticsearch"
    return f"{scheme}://{hosts[0]}", index.strip("/").partition("/")[0]


def _cosmos(options: Options, conf: Options) -> Named | None:
    """``azurecosmos://host/dbs/database`` and ``colls/container``."""
    both = {**conf, **options}
    endpoint = _first(both, "spark.cosmos.accountendpoint", "endpoint")
    database = _first(both, "spark.cosmos.database", "database")
    container = _first(both, "spark.cosmos.container", "collection")
    if not endpoint or not database or not container:
        return None
    host = hosts_of(endpoint, None)[0].partition(":")[0]
    return f"azurecosmos://{host}/dbs/{database}", f"colls/{container}"


def _kusto(options: Options, conf: Options) -> Named | None:
    """``azurekusto://cluster.kusto.windows.net`` and ``database/table``."""
    cluster = _first(options, "kustocluster")
    database, table = _first(options, "kustodatabase"), _first(options, "kustotable")
    if not cluster or not database or not table:
        return None
    host = hosts_of(cluster, None)[0].partition(":")[0]
    host = host if host.endswith(".kusto.windows.net") else f"{host}.kusto.windows.net"
    return f"azurekusto://{host}", f"{database}/{table}"


def _kudu(options: Options, conf: Options) -> Named | None:
    """``kudu://master:port`` and the table."""
    master, table = _first(options, "kudu.master"), _first(options, "kudu.table")
    if not table:
        return None
    return f"kudu://{hosts_of(master or 'localhost', 7051)[0]}", table


def _hbase(options: Options, conf: Options) -> Named | None:
    """``hbase://quorum:port`` and ``namespace:table``."""
    both = {**conf, **options}
    table = _first(options, "hbase.table")
    space = "default"
    try:
        told = json.loads(options.get("catalog") or "{}").get("table") or {}
        table = table or told.get("name")
        space = told.get("namespace") or space
    except (ValueError, AttributeError):
        pass
    if not table:
        return None
    port = _first(both, "hbase.zookeeper.property.clientport") or "2181"
    quorum = _first(both, "hbase.zookeeper.quorum", "spark.hadoop.hbase.zookeeper.quorum")
    hosts = hosts_of(quorum or "localhost", int(port) if port.isdigit() else 2181)
    return f"hbase://{hosts[0]}", table if ":" in table else f"{space}:{table}"


def _dynamodb(options: Options, conf: Options) -> Named | None:
    """``dynamodb://region`` and the table."""
    table = _first(options, "tablename", "dynamodb.input.tablename", "dynamodb.output.tablename")
    region = _first(options, "region", "dynamodb.region") or _first(conf, "aws.region")
    return (f"dynamodb://{region}" if region else "dynamodb", table) if table else None


CONNECTORS: Final = (
    Connector(
        ("bigquery",), ("materializationdataset", "parentproject"), _bigquery, _bigquery_queries
    ),
    Connector(("snowflake",), ("sfurl", "sfdatabase"), _snowflake, _snowflake_queries),
    Connector(
        ("redshift",), ("aws_iam_role", "forward_spark_s3_credentials"), _by_url, _queries_by_url
    ),
    Connector(("sqldw", "synapse", "com.microsoft.sqlserver"), (), _by_url, _queries_by_url),
    Connector(("mongo",), ("spark.mongodb.connection.uri", "connection.uri"), _mongodb),
    Connector(("cassandra",), ("keyspace",), _cassandra),
    Connector(
        ("elasticsearch", "opensearch", "org.elastic"),
        ("es.resource", "es.nodes", "opensearch.resource", "opensearch.nodes"),
        _elasticsearch,
    ),
    Connector(("cosmos",), ("spark.cosmos.container",), _cosmos),
    Connector(("kusto",), ("kustocluster",), _kusto),
    Connector(("kudu",), ("kudu.table",), _kudu),
    Connector(("hbase",), ("hbase.table",), _hbase),
    Connector(("dynamodb",), ("dynamodb.input.tablename",), _dynamodb),
)


def catalog_table(
    implementation: str, parts: list[str], settings: Options, conf: Options, schema: Schema = ()
) -> Dataset | None:
    """A table of a connector's own catalog; None if no rule here knows the catalog.

    ``settings`` are the catalog's, without ``spark.sql.catalog.<name>.``.
    """
    word = implementation.lower()
    lowered = {key.lower(): value for key, value in settings.items()}
    both = {**{key.lower(): value for key, value in conf.items()}, **lowered}
    if "cassandra" in word and len(parts) >= 2:
        found = _cassandra_table(lowered, both, parts[-2], parts[-1])
    elif "bigquery" in word and "iceberg" not in word and len(parts) >= 2:
        project = _first(both, "projectid", "project", "parentproject")
        found = "bigquery", ".".join(p for p in (project, *parts) if p)
    else:
        return None
    return of(found, schema) if found else None


def generic(provider: str, options: Options, schema: Schema = ()) -> Dataset | None:
    """A source that no rule knows: the server and the table that its options seem to name.

    None where the options name nothing of the kind.
    """
    lowered = {key.lower(): str(value) for key, value in options.items() if value is not None}
    url = _first(lowered, "url", "uri", "endpoint", "host", "hosts", "server", "servers")
    table = _first(
        lowered, "dbtable", "table", "tablename", "collection", "topic", "index", "stream", "name"
    )
    if url and url.startswith("jdbc:"):
        return jdbc_table(url, table or provider, schema) if table else None
    if not url and not table:
        return None
    scheme = re.sub(r"[^a-z0-9+.\-]", "-", provider.lower())
    namespace = scheme
    if url:
        match = re.match(r"([a-z][a-z0-9+.\-]*)://", url, re.IGNORECASE)
        hosts = hosts_of(url, None)
        if hosts:
            shown = match[1].lower() if match and match[1].lower() not in _WEB else scheme
            namespace = f"{shown}://{hosts[0]}"
    database = _first(lowered, "database", "keyspace", "schema", "namespace")
    parts = (database, table) if table and database else (table or database or provider,)
    return of((namespace, ".".join(part for part in parts if part)), schema)


_WEB: Final = frozenset({"http", "https"})
