"""Which released jars run on which Spark, a job of steps, and what its events say of each."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.lakehouse import cases
from tests.support.compiled import compiled
from tests.support.jobs import PLUGIN, Finished, Jobs
from tests.support.maven import jars

HERE = Path(__file__).parent
SLOW_TASKS = HERE.parent / "support" / "SlowTasks.java"
_DELTA_41 = "4.3.0"
#: By Spark's version: the newest release of each that runs on it. Delta 4.3.0 and Iceberg 1.12.0
#: are of Spark 4.1; on 4.3 they end in NoSuchMethodError and IncompatibleClassChangeError.
DELTA = {
    "3.5": ("io.delta:delta-spark_2.12:3.3.2", "io.delta:delta-storage:3.3.2"),
    "4.1": (
        f"io.delta:delta-spark_2.13:{_DELTA_41}",
        f"io.delta:delta-storage:{_DELTA_41}",
        f"io.delta:delta-kernel-api:{_DELTA_41}",
        f"io.delta:delta-kernel-defaults:{_DELTA_41}",
        f"io.delta:delta-kernel-unitycatalog:{_DELTA_41}",
        "io.unitycatalog:unitycatalog-client:0.5.0",
        "io.unitycatalog:unitycatalog-hadoop:0.5.0",
    ),
}
_SQLITE = "org.xerial:sqlite-jdbc:3.46.1.3"
ICEBERG = {
    "3.5": ("org.apache.iceberg:iceberg-spark-runtime-3.5_2.12:1.12.0", _SQLITE),
    "4.1": ("org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0", _SQLITE),
}
#: Neither was run on Spark 4.
HUDI = {"3.5": ("org.apache.hudi:hudi-spark3.5-bundle_2.12:1.2.0",)}
PAIMON = {"3.5": ("org.apache.paimon:paimon-spark-3.5:0.9.0",)}


def spark_version() -> str:
    """The installed Spark's version, without its patch level."""
    pyspark = pytest.importorskip("pyspark")
    return ".".join(pyspark.__version__.split(".")[:2])


def released(coordinates: dict[str, tuple[str, ...]]) -> list[Path]:
    """The jars for the installed Spark; the test is skipped where there are none to test."""
    version = spark_version()
    if version not in coordinates:
        pytest.skip(f"tested on {sorted(coordinates)}: no release for Spark {version} is")
    return jars(*coordinates[version], alone=True)


def steps_of(name: str) -> list[dict[str, Any]]:
    """The steps of a file of this folder that run on the installed Spark."""
    found = json.loads((HERE / name).read_text(encoding="utf-8"))
    return [step for step in found if spark_version() not in step.get("not_on", ())]


def _call_site(event: dict[str, Any]) -> str | None:
    found: str | None = event["run"]["facets"]["sparkLineage_context"].get("callSite")
    return found


def _is_batch(event: dict[str, Any]) -> bool:
    """Whether a run is a stream's: Spark describes it by its number, if nobody has cleared that."""
    told = _call_site(event) or ""
    return "\nbatch = " in told or told.startswith("start at ")


@dataclass
class Ran:
    """A job that has run its steps."""

    folder: Path
    finished: Finished
    facts: dict[str, Any]
    failed: dict[str, str]
    homes: dict[str, str] = field(default_factory=dict)

    def ends(self, step: str) -> list[dict[str, Any]]:
        """The last events of a step's runs."""
        return [
            event
            for event in self.finished.events
            if event["eventType"] not in ("START", "RUNNING")
            and event["run"]["facets"]["sparkLineage_context"].get("callSite") == step
        ]

    def batches(self) -> list[dict[str, Any]]:
        """The last events of the batches of streams."""
        return [event for event in self.finished.of("COMPLETE") if _is_batch(event)]

    def strangers(self, steps: list[dict[str, Any]]) -> set[str | None]:
        """Of runs, those that are of no step, no stream and not the application."""
        told = {
            _call_site(event)
            for event in self.finished.events
            if event["job"]["facets"]["jobType"]["jobType"] != "APPLICATION"
            and not _is_batch(event)
        }
        return told - {step["name"] for step in steps}

    def short(self, dataset: dict[str, Any]) -> str:
        """``db.table`` (``ice:db.table`` of a catalog that has a home), ``path:folder/name``."""
        namespace, name = dataset["namespace"], dataset["name"]
        if namespace == "file":
            assert name.startswith(f"{self.folder}/"), name
            return "path:" + name.removeprefix(f"{self.folder}/")
        prefix = self.homes[namespace]
        return f"{prefix}{name}"

    def edges(self, event: dict[str, Any]) -> tuple[set[str], set[str]]:
        """The direct and the indirect edges, each ``column KIND data set.field``."""
        direct: set[str] = set()
        indirect: set[str] = set()
        for output in event.get("outputs", ()):
            facet = output.get("facets", {}).get("columnLineage", {})
            entries = [
                (name, told["inputFields"]) for name, told in facet.get("fields", {}).items()
            ]
            entries.append(("*", facet.get("dataset", [])))
            for column, fields in entries:
                for source in fields:
                    for way in source["transformations"]:
                        edge = f"{column} {way['subtype']} {self.short(source)}.{source['field']}"
                        (direct if way["type"] == "DIRECT" else indirect).add(edge)
        return direct, indirect


