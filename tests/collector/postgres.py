"""The collector's tables in the tests' own PostgreSQL (tests/support/postgres.py)."""

from __future__ import annotations

import sqlalchemy as sa

from spark_lineage.collector.store import schema
from tests.support.postgres import Postgres, server


def empty(url: str) -> None:
    """Delete all rows of the collector's tables: far quicker than a new database."""
    tables = schema.metadata.sorted_tables
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        connection.exec_driver_sql("SET session_replication_role = replica")
        connection.exec_driver_sql(";".join(f"DELETE FROM {table.name}" for table in tables))
    engine.dispose()


__all__ = ["Postgres", "empty", "server"]
