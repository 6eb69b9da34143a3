"""A local Spark session in which tables are empty: SQL can be analysed in it and touches nothing.

Tables are made when Spark misses them, with the schemas that the collector
knows; so no text of SQL is parsed here.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from spark_lineage.errors import SparkLineageError

if TYPE_CHECKING:
    from spark_lineage.lineage.model import Lineage

Answer = dict[str, Any]
# Gives the collector's answer to a name, None where it knows none.
Lookup = Callable[[str], Answer | None]
MOST_TABLES = 200
# Statements that later ones need, and that read and write nothing.
_RUN = re.compile(r"(USE|SET)\b|CREATE\s+(OR\s+REPLACE\s+)?((GLOBAL\s+)?TEMP(ORARY)?\s+)?VIEW\b",
                  re.IGNORECASE)  # fmt: skip
# Spark's error conditions for what is missing, and the parameter that names it.
_NAMES = {"TABLE_OR_VIEW_NOT_FOUND": "relationName", "SCHEMA_NOT_FOUND": "schemaName"}


class UnanalysedError(SparkLineageError):
    """Spark cannot analyse a statement, or a table of it is not known."""


@dataclass(frozen=True)
class Told:
    """What one statement does. ``names`` leads from its tables to those of the collector."""

    lineage: Lineage
    names: dict[str, Answer]


class Sandbox:
    """Statements of one script, one after the other, in a session of its own."""

    def __init__(self, spark: Any, lookup: Lookup) -> None:
        self._spark = spark.newSession()
        self._lookup = lookup
        self._names: dict[str, Answer] = {}

    def tell(self, statement: str) -> Told:
        """The lineage of a statement; later ones see the tables and views that it makes.

        Raises :class:`UnanalysedError`.
        """
        from spark_lineage import lineage_of

        found = self._with_tables(lambda: lineage_of(statement, self._spark))
        self._make_way(statement, found)
        return Told(found, dict(self._names))

    def _with_tables(self, analyse: Callable[[], Any]) -> Any:
        for _ in range(MOST_TABLES):
            try:
                return analyse()
            except Exception as error:
                missing = _missing(error)
                if missing is None:
                    raise UnanalysedError(_reason(error)) from None
                what, parts = missing
                if what == "SCHEMA":
                    self._spark.sql(f"CREATE DATABASE IF NOT EXISTS {_quoted(parts[-1])}")
                else:
                    self._make(parts)
        raise UnanalysedError(f"it reads more than {MOST_TABLES} tables")

    def _make(self, parts: list[str]) -> None:
        """An empty table by the collector's schema."""
        name = ".".join(parts)
        found = self._lookup(name)
        if found is None:
            raise UnanalysedError(f"no table {name} is known to the collector")
        columns = columns_of(found["schema"])
        if not columns:
            raise UnanalysedError(f"the collector knows no schema of {name}")
        made = self._create(parts, columns)
        self._names[made] = found["dataset"]

    def _create(self, parts: list[str], columns: list[tuple[str, str]]) -> str:
        if len(parts) > 2 and parts[0] != "spark_catalog":
            raise UnanalysedError(
                f"the catalog {parts[0]} is not set up here: give it by --conf, or leave its"
                " statements out"
            )
        table = parts[-1]
        space = parts[-2] if len(parts) > 1 else self._spark.catalog.currentDatabase()
        self._spark.sql(f"CREATE DATABASE IF NOT EXISTS {_quoted(space)}")
        listed = ", ".join(f"{_quoted(name)} {self._type(kind)}" for name, kind in columns)
        where = f"{_quoted(space)}.{_quoted(table)}"
        self._spark.sql(f"CREATE TABLE IF NOT EXISTS {where} ({listed}) USING parquet")
        return f"{space}.{table}"

    def _type(self, kind: str) -> str:
        """A type of Spark; what another engine calls otherwise is a type of its sort."""
        from spark_lineage.collector.checks import family

        try:
            self._spark.sql(f"SELECT CAST(NULL AS {kind})").schema  # noqa: B018 - is it a type?
        except Exception:
            return _OF_FAMILY.get(family(kind) or "text", "string")
        return kind

    def _make_way(self, statement: str, told: Lineage) -> None:
        """Let later statements find what this one makes."""
        if _RUN.match(statement):
            self._with_tables(lambda: self._spark.sql(statement))
            return
        for output in told.outputs:
            if output.dataset is None or not output.dataset.schema:
                continue
            from spark_lineage.openlineage.types import field_of

            parts = output.dataset.name.split(".")
            columns = [
                (one[0], _ddl_of_field(field_of(one[0], one[1]))) for one in output.dataset.schema
            ]
            self._create(parts[-2:], columns)