def run(
    jobs: Jobs,
    found: list[Path],
    steps: list[dict[str, Any]],
    conf: dict[str, str],
    environment: dict[str, str] | None = None,
    slow: bool = False,
) -> Ran:
    """Run a job with these steps and jars; ``slow``: its tasks are (see ``SlowTasks.java``)."""
    (jobs.folder / "steps.json").write_text(json.dumps(steps))
    script = shutil.copy(HERE / "job.py", jobs.folder / "job.py")
    settings: dict[str, str | None] = {
        "spark.driver.memory": "1g",
        "spark.sql.session.timeZone": "UTC",
        # Else what lists files of a whole table does so in 10,000 tasks.
        "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",
        **conf,
    }
    if slow:
        settings["spark.plugins"] = f"{PLUGIN},SlowTasks"
        found = [*found, compiled(SLOW_TASKS, jobs.folder)]
    finished = jobs.submit(Path(script), settings, environment, timeout=840, jars=found)
    assert finished.code == 0, finished.stderr[-3000:]
    told = json.loads((jobs.folder / "facts.json").read_text())
    homes = {f"file:{jobs.folder}/warehouse": ""}
    return Ran(jobs.folder, finished, told["facts"], told["failed"], homes)


def check(ran: Ran, step: dict[str, Any]) -> None:
    """What a step's one run must say."""
    assert step["name"] not in ran.failed, ran.failed[step["name"]]
    ends = ran.ends(step["name"])
    assert len(ends) == step.get("runs", 1), [e["job"]["name"] for e in ends]
    if not ends:
        return
    (event,) = ends
    assert event["eventType"] == "COMPLETE"
    quality = event["run"]["facets"]["sparkLineage_quality"]
    assert quality.get("unknownNodes", {}) == {}
    assert quality.get("unexplained", []) == []
    inputs = {ran.short(dataset): dataset for dataset in event.get("inputs", ())}
    outputs = {ran.short(dataset): dataset for dataset in event.get("outputs", ())}
    assert set(inputs) == set(step.get("inputs", ()))
    assert set(outputs) == set(step.get("outputs", ()))
    direct, indirect = ran.edges(event)
    if "direct" in step:
        assert direct == set(step["direct"])
        assert indirect == set(step.get("indirect", ()))
    for output in outputs.values():
        change = output["facets"].get("lifecycleStateChange", {}).get("lifecycleStateChange")
        assert change == step.get("lifecycle")
    for kind, datasets in (("versions", inputs), ("written", outputs)):
        for name, version in step.get(kind, {}).items():
            version_told = datasets[name]["facets"].get("version", {}).get("datasetVersion")
            assert version_told == _filled(version, ran.facts)
    for name, part in step.get("subset", {}).items():
        facet = outputs[name].get("outputFacets", {}).get("subset", {})
        assert said(facet.get("outputCondition")) == part
    for name, fields in step.get("schemas", {}).items():
        told = {**inputs, **outputs}[name]["facets"].get("schema", {}).get("fields", [])
        assert [each["name"] for each in told] == fields


def _filled(text: str | None, facts: dict[str, Any]) -> str | None:
    for key, value in facts.items():
        text = text and text.replace("{" + key + "}", str(value))
    return text


_WORDS = {
    "EQUAL": "=",
    "GREATER_THAN": ">",
    "GREATER_EQUAL_THAN": ">=",
    "LESS_THAN": "<",
    "LESS_EQUAL_THAN": "<=",
}


def said(condition: dict[str, Any] | None) -> list[str] | str | None:
    """A condition of a ``subset`` facet: partitions as a list, comparisons as a text."""
    if condition is None:
        return None
    if condition["type"] == "partition":
        return [part["identifier"] for part in condition["partitions"]]
    if condition["type"] == "compare":
        word = _WORDS[condition["comparison"]]
        return f"{condition['left']['field']} {word} {condition['right']['value']}"
    own = condition["operator"]
    sides = [
        f"({said(side)})" if side.get("operator", own) != own else str(said(side))
        for side in (condition["left"], condition["right"])
    ]
    return f"{sides[0]} {own} {sides[1]}"


def check_case(ran: Ran, case: dict[str, Any]) -> None:
    """What another tool's case says of its one statement."""
    name = f"case {case['id']}"
    assert name not in ran.failed, ran.failed[name]
    (event,) = ran.ends(name)
    direct, indirect = ran.edges(event)
    assert cases.shortened(direct) == cases.expected(case["direct"])
    assert cases.shortened(indirect) == cases.expected(case["indirect"])
    if case["target"]:
        outputs = {cases.last(ran.short(dataset)) for dataset in event["outputs"]}
        assert outputs == {cases.last(case["target"])}
    if case["inputs"] is not None:
        inputs = {cases.last(ran.short(dataset)) for dataset in event.get("inputs", ())}
        assert inputs == {cases.last(each) for each in case["inputs"]}


class Steps:
    """What holds of each format: a module's ``STEPS`` are its parameters."""

    def test_step(self, ran: Ran, step: dict[str, Any]) -> None:
        check(ran, step)

    def test_steps_that_prepare_have_worked(self, ran: Ran) -> None:
        assert ran.failed == {}


class Told(Steps):
    """The same for a format of which others have cases: those are the module's ``CASES``."""

    def test_case_of_others(self, ran: Ran, case: dict[str, Any]) -> None:
        check_case(ran, case)
