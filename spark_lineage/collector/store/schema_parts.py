"""What the tables are made of: the one list of them all, and columns that many have."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    ForeignKey,
    ForeignKeyConstraint,
    Integer,
    MetaData,
    Text,
    text,
)

metadata = MetaData()
# SQLite numbers rows by itself only where the type is exactly INTEGER.
ID = BigInteger().with_variant(Integer, "sqlite")
# Compared by the database, byte by byte whatever its locale.
ORDER = Text().with_variant(Text(collation="C"), "postgresql")


def id_column() -> Column[int]:
    """The number of a row, by which others refer to it."""
    return Column("id", ID, primary_key=True)


def where(condition: str) -> dict[str, Any]:
    """An index over some rows only."""
    return {"sqlite_where": text(condition), "postgresql_where": text(condition)}


def refs(**targets: str) -> list[ForeignKeyConstraint]:
    """What columns of derived rows refer to, checked by SQLite alone.

    PostgreSQL asks for each reference of each row by a statement of its own, which costs more
    than all else of a new edge; the rows come from one writer, which has just read the ids.
    """
    return [
        ForeignKeyConstraint([name], [f"{target}.id"]).ddl_if(dialect="sqlite")
        for name, target in targets.items()
    ]


def ref(name: str, target: str, nullable: bool = False) -> Column[int]:
    """The number of a row of another table."""
    return Column(name, ID, ForeignKey(f"{target}.id"), nullable=nullable)
