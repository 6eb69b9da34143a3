"""Paimon's own jar: a catalog in a file system, paths, branches, system tables, procedures."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lakehouse.lake import PAIMON, Ran, Steps, released, run, steps_of
from tests.support.jobs import Jobs
from tests.support.python import kept_of

STEPS = steps_of("paimon.json")
# The whole job runs in the first test; a busy machine takes its time.
pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def ran(module_jobs: Jobs) -> Ran:
    conf = {
        "spark.sql.extensions": "org.apache.paimon.spark.extensions.PaimonSparkSessionExtensions",
        "spark.sql.catalog.paimon": "org.apache.paimon.spark.SparkCatalog",
        "spark.sql.catalog.paimon.warehouse": f"{module_jobs.folder}/pm",
    }
    found = run(module_jobs, released(PAIMON), STEPS, conf)
    found.homes[f"file:{module_jobs.folder}/pm"] = "paimon:"
    return found


class TestPaimon(Steps):
    pass


def test_what_paimon_runs_inside_is_no_run(ran: Ran) -> None:
    assert ran.strangers(STEPS) == set()
    ends = ("COMPLETE", "FAIL", "ABORT")
    last = [event["run"]["runId"] for event in ran.finished.events if event["eventType"] in ends]
    assert len(last) == len(set(last))


@pytest.mark.parametrize("name", ["create", "inserted", "changed", "taken away", "call tag"])
def test_a_table_has_its_catalog_format_and_path(ran: Ran, name: str) -> None:
    (event,) = ran.ends(name)
    (output,) = event["outputs"]
    facet = output["facets"]["catalog"]
    assert {k: v for k, v in facet.items() if not k.startswith("_") and v} == {
        "framework": "paimon",
        "type": "filesystem",
        "name": "paimon",
        "warehouseUri": f"file:{ran.folder}/pm",
        "source": "spark",
    }
    assert output["facets"]["storage"]["storageLayer"] == "paimon"
    assert output["facets"]["symlinks"]["identifiers"] == [
        {"namespace": "file", "name": f"{ran.folder}/pm/default.db/t", "type": "LOCATION"}
    ]


def test_a_renamed_table_tells_its_name_before(ran: Ran) -> None:
    (event,) = ran.ends("renamed")
    (table,) = event["outputs"]
    assert table["facets"]["lifecycleStateChange"]["previousIdentifier"]["name"] == "db.s"


def test_rows_that_are_changed_are_read_whole_and_explained(ran: Ran) -> None:
    (event,) = ran.ends("merged to take away")
    quality = event["run"]["facets"]["sparkLineage_quality"]
    assert quality["explained"]["CARRIED_OVER"] > 0


@pytest.mark.parametrize(
    ("output", "source"),
    [("path:pm/db.db/a", "path:pm/db.db/t2"), ("path:out", "paimon:db.t2")],
    ids=["path", "table"],
)
def test_a_stream_tells_its_ends(ran: Ran, output: str, source: str) -> None:
    (event,) = (e for e in ran.batches() if [ran.short(o) for o in e["outputs"]] == [output])
    assert [ran.short(each) for each in event["inputs"]] == [source]
    direct, indirect = ran.edges(event)
    assert direct == {f"id IDENTITY {source}.id", f"name IDENTITY {source}.name"}
    assert indirect == set()


def test_a_table_of_the_sessions_catalog_keeps_its_name(ran: Ran) -> None:
    made, inserted = ran.ends("in the session's catalog")
    place = f"{ran.folder}/warehouse/default.db/g"
    for event in (made, inserted):
        (table,) = event["outputs"]
        assert ran.short(table) == "default.g"
        assert table["facets"]["catalog"]["framework"] == "paimon"
        assert table["facets"]["catalog"]["name"] == "spark_catalog"
        assert table["facets"]["symlinks"]["identifiers"] == [
            {"namespace": "file", "name": place, "type": "LOCATION"}
        ]
    assert [ran.short(each) for each in inserted["inputs"]] == ["default.g"]
    assert ran.edges(inserted)[0] == {"id TRANSFORMATION default.g.id"}


def test_the_collector_holds_one_node_for_each_data_set(ran: Ran, tmp_path: Path) -> None:
    # What was renamed is one, and a path is its table.
    assert sorted(
        ran.short(dataset) for dataset in kept_of(ran.folder / "events.jsonl", tmp_path)
    ) == [
        "default.g",
        "default.sink",
        "default.src",
        "paimon:db.a",
        "paimon:db.r",
        "paimon:db.s2",
        "paimon:db.t2",
        "paimon:default.t",
        "path:out",
    ]
