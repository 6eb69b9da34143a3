"""The agent's loop against a bridge that misbehaves. No Spark."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from spark_lineage import config
from spark_lineage.agent.host import Host
from tests.agent.records import execution_record


class _Bridge:
    """Hands each record out once until it is acknowledged, as the real one does."""

    def __init__(self, records: list[dict[str, Any]]) -> None:
        self.records = records
        self.acknowledged = 0
        self.ack_fails = 0
        self.leased = 0

    def lease(self, records: int, size: int, timeout: float) -> list[dict[str, Any]]:
        taken = self.records[self.leased : self.leased + 1]
        self.leased += len(taken)
        return taken

    def ack(self, sequence: int) -> None:
        if self.ack_fails:
            self.ack_fails -= 1
            raise OSError("the gateway is away")
        self.acknowledged = sequence

    def report(self, state: dict[str, Any]) -> None:
        pass


def _records(count: int) -> list[dict[str, Any]]:
    found = []
    for number in range(1, count + 1):
        record = execution_record("END", number)
        record["sequence"] = number
        found.append(record)
    return found


@pytest.fixture
def host_of(tmp_path: Path) -> Any:
    hosts = []

    def make(bridge: _Bridge) -> tuple[Host, Path]:
        events = tmp_path / "events.jsonl"
        options = {"transport_type": "file", "transport_path": str(events)}
        settings = config.load({}, {}, {**options, "spool_dir": str(tmp_path / "spool")})
        host = Host(bridge, settings, "app-1")  # type: ignore[arg-type]
        hosts.append(host)
        return host, events

    yield make
    for host in hosts:
        host.stop(10)


def _completes(path: Path) -> list[str]:
    events = [json.loads(line) for line in path.read_text().splitlines()]
    return [e["run"]["runId"] for e in events if e["eventType"] == "COMPLETE"]


def test_a_record_is_acknowledged_after_its_events_are_spooled(host_of: Any) -> None:
    bridge = _Bridge(_records(2))
    host, events = host_of(bridge)
    host.start()
    assert (host.poll(0), host.poll(0), host.poll(0)) == (1, 1, 0)
    assert bridge.acknowledged == 2
    host.stop(20)
    assert len(_completes(events)) == 2


def test_a_spool_that_fails_loses_nothing(host_of: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    bridge = _Bridge(_records(2))
    host, events = host_of(bridge)
    host.start()
    put = host._delivery.put
    monkeypatch.setattr(
        host._delivery, "put", lambda events: (_ for _ in ()).throw(OSError("disk"))
    )
    for _ in range(2):
        with pytest.raises(OSError, match="disk"):
            host.poll(0)
    assert bridge.acknowledged == 0
    monkeypatch.setattr(host._delivery, "put", put)
    assert host.poll(0) == 1
    assert bridge.acknowledged == 2
    host.stop(20)
    assert len(set(_completes(events))) == 2


def test_an_acknowledgement_that_fails_repeats_no_event(host_of: Any) -> None:
    bridge = _Bridge(_records(1))
    bridge.ack_fails = 1
    host, events = host_of(bridge)
    host.start()
    with pytest.raises(OSError, match="away"):
        host.poll(0)
    assert host.poll(0) == 0
    assert bridge.acknowledged == 1
    host.stop(20)
    assert len(_completes(events)) == 1


@pytest.mark.swallows
def test_an_unreadable_record_is_counted_and_holds_nothing_up(host_of: Any) -> None:
    bridge = _Bridge(_records(2))
    bridge.records[0]["formatVersion"] = 99
    host, events = host_of(bridge)
    host.start()
    assert (host.poll(0), host.poll(0)) == (1, 1)
    assert bridge.acknowledged == 2
    assert host.state()["failures"] == {"reading a record": 1}
    host.stop(20)
    assert len(_completes(events)) == 1
