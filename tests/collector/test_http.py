from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from openlineage.client import OpenLineageClient
from openlineage.client.event_v2 import Job, OutputDataset, Run, RunEvent, RunState
from openlineage.client.facet_v2 import column_lineage_dataset as column_lineage
from openlineage.client.transport.http import HttpCompression, HttpConfig, HttpTransport

from spark_lineage.collector.server import running
from tests.collector import summary
from tests.collector.build import OWN, bodies, event, run_id

LINEAGE = "/api/v1/lineage"


@pytest.fixture
def client(url: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=url, trust_env=False) as found:
        yield found


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A client of a service that has the example."""
    path = tmp_path_factory.mktemp("example") / "c.db"
    with running(str(path)) as url, httpx.Client(base_url=url, trust_env=False) as found:
        for content in summary.events():
            assert found.post(LINEAGE, json=content).status_code == 201
        yield found


def test_the_real_client(url: str, client: httpx.Client) -> None:
    """openlineage-python's own http transport, packed as it can be."""
    config = HttpConfig(url=url, compression=HttpCompression.GZIP)
    sender = OpenLineageClient(transport=HttpTransport(config))
    source = column_lineage.InputField(
        namespace="ol", name="orders", field="amount",
        transformations=[column_lineage.Transformation("DIRECT", "AGGREGATION", "sum(amount)")],
    )  # fmt: skip
    facet = column_lineage.ColumnLineageDatasetFacet(
        fields={"total": column_lineage.Fields(inputFields=[source])}
    )
    output = OutputDataset(namespace="ol", name="totals", facets={"columnLineage": facet})
    for state, time in ((RunState.START, "00"), (RunState.COMPLETE, "01")):
        sender.emit(
            RunEvent(
                eventType=state, eventTime=f"2026-01-01T00:{time}:00Z",
                producer="https://example.com", run=Run(run_id(77)), job=Job("ol", "job"),
                inputs=[], outputs=[output],
            )
        )  # fmt: skip
    sender.close(5)
    asked = {"dataset": "ol_totals", "column": "total"}
    assert client.get("/api/v1/columns/explain", params=asked).status_code == 404
    asked["dataset"] = "totals"
    (root, _) = client.get("/api/v1/columns/explain", params=asked).json()["nodes"]
    assert root["steps"][0]["expression"] == "sum(amount)"
    (run,) = client.get("/api/v1/runs", params={"run": run_id(77)}).json()["runs"]
    assert run["state"] == "COMPLETE"


@pytest.mark.parametrize("path", sorted(OWN.glob("*.json")), ids=lambda path: path.stem)
def test_own_events(client: httpx.Client, path: Path) -> None:
    (body,) = bodies(path)
    headers = {"Content-Type": "application/json"}
    for _ in range(2):
        answer = client.post(LINEAGE, content=body, headers=headers)
        assert (answer.status_code, answer.content) == (201, b"")


def test_packed(client: httpx.Client) -> None:
    body = gzip.compress(json.dumps(event(run=501)).encode())
    headers = {"Content-Encoding": "gzip"}
    assert client.post(LINEAGE, content=body, headers=headers).status_code == 201
    assert client.post(LINEAGE, content=body[:9], headers=headers).status_code == 422
    headers = {"Content-Encoding": "br"}
    assert client.post(LINEAGE, content=body, headers=headers).status_code == 415


def test_malformed(client: httpx.Client) -> None:
    content = event()
    content["run"] = {}
    del content["job"]
    answer = client.post(LINEAGE, json=content)
    assert answer.status_code == 422
    told = answer.json()
    assert told["faults"] == [
        {"path": "$.run.runId", "message": "is required"},
        {"path": "$.job", "message": "is required"},
    ]
    assert "2 faults" in told["message"]
    kept = client.get("/api/v1/quarantine").json()["quarantined"]
    assert told["quarantined"] in [one["number"] for one in kept]


@pytest.mark.parametrize(
    "body", [b"", b"null", b"[]", b"{", b"\xff", b"[" * 100_000, b'"\\ud800"', b"1e999"]
)
def test_never_a_500(client: httpx.Client, body: bytes) -> None:
    assert client.post(LINEAGE, content=body).status_code == 422


