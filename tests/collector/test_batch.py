"""Batches, lines, and what is in quarantine."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from spark_lineage.collector import maintenance
from spark_lineage.collector.intake import MalformedError
from spark_lineage.collector.service import Collector, QuarantinedError
from spark_lineage.collector.store.engine import BusyError
from spark_lineage.errors import NotFoundError
from tests.collector.build import FACET, Json, edges, event, writes

BATCH = "/api/v1/lineage/batch"


@pytest.fixture
def client(url: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=url, trust_env=False) as found:
        yield found


def three() -> list[Json]:
    bad = event(run=2)
    bad["run"] = {}
    return [
        writes("t", {"a": ["IDENTITY s.x"]}, run=1),
        bad,
        writes("u", {"b": ["IDENTITY t.a"]}, run=3),
    ]


def test_a_batch_tells_what_it_could_not_take(collector: Collector) -> None:
    answer = collector.take_batch(json.dumps(three()).encode())
    number = answer["failed_events"][0]["quarantined"]
    assert answer == {
        "status": "partial_success",
        "summary": {
            "received": 3, "successful": 2, "failed": 1, "retriable": 0, "non_retriable": 1,
        },
        "failed_events": [
            {
                "index": 1,
                "reason": "$.run.runId is required",
                "retriable": False,
                "quarantined": number,
                "faults": [{"path": "$.run.runId", "message": "is required"}],
            }
        ],
    }  # fmt: skip
    assert edges(collector) == {"t.a < IDENTITY s.x", "u.b < IDENTITY t.a"}
    # The same again: nothing is new, and nothing fails that did not.
    assert collector.take_batch(json.dumps(three()).encode())["summary"]["successful"] == 2
    assert collector.health()["events"] == 2


def test_a_whole_success(collector: Collector) -> None:
    answer = collector.take_batch(json.dumps([event(run=n) for n in range(5)]).encode())
    assert (answer["status"], answer["failed_events"]) == ("success", [])
    assert collector.take_batch(b"[]")["summary"]["received"] == 0


@pytest.mark.parametrize("body", [b"", b"7", b"null", b"[", b'"x"', b"\xff", b"[" * 100_000])
def test_what_is_no_batch(collector: Collector, body: bytes) -> None:
    with pytest.raises(QuarantinedError):
        collector.take_batch(body)


def test_lines(client: httpx.Client) -> None:
    lines = "\n".join(json.dumps(one) for one in three()).encode() + b"\n\n{broken\n"
    headers = {"Content-Type": "application/x-ndjson", "Content-Encoding": "gzip"}
    answer = client.post(BATCH, content=gzip.compress(lines), headers=headers)
    assert answer.status_code == 200
    told = answer.json()
    assert told["summary"]["received"] == 4
    assert [one["index"] for one in told["failed_events"]] == [1, 3]
    # Without being told they are lines.
    assert client.post(BATCH, content=lines).json()["summary"]["successful"] == 2
    assert client.post(BATCH, content=b"nonsense").status_code == 422
    # Where single events go as well, if they are said to be lines.
    answer = client.post("/api/v1/lineage", content=gzip.compress(lines), headers=headers)
    assert (answer.status_code, answer.json()["summary"]["successful"]) == (200, 2)


def test_a_database_that_is_busy_makes_all_retriable(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy(*_: object) -> bool:
        raise BusyError("database is locked")

    monkeypatch.setattr("spark_lineage.collector.store.write.apply_all", busy)
    answer = collector.take_batch(json.dumps([event(run=1), event(run=2)]).encode())
    assert answer["summary"]["retriable"] == 2
    assert [one["retriable"] for one in answer["failed_events"]] == [True, True]


def test_one_event_at_fault_takes_no_other_with_it(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    from spark_lineage.collector.store import write

    real = write.apply_all

    def picky(connection: Any, every: list[Any]) -> list[bool]:
        if any(one.job_name == "bad" for one in every):
            raise KeyError("ours")
        return real(connection, every)

    monkeypatch.setattr("spark_lineage.collector.store.write.apply_all", picky)
    batch = [event(run=1), event(run=2, job="bad"), event(run=3)]
    answer = collector.take_batch(json.dumps(batch).encode())
    assert [one["index"] for one in answer["failed_events"]] == [1]
    assert "could not be stored: KeyError" in answer["failed_events"][0]["reason"]
    assert collector.health()["events"] == 2


def test_replay_of_what_was_our_fault(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> bool:
        raise KeyError("ours")

    with monkeypatch.context() as patch:
        patch.setattr("spark_lineage.collector.store.write.apply_all", broken)
        with pytest.raises(QuarantinedError) as caught:
            collector.take(json.dumps(writes("t", {"a": ["IDENTITY s.x"]})).encode())
    number = caught.value.number
    done = collector.replay(number)
    assert (done["state"], done["number"]) == ("REPLAYED", number)
    assert edges(collector) == {"t.a < IDENTITY s.x"}
    assert collector.quarantine(10) == []
    assert [one["number"] for one in collector.quarantine(10, state=None)] == [number]
    assert collector.health()["quarantined"] == 0


def test_replay_of_what_is_still_malformed(collector: Collector) -> None:
    with pytest.raises(MalformedError):
        collector.take(b"{}")
    (kept,) = collector.quarantine(10)
    done = collector.replay(kept["number"])
    assert done["state"] == "OPEN"
    assert {"path": "$.run", "message": "is required"} in done["faults"]
    with pytest.raises(NotFoundError):
        collector.replay(kept["number"] + 1)


def test_quarantine_over_http(client: httpx.Client) -> None:
    number = client.post("/api/v1/lineage", content=b'{"a": 1}').json()["quarantined"]
    assert client.get(f"/api/v1/quarantine/{number}").json()["body"] == '{"a": 1}'
    assert client.post(f"/api/v1/quarantine/{number}/replay").json()["state"] == "OPEN"
    assert client.get("/api/v1/quarantine/123456").status_code == 404
    assert client.get("/api/v1/quarantine/x").status_code == 422


def test_any_text_is_kept_as_it_is(collector: Collector) -> None:
    """What a database reads otherwise than it is written: escapes, separators, no value."""
    odd = [
        "a\tb", "a\nb", "a\rb", "a\\b", "a\\tb", "\\", "\\N", "\\.", 'a"b', "a'b", "{a,b}", "a,b",
        "NULL", "null", " ", "%s", "?", ":x", "ü", "😀",
    ]  # fmt: skip
    columns: dict[str, Any] = {name: [] for name in odd}
    events = [
        writes("t", columns, own={"documentation": {**FACET, "description": "\n".join(odd)}}),
        *(event(inputs=(name,), job=name, run=n) for n, name in enumerate(odd, 2)),
    ]
    body = json.dumps(events).encode()
    assert collector.take_batch(body)["status"] == "success"
    # Again, as what is there already, and newer.
    for one in events:
        one["eventTime"] = "2026-02-01T00:00:00Z"
    assert collector.take_batch(json.dumps(events).encode())["status"] == "success"
    graph = collector.graph()
    found = {one["path"] for one in graph["columns"] if one["name"] == "t"}
    assert found == {*odd, ""}
    assert {one["name"] for one in graph["datasets"]} == {*odd, "t"}
    kept = [json.loads(text) for text in maintenance.export(collector.database)]
    assert sorted(one["job"]["name"] for one in kept) == sorted([*odd, "make_t"] * 2)
    said = [one["outputs"][0]["facets"]["documentation"] for one in kept if one["outputs"]]
    assert [one["description"] for one in said] == ["\n".join(odd)] * 2
