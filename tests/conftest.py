"""What all tests share: missing parts, swallowed exceptions, markers."""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from spark_lineage.agent import guard
from tests.support import jvm
from tests.support.jobs import Jobs
from tests.support.metastore import running_metastore
from tests.support.parts import missing

SPARK_FIXTURES = {"spark", "spark_session", "jobs", "module_jobs"}


# Packages whose tests share one session, which must not start in two processes at once.
TOGETHER = ("bridge", "lineage")
# Packages and modules in which each parameter is a job of its own, that any process may run.
_VERSIONS = "lakehouse/test_versions.py"
APART = ("faults", "scenarios", _VERSIONS)
LONGEST = ("lineage/test_cases.py", "lineage", f"{_VERSIONS}[delta]", f"{_VERSIONS}[iceberg]")


def pytest_configure(config: pytest.Config) -> None:
    # A process of pytest-xdist has the width of its master's terminal in its environment.
    if hasattr(config, "workerinput"):
        os.environ.pop("COLUMNS", None)
    jvm.use()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if SPARK_FIXTURES & set(getattr(item, "fixturenames", ())):
            item.add_marker("spark")
        item.add_marker(pytest.mark.xdist_group(_group(item)))
    # What takes longest begins first, so that no process ends long after the other.
    # What shares a job stands together, or the job would run once for each test.
    items.sort(key=lambda item: ((*LONGEST, _group(item)).index(_group(item)), _apart(item)))


def _apart(item: pytest.Item) -> str:
    path = item.path.relative_to(Path(__file__).parent)
    return _group(item) if _is_apart(path) else ""


def _is_apart(path: Path) -> bool:
    return path.parts[0] in APART or str(path) in APART


def _group(item: pytest.Item) -> str:
    path = item.path.relative_to(Path(__file__).parent)
    if str(path) != LONGEST[0] and path.parts[0] in TOGETHER:
        return path.parts[0]
    if _is_apart(path):
        return f"{path}[{item.callspec.id}]" if hasattr(item, "callspec") else str(path)
    return str(path)


@pytest.fixture(autouse=True)
def internal_exceptions(request: pytest.FixtureRequest) -> Iterator[list[tuple[str, object]]]:
    """Raise what the agent swallows, unless the test says ``swallows``."""
    seen: list[tuple[str, object]] = []
    guard.on_failure = lambda what, error: seen.append((what, error))
    yield seen
    guard.on_failure = None
    if seen and not request.node.get_closest_marker("swallows"):
        what, error = seen[0]
        raise AssertionError(f"swallowed while {what}: {error!r}") from (
            error if isinstance(error, BaseException) else None
        )


def _jobs(folder: Path) -> Jobs:
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        missing("Java")
    if importlib.util.find_spec("pyspark") is None:
        missing("pyspark")
    return Jobs(folder)


@pytest.fixture
def jobs(tmp_path: Path) -> Jobs:
    """Runs scripts through a real spark-submit or Python, and reads their events."""
    return _jobs(tmp_path)


@pytest.fixture(scope="module")
def module_jobs(tmp_path_factory: pytest.TempPathFactory) -> Jobs:
    """The same, for several tests of one job."""
    return _jobs(tmp_path_factory.mktemp("jobs"))


@pytest.fixture(scope="module")
def metastore(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """A Hive metastore's address, and the location of its default database."""
    with running_metastore(tmp_path_factory.mktemp("metastore")) as found:
        yield found
