"""Events' texts as they are kept: long parts once, and whole again wherever they are asked for."""

from __future__ import annotations

import json
from typing import Any

import pytest
from sqlalchemy import func, select, update

from spark_lineage.collector import intake, maintenance, times
from spark_lineage.collector.service import Collector
from spark_lineage.collector.store import schema as tables
from spark_lineage.collector.store import texts
from tests.collector.build import Json, event, lineage, run_id, take, writes

COLUMNS = {f"c{n}": [f"IDENTITY s.c{n}"] for n in range(10)}


def runs(count: int, **more: Any) -> list[Json]:
    return [writes("t", COLUMNS, run=n, minute=n, inputs=("s",), **more) for n in range(1, count)]


def kept(collector: Collector) -> list[str]:
    with collector.database.read() as connection:
        return list(connection.scalars(select(tables.events.c.body).order_by(tables.events.c.time)))


def pieces(collector: Collector) -> int:
    with collector.database.read() as connection:
        return connection.scalar(select(func.count()).select_from(tables.pieces)) or 0


def test_what_each_run_says_is_kept_once(collector: Collector) -> None:
    every = runs(9)
    take(collector, *every)
    assert pieces(collector) == 1
    assert all(
        len(body) < len(json.dumps(one)) / 2
        for body, one in zip(kept(collector), every, strict=True)
    )
    assert [json.loads(one) for one in maintenance.export(collector.database)] == every


def test_texts_come_out_as_they_came_in(collector: Collector) -> None:
    """Also those that have facets which differ from run to run, and texts like references."""
    more = runs(4, own={"version": {"datasetVersion": "7" * 300}, "x": {"text": "\x01ab\x01" * 99}})
    more[0]["outputs"][0]["outputFacets"] = {"outputStatistics": {"rowCount": 3, "size": 1 << 60}}
    more[1]["job"]["facets"] = {"sql": {"query": "SELECT 'ü' -- " + "x" * 400}}
    more[2]["run"]["facets"] = {"environmentVariables": {"text": "y" * 400}, "z": None}
    more[2]["inputs"][0]["facets"] = None
    more.append(event(run=7, minute=9, inputs=("a\x01b",), outputs=()))
    take(collector, *more, *more)
    assert [json.loads(one) for one in maintenance.export(collector.database)] == more


def test_the_same_event_is_the_same_by_whichever_way_it_was_read(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    (content,) = runs(2)
    take(collector, content)
    monkeypatch.setattr(intake, "_repeat", lambda _: None)
    turned = {key: content[key] for key in reversed(content)}
    assert not collector.take(json.dumps(turned, indent=1).encode())
    assert collector.health()["events"] == 1


def test_a_part_goes_with_the_last_event_that_has_it(collector: Collector) -> None:
    take(collector, *runs(3))
    old, long_ago = runs(3), times.now() - 9 * texts.DAY
    old[0]["outputs"][0]["facets"]["columnLineage"] = lineage({"x" * 300: ["IDENTITY s.a"]})
    old[0]["run"]["runId"] = run_id(99)
    take(collector, old[0])
    assert pieces(collector) == 2
    with collector.database.write() as connection:
        connection.execute(update(tables.pieces).values(seen=long_ago))
        mine = tables.events.c.run_id == run_id(99)
        connection.execute(update(tables.events).where(mine).values(received=long_ago))
    # Seen again, a part is in use again, though its row is an old one.
    take(collector, *runs(5))
    maintenance.prune(collector.database, 5, dry_run=False)
    assert pieces(collector) == 1
    assert len(kept(collector)) == 4
    assert [json.loads(one) for one in maintenance.export(collector.database)] == runs(5)
    # What was received just now stays whole, whatever is pruned.
    maintenance.prune(collector.database, 0, dry_run=False)
    take(collector, *runs(6)[4:])
    assert [json.loads(one) for one in maintenance.export(collector.database)] == runs(6)[4:]
