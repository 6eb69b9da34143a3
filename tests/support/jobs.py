"""Real jobs: a script run by spark-submit or by Python, and the events it left."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.validation import validate

PLUGIN = "io.sparklineage.LineagePlugin"


def spark_home() -> Path:
    """Where the installed Spark is, found without importing it."""
    found = importlib.util.find_spec("pyspark")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).parent


@dataclass
class Finished:
    """A job that has ended, or was killed after its time."""

    code: int
    stdout: str
    stderr: str
    events: list[dict[str, Any]]

    def of(self, event_type: str) -> list[dict[str, Any]]:
        """The events of this type, in order."""
        return [event for event in self.events if event["eventType"] == event_type]

    def writing(self, output: str) -> list[dict[str, Any]]:
        """The events with an output whose name ends so."""
        return [
            event
            for event in self.events
            if any(each["name"].endswith(output) for each in event.get("outputs", ()))
        ]


class Jobs:
    """Runs jobs in a folder of its own; events go to a file there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.events = folder / "events.jsonl"
        self.spool = folder / "spool"

    @staticmethod
    def tool(name: str) -> str:
        """The path of a program of the installed Spark."""
        return str(spark_home() / "bin" / name)

    def conf(self) -> dict[str, str]:
        """The settings that every job here has."""
        return {
            "spark.master": "local[1]",
            "spark.ui.enabled": "false",
            "spark.sql.shuffle.partitions": "1",
            "spark.sql.warehouse.dir": str(self.folder / "warehouse"),
            "spark.lineage.transport.type": "file",
            "spark.lineage.transport.path": str(self.events),
            "spark.lineage.spool.dir": str(self.spool),
            # Generous: the machine of the tests may be busy, and nothing here tests the limit.
            "spark.lineage.shutdown.timeout": "60s",
        }

    def environment(self, **more: str) -> dict[str, str]:
        """This process's environment, with the Python that runs the tests."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith("SPARK_LINEAGE_")}
        return {**kept, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1", **more}

    def script(self, code: str, name: str = "job.py") -> Path:
        """Write a script and give its path."""
        path = self.folder / name
        path.write_text(textwrap.dedent(code))
        return path

    def submit(
        self,
        script: Path,
        conf: dict[str, str | None] | None = None,
        environment: dict[str, str] | None = None,
        timeout: float = 150,
        plugin: bool = True,
        jars: Sequence[Path] = (),
    ) -> Finished:
        """Run a script through spark-submit; a setting of None is left out."""
        from spark_lineage.agent import jar

        settings: dict[str, str | None] = {**self.conf()}
        if plugin:
            settings["spark.plugins"] = PLUGIN
        settings.update(conf or {})
        command = [self.tool("spark-submit")]
        both = [*([jar.path()] if plugin else []), *jars]
        if both:
            command += ["--jars", ",".join(map(str, both))]
        for key, value in settings.items():
            if value is not None:
                command += ["--conf", f"{key}={value}"]
        return self._run([*command, str(script)], environment, timeout)

    def python(
        self, script: Path, environment: dict[str, str] | None = None, timeout: float = 150
    ) -> Finished:
        """Run a script with Python alone, as a notebook's kernel would."""
        return self._run([sys.executable, str(script)], environment, timeout)

    def _run(
        self, command: list[str], environment: dict[str, str] | None, timeout: float
    ) -> Finished:
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=self.environment(**(environment or {})),
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        return Finished(done.returncode, done.stdout, done.stderr, self.read())

    def read(self) -> list[dict[str, Any]]:
        """The events that are in the file by now, each of them valid."""
        if not self.events.exists():
            return []
        events = [json.loads(line) for line in self.events.read_text().splitlines()]
        for event in events:
            validate(event)
        return events
