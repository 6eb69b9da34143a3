"""The version that is told of a write is the one that its own commit has made, else none.

Delta and Iceberg keep in their own files who made a version: what each write is told to have made
is looked up there, after the job has ended.
"""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.lakehouse import test_delta, test_iceberg
from tests.lakehouse.lake import DELTA, HERE, ICEBERG, Ran, released, run, steps_of
from tests.support.jobs import Jobs

FORMATS = ("delta", "iceberg")
WRITES = {
    form: [step for step in steps_of(f"versions_{form}.json") if not step.get("setup")]
    for form in FORMATS
}
_BATCH = re.compile(r"id = (\S+)\nrunId = \S+\nbatch = (\d+)")
# The whole job runs in the first test; a busy machine takes its time.
pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]


@dataclass(frozen=True)
class Commit:
    """Who made a version: a step or a writer by its name, or a stream's batch."""

    name: str | None
    query: str | None = None
    batch: str | None = None

    def is_of(self, call_site: str) -> bool:
        of_stream = _BATCH.search(call_site)
        if of_stream is None:
            return self.name == call_site
        query, batch = of_stream.groups()
        # One of foreachBatch has a name only.
        return (self.query, self.batch) == (query, batch) or self.name == f"batch {batch}"


def _run(jobs: Jobs, form: str) -> Ran:
    for name in ("writing.py", f"writing_{form}.py"):
        shutil.copy(HERE / name, jobs.folder / name)
    steps = []
    for step in steps_of(f"versions_{form}.json"):
        if "sql" in step and step.get("setup"):
            steps.append(step)
            continue
        lines = [
            f"from writing_{form} import *",
            f"begin({step['name']!r}, facts)",
            *[f"spark.sql({text!r}.format(folder=folder))" for text in step.get("sql", ())],
            *([step["py"]] if "py" in step else []),
        ]
        steps.append({"name": step["name"], "py": "\n".join(lines), "written": {}})
    last = f"from writing_{form} import *\nbegin('end', facts)"
    steps.append({"name": "end", "py": last, "setup": True})
    if form == "delta":
        found = released(DELTA)
        # The package of Python classes is in the jar itself.
        conf = {**test_delta.CONF, "spark.submit.pyFiles": str(found[0])}
        return run(jobs, found, steps, conf, slow=True)
    conf = test_iceberg.conf(jobs)
    shared = {
        key.replace(".ice", ".beside"): value
        for key, value in conf.items()
        if key.startswith("spark.sql.catalog.ice")
    }
    ran = run(jobs, released(ICEBERG), steps, {**conf, **shared})
    ran.homes[f"file:{jobs.folder}/ice"] = "ice:"
    return ran


@pytest.fixture(params=FORMATS, scope="module")
def ran(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    form = str(request.param)
    return _run(Jobs(tmp_path_factory.mktemp(f"versions_{form}")), form)


def _commits(ran: Ran, place: Path) -> dict[str, Commit]:
    """Of a table's folder: its versions, and who made them."""
    found: dict[str, Commit] = {}
    for file in (place / "_delta_log").glob("*.json"):
        for line in file.read_text(encoding="utf-8").splitlines():
            told = json.loads(line).get("commitInfo")
            if told:
                how = told["operationParameters"]
                found[str(int(file.stem))] = Commit(
                    told.get("userMetadata"), how.get("queryId"), how.get("epochId")
                )
    for file in (place / "metadata").glob("*.metadata.json"):
        for snapshot in json.loads(file.read_text(encoding="utf-8")).get("snapshots", ()):
            told, number = snapshot["summary"], str(snapshot["snapshot-id"])
            query = told.get("spark.sql.streaming.queryId")
            batch = told.get("spark.sql.streaming.epochId")
            name = told.get("step") or ran.facts["made"].get(number)
            found[number] = Commit(name, query, batch)
    return found


def _place(ran: Ran, dataset: dict[str, Any]) -> Path:
    name = dataset["name"]
    if name.startswith("/"):
        return Path(name)
    home = "ice/db" if "ice:" in ran.homes.values() and name.startswith("db.") else "warehouse"
    return ran.folder / home / name.rpartition(".")[2]


def _told(event: dict[str, Any]) -> list[str | None]:
    return [
        output["facets"].get("version", {}).get("datasetVersion")
        for output in event.get("outputs", ())
    ]


def _of(ran: Ran) -> str:
    return "iceberg" if "ice:" in ran.homes.values() else "delta"


def test_all_steps_have_worked(ran: Ran) -> None:
    assert ran.failed == {}


def test_a_version_that_is_told_is_the_runs_own(ran: Ran) -> None:
    count = 0
    for event in ran.finished.events:
        for output, version in zip(event.get("outputs", ()), _told(event), strict=True):
            site = event["run"]["facets"]["sparkLineage_context"].get("callSite") or ""
            if version is None or site in ("source", "to be wiped"):
                continue
            commit = _commits(ran, _place(ran, output))[version]
            assert commit.is_of(site), (site, output["name"], version, commit)
            assert event["eventType"] != "FAIL"
            count += 1
    # The threads' four, those at once and the streams' are among them where they are told.
    assert count >= sum(1 for step in WRITES[_of(ran)] if step.get("told"))


def test_what_is_proved_is_told_and_what_is_not_is_not(ran: Ran) -> None:
    wrong = {}
    for step in WRITES[_of(ran)]:
        ends = ran.ends(step["name"])
        if len(ends) != step.get("runs", 1):
            wrong[step["name"]] = f"{len(ends)} runs"
        elif "told" in step:
            (event,) = ends
            versions = _told(event)
            assert event["eventType"] == step.get("outcome", "COMPLETE")
            if any((version is not None) != step["told"] for version in versions or [None]):
                wrong[step["name"]] = str(versions)
    assert wrong == {}


def test_each_batch_of_a_stream_has_its_version_once(ran: Ran) -> None:
    found: dict[str, list[str | None]] = {}
    for event in ran.batches():
        for output, version in zip(event.get("outputs", ()), _told(event), strict=True):
            found.setdefault(ran.short(output), []).append(version)
    if _of(ran) == "delta":
        # What comes a second time is written by no commit.
        assert found == {
            "path:p/s": ["0", "1", "2", None],
            "default.st": ["1", "2", "3"],
            "path:p/fb": ["0", "1", "2"],
        }
        return
    stream, batches = found["ice:db.st"], found["ice:db.fb"]
    assert (len(stream), len(batches)) == (4, 3)
    assert stream[3] is None
    assert None not in stream[:3] + batches
    assert len(set(stream[:3] + batches)) == 6
