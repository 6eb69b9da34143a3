"""One place that Spark runs in, with lineage turned on as its users turn it on."""

from __future__ import annotations

import subprocess
import sys
from functools import lru_cache

from tests.places.running import Running
from tests.support.jobs import Jobs


@lru_cache
def turned_on() -> tuple[str, ...]:
    """The options that ``spark-lineage submit-args`` prints."""
    done = subprocess.run(
        [sys.executable, "-m", "spark_lineage.cli", "submit-args"],
        capture_output=True,
        text=True,
        check=True,
    )
    return tuple(done.stdout.split())


class Place:
    """Starts programs in the folder of its jobs; `end` ends all of them."""

    def __init__(self, jobs: Jobs) -> None:
        self.jobs = jobs
        self.folder = jobs.folder
        self._started: list[Running] = []

    def plain(self, **more: str | None) -> list[str]:
        """Options of the settings, without what turns lineage on.

        ``more`` has further settings, ``_`` for each dot; one of None is left out.
        """
        settings = {**self.jobs.conf(), **{k.replace("_", "."): v for k, v in more.items()}}
        return [f"--conf={key}={value}" for key, value in settings.items() if value is not None]

    def options(self, **more: str | None) -> list[str]:
        """The same, and what turns lineage on."""
        return [*turned_on(), *self.plain(**more)]

    def start(
        self,
        name: str,
        program: str,
        *arguments: str,
        terminal: bool = False,
        environment: dict[str, str] | None = None,
    ) -> Running:
        """Start a program of Spark's, which goes on running."""
        command = [self.jobs.tool(program), *arguments]
        return self.start_command(name, command, terminal, environment)

    def start_command(
        self,
        name: str,
        command: list[str],
        terminal: bool = False,
        environment: dict[str, str] | None = None,
    ) -> Running:
        """Start any program."""
        running = Running(
            command,
            self.folder / f"{name}.log",
            self.folder,
            environment or self.jobs.environment(),
            terminal,
        )
        self._started.append(running)
        return running

    def run(self, name: str, program: str, *arguments: str, **more: dict[str, str]) -> str:
        """Run a program of Spark's to its good end, and give what it printed."""
        running = self.start(name, program, *arguments, environment=more.get("environment"))
        code = running.wait()
        assert code == 0, running.text()[-6000:]
        return running.text()

    def end(self) -> None:
        """End what still runs, the last first."""
        for running in reversed(self._started):
            running.end(seconds=10)
