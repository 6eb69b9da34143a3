"""Collectors to ask: on a database in memory, and as a running service."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from spark_lineage.collector.server import running
from spark_lineage.collector.service import Collector
from tests.collector import build, summary


@pytest.fixture
def collector() -> Iterator[Collector]:
    """An empty collector in memory."""
    found = Collector("sqlite://")
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
