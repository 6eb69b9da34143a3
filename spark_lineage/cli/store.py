"""What commands that open the collector's database themselves have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from spark_lineage.errors import CollectorError

if TYPE_CHECKING:
    from spark_lineage.collector.service import Collector

EXTRA = ("alembic", "fastapi", "psycopg", "pydantic", "sqlalchemy", "starlette", "uvicorn")

Db = Annotated[
    str | None,
    typer.Option(
        help="The database: a file, sqlite:///… or postgresql://…"
        "  [default: ~/.spark_lineage/collector.db]",
        show_default=False,
    ),
]


def missing(error: ImportError) -> CollectorError:
    """What to say where the extra ``collector`` is not installed; raises what is another fault."""
    if (error.name or "").partition(".")[0] in EXTRA:
        return CollectorError(
            f"the collector needs {error.name}: pip install 'spark-lineage[collector]'"
        )
    raise error


def opened(db: str | None) -> Collector:
    """The collector's store, without its service."""
    try:
        from spark_lineage.collector import server
        from spark_lineage.collector.service import Collector
    except ImportError as error:
        raise missing(error) from None
    return Collector(db or server.default_db())
