"""The collector as an ASGI application."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from fastapi import FastAPI

from spark_lineage.collector import (
    alarms,
    ask_routes,
    guard,
    marquez_routes,
    operations,
    routes,
    work_routes,
)
from spark_lineage.collector.service import Collector
from spark_lineage.collector.store.engine import QUERY_SECONDS
from spark_lineage.errors import ConfigError
from spark_lineage.version import __version__


@dataclass(frozen=True)
class Settings:
    """How a collector serves.

    ``rate`` is the most requests a second of one client (0: any number);
    ``alarms`` are thresholds such as ``coverage<0.9``, told to ``webhook``.
    """

    rate: float = 0.0
    query_seconds: float = QUERY_SECONDS
    alarms: tuple[str, ...] = ()
    alarm_seconds: float = 60.0
    webhook: str | None = None
    anonymous: bool = True


def create(db_url: str, settings: Settings | None = None) -> FastAPI:
    """An application on a database, which is opened now and closed with the application.

    ``db_url`` is SQLAlchemy's URL or a path of an SQLite file; raises
    ``ConfigError`` or ``CollectorError`` where it cannot be opened.
    """
    settings = settings or Settings()
    rules = [alarms.rule(text) for text in settings.alarms]
    collector = Collector(db_url, settings.query_seconds)
    if not settings.anonymous and not collector.ask(guard.read):
        collector.close()
        raise ConfigError(
            "--host", "not loopback", "with a token (spark-lineage token create) or --open"
        )
    watch = alarms.Alarms(rules, lambda: collector.ask(operations.totals), settings.webhook)
    ended = threading.Event()

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        if rules:
            arguments = (ended, settings.alarm_seconds)
            threading.Thread(target=watch.watch, args=arguments, daemon=True).start()
        yield
        ended.set()
        collector.close()

    app = FastAPI(
        title="spark_lineage collector",
        version=__version__,
        description="Receives OpenLineage events, answers where columns come from.",
        lifespan=lifespan,
    )
    app.state.collector = collector
    app.state.alarms = watch
    app.state.counters = guard.Counters()
    for module in (routes, ask_routes, work_routes, marquez_routes):
        app.include_router(module.router)
    routes.add_errors(app)
    app.add_middleware(
        guard.Guard,
        tokens=lambda: collector.ask(guard.read),
        counters=app.state.counters,
        rate=settings.rate,
    )
    return app
