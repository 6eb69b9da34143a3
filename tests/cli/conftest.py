"""A running collector that has the events of the example, and the command line to ask it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import NamedTuple

import httpx
import pytest

from spark_lineage.cli import main
from spark_lineage.collector.server import running
from tests.collector import summary


class Done(NamedTuple):
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str


Run = Callable[..., Done]


@pytest.fixture(scope="session")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    path = tmp_path_factory.mktemp("asked") / "c.db"
    with running(str(path)) as url:
        for content in summary.events():
            answer = httpx.post(f"{url}/api/v1/lineage", json=content, trust_env=False)
            assert answer.status_code == 201
        yield url


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs the command line in this process."""

    def command(*arguments: str) -> Done:
        capsys.readouterr()
        code = 0
        with contextlib.suppress(SystemExit):
            try:
                main(list(arguments))
            except SystemExit as end:
                code = int(end.code or 0)
                raise
        printed = capsys.readouterr()
        return Done(code, printed.out, printed.err)

    return command
