from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spark_lineage.collector.service import Collector
from spark_lineage.collector.store import schema as tables
from spark_lineage.errors import CollectorError, ConfigError
from tests.collector import summary
from tests.collector.build import (
    FACET,
    PRODUCER,
    at,
    dataset,
    edges,
    event,
    lineage,
    schema,
    state,
    take,
    writes,
)  # fmt: skip


def test_the_same_event_again_changes_nothing(collector: Collector) -> None:
    content = writes("t", {"a": ["IDENTITY s.x"]})
    assert collector.take(json.dumps(content).encode())
    before = collector.graph()
    # Also with its members in another order.
    assert not collector.take(json.dumps(dict(reversed(content.items())), indent=2).encode())
    assert collector.graph() == before
    assert collector.health()["events"] == 1


def test_a_repeat_of_known_lineage_costs_no_edge(collector: Collector) -> None:
    take(collector, writes("t", {"a": ["IDENTITY s.x"]}, run=1, minute=1))
    before = [{**edge} for edge in collector.graph()["edges"]]
    take(collector, writes("t", {"a": ["IDENTITY s.x"]}, run=2, minute=2))
    assert collector.graph()["edges"] == before
    (definition,) = collector.graph()["definitions"]
    assert (definition["first_seen"][:16], definition["last_seen"][:16]) == (at(1)[:16], at(2)[:16])


@pytest.mark.parametrize("late", ["START", "RUNNING", "OTHER", None])
def test_a_late_event_does_not_reopen_a_run(collector: Collector, late: str | None) -> None:
    take(collector, event("COMPLETE", minute=5), event(late, minute=2))
    assert state(collector)["state"] == "COMPLETE"
    assert state(collector)["ended"] == "2026-01-01T00:05:00.000000Z"


def test_other_after_the_end_is_neutral(collector: Collector) -> None:
    take(collector, event("START", minute=1), event("COMPLETE", minute=5), event("OTHER", minute=9))
    assert state(collector)["state"] == "COMPLETE"
    assert state(collector)["started"] == "2026-01-01T00:01:00.000000Z"


def test_start_and_end_at_the_same_microsecond(collector: Collector) -> None:
    take(collector, event("FAIL", minute=5), event("START", minute=5))
    assert state(collector)["state"] == "FAIL"


def test_a_started_run_is_running(collector: Collector) -> None:
    take(collector, event("RUNNING", minute=9), event("START", minute=5), event("START", minute=7))
    assert state(collector)["state"] == "RUNNING"
    assert state(collector)["started"] == "2026-01-01T00:05:00.000000Z"
    take(collector, event(None, run=2))
    assert state(collector, 2)["state"] == "UNKNOWN"


def test_a_newer_success_closes_what_it_no_longer_has(collector: Collector) -> None:
    take(
        collector,
        writes("t", {"a": ["IDENTITY s.x"], "b": ["IDENTITY s.y"]}, run=1, minute=1),
        writes("t", {"a": ["IDENTITY s.x"], "b": ["IDENTITY s.z"]}, run=2, minute=2),
    )
    assert edges(collector) == {"t.a < IDENTITY s.x", "t.b < IDENTITY s.z"}
    assert edges(collector, closed=True) == {"t.b < IDENTITY s.y"}
    closed = [edge["closed"] for edge in collector.graph()["edges"] if edge["closed"]]
    assert closed == ["2026-01-01T00:02:00.000000Z"]


def test_an_older_success_that_arrives_later_closes_nothing(collector: Collector) -> None:
    take(
        collector,
        writes("t", {"a": ["IDENTITY s.new"]}, run=2, minute=2),
        writes("t", {"a": ["IDENTITY s.old"]}, run=1, minute=1),
    )
    assert edges(collector) == {"t.a < IDENTITY s.new"}


def test_what_comes_back_is_open_again(collector: Collector) -> None:
    for run, field in enumerate(["x", "y", "x"]):
        take(collector, writes("t", {"a": [f"IDENTITY s.{field}"]}, run=run, minute=run))
    assert edges(collector) == {"t.a < IDENTITY s.x"}