_OF_FAMILY = {"number": "decimal(38,18)", "text": "string", "time": "timestamp",
              "boolean": "boolean", "binary": "binary", "nested": "string"}  # fmt: skip


def _ddl_of_field(one: Any) -> str:
    rows = [{"column": one.name, "data_type": one.type}]
    stack = [(one.name, child) for child in reversed(one.fields)]
    while stack:
        prefix, child = stack.pop()
        path = f"{prefix}.{child.name}"
        rows.append({"column": path, "data_type": child.type})
        stack.extend((path, inner) for inner in reversed(child.fields))
    ((_, kind),) = columns_of(rows)
    return kind


def columns_of(schema: list[Answer]) -> list[tuple[str, str]]:
    """The top-level columns of a schema that lists nested ones by path, as DDL has them."""
    inside: dict[str, list[str]] = {}
    types: dict[str, str] = {}
    for one in schema:
        path = one["column"]
        types[path] = one["data_type"] or "string"
        holder = path.rpartition(".")[0]
        inside.setdefault(holder if holder in types else "", []).append(path)
    made: dict[str, str] = {}
    for path in reversed(types):
        below = inside.get(path)
        kind = types[path].lower()
        if not below:
            made[path] = types[path]
        elif kind == "array":
            made[path] = f"array<{made[below[0]]}>"
        elif kind == "map" and len(below) == 2:
            made[path] = f"map<{made[below[0]]},{made[below[1]]}>"
        else:
            fields = ",".join(f"{_quoted(one[len(path) + 1 :])}:{made[one]}" for one in below)
            made[path] = f"struct<{fields}>"
    return [(path, made[path]) for path in inside.get("", ())]


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _missing(error: Exception) -> tuple[str, list[str]] | None:
    """What Spark misses, a ``TABLE`` or a ``SCHEMA``, and its name; None for any other fault."""
    ask = getattr(error, "getCondition", None) or getattr(error, "getErrorClass", None)
    told = ask() if ask else None
    if told not in _NAMES:
        return None
    parameters: dict[str, str] = error.getMessageParameters()  # type: ignore[attr-defined]
    name = parameters.get(_NAMES[told], "")
    parts = [part.replace("``", "`") for part in re.findall(r"`((?:[^`]|``)+)`", name)]
    return (told.partition("_")[0], parts) if parts else None


def _reason(error: Exception) -> str:
    """The first line of what Spark says."""
    text = str(error).strip() or type(error).__name__
    return text.splitlines()[0]


@contextmanager
def session(conf: dict[str, str] | None = None) -> Iterator[Any]:
    """A small Spark of this process: one core, no page, a catalog and tables of its own."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise SparkLineageError("check needs Spark: pip install 'spark-lineage[spark]'") from None
    if SparkSession.getActiveSession() is not None:
        raise SparkLineageError("this process has a Spark session already: run check by itself")
    with tempfile.TemporaryDirectory(prefix="spark-lineage-check-") as folder:
        builder = SparkSession.builder.master("local[1]").appName("spark-lineage check")
        settings = {
            # Spark 3.5 makes a table of Hive's where a statement names no provider.
            "spark.sql.legacy.createHiveTableByDefault": "false",
            "spark.ui.enabled": "false",
            "spark.sql.catalogImplementation": "in-memory",
            "spark.sql.warehouse.dir": folder,
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
            "spark.log.level": "OFF",
            **(conf or {}),
        }
        for key, value in settings.items():
            builder = builder.config(key, value)
        spark = builder.getOrCreate()
        try:
            yield spark
        finally:
            spark.stop()
