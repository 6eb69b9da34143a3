"""Facets of what people declare in settings, and of a job's version."""

from __future__ import annotations

import pytest

from spark_lineage import config
from spark_lineage.agent.application import application_of
from spark_lineage.openlineage.events import EventBuilder
from spark_lineage.openlineage.run import Declared, SourceLocation
from tests.openlineage.samples import FAILURE, SUMMARY_LINEAGE, run
from tests.support.validation import validate

COMMIT = "8f02abfb7a252783b95df79f443edb13959bf52c"
DECLARED = Declared(
    job_tags=(("team", "data", None), ("daily", "true", "SCHEDULER")),
    run_tags=(("backfill", "true", None),),
    owners=(("team", "data"), ("person", "ann")),
    nominal_start="2026-01-01T00:00:00+00:00",
    nominal_end="2026-01-02T00:00:00+00:00",
    source=SourceLocation(
        f"https://example.com/o/r/blob/{COMMIT}/jobs/a.py", "https://example.com/o/r",
        "jobs/a.py", COMMIT, "main", "v1",
    ),
)  # fmt: skip
HASH = "0" * 64


def _event(builder: EventBuilder, **more: object) -> dict:
    told = run(declared=DECLARED, plan_hash=HASH, sql_hash=HASH, error=FAILURE, **more)
    event = builder.end(told, SUMMARY_LINEAGE, "COMPLETE")
    validate(event)
    return event


def _plain(facet: dict) -> dict:
    return {key: value for key, value in facet.items() if not key.startswith("_")}


def test_what_is_declared_becomes_facets():
    event = _event(EventBuilder())
    job, run_facets = event["job"]["facets"], event["run"]["facets"]
    assert _plain(job["tags"])["tags"] == [
        {"key": "team", "value": "data", "source": "CONFIG"},
        {"key": "daily", "value": "true", "source": "SCHEDULER"},
    ]
    assert _plain(run_facets["tags"])["tags"] == [
        {"key": "backfill", "value": "true", "source": "CONFIG"}
    ]
    assert _plain(job["ownership"])["owners"] == [
        {"name": "data", "type": "team"},
        {"name": "ann", "type": "person"},
    ]
    assert _plain(run_facets["nominalTime"]) == {
        "nominalStartTime": "2026-01-01T00:00:00+00:00",
        "nominalEndTime": "2026-01-02T00:00:00+00:00",
    }
    assert _plain(job["sourceCodeLocation"]) == {
        "type": "git",
        "url": f"https://example.com/o/r/blob/{COMMIT}/jobs/a.py",
        "repoUrl": "https://example.com/o/r",
        "path": "jobs/a.py",
        "version": COMMIT,
        "branch": "main",
        "tag": "v1",
    }
    assert _plain(job["sparkLineage_version"]) == {"planHash": HASH, "sqlHash": HASH}


def _keys(event: dict) -> set[str]:
    owners = [event["run"], event["job"], *event["inputs"], *event["outputs"]]
    kinds = ("facets", "inputFacets", "outputFacets")
    return {key for owner in owners for kind in kinds for key in owner.get(kind, {})}


ALL = sorted(_keys(_event(EventBuilder(lineage_facet=True))))


def test_every_facet_of_the_package_is_there():
    assert {
        "sql", "jobType", "processing_engine", "parent", "errorMessage", "sourceCodeLocation",
        "tags", "ownership", "nominalTime", "schema", "symlinks", "columnLineage", "lineage",
        "lifecycleStateChange", "inputStatistics", "outputStatistics", "sparkLineage_columns",
        "sparkLineage_quality", "sparkLineage_context", "sparkLineage_version",
    } == set(ALL)  # fmt: skip


@pytest.mark.parametrize("key", ALL)
def test_each_facet_can_be_switched_off(key: str):
    disabled = config.load({"spark.lineage.facets.disabled": key}, {}).facets_disabled
    assert _keys(_event(EventBuilder(disabled, lineage_facet=True))) == set(ALL) - {key}


@pytest.mark.parametrize("prefix", ["spark.lineage.", "spark.openlineage."])
def test_settings_and_those_of_openlineage_say_the_same(prefix: str):
    conf = {
        prefix + "job.tags": "spark;key:value",
        prefix + "run.tags": "run;set:up:SERVICE",
    }
    if prefix == "spark.lineage.":
        conf[prefix + "job.owners"] = "person:John Smith;team:MyTeam"
        conf[prefix + "nominalStartTime"] = "2026-01-01T00:00:00Z"
    else:
        conf[prefix + "job.owners.team"] = "MyTeam"
        conf[prefix + "job.owners.person"] = "John Smith"
    app = {"id": "app-1", "name": "a", "startTime": 1}
    declared = application_of(app, config.load(conf, {}), None, True).run.declared
    assert declared.job_tags == (("spark", "true", None), ("key", "value", None))
    assert declared.run_tags == (("run", "true", None), ("set", "up", "SERVICE"))
    assert declared.owners == (("person", "John Smith"), ("team", "MyTeam"))
    if prefix == "spark.lineage.":
        assert declared.nominal_start == "2026-01-01T00:00:00+00:00"
