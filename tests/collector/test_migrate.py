"""The tables by Alembic's steps and at once are the same, on each kind of database."""

from __future__ import annotations

from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from spark_lineage.collector.service import Collector
from spark_lineage.collector.store import migrate, schema
from spark_lineage.errors import CollectorError
from tests.collector import postgres

_REFERS = "foreign_key_constraint"


def _shape(engine: sa.Engine) -> dict[str, object]:
    found = sa.inspect(engine)
    return {
        table: (
            [(c["name"], str(c["type"]), c["nullable"]) for c in found.get_columns(table)],
            sorted((i["name"], tuple(i["column_names"])) for i in found.get_indexes(table)),
            sorted(tuple(u["column_names"]) for u in found.get_unique_constraints(table)),
            found.get_pk_constraint(table)["constrained_columns"],
            sorted(tuple(f["constrained_columns"]) for f in found.get_foreign_keys(table)),
        )
        for table in sorted(found.get_table_names())
    }


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_steps_and_tables_agree(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    urls = [f"sqlite:///{tmp_path}/{name}.db" for name in "ab"]
    if kind == "postgresql":
        server: postgres.Postgres = request.getfixturevalue("postgres_server")
        urls = [server.create(), server.create()]
    by_steps, at_once = (sa.create_engine(url) for url in urls)
    with by_steps.begin() as connection:
        migrate.by_steps(connection)
        # What a table refers to is compared below: not all is checked by each database.
        opts = {"include_object": lambda _object, _name, kind, *_: kind != _REFERS}
        context = MigrationContext.configure(connection, opts=opts)
        assert compare_metadata(context, schema.metadata) == []
        assert migrate.version(connection) == migrate.HEAD
    with at_once.begin() as connection:
        migrate.up(connection)
    assert _shape(by_steps) == _shape(at_once)
    derived = sa.inspect(at_once).get_foreign_keys("edges")
    assert len(derived) == (4 if kind == "sqlite" else 0)
    by_steps.dispose()
    at_once.dispose()
    Collector(urls[0]).close()


def test_a_database_of_a_newer_collector_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "c.db"
    Collector(str(path)).close()
    engine = sa.create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        connection.execute(sa.text("UPDATE alembic_version SET version_num = '9999'"))
    engine.dispose()
    with pytest.raises(CollectorError, match="version 9999, which is newer"):
        Collector(str(path))


def test_tables_of_another_program_are_left_alone(tmp_path: Path) -> None:
    engine = sa.create_engine(f"sqlite:///{tmp_path}/c.db")
    with engine.begin() as connection:
        connection.execute(sa.text("CREATE TABLE events (id INTEGER)"))
    engine.dispose()
    with pytest.raises(CollectorError, match="not this collector's"):
        Collector(f"{tmp_path}/c.db")
