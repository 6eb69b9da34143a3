"""Hudi's own jar: what its commands write, and that its own work is no run and no data set."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.lakehouse.lake import HUDI, Ran, Steps, released, run, steps_of
from tests.support.jobs import Jobs
from tests.support.python import kept_of

CONF = {
    "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
    "spark.kryo.registrator": "org.apache.spark.HoodieSparkKryoRegistrar",
    "spark.sql.extensions": "org.apache.spark.sql.hudi.HoodieSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.hudi.catalog.HoodieCatalog",
}
STEPS = steps_of("hudi.json")
# The whole job runs in the first test; a busy machine takes its time.
pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def ran(module_jobs: Jobs) -> Ran:
    return run(module_jobs, released(HUDI), STEPS, CONF)


class TestHudi(Steps):
    pass


def test_what_hudi_does_for_itself_is_no_run_and_no_data_set(ran: Ran) -> None:
    for event in ran.finished.events:
        for dataset in [*event.get("inputs", ()), *event.get("outputs", ())]:
            assert ".hoodie" not in dataset["name"]
            told = {
                field["name"] for field in dataset["facets"].get("schema", {}).get("fields", ())
            }
            copies = ran.short(dataset) in ("default.copy", "default.hc")
            assert copies or not any(name.startswith("_hoodie") for name in told)
    assert ran.strangers(STEPS) == set()
    # Statistics of files are looked up while a query is planned, outside any action.
    assert ran.ends("planned only") == []


def test_each_run_ends_once(ran: Ran) -> None:
    last = [event["run"]["runId"] for event in ran.finished.events if _is_end(event)]
    assert len(last) == len(set(last))
    assert set(last) == {event["run"]["runId"] for event in ran.finished.events}


def _is_end(event: dict[str, Any]) -> bool:
    return event["eventType"] in ("COMPLETE", "FAIL", "ABORT")


def test_a_table_has_its_catalog_format_and_path(ran: Ran) -> None:
    for step in ("create", "first insert", "changed", "merged", "read by table"):
        (event,) = ran.ends(step)
        tables = [*event["outputs"], *event["inputs"]]
        table = next(each for each in tables if each["name"] == "default.h")
        facets = table["facets"]
        assert facets["catalog"]["framework"] == "hudi"
        assert facets["catalog"]["name"] == "spark_catalog"
        assert facets["storage"]["storageLayer"] == "hudi"
        assert facets["symlinks"]["identifiers"] == [
            {"namespace": "file", "name": f"{ran.folder}/warehouse/h", "type": "LOCATION"}
        ]


def test_a_partition_read_by_its_path_is_a_part_of_the_table(ran: Ran) -> None:
    (event,) = ran.ends("path of a partition")
    (table,) = event["inputs"]
    (part,) = table["inputFacets"]["subset"]["inputCondition"]["partitions"]
    assert part["identifier"] == "dt=x"


@pytest.mark.parametrize("way", ["named", "numbered"])
def test_of_a_calls_arguments_only_those_that_name_a_table_leave_the_driver(
    ran: Ran, way: str
) -> None:
    record = json.loads(ran.facts[way])
    assert "s3cret" not in record["strings"]
    assert "h" in record["strings"]


def test_a_renamed_table_tells_its_name_before(ran: Ran) -> None:
    (event,) = ran.ends("renamed")
    (table,) = event["outputs"]
    change = table["facets"]["lifecycleStateChange"]
    assert change["previousIdentifier"]["name"] == "default.h3"


@pytest.mark.parametrize(
    ("output", "source"),
    [("path:paths/st", "path:warehouse/h2"), ("path:paths/fb", "path:warehouse/sink")],
    ids=["sink", "foreachBatch"],
)
def test_a_stream_tells_its_ends(ran: Ran, output: str, source: str) -> None:
    (event,) = (event for event in ran.batches() if _shorts(ran, event["outputs"]) == {output})
    assert _shorts(ran, event["inputs"]) == {source}
    direct, indirect = ran.edges(event)
    assert direct == {f"id IDENTITY {source}.id", f"name IDENTITY {source}.name"}
    assert indirect == set()


def _shorts(ran: Ran, datasets: list[dict[str, Any]]) -> set[str]:
    return {ran.short(dataset) for dataset in datasets}


def test_the_collector_holds_one_node_for_each_data_set(ran: Ran, tmp_path: Path) -> None:
    # What was renamed is one, and a path is its table.
    assert sorted(
        ran.short(dataset) for dataset in kept_of(ran.folder / "events.jsonl", tmp_path)
    ) == [
        "default.c",
        "default.copy",
        "default.h",
        "default.h2",
        "default.h4",
        "default.hc",
        "default.hl",
        "default.hp",
        "default.m",
        "default.sink",
        "default.src",
        "path:paths/fb",
        "path:paths/q",
        "path:paths/st",
    ]
