"""The collector as an ASGI application."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI

from spark_lineage.collector.routes import add_errors, router
from spark_lineage.collector.service import Collector
from spark_lineage.version import __version__


def create(db_url: str) -> FastAPI:
    """An application on a database, which is opened now and closed with the application.

    ``db_url`` is SQLAlchemy's URL or a path of an SQLite file; raises
    ``ConfigError`` or ``CollectorError`` where it cannot be opened.
    """
    collector = Collector(db_url)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        yield
        collector.close()

    app = FastAPI(
        title="spark_lineage collector",
        version=__version__,
        description="Receives OpenLineage events, answers where columns come from.",
        lifespan=lifespan,
    )
    app.state.collector = collector
    app.include_router(router)
    add_errors(app)
    return app
