"""The TPC-H and TPC-DS queries with their schemas, read from where they are.

They are not part of this project: they stand in a folder of their own, with
``queries/ID.sql`` in Spark's dialect (the ID begins with the name of the
database, as in ``tpcds-q01``) and ``schema.json``
(``{database: {table: [[column, Spark type]]}}``). It is looked for as
``shared/oracle`` beside the project's folder, or named by its user.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

BESIDE = Path("shared") / "oracle"
Schema = dict[str, dict[str, list[list[str]]]]


@dataclass(frozen=True)
class Query:
    """One query: ``tpcds-q01``, the database it is of, its text."""

    id: str
    database: str
    text: str


@dataclass(frozen=True)
class Folder:
    """A folder of queries and their schema."""

    path: Path

    @property
    def schema(self) -> Schema:
        """Columns with types by database and table."""
        schema: Schema = json.loads((self.path / "schema.json").read_text(encoding="utf-8"))
        return schema

    def queries(self, only: str = "", limit: int | None = None) -> list[Query]:
        """The queries in order of their ids, those whose id starts with ``only``."""
        files = sorted((self.path / "queries").glob(f"{only}*.sql"))
        return [
            Query(f.stem, f.stem.split("-", 1)[0], f.read_text(encoding="utf-8").rstrip(" \n;"))
            for f in files[:limit]
        ]


def find(start: Path | None = None) -> Folder | None:
    """The folder beside one of the folders above ``start`` (default: this file), if any is."""
    for parent in (start or Path(__file__).resolve()).parents:
        if (parent / BESIDE / "schema.json").is_file():
            return Folder(parent / BESIDE)
    return None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """``--tpc`` and ``--only``, the same in each benchmark."""
    parser.add_argument(
        "--tpc", type=Path, metavar="DIR", help="the folder with queries/ and schema.json"
    )
    parser.add_argument("--only", default="", metavar="PREFIX", help="queries whose id starts so")


def chosen(arguments: argparse.Namespace) -> Folder:
    """The folder of the command line, or the one beside the project; else exit 2."""
    if arguments.tpc is not None:
        folder: Folder | None = Folder(arguments.tpc)
        if not (arguments.tpc / "schema.json").is_file():
            folder = None
    else:
        folder = find()
    if folder is None:
        where = arguments.tpc or f"{BESIDE} beside the project's folder"
        print(f"no TPC queries: {where} has no schema.json; name the folder: --tpc DIR")
        sys.exit(2)
    return folder


def statements(schema: Schema) -> Iterator[str]:
    """The statements that create the databases and their empty tables."""
    for database, tables in schema.items():
        yield f"CREATE DATABASE IF NOT EXISTS {database}"
        for table, columns in tables.items():
            fields = ", ".join(f"`{name}` {kind}" for name, kind in columns)
            yield f"CREATE TABLE IF NOT EXISTS {database}.{table} ({fields}) USING parquet"


def create(spark: Any, folder: Folder) -> None:
    """Create the databases with their empty tables."""
    for statement in statements(folder.schema):
        spark.sql(statement)
