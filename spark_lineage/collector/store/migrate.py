"""The tables brought to the version of this program, by Alembic.

A database that is up to date is seen to be so without loading Alembic, which
would take longer than all else at the start.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, inspect, text

from spark_lineage.collector.store import schema
from spark_lineage.errors import CollectorError

if TYPE_CHECKING:
    from alembic.config import Config

SCRIPTS = Path(__file__).parent / "migrations"
HEAD = "0008"


def version(connection: Connection) -> str | None:
    """The database's version; None for one without tables of ours."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    found = connection.scalar(text("SELECT version_num FROM alembic_version"))
    return str(found) if found is not None else None


def up(connection: Connection) -> None:
    """Bring the tables to the newest version.

    Raises ``CollectorError`` for a database of a newer program, or one that has
    tables of these names and was not made here.
    """
    found = version(connection)
    if found == HEAD:
        return
    if found is None:
        if inspect(connection).has_table("events"):
            raise CollectorError("the database has a table `events` that is not this collector's")
        _make(connection)
        return
    if found is not None and found not in _known():
        raise CollectorError(
            f"the database is of version {found}, which is newer than this collector ({HEAD})"
        )
    by_steps(connection)


def _make(connection: Connection) -> None:
    """All tables at once, as the steps would leave them (a test compares the two)."""
    schema.metadata.create_all(connection)
    connection.execute(
        text("CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL PRIMARY KEY)")
    )
    connection.execute(text("INSERT INTO alembic_version VALUES (:head)"), {"head": HEAD})


def by_steps(connection: Connection) -> None:
    """The same by every step from the first."""
    from alembic import command

    command.upgrade(_config(connection), "head")


def _known() -> set[str]:
    return {path.name.partition("_")[0] for path in (SCRIPTS / "versions").glob("*.py")}


def _config(connection: Connection) -> Config:
    from alembic.config import Config

    config = Config()
    # A percent sign is special in Alembic's settings, not in paths.
    config.set_main_option("script_location", str(SCRIPTS).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config
