"""Iceberg's own jar: Hadoop and JDBC catalogs, paths, time travel, branches, row-level commands."""

from __future__ import annotations

from typing import Any

import pytest

from tests.lakehouse import cases
from tests.lakehouse.lake import (
    ICEBERG,
    Ran,
    Told,
    released,
    run,
    spark_version,
    steps_of,
)
from tests.support.jobs import Jobs

STEPS = steps_of("iceberg.json")
CASES = cases.load("iceberg", spark_version())
# The whole job runs in the first test; a busy machine takes its time.
pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]


def conf(jobs: Jobs) -> dict[str, str]:
    catalog, home = "org.apache.iceberg.spark.SparkCatalog", jobs.folder
    return {
        "spark.sql.extensions": (
            "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
        ),
        "spark.sql.catalog.ice": catalog,
        "spark.sql.catalog.ice.type": "hadoop",
        "spark.sql.catalog.ice.warehouse": f"{home}/ice",
        "spark.sql.catalog.dv2": catalog,
        "spark.sql.catalog.dv2.type": "hadoop",
        "spark.sql.catalog.dv2.warehouse": f"{home}/dv2",
        "spark.sql.catalog.jc": catalog,
        "spark.sql.catalog.jc.type": "jdbc",
        "spark.sql.catalog.jc.uri": f"jdbc:sqlite:{home}/catalog.db",
        "spark.sql.catalog.jc.warehouse": f"file:{home}/jc",
    }


@pytest.fixture(scope="module")
def ran(module_jobs: Jobs) -> Ran:
    steps = [*STEPS, *cases.steps(CASES, "iceberg")]
    found = run(module_jobs, released(ICEBERG), steps, conf(module_jobs))
    found.homes[f"file:{module_jobs.folder}/dv2"] = "dv2:"
    found.homes[f"file:{module_jobs.folder}/ice"] = "ice:"
    found.homes[f"file:{module_jobs.folder}/jc"] = "jdbc:"
    return found


class TestIceberg(Told):
    pass


def test_a_table_has_its_catalog_and_path(ran: Ran) -> None:
    (event,) = ran.ends("insert")
    (output,) = event["outputs"]
    facet = output["facets"]["catalog"]
    catalog = {k: v for k, v in facet.items() if not k.startswith("_") and v}
    assert catalog == {
        "framework": "iceberg",
        "type": "hadoop",
        "name": "ice",
        "warehouseUri": f"file:{ran.folder}/ice",
        "source": "spark",
    }
    assert output["facets"]["symlinks"]["identifiers"] == [
        {"namespace": "file", "name": f"{ran.folder}/ice/db/t", "type": "LOCATION"}
    ]
    storage = output["facets"]["storage"]
    assert (storage["storageLayer"], storage["fileFormat"]) == ("iceberg", "parquet")


def test_a_table_made_by_a_query_has_its_path_too(ran: Ran) -> None:
    (event,) = ran.ends("create as select")
    (output,) = event["outputs"]
    assert output["facets"]["symlinks"]["identifiers"] == [
        {"namespace": "file", "name": f"{ran.folder}/ice/db/t2", "type": "LOCATION"}
    ]


def test_what_maintenance_runs_inside_is_no_run(ran: Ran) -> None:
    names = {step["name"] for step in [*STEPS, *cases.steps(CASES, "iceberg")]}
    for event in ran.finished.events:
        job = event["job"]
        if job["facets"]["jobType"]["jobType"] != "APPLICATION" and not _is_call(event):
            assert event["run"]["facets"]["sparkLineage_context"]["callSite"] in names


def _is_call(event: dict[str, Any]) -> bool:
    """Whether Iceberg itself has named the execution, as it does where CALL has none."""
    return ".call." in event["job"]["name"] and spark_version() != "3.5"


def test_maintenance_without_an_execution_of_its_own_is_a_run(ran: Ran) -> None:
    if spark_version() == "3.5":
        pytest.skip("there CALL is an execution")
    ends = [e for e in ran.finished.events if e["eventType"] != "START" and _is_call(e)]
    told = {ran.short(output): event for event in ends for output in event["outputs"]}
    for table, name in (("ice:db.t4", "db.t4"), ("path:ice/db/t4", "t4")):
        event = told[table]
        assert event["eventType"] == "COMPLETE"
        assert event["job"]["name"] == f"lake.call.{name}"
        assert event["inputs"] == []
        (output,) = event["outputs"]
        assert "columnLineage" not in output["facets"]
    # A rewrite has an execution for each group of files.
    assert len(ends) == len(told)
