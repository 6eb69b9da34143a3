"""What is particular to each database engine that JDBC reaches: ports, levels of names, case."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

LOWER: Final = "lower"
UPPER: Final = "upper"
KEPT: Final = ""


@dataclass(frozen=True)
class Engine:
    """One engine.

    ``scheme`` begins the namespace (OpenLineage's naming rules; where they name none, the
    driver's own word); ``port`` is what the driver connects to when the URL has no port;
    ``levels`` is how many parts a table's full name has; ``schema`` is where a name without a
    schema is looked up; ``fold`` is the case that a name without quotes gets; ``dialect`` is
    sqlglot's, empty where it has none of that engine.
    """

    scheme: str
    port: int | None = None
    dialect: str = ""
    levels: int = 3
    schema: str | None = None
    fold: str = KEPT


POSTGRES: Final = Engine("postgres", 5432, "postgres", 3, "public", LOWER)
REDSHIFT: Final = Engine("redshift", 5439, "redshift", 3, "public", LOWER)
MSSQL: Final = Engine("mssql", 1433, "tsql", 3, "dbo")
#: Synapse and Fabric: SQL Server's driver, names of their own in OpenLineage's rules.
SYNAPSE: Final = Engine("sqlserver", 1433, "tsql", 3, "dbo")
FABRIC: Final = Engine("fabric-warehouse", 1433, "fabric", 3, "dbo")
ORACLE: Final = Engine("oracle", 1521, "oracle", 3, None, UPPER)
SNOWFLAKE: Final = Engine("snowflake", None, "snowflake", 3, "PUBLIC", UPPER)
DERBY: Final = Engine("derby", 1527, "", 2, "APP", UPPER)
H2: Final = Engine("h2", 9092, "", 2, "PUBLIC", UPPER)
HSQLDB: Final = Engine("hsqldb", 9001, "", 2, "PUBLIC", UPPER)
SQLITE: Final = Engine("sqlite", None, "sqlite", 2, "main")
DUCKDB: Final = Engine("duckdb", None, "duckdb", 2, "main")
BIGQUERY: Final = Engine("bigquery", None, "bigquery", 3)
ATHENA: Final = Engine("awsathena", None, "athena", 3, "default", LOWER)
SPANNER: Final = Engine("spanner", None, "bigquery", 3)
MYSQL: Final = Engine("mysql", 3306, "mysql", 2)
#: The driver's documentation: 80, and 443 with ``SSL=true``.
TRINO: Final = Engine("trino", 80, "trino", 3, None, LOWER)
#: The IBM driver connects to 446 where the URL has no port.
DB2: Final = Engine("db2", 446, "", 3, None, UPPER)

#: By the word after ``jdbc:``.
ENGINES: Final[dict[str, Engine]] = {
    "postgresql": POSTGRES,
    "postgres": POSTGRES,
    "cockroachdb": Engine("cockroachdb", 26257, "postgres", 3, "public", LOWER),
    "yugabytedb": Engine("yugabytedb", 5433, "postgres", 3, "public", LOWER),
    "opengauss": Engine("opengauss", 5432, "postgres", 3, "public", LOWER),
    "pivotal": Engine("greenplum", 5432, "postgres", 3, "public", LOWER),
    "edb": Engine("edb", 5444, "postgres", 3, "public", LOWER),
    "crate": Engine("crate", 5432, "postgres", 3, "doc", LOWER),
    "netezza": Engine("netezza", 5480, "postgres", 3, "ADMIN", UPPER),
    "vertica": Engine("vertica", 5433, "postgres", 3, "public"),
    "redshift": REDSHIFT,
    "mysql": MYSQL,
    # One server, two drivers: one name.
    "mariadb": MYSQL,
    "oceanbase": Engine("oceanbase", 2881, "mysql", 2),
    "singlestore": Engine("singlestore", 3306, "singlestore", 2),
    "memsql": Engine("singlestore", 3306, "singlestore", 2),
    "starrocks": Engine("starrocks", 9030, "starrocks", 2),
    "sqlserver": MSSQL,
    "oracle": ORACLE,
    "db2": DB2,
    "as400": Engine("as400", None, "", 2, None, UPPER),
    "trino": TRINO,
    "presto": Engine("presto", 80, "presto", 3, None, LOWER),
    "dremio": Engine("dremio", 31010, "dremio", 3),
    "h2": H2,
    "hsqldb": HSQLDB,
    "derby": DERBY,
    "sqlite": SQLITE,
    "duckdb": DUCKDB,
    "snowflake": SNOWFLAKE,
    "clickhouse": Engine("clickhouse", 8123, "clickhouse", 2, "default"),
    "ch": Engine("clickhouse", 8123, "clickhouse", 2, "default"),
    "teradata": Engine("teradata", 1025, "teradata", 2),
    "hive2": Engine("hive", 10000, "hive", 2, "default", LOWER),
    "impala": Engine("impala", 21050, "hive", 2, "default", LOWER),
    "databricks": Engine("databricks", 443, "databricks", 3, "default", LOWER),
    "cassandra": Engine("cassandra", 9042, "", 2, None, LOWER),
    "sap": Engine("hana", None, "", 3, None, UPPER),
    "exa": Engine("exasol", 8563, "exasol", 2, None, UPPER),
    "informix-sqli": Engine("informix", None, "", 3, None, LOWER),
    "firebirdsql": Engine("firebird", 3050, "", 2, None, UPPER),
    "bigquery": BIGQUERY,
    "awsathena": ATHENA,
    "athena": ATHENA,
    "cloudspanner": SPANNER,
}
