"""The example through a real spark-submit: its lineage as worked out by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.jobs import Finished, Jobs

EXAMPLE = Path(__file__).parents[2] / "examples" / "customer_summary.py"

# column: type, origin, direct, indirect of this column
COLUMNS: dict[str, tuple[str, str, list[str], list[str]]] = {
    "customer_id": ("IDENTITY", "INPUT_FIELDS", ["IDENTITY orders.customer_id"], []),
    "region_label": ("TRANSFORMATION", "INPUT_FIELDS", ["TRANSFORMATION orders.region"], []),
    "total_amount": ("AGGREGATION", "INPUT_FIELDS", ["AGGREGATION orders.amount"], []),
    "customer_seq": ("TRANSFORMATION", "SYSTEM", [], ["WINDOW orders.customer_id"]),
    "region_group": ("TRANSFORMATION", "CONSTANT", [], ["CONDITIONAL orders.region"]),
}
WHOLE_RESULT = [
    "FILTER customers.customer_level",
    "FILTER orders.amount",
    "FILTER orders.status",
    "GROUP_BY orders.customer_id",
    "GROUP_BY orders.region",
    "JOIN customers.customer_id",
    "JOIN orders.customer_id",
    "SORT orders.amount",
]


@pytest.fixture(scope="module")
def finished(module_jobs: Jobs) -> Finished:
    return module_jobs.submit(EXAMPLE)


def _sources(fields: list[dict[str, Any]], kind: str) -> list[str]:
    return sorted(
        f"{transformation['subtype']} {field['name'].rsplit('.', 1)[-1]}.{field['field']}"
        for field in fields
        for transformation in field["transformations"]
        if transformation["type"] == kind
    )


@pytest.mark.smoke
def test_the_example_reports_its_lineage_by_configuration_alone(finished: Finished) -> None:
    assert finished.code == 0, finished.stderr

    complete = [
        event
        for event in finished.writing("default.customer_summary")
        if event["eventType"] == "COMPLETE" and event["inputs"]
    ]
    assert len(complete) == 1
    (output,) = complete[0]["outputs"]
    facet = output["facets"]["columnLineage"]
    told = output["facets"]["sparkLineage_columns"]["columns"]
    by_name = {column["name"]: column for column in told}
    assert list(by_name) == list(COLUMNS)
    for name, (kind, origin, direct, indirect) in COLUMNS.items():
        assert by_name[name]["type"] == kind
        assert by_name[name]["origin"] == origin
        fields = facet["fields"].get(name, {}).get("inputFields", [])
        assert _sources(fields, "DIRECT") == direct
        assert _sources(fields, "INDIRECT") == indirect
    assert _sources(facet["dataset"], "INDIRECT") == WHOLE_RESULT
    assert _sources(facet["dataset"], "DIRECT") == []
    inputs = sorted(item["name"] for item in complete[0]["inputs"])
    assert inputs == ["default.customers", "default.orders"]

    quality = complete[0]["run"]["facets"]["sparkLineage_quality"]
    assert quality["unexplained"] == []
    assert quality["unknownNodes"] == {}
    assert [each["availability"] for each in quality["outputs"]] == ["AVAILABLE"]


def test_each_action_is_one_run_with_one_start_and_one_end(finished: Finished) -> None:
    runs: dict[str, list[str]] = {}
    for event in finished.events:
        runs.setdefault(event["run"]["runId"], []).append(event["eventType"])
    assert {tuple(kinds) for kinds in runs.values()} == {("START", "COMPLETE")}
    # Each CREATE TABLE AS is two executions in Spark and one run here.
    ctas = [
        event
        for event in finished.of("COMPLETE")
        if "CREATE TABLE orders" in event["job"]["facets"].get("sql", {}).get("query", "")
    ]
    assert len(ctas) == 1
    parents = {
        event["run"]["facets"]["parent"]["run"]["runId"]
        for event in finished.events
        if "parent" in event["run"].get("facets", {})
    }
    applications = [
        event["run"]["runId"]
        for event in finished.of("START")
        if event["job"]["facets"]["jobType"]["jobType"] == "APPLICATION"
    ]
    assert parents == set(applications)
    assert len(applications) == 1
