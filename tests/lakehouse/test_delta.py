"""Delta's own jar: each statement is one run, on the right data set, and its log is none."""

from __future__ import annotations

import pytest

from tests.lakehouse import cases
from tests.lakehouse.lake import (
    DELTA,
    Ran,
    Told,
    released,
    run,
    spark_version,
    steps_of,
)
from tests.support.jobs import Jobs

CONF = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.sql.adaptive.enabled": "false",
}
STEPS = steps_of("delta.json")
CASES = cases.load("delta", spark_version())
# The whole job runs in the first test; a busy machine takes its time.
pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def ran(module_jobs: Jobs) -> Ran:
    found = released(DELTA)
    # The package of Python classes is in the jar itself.
    return run(
        module_jobs,
        found,
        [*STEPS, *cases.steps(CASES, "delta")],
        {**CONF, "spark.submit.pyFiles": str(found[0])},
        slow=True,
    )


class TestDelta(Told):
    pass


def test_what_delta_does_for_itself_is_no_run_and_no_data_set(ran: Ran) -> None:
    names = {step["name"] for step in [*STEPS, *cases.steps(CASES, "delta")]}
    for event in ran.finished.events:
        for dataset in [*event.get("inputs", ()), *event.get("outputs", ())]:
            assert "_delta_log" not in dataset["name"]
        if event["job"]["facets"]["jobType"]["jobType"] != "APPLICATION":
            assert event["run"]["facets"]["sparkLineage_context"]["callSite"] in names


def test_a_table_has_its_catalog_and_path(ran: Ran) -> None:
    (event,) = ran.ends("insert")
    (output,) = event["outputs"]
    assert output["facets"]["catalog"]["framework"] == "delta"
    assert output["facets"]["catalog"]["name"] == "spark_catalog"
    assert output["facets"]["symlinks"]["identifiers"] == [
        {"namespace": "file", "name": f"{ran.folder}/warehouse/lake", "type": "LOCATION"}
    ]


def test_two_versions_of_one_table_are_no_version(ran: Ran) -> None:
    (event,) = ran.ends("two versions in one query")
    (table,) = event["inputs"]
    assert "version" not in table["facets"]