@pytest.mark.parametrize(
    "next_run",
    [
        event("FAIL", run=2, minute=2, job="make_t", outputs=("t",)),
        event("ABORT", run=2, minute=2, job="make_t"),
        event("START", run=2, minute=2, job="make_t", inputs=("s",), outputs=("t",)),
        event("COMPLETE", run=2, minute=2, job="make_t"),
        event("COMPLETE", run=2, minute=2, job="make_t", outputs=("t",)),
        writes("t", {"b": ["IDENTITY s.y"]}, type="FAIL", run=2, minute=2),
        writes("t", {"b": ["IDENTITY s.y"]}, type="RUNNING", run=2, minute=2),
        writes("t", {}, run=2, minute=2),
        writes("other", {"b": ["IDENTITY s.y"]}, run=2, minute=2, job="make_t"),
        writes("t", {"b": ["IDENTITY s.y"]}, run=2, minute=2, job="another"),
        # Without column lineage, a run says nothing of columns.
        event("COMPLETE", run=2, minute=2, job="make_t", inputs=("q",), outputs=("t",)),
    ],
    ids=[
        "fail", "abort", "running", "empty", "no lineage", "fail with other lineage",
        "running with other lineage", "no fields", "other output", "other job", "data sets only",
    ],
)  # fmt: skip
def test_what_erases_nothing(collector: Collector, next_run: dict[str, Any]) -> None:
    take(collector, writes("t", {"a": ["IDENTITY s.x"]}, run=1, minute=1), next_run)
    assert "t.a < IDENTITY s.x" in edges(collector)


def test_what_is_known_in_part_closes_nothing(collector: Collector) -> None:
    quality = {**FACET, "outputs": [{"namespace": "db", "name": "t", "availability": "PARTIAL"}]}
    take(
        collector,
        writes("t", {"a": ["IDENTITY s.x"]}, run=1, minute=1),
        writes(
            "t", {"b": ["IDENTITY s.y"]}, run=2, minute=2, facets={"sparkLineage_quality": quality}
        ),
    )
    assert edges(collector) == {"t.a < IDENTITY s.x", "t.b < IDENTITY s.y"}


def test_constants_close_what_was_read_before(collector: Collector) -> None:
    told = {
        "name": "a",
        "type": "TRANSFORMATION",
        "origin": "CONSTANT",
        "availability": "AVAILABLE",
    }
    take(
        collector,
        writes("t", {"a": ["IDENTITY s.x"]}, run=1, minute=1),
        writes("t", {}, run=2, minute=2, own={"sparkLineage_columns": {"columns": [told]}}),
    )
    assert edges(collector) == set()


def test_a_job_that_writes_other_tables_keeps_all(collector: Collector) -> None:
    take(
        collector,
        writes("t1", {"a": ["IDENTITY s.x"]}, run=1, minute=1, job="j"),
        writes("t2", {"a": ["IDENTITY s.x"]}, run=2, minute=2, job="j"),
    )
    assert edges(collector) == {"t1.a < IDENTITY s.x", "t2.a < IDENTITY s.x"}


def test_the_end_of_a_run_replaces_what_its_start_said(collector: Collector) -> None:
    start = writes("t", {"a": ["IDENTITY s.guess"]}, type="START", minute=1)
    end = writes("t", {"a": ["IDENTITY s.x"]}, minute=2)
    take(collector, end, start)
    assert edges(collector) == {"t.a < IDENTITY s.x"}
    assert edges(collector, closed=True) == set()


def test_inputs_of_a_run_add_up_over_its_events(collector: Collector) -> None:
    take(
        collector,
        event("START", minute=1, inputs=("s",)),
        event("RUNNING", minute=2, outputs=("t",)),
        event("COMPLETE", minute=3, inputs=("r",), outputs=("t",)),
    )
    assert edges(collector, table_level=True) == {"t < DATASET r", "t < DATASET s"}


def test_inputs_beside_column_lineage_are_only_noted(collector: Collector) -> None:
    take(collector, writes("t", {"a": ["IDENTITY s.x"]}, inputs=("s", "other")))
    assert edges(collector, table_level=True) == {
        "t < INPUT other", "t < INPUT s", "t.a < IDENTITY s.x",
    }  # fmt: skip


def test_job_and_dataset_events(collector: Collector) -> None:
    base = {"eventTime": at(1), "producer": PRODUCER}
    out = dataset("t", columnLineage=lineage({"a": ["IDENTITY s.x"]}))
    take(
        collector,
        {**base, "job": {"namespace": "n", "name": "j"}, "outputs": [out]},
        {**base, "dataset": dataset("v", columnLineage=lineage({"a": ["IDENTITY t.a"]}))},
        {**base, "eventTime": at(2),
         "dataset": dataset("v", columnLineage=lineage({"a": ["IDENTITY t.b"]}))},
    )  # fmt: skip
    assert edges(collector) == {"t.a < IDENTITY s.x", "v.a < IDENTITY t.b"}
    assert collector.runs(None, None, None, 10) == []


def test_one_source_may_act_in_many_ways(collector: Collector) -> None:
    masked = {
        "namespace": "db", "name": "s", "field": "x",
        "transformations": [
            {"type": "DIRECT", "subtype": "TRANSFORMATION", "masking": True},
            {"type": "DIRECT", "subtype": "TRANSFORMATION", "masking": False},
            {"type": "INDIRECT", "subtype": "CONDITIONAL"},
            {"type": "INDIRECT", "subtype": "SOMETHING_NEW"},
        ],
    }  # fmt: skip
    take(collector, writes("t", {"a": [masked]}))
    assert edges(collector) == {
        "t.a < TRANSFORMATION masked s.x",
        "t.a < TRANSFORMATION s.x",
        "t.a < CONDITIONAL s.x",
        "t.a < INDIRECT s.x",
    }


