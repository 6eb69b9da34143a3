"""Real places that Spark runs in, each started as a user starts it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.places.place import Place
from tests.support.compiled import compiled
from tests.support.jobs import Jobs

# Generous: one test may start several JVMs, on a busy machine.
TIMEOUT_SECONDS = 900
JAVA_JOB = Path(__file__).with_name("java") / "Summary.java"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("places"):
            item.add_marker(pytest.mark.timeout(TIMEOUT_SECONDS))


@pytest.fixture
def place(jobs: Jobs) -> Iterator[Place]:
    """A place of this test's own."""
    place = Place(jobs)
    yield place
    place.end()


@pytest.fixture(scope="module")
def module_place(module_jobs: Jobs) -> Iterator[Place]:
    """A place that the module's tests share."""
    place = Place(module_jobs)
    yield place
    place.end()


@pytest.fixture(scope="session")
def java_job(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The jar of a small Java job, compiled as its users would."""
    return compiled(JAVA_JOB, tmp_path_factory.mktemp("java-job"))
