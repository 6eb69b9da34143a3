"""Statements run on a real Spark with the bridge on its bus, and the runs that the agent tells."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spark_lineage.agent.guard import Failures
from spark_lineage.agent.runs import Runs
from spark_lineage.config import load
from tests.lineage.bench import dataset_name
from tests.support.validation import validate


@dataclass(frozen=True)
class Output:
    """One output of a run by its short name, and what became of it."""

    name: str
    lifecycle: str | None
    previous: str | None
    partitions: tuple[dict[str, str], ...]
    location: str | None
    kind: str | None


@dataclass(frozen=True)
class Told:
    """The end of one run as its event tells it, in the short names of the cases."""

    state: str
    job: str
    inputs: tuple[str, ...]
    outputs: tuple[Output, ...]
    event: dict[str, Any]


class Stage:
    """A session, and a database of its own for each case."""

    def __init__(self, spark: Any) -> None:
        self.spark = spark
        self.context = spark.sparkContext._jsc.sc()
        self.bridge = spark._jvm.io.sparklineage.Bridge()
        assert self.bridge.install(self.context)
        self.database = "default"

    def enter(self, name: str) -> None:
        """Make a database for one case and use it; nothing of it is told."""
        self.database = name
        self.spark.sql(f"CREATE DATABASE {self.database}")
        self.spark.sql(f"USE {self.database}")

    def leave(self) -> None:
        self.spark.catalog.clearCache()
        self.spark.sql("USE spark_catalog.default")
        self.records()

    def close(self) -> None:
        self.bridge.release()
        self.bridge.uninstall()

    def execute(self, statement: str, folder: Path) -> None:
        """Run a statement of SQL, or of Python after ``py:``; ``{tmp}`` is the folder."""
        text = statement.replace("{tmp}", str(folder))
        if text.startswith("py:"):
            exec(compile(text[3:].strip(), "case", "exec"), {"spark": self.spark})
        else:
            self.spark.sql(text)

    def records(self) -> list[dict[str, Any]]:
        self.context.listenerBus().waitUntilEmpty(60_000)
        # Each time: a lease lapses after half a minute, which a slow machine may take.
        assert self.bridge.claim("driver:commands")
        records: list[dict[str, Any]] = json.loads(self.bridge.lease(1_000_000, 1 << 30, 0))
        if records:
            self.bridge.ack(records[-1]["sequence"])
        return records

    def told(self) -> list[Told]:
        """The runs that ended since the last call, in the order of their ends."""
        return told(self.records(), self.spark.sparkContext.appName, self.database)


def told(records: list[dict[str, Any]], application: str, database: str) -> list[Told]:
    """The runs that end in these records; names are short for those of this database."""
    failures = Failures()
    runs = Runs(load({}, {}), failures)
    ended = []
    for record in records:
        for event in runs.take(record):
            validate(event)
            if event["job"]["facets"]["jobType"]["jobType"] == "APPLICATION":
                continue
            if event["eventType"] == "START":
                assert not any("lifecycleStateChange" in o["facets"] for o in event["outputs"])
            else:
                ended.append(_told(event, application, database))
    assert failures.counts() == {}
    return ended


def _told(event: dict[str, Any], application: str, database: str) -> Told:
    job = event["job"]["name"].removeprefix(f"{application}.")
    return Told(
        event["eventType"],
        re.sub(r"\.[0-9a-f]{12}$", ".*", job.replace(f"{database}.", "")),
        tuple(sorted(_short(each, database) for each in event["inputs"])),
        tuple(_output(each, database) for each in event["outputs"]),
        event,
    )


def _short(dataset: dict[str, Any], database: str) -> str:
    name = dataset_name(dataset["namespace"], dataset["name"])
    return name.removeprefix(f"{database}.")


def _output(dataset: dict[str, Any], database: str) -> Output:
    change = dataset["facets"].get("lifecycleStateChange") or {}
    subset = (dataset["outputFacets"].get("subset") or {}).get("outputCondition") or {}
    places = [
        each["name"].rsplit("/", 1)[-1]
        for each in (dataset["facets"].get("symlinks") or {}).get("identifiers", ())
        if each["type"] == "LOCATION"
    ]
    previous = change.get("previousIdentifier")
    return Output(
        _short(dataset, database),
        change.get("lifecycleStateChange"),
        _short(previous, database) if previous else None,
        tuple(each["dimensions"] for each in subset.get("partitions", ())),
        places[0] if places else None,
        dataset["facets"].get("datasetType", {}).get("datasetType"),
    )