def test_two_types_of_one_field_are_one_column(collector: Collector) -> None:
    take(
        collector,
        event(run=1, minute=1, outputs=(dataset("t", schema=schema("a:int", "b:string")),)),
        event(run=2, minute=2, inputs=(dataset("t", schema=schema("a:integer")),)),
        event(run=3, minute=3, inputs=(dataset("t", schema=schema("a")),)),
    )
    columns = [c for c in collector.graph()["columns"] if not c["whole"]]
    assert [(c["path"], c["type"], c["position"]) for c in columns] == [
        ("a", "integer", 0),
        ("b", "string", 1),
    ]


def test_losses_are_the_most_that_each_application_said(collector: Collector) -> None:
    def quality(dropped: int, application: str, unexplained: int = 0) -> dict[str, Any]:
        column = {"namespace": "db", "name": "s", "field": "x"}
        return {
            "sparkLineage_quality": {
                **FACET,
                "dropped": {"queue_full": dropped},
                "unexplained": [column] * unexplained,
            },
            "sparkLineage_context": {**FACET, "applicationId": application},
        }

    take(
        collector,
        event(run=1, minute=1, facets=quality(2, "app-1", 1)),
        event(run=2, minute=2, facets=quality(5, "app-1")),
        event(run=3, minute=3, facets=quality(4, "app-2", 2)),
    )
    assert collector.health()["agents"] == {
        "dropped": {"queue_full": 9},
        "unexplained_columns": 3,
        "unexplained_runs": 2,
    }


def _small_set() -> list[dict[str, Any]]:
    """Starts, ends, changes, failures, two jobs, schemas, renamed sources: what could clash."""
    first = {"a": ["IDENTITY s.x"], "b": ["AGGREGATION s.y"]}
    return [
        writes("t", first, ["FILTER s.z"], type="START", run=1, minute=1, inputs=("s",)),
        writes("t", first, ["FILTER s.z"], run=1, minute=2),
        writes("t", {"a": ["IDENTITY s.y"]}, run=2, minute=3),
        event("START", run=3, minute=4, job="make_t", outputs=("t",)),
        event("FAIL", run=3, minute=5, job="make_t"),
        writes("t", first, type="RUNNING", run=4, minute=6, own={"schema": schema("a:int", "b")}),
        event("OTHER", run=4, minute=6, job="make_t", inputs=("r",)),
        writes("t", {"a": ["IDENTITY s.x"]}, run=5, minute=3, own={"schema": schema("a:long")}),
        writes("u", {"c": ["TRANSFORMATION t.a"]}, run=6, minute=7),
        event("COMPLETE", run=7, minute=7, job="make_u", inputs=("t",), outputs=("u",)),
        event("COMPLETE", run=7, minute=7, job="renamed", inputs=("t",), outputs=("u",)),
        event("START", run=7, minute=7, job="make_u"),
    ]


@pytest.fixture(scope="module")
def expected() -> dict[str, Any]:
    return _graph(_small_set())


def _graph(events: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """What an empty collector makes of events; the tables are made only once."""
    collector = Collector("sqlite://") if not _KEPT else _KEPT[0]
    _KEPT[:] = [collector]
    with collector._database.write() as connection:
        for table in reversed(tables.metadata.sorted_tables):
            connection.execute(table.delete())
    take(collector, *events)
    return collector.graph()


_KEPT: list[Collector] = []


@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.data())
def test_any_order_and_any_repetition_give_the_same_store(
    data: st.DataObject, expected: dict[str, Any]
) -> None:
    events = _small_set()
    order = data.draw(st.permutations(range(len(events))))
    again = data.draw(st.lists(st.sampled_from(range(len(events))), max_size=6))
    assert _graph(events[place] for place in [*order, *again]) == expected


def test_the_example_backwards(summarised: Collector) -> None:
    assert _graph(reversed(summary.events())) == summarised.graph()


def test_it_is_there_after_it_was_closed(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "c.db"
    one = Collector(str(path))
    take(one, *summary.events())
    before = one.graph()
    one.close()
    other = Collector(f"sqlite:///{path}")
    assert other.graph() == before
    other.close()


def test_databases_that_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="--db"):
        Collector("mysql://localhost/x")
    with pytest.raises(ConfigError, match="--db"):
        Collector("")
    nonsense = tmp_path / "text.db"
    nonsense.write_text("this is no database, and is long enough to look like one" * 100)
    with pytest.raises(CollectorError, match="not a database"):
        Collector(str(nonsense))
    with pytest.raises(CollectorError, match="cannot open"):
        Collector(f"{nonsense}/below.db")