def test_too_large(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spark_lineage.collector.intake.MOST_BYTES", 1_000)
    answer = httpx.post(url + LINEAGE, content=b"x" * 2_000, trust_env=False)
    assert answer.status_code == 413


def test_a_database_that_is_busy(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from spark_lineage.collector.store.engine import BusyError

    def busy(*_: object) -> bool:
        raise BusyError("database is locked")

    monkeypatch.setattr("spark_lineage.collector.store.write.apply_all", busy)
    answer = httpx.post(url + LINEAGE, json=event(run=909), trust_env=False)
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "1")


def test_health(asked: httpx.Client) -> None:
    answer = asked.get("/healthz").json()
    assert answer == {
        "status": "ok",
        "version": answer["version"],
        "events": 7,
        "quarantined": 0,
        "datasets": 5,
        "edges": 18,
        "agents": {"dropped": {}, "unexplained_columns": 0, "unexplained_runs": 0},
    }


@pytest.mark.parametrize(
    ("path", "parameters", "status"),
    [
        ("/api/v1/resolve", {"name": "customer_summary.total_amount"}, 200),
        ("/api/v1/resolve", {"name": "nothing"}, 404),
        ("/api/v1/resolve", {"name": "customer_id"}, 404),
        ("/api/v1/resolve", {}, 422),
        ("/api/v1/columns/explain", {"dataset": "report", "column": "share"}, 200),
        ("/api/v1/columns/explain", {"dataset": "report", "column": "no"}, 404),
        ("/api/v1/columns/explain", {"dataset": "report"}, 422),
        ("/api/v1/columns/explain", {"dataset": "report", "column": "share", "depth": "0"}, 422),
        ("/api/v1/columns/explain", {"dataset": "report", "column": "share", "depth": "x"}, 422),
        ("/api/v1/columns/explain", {"dataset": "report", "column": "share", "follow": "x"}, 422),
        ("/api/v1/columns/impact", {"dataset": "orders", "column": "amount"}, 200),
        ("/api/v1/columns/impact", {"dataset": "orders"}, 200),
        ("/api/v1/columns/impact", {"dataset": "orders", "namespace": "no"}, 404),
        ("/api/v1/datasets/explain", {"dataset": "orders"}, 200),
        ("/api/v1/datasets/explain", {"dataset": "\x00"}, 404),
        ("/api/v1/runs", {"job": "report", "limit": "1"}, 200),
        ("/api/v1/graph", {}, 200),
        ("/openapi.json", {}, 200),
    ],
)
def test_questions(asked: httpx.Client, path: str, parameters: dict[str, Any], status: int) -> None:
    answer = asked.get(path, params=parameters)
    assert answer.status_code == status
    assert answer.json()


def test_ambiguous(client: httpx.Client) -> None:
    for number, name in enumerate(("one.twice", "two.twice")):
        client.post(LINEAGE, json=event(run=700 + number, outputs=(name,)))
    answer = client.get("/api/v1/resolve", params={"name": "twice"})
    assert answer.status_code == 409
    assert [c["dataset"] for c in answer.json()["candidates"]] == ["one.twice", "two.twice"]


def test_many_at_once(tmp_path: Path) -> None:
    """Writers from many threads: nothing is lost, nothing twice, none refused."""
    from concurrent.futures import ThreadPoolExecutor

    with running(f"sqlite:///{tmp_path / 'c.db'}") as url:
        contents = [event(run=n % 40, minute=n % 40, outputs=(f"t{n % 7}",)) for n in range(120)]
        with (
            httpx.Client(base_url=url, trust_env=False) as client,
            ThreadPoolExecutor(8) as pool,
        ):
            codes = list(pool.map(lambda c: client.post(LINEAGE, json=c).status_code, contents))
            assert set(codes) == {201}
            distinct = {json.dumps(content, sort_keys=True) for content in contents}
            assert client.get("/healthz").json()["events"] == len(distinct)
