"""Marquez's own Python client against the collector."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from marquez_client import MarquezClient

from spark_lineage.collector.server import running
from tests.collector import summary
from tests.collector.build import FACET, dataset, event, lineage, run_id, schema, source

TABLE = "spark_catalog.default.customer_summary"


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    odd = source("IDENTITY x")
    odd |= {"namespace": "arn:aws:glue:eu:1", "name": "table/d b/t:1", "field": "7#day"}
    out = dataset("o#ü:2", "postgres://h:5432", columnLineage=lineage({"a:b": [odd]}))
    tags = {**FACET, "tags": [{"key": "PII", "value": "x", "field": "amount"}]}
    orders = dataset(summary.PREFIX + "orders", schema=schema(*summary.ORDERS), tags=tags)
    with running(str(tmp_path_factory.mktemp("marquez") / "c.db")) as found:
        for content in [
            *summary.events(), event(run=90, minute=9, job="odd job/x", outputs=(out,)),
            event(run=91, minute=10, job="tags", outputs=(orders,)),
            *(_sql(text, number) for number, text in enumerate(("SELECT 1", "SELECT 2"), 92)),
        ]:  # fmt: skip
            sent = httpx.post(f"{found}/api/v1/lineage", json=content, trust_env=False)
            assert sent.status_code == 201
        yield found


def _sql(text: str, number: int) -> dict[str, Any]:
    content = event(run=number, minute=0, job="sql")
    content["job"]["facets"] = {"sql": {**FACET, "query": text}}
    return content


@pytest.fixture(scope="module")
def client(url: str) -> MarquezClient:
    return MarquezClient(url=url)


def test_namespaces_and_sources(client: MarquezClient) -> None:
    names = [one["name"] for one in client.list_namespaces()["namespaces"]]
    assert {"db", "jobs", "s3://bucket", "postgres://h:5432", "arn:aws:glue:eu:1"} <= set(names)
    assert client.get_namespace("postgres://h:5432")["name"] == "postgres://h:5432"
    assert client.get_source("s3://bucket")["type"] == "S3"
    sources = {one["name"] for one in client.list_sources()["sources"]}
    # Those of data sets: a namespace of jobs alone is none.
    assert sources == set(names) - {"jobs"}


def test_datasets(client: MarquezClient) -> None:
    told = client.list_datasets("db")
    assert told["totalCount"] == len(told["datasets"]) == 4
    one = client.get_dataset("db", TABLE)
    assert next((f["name"], f["type"]) for f in one["fields"]) == ("customer_id", "integer")
    assert client.get_dataset("postgres://h:5432", "o#ü:2")["name"] == "o#ü:2"
    # By another name.
    assert client.get_dataset("file", "/warehouse/customer_summary")["name"] == TABLE
    (version,) = client.list_dataset_versions("db", TABLE)["versions"]
    assert version["version"] == one["currentVersion"]
    assert client.get_dataset_version("db", TABLE, version["version"]) == version


def test_tags(client: MarquezClient) -> None:
    client.tag_dataset("db", TABLE, "GOLD")
    told = client.tag_dataset_field("db", TABLE, "region_label", "GEO")
    assert told["tags"] == ["GOLD"]
    assert {f["name"]: f["tags"] for f in told["fields"]}["region_label"] == ["GEO"]
    assert {one["name"] for one in client.list_tags()["tags"]} == {"GEO", "GOLD", "PII"}


def test_jobs_and_runs(client: MarquezClient) -> None:
    assert client.list_jobs("jobs")["totalCount"] == 9
    job = client.get_job("jobs", summary.INSERT)
    assert {one["name"].rpartition(".")[2] for one in job["inputs"]} == {"orders", "customers"}
    assert [one["name"] for one in job["outputs"]] == [TABLE]
    assert job["latestRun"]["state"] == "COMPLETED"
    (run,) = client.list_job_runs("jobs", summary.INSERT)["runs"]
    assert (run["id"], run["durationMs"]) == (run_id(3), 60_000)
    assert client.get_job_run(run_id(3))["id"] == run_id(3)
    assert client.get_job("jobs", "odd job/x")["name"] == "odd job/x"


def test_job_versions(client: MarquezClient, url: str) -> None:
    def get(path: str) -> Any:
        return httpx.get(f"{url}/api/v1/namespaces/jobs/jobs/{path}", trust_env=False).json()

    told = get("sql/versions")
    assert (told["totalCount"], len({one["version"] for one in told["versions"]})) == (2, 2)
    assert client.get_job("jobs", "sql")["currentVersion"] in {
        one["version"] for one in told["versions"]
    }
    assert get("sql/versions/" + told["versions"][1]["version"]) == told["versions"][1]
    assert get("report/versions")["versions"] == []


def test_column_lineage(client: MarquezClient) -> None:
    told = client.get_column_lineage_by_dataset_field("db", TABLE, "total_amount", depth=1)
    nodes = {one["id"]: one for one in told["graph"]}
    asked = nodes[f"datasetField:db:{TABLE}:total_amount"]
    kinds = {one["field"]: one["transformationType"] for one in asked["data"]["inputFields"]}
    assert kinds["amount"] == "AGGREGATION"
    # As Marquez tells them: a node is the origin of its edges, also of those that come in.
    assert asked["inEdges"]
    assert all(edge["origin"] == asked["id"] for edge in asked["inEdges"])
    told = client.get_column_lineage_by_dataset("db", TABLE, with_downstream=True)
    assert f"datasetField:db:{summary.PREFIX}report:share" in {one["id"] for one in told["graph"]}
    assert client.get_column_lineage_by_job("jobs", "report")["graph"]


def test_ids_with_any_character(client: MarquezClient, url: str) -> None:
    told = client.get_column_lineage_by_dataset_field("postgres://h:5432", "o#ü:2", "a:b")
    assert {one["id"] for one in told["graph"]} == {
        "datasetField:postgres://h:5432:o#ü:2:a:b",
        "datasetField:arn:aws:glue:eu:1:table/d b/t:1:7#day",
    }
    for node in ("dataset:arn:aws:glue:eu:1:table/d b/t:1", "job:jobs:odd job/x"):
        found = httpx.get(f"{url}/api/v1/lineage", params={"nodeId": node}, trust_env=False)
        assert found.status_code == 200
        assert {one["id"] for one in found.json()["graph"]} == {
            "dataset:arn:aws:glue:eu:1:table/d b/t:1", "job:jobs:odd job/x",
            "dataset:postgres://h:5432:o#ü:2",
        }  # fmt: skip
    for node in ("dataset:no:no", "x", "job::", "datasetField:a:b:c"):
        found = httpx.get(f"{url}/api/v1/lineage", params={"nodeId": node}, trust_env=False)
        assert found.status_code == 404


def test_lineage_search_events_and_stats(client: MarquezClient, url: str) -> None:
    def get(path: str, **parameters: str) -> object:
        return httpx.get(url + "/api/v1" + path, params=parameters, trust_env=False).json()

    told = get("/lineage", nodeId=f"dataset:db:{TABLE}", depth="1")
    ids = {one["id"] for one in told["graph"]}  # type: ignore[index]
    assert {f"job:jobs:{summary.INSERT}", "job:jobs:report", "job:jobs:dashboard"} <= ids
    hits = get("/search", q="customer_summary")["results"]  # type: ignore[index]
    assert {one["type"] for one in hits} == {"DATASET", "JOB"}
    assert client.list_events(limit=3)["events"][0]["job"]["name"] == "tags"
    assert get(f"/jobs/runs/{run_id(3)}/facets", type="run")["runId"] == run_id(3)  # type: ignore[index]
