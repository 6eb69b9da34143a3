"""The collector as an ASGI application."""

from __future__ import annotations

import logging
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from fastapi import FastAPI

from spark_lineage.collector import (
    alarms,
    ask_routes,
    guard,
    health,
    kafka,
    marquez_routes,
    parameters,
    quick,
    routes,
    schema_watch,
    webhook,
    work_routes,
)
from spark_lineage.collector.service import Collector
from spark_lineage.collector.store.engine import QUERY_SECONDS
from spark_lineage.errors import ConfigError, SparkLineageError
from spark_lineage.version import __version__

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Settings:
    """How a collector serves.

    ``rate`` is the most requests a second of one client (0: any number);
    ``alarms`` are thresholds such as ``coverage<0.9``, told to ``webhook``;
    ``kafka`` is a topic that events are read from, too; ``temp`` are regular
    expressions of the names of data sets that answers fold away.
    """

    rate: float = 0.0
    query_seconds: float = QUERY_SECONDS
    alarms: tuple[str, ...] = ()
    alarm_seconds: float = 60.0
    snapshot_seconds: float = 900.0
    webhook: str | None = None
    anonymous: bool = True
    kafka: kafka.Source | None = None
    temp: tuple[str, ...] = ()


def create(db_url: str, settings: Settings | None = None) -> FastAPI:
    """An application on a database, which is opened now and closed with the application.

    ``db_url`` is SQLAlchemy's URL or a path of an SQLite file; raises
    ``ConfigError`` or ``CollectorError`` where it cannot be opened.
    """
    settings = settings or Settings()
    rules = [alarms.rule(text) for text in settings.alarms]
    for text in settings.temp:
        parameters.pattern(text, "--temp")
    collector = Collector(db_url, settings.query_seconds)
    if not settings.anonymous and not collector.ask(guard.read):
        collector.close()
        raise ConfigError(
            "--host", "not loopback", "with a token (spark-lineage token create) or --open"
        )
    try:
        parts = _Parts(collector, settings, rules)
    except SparkLineageError:
        collector.close()
        raise

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        parts.start()
        yield
        parts.stop()
        collector.close()

    app = FastAPI(
        title="spark_lineage collector",
        version=__version__,
        description="Receives OpenLineage events, answers where columns come from.",
        lifespan=lifespan,
    )
    app.state.collector = collector
    app.state.parts = parts
    app.state.temp = parameters.pattern("|".join(f"(?:{one})" for one in settings.temp))
    app.state.counters = guard.Counters()
    for module in (routes, ask_routes, work_routes, marquez_routes):
        app.include_router(module.router)
    app.include_router(marquez_routes.beta)
    routes.add_errors(app)
    app.add_middleware(quick.Quick, collector=collector)
    app.add_middleware(
        guard.Guard,
        tokens=lambda: collector.ask(guard.read),
        counters=app.state.counters,
        rate=settings.rate,
    )
    return app


class _Parts:
    """What works beside the requests: alarms, snapshots, the webhook, Kafka."""

    def __init__(self, collector: Collector, settings: Settings, rules: list[alarms.Rule]) -> None:
        self._collector = collector
        self._settings = settings
        self._ended = threading.Event()
        self.totals = health.Totals(lambda: collector.ask(health.totals), settings.alarm_seconds)
        self.hook = webhook.Webhook(settings.webhook) if settings.webhook else None
        self.alarms = alarms.Alarms(rules, self.totals.read, self.hook)
        self.schemas: schema_watch.SchemaWatch | None = None
        if self.hook is not None:
            self.schemas = schema_watch.SchemaWatch(collector.database, self.hook.put)
            collector.on_new = self.schemas.note
        self.kafka: kafka.Intake | None = None
        if settings.kafka is not None:
            self.kafka = kafka.Intake(settings.kafka, collector.take_each)

    def start(self) -> None:
        """Start the threads that are needed."""
        if self._settings.alarms:
            self._thread(self.alarms.watch, self._ended, self._settings.alarm_seconds)
        self._thread(self._snapshots)
        for part in (self.hook, self.schemas, self.kafka):
            if part is not None:
                part.start()

    def stop(self) -> None:
        """Let them end; what is in hand is finished."""
        self._ended.set()
        for part in (self.kafka, self.schemas, self.hook):
            if part is not None:
                part.stop()

    def lines(self) -> list[str]:
        """Their counters as Prometheus reads them."""
        found: list[str] = []
        for part in (self.hook, self.kafka):
            found += part.lines() if part is not None else []
        return found

    def _snapshots(self) -> None:
        # Not at the start, which is to be quick; each of several collectors may try.
        while not self._ended.wait(self._settings.snapshot_seconds):
            try:
                self._collector.change(health.snapshot, self.totals.read())
            except Exception:
                logger.exception("the health of now could not be kept")

    @staticmethod
    def _thread(work: Callable[..., None], *arguments: object) -> None:
        threading.Thread(target=work, args=arguments, daemon=True).start()
