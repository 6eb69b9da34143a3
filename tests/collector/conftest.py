"""Collectors to ask: on a database in memory and on a real PostgreSQL, and as a service."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from spark_lineage.collector.server import running
from spark_lineage.collector.service import Collector
from tests.collector import build, postgres, summary


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[postgres.Postgres]:
    """A PostgreSQL for the whole run."""
    with postgres.server() as found:
        yield found


@pytest.fixture(scope="session")
def postgres_url(postgres_server: postgres.Postgres) -> str:
    """The URL of a database that has the collector's tables."""
    url = postgres_server.create()
    Collector(url).close()
    return url


@pytest.fixture(params=["sqlite", "postgresql"])
def db_url(request: pytest.FixtureRequest) -> Iterator[str]:
    """The URL of an empty database, of each kind."""
    if request.param == "sqlite":
        yield "sqlite://"
        return
    url: str = request.getfixturevalue("postgres_url")
    yield url
    postgres.empty(url)


@pytest.fixture
def collector(db_url: str) -> Iterator[Collector]:
    """An empty collector, on each kind of database."""
    found = Collector(db_url)
    yield found
    found.close()


@pytest.fixture
def summarised(collector: Collector) -> Collector:
    """A collector that has the events of the example."""
    build.take(collector, *summary.events())
    return collector


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a running, empty collector."""
    folder = tmp_path_factory.mktemp("collector")
    with running(f"sqlite:///{folder / 'collector.db'}") as address:
        yield address
