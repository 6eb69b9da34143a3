"""The data set behind a JDBC URL and a table's name.

The rules, from OpenLineage's naming specification where it has one:

- The namespace is ``scheme://host:port``; a missing port is the one that the driver connects
  to, so that one server has one name. Several hosts are all told, in their order. SQL Server
  is ``mssql``, a named instance without a port ``mssql://host/instance``; MariaDB's driver
  gives ``mysql``; a Redshift host is ``redshift://cluster.region:port`` with either driver.
- The name is the full one: ``database.schema.table`` (``database.table`` where an engine has
  two levels). A name without a schema gets the one that the engine looks in: the URL's, else
  the engine's default (``public``, ``dbo``, ``PUBLIC``, ``APP``). Where that default is the
  user's own schema (Oracle, DB2, Teradata) there is no user in the name: it has no schema.
- A name without quotes gets the case that the engine folds it to; quotes go, but for a part
  with a dot in it.
- An embedded database (H2, Derby, SQLite, ...) has its own place as namespace
  (``derby:memory:db``, ``sqlite:/a/b.db``).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from spark_lineage.lineage.datasets import jdbc_engines as engines
from spark_lineage.lineage.datasets.jdbc_engines import LOWER, UPPER, Engine
from spark_lineage.lineage.datasets.jdbc_url import Address, parse
from spark_lineage.lineage.datasets.schema import Schema
from spark_lineage.lineage.model import Dataset

Part = tuple[str, bool]
"""One part of a name, and whether it stood in quotes."""

_PART: Final = r"""(?:"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[(?:[^\]]|\]\])*\]|[^\s."`\[\](),;'+*/]*)"""
_NAME: Final = re.compile(rf"\s*{_PART}(?:\s*\.\s*{_PART})*\s*")
_PARTS: Final = re.compile(rf"\s*({_PART})\s*(?:\.|$)")
#: The properties that name the database, and the schema, by any engine; lower case.
_DATABASES: Final = ("databasename", "database", "db", "dbname", "locationname", "conncatalog")
_SCHEMAS: Final = ("currentschema", "schema", "searchpath", "connschema")
_AMAZON: Final = re.compile(
    r"([\w\-]+)\.[\w\-]+\.([\w\-]+)\.redshift(?:-serverless)?\.amazonaws\.com(?:\.cn)?"
)
_PATH_IS_SCHEMA: Final = frozenset({"trino", "presto"})


@dataclass(frozen=True)
class Database:
    """A database that a URL leads to, and how tables in it are named."""

    engine: Engine
    namespace: str
    database: str | None = None
    schema: str | None = None

    @property
    def dialect(self) -> str:
        """The word by which sqlglot knows the engine's SQL; empty if it does not."""
        return self.engine.dialect

    def fold(self, part: Part) -> str:
        """A part of a name as the engine keeps it."""
        text, quoted = part
        if quoted or not self.engine.fold:
            return text
        return text.lower() if self.engine.fold == LOWER else text.upper()

    def table(self, parts: Sequence[Part], schema: Schema = ()) -> Dataset:
        """A table by the parts of its name, as many as there are."""
        names = [self.fold(part) for part in parts]
        levels = self.engine.levels
        if self.engine.scheme == "sqlserver":
            # OpenLineage's rule for Synapse: without the database.
            names, levels = names[-2:], 2
        if len(names) >= 2 and not names[-2]:
            # SQL Server: database..table
            names[-2] = self.schema or ""
        if len(names) == 1 and self.schema:
            names.insert(0, self.schema)
        shown = [f'"{name}"' if "." in name else name for name in names if name]
        if levels == 3 and len(names) < 3 and self.database:
            shown.insert(0, self.database)
        return Dataset(self.namespace, ".".join(shown), schema)


def parts_of(text: str) -> list[Part] | None:
    """The parts of a plain table name; None for anything else, such as a query."""
    if not _NAME.fullmatch(text) or not text.strip(" ."):
        return None
    found: list[Part] = []
    for match in _PARTS.finditer(text):
        part = match[1]
        if part[:1] in ('"', "`", "["):
            close = {"[": "]"}.get(part[0], part[0])
            found.append((part[1:-1].replace(close * 2, close), True))
        else:
            found.append((part, False))
    if found and found[-1] == ("", False):
        found.pop()
    return found or None


def jdbc_table(url: str, table: str | Sequence[str], schema: Schema = ()) -> Dataset:
    """A table behind a JDBC URL; nothing of the URL but its hosts and database is kept.

    ``table`` is a name as SQL has it, or its parts as a catalog has them, which are exact.
    """
    if isinstance(table, str):
        parts = parts_of(table) or [(re.sub(r'[`"\[\]]', "", table.strip()), True)]
    else:
        parts = [(part, True) for part in table]
    return database_of(url).table(parts, schema)


@lru_cache(maxsize=256)
def database_of(url: str) -> Database:
    """The database that a URL leads to. Never raises."""
    address = parse(url)
    special = _SPECIAL.get(address.engine)
    if special is not None:
        return special(address)
    engine = engines.ENGINES.get(address.engine)
    if engine is None:
        engine = Engine(_word(address.engine) or "jdbc", None, "", 3)
    return _networked(address, engine)


def _word(text: str) -> str:
    return text if re.fullmatch(r"[a-z][\w+.\-]*", text) else ""


def _networked(address: Address, engine: Engine) -> Database:
    properties = address.properties
    database = next((properties[key] for key in _DATABASES if properties.get(key)), None)
    path = list(address.path)
    if path and _safe(path[0]):
        database = path[0]
    schema = next((properties[key] for key in _SCHEMAS if properties.get(key)), None)
    if schema:
        schema = schema.split(",")[0].strip().strip('"')
    if engine.scheme == "postgres" and not schema and "options" in properties:
        found = re.search(r"search_path=([\w$\"]+)", properties["options"])
        schema = found[1].strip('"') if found else None
    hosts = address.hosts
    if engine.scheme in _PATH_IS_SCHEMA:
        schema = path[1] if len(path) > 1 and _safe(path[1]) else schema
        database, schema = (name and name.lower() for name in (database, schema))
        if properties.get("ssl", "").lower() == "true" or "accesstoken" in properties:
            engine = replace(engine, port=443)
    if engine.scheme == "clickhouse":
        secure = "https" in address.kinds or properties.get("ssl", "").lower() == "true"
        engine = replace(engine, port=8443 if secure else engine.port)
    if engine.scheme == "teradata" and "dbs_port" in properties:
        ported = properties["dbs_port"]
        hosts = tuple((h, int(ported) if ported.isdigit() else p) for h, p in hosts)
    if engine is engines.POSTGRES and not hosts:
        # jdbc:postgresql:database
        hosts = (("localhost", None),)
        database = database or (address.rest.strip("/") if _safe(address.rest) else None)
    if engine in (engines.POSTGRES, engines.REDSHIFT):
        amazon = _redshift(hosts)
        if amazon or engine is engines.REDSHIFT:
            return _levels(engines.REDSHIFT, amazon or hosts, database, schema)
    if not hosts:
        return Database(engine, _nowhere(address, engine), database, schema or engine.schema)
    return _levels(engine, hosts, database, schema)


def _levels(
    engine: Engine,
    hosts: Sequence[tuple[str, int | None]],
    database: str | None,
    schema: str | None,
) -> Database:
    namespace = f"{engine.scheme}://{_authority(hosts, engine.port)}"
    if engine.levels == 2:
        # The database is what other engines call a schema.
        return Database(engine, namespace, None, database or schema or engine.schema)
    return Database(engine, namespace, database, schema or engine.schema)


def _safe(text: str) -> bool:
    """Whether a text of the URL may be shown: a name, no pairs of keys and values."""
    return bool(text) and not re.search(r"[@=?&;:()]", text)


def _authority(hosts: Sequence[tuple[str, int | None]], default: int | None) -> str:
    told = []
    for host, port in hosts:
        shown = port if port is not None else default
        told.append(f"{host}:{shown}" if shown else host)
    return ",".join(told)


def _nowhere(address: Address, engine: Engine) -> str:
    """The namespace of a URL without hosts: its words, as far as they are plain."""
    words = [engine.scheme, *(kind for kind in address.kinds if _word(kind))]
    if _safe(address.rest):
        words.append(address.rest)
    return ":".join(words)


def _redshift(hosts: Sequence[tuple[str, int | None]]) -> list[tuple[str, int | None]]:
    """``cluster.id.region.redshift.amazonaws.com`` as ``cluster.region``; empty if it is none."""
    found = []
    for host, port in hosts:
        match = _AMAZON.fullmatch(host)
        if match:
            found.append((f"{match[1]}.{match[2]}", port))
    return found


def _sqlserver(address: Address) -> Database:
    properties = address.properties
    hosts = list(address.hosts)
    if not hosts:
        named = properties.get("servername") or properties.get("server") or "localhost"
        named = named.lower()
        bare = re.fullmatch(r"[\w.\-\\]+", named)
        hosts = [(named if bare else f"[{named.strip('[]')}]", None)]
    host, port = hosts[0]
    host, _, instance = host.partition("\\")
    given = properties.get("portnumber") or properties.get("port") or ""
    port = port or (int(given) if given.isdigit() else None)
    instance = instance or properties.get("instancename") or properties.get("instance") or ""
    database = properties.get("databasename") or properties.get("database")
    if address.path and _safe(address.path[0]):
        database = database or address.path[0]
    if host.endswith((".sql.azuresynapse.net", ".sql.azuresynapse.windows.net")):
        engine = engines.SYNAPSE
    elif host.endswith((".datawarehouse.fabric.microsoft.com", ".pbidedicated.windows.net")):
        return Database(engines.FABRIC, f"fabric-warehouse://{host}", database, "dbo")
    else:
        engine = engines.MSSQL
    if instance and port is None and _safe(instance):
        # The driver asks the server's browser for the port; a given port wins over the instance.
        place = f"{host}/{instance.lower()}"
    else:
        place = f"{host}:{port or engine.port}"
    more = "".join(f",{h}:{p or engine.port}" for h, p in hosts[1:])
    return Database(engine, f"{engine.scheme}://{place}{more}", database, engine.schema)


def _oracle(address: Address) -> Database:
    service = address.path[0] if address.path and _safe(address.path[0]) else None
    if "alias" in address.kinds:
        return Database(engines.ORACLE, f"oracle://{address.hosts[0][0]}")
    if not address.hosts:
        return Database(engines.ORACLE, "oracle", service)
    port = 389 if "ldap" in address.kinds else engines.ORACLE.port
    return Database(engines.ORACLE, f"oracle://{_authority(address.hosts, port)}", service)


def _snowflake(address: Address) -> Database:
    host = address.hosts[0][0] if address.hosts else _account(address)
    properties = address.properties

    def name(key: str) -> str | None:
        value = properties.get(key)
        if not value:
            return None
        return value.strip('"') if value.startswith('"') else value.upper()

    return Database(
        engines.SNOWFLAKE,
        snowflake_namespace(host),
        name("db") or name("database"),
        name("schema") or engines.SNOWFLAKE.schema,
    )


def _account(address: Address) -> str:
    """The account that stands in a property."""
    account = address.properties.get("account", "")
    return account.lower() if _safe(account) else ""


def snowflake_namespace(url: str) -> str:
    """The namespace of a Snowflake account, from its URL or its identifier.

    ``org-account`` is kept; a locator gets the region and cloud that Snowflake leaves out, as
    OpenLineage's producers do.
    """
    host = re.sub(r"(?i)^https?://", "", url.strip()).split("/")[0].split(":")[0].lower()
    account = host.removesuffix(".snowflakecomputing.com").removesuffix(".snowflakecomputing.cn")
    account = account.removesuffix(".privatelink")
    parts = account.split(".")
    if len(parts) == 1 and "-" not in account and account:
        account = f"{account}.us-west-1.aws"
    elif len(parts) == 2:
        account = f"{account}.aws"
    return f"snowflake://{account}"


def _embedded(address: Address) -> Database:
    """H2, HSQLDB, Derby: in memory, in a file, or a server's."""
    engine = engines.ENGINES[address.engine]
    properties = address.properties
    if engine is engines.H2:
        if properties.get("database_to_lower", "").lower() == "true":
            engine = replace(engine, fold=LOWER, schema="public")
        elif properties.get("database_to_upper", "").lower() == "false":
            engine = replace(engine, fold="")
    schema: str | None = properties.get("schema") or engine.schema
    if engine is engines.DERBY and properties.get("user"):
        # A user of Derby's has a schema of his own.
        schema = None
    if address.hosts:
        database = "/".join(address.path) or None
        namespace = f"{engine.scheme}://{_authority(address.hosts, engine.port)}"
        return Database(replace(engine, levels=3), namespace, database, schema)
    name = address.rest or properties.get("databasename", "")
    words = [engine.scheme, *address.kinds, *([name] if name and "=" not in name else [])]
    return Database(engine, ":".join(words), None, schema)


def _file(address: Address) -> Database:
    """SQLite, DuckDB: a file."""
    engine = engines.ENGINES[address.engine]
    name = address.rest.removeprefix("file:") or ":memory:"
    return Database(engine, f"{engine.scheme}:{name}", None, engine.schema)


def _bigquery(address: Address) -> Database:
    properties = address.properties
    project = properties.get("projectid") or properties.get("project")
    dataset = properties.get("defaultdataset") or None
    return Database(engines.BIGQUERY, "bigquery", project, dataset)


def _athena(address: Address) -> Database:
    properties = address.properties
    region = properties.get("awsregion") or properties.get("region")
    if not region and address.hosts:
        found = re.match(r"athena\.([\w\-]+)\.", address.hosts[0][0])
        region = found[1] if found else None
    place = f"athena.{region}.amazonaws.com" if region and _safe(region) else "athena"
    catalog = properties.get("catalog") or "awsdatacatalog"
    schema = properties.get("database") or properties.get("schema") or "default"
    return Database(engines.ATHENA, f"awsathena://{place}", catalog, schema)


def _spanner(address: Address) -> Database:
    text = "/".join(address.path) or address.rest
    found = re.search(r"projects/([^/]+)/instances/([^/]+)/databases/([^/?;]+)", text)
    if not found:
        return Database(engines.SPANNER, "spanner")
    return Database(engines.SPANNER, f"spanner://{found[1]}:{found[2]}", found[3])


_SPECIAL: Final = {
    "sqlserver": _sqlserver,
    "oracle": _oracle,
    "snowflake": _snowflake,
    "h2": _embedded,
    "hsqldb": _embedded,
    "derby": _embedded,
    "sqlite": _file,
    "duckdb": _file,
    "bigquery": _bigquery,
    "awsathena": _athena,
    "athena": _athena,
    "cloudspanner": _spanner,
}

__all__ = ["LOWER", "UPPER", "Database", "Part", "database_of", "jdbc_table", "parts_of"]
