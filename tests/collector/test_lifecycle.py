"""A DROP marks a data set as gone from its time on, whatever arrives when."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from spark_lineage.collector import checks, health, lifecycle, operations
from spark_lineage.collector.graph import Bounds
from spark_lineage.collector.resolve import dataset as find
from spark_lineage.collector.service import Collector
from spark_lineage.collector.store import schema as tables
from spark_lineage.collector.times import parse, show
from tests.collector.build import FACET, Json, at, dataset, edges, event, schema, take, writes
from tests.collector.test_identity import renamed


def change(word: str, name: str, run: int, minute: int, type: str = "COMPLETE") -> Json:
    facet = {**FACET, "lifecycleStateChange": word}
    return event(type, run=run, minute=minute, job="ddl",
                 outputs=(dataset(name, lifecycleStateChange=facet),))  # fmt: skip


def drop(name: str, run: int, minute: int, type: str = "COMPLETE") -> Json:
    return change("DROP", name, run, minute, type)


def gone(collector: Collector) -> dict[str, str]:
    return {one["name"]: one["time"][11:16] for one in collector.graph()["dropped"]}


def test_what_was_made_of_it_stays_true(collector: Collector) -> None:
    take(
        collector,
        writes("stage", {"a": ["IDENTITY s.x"]}, run=1, minute=1),
        writes("t", {"b": ["IDENTITY stage.a"]}, run=2, minute=2),
        drop("stage", 3, 3),
    )
    assert gone(collector) == {"stage": "00:03"}
    assert edges(collector) == {"stage.a < IDENTITY s.x", "t.b < IDENTITY stage.a"}
    answer = collector.impact("s", "x", None, Bounds())
    assert [(d["dataset"], d["dropped"] and d["dropped"][11:16]) for d in answer["datasets"]] == [
        ("stage", "00:03"), ("t", None),
    ]  # fmt: skip
    answer = collector.impact("s", "x", None, Bounds(as_of=parse(at(2))))
    assert [d["dropped"] for d in answer["datasets"]] == [None, None]
    nodes = collector.explain_column("t", "b", None, Bounds())["nodes"]
    assert [n["dropped"] is not None for n in nodes] == [False, True, False]


@pytest.mark.parametrize(
    ("after", "wanted"),
    [
        ([], {"t": "00:05"}),
        # Written again, and what was written before but arrives after.
        ([writes("t", {"a": ["IDENTITY s.x"]}, run=9, minute=6)], {}),
        ([change("CREATE", "t", 9, 6)], {}),
        ([writes("t", {"a": ["IDENTITY s.x"]}, run=9, minute=4)], {"t": "00:05"}),
        # What failed wrote nothing.
        ([writes("t", {"a": ["IDENTITY s.x"]}, type="FAIL", run=9, minute=6)], {"t": "00:05"}),
        ([writes("t", {"a": ["IDENTITY s.x"]}, type="START", run=9, minute=6)], {"t": "00:05"}),
        # A read or a schema seen by a reader brings nothing back.
        ([event(run=9, minute=6, inputs=("t",), outputs=("u",))], {"t": "00:05"}),
        ([drop("t", 9, 8)], {"t": "00:08"}),
        ([change("CREATE", "t", 8, 7), drop("t", 9, 8)], {"t": "00:08"}),
    ],
)
def test_until_it_is_written_again(
    collector: Collector, after: list[Json], wanted: dict[str, str]
) -> None:
    take(collector, writes("t", {"a": ["IDENTITY s.x"]}, run=1, minute=1), drop("t", 2, 5), *after)
    assert gone(collector) == wanted


@pytest.mark.parametrize("state", ["FAIL", "ABORT", "START", "RUNNING", "OTHER"])
def test_only_a_drop_that_succeeded_is_one(collector: Collector, state: str) -> None:
    take(collector, writes("t", {"a": ["IDENTITY s.x"]}, run=1, minute=1), drop("t", 2, 5, state))
    assert gone(collector) == {}
    take(collector, drop("t", 2, 6))
    assert gone(collector) == {"t": "00:06"}


def test_a_start_that_says_drop_and_an_end_that_does_not(collector: Collector) -> None:
    take(collector, drop("t", 2, 5, "START"), change("OVERWRITE", "t", 2, 6))
    assert gone(collector) == {}


def test_a_renamed_table_that_is_dropped(collector: Collector) -> None:
    take(
        collector,
        writes("old", {"a": ["IDENTITY s.x"]}, run=1, minute=1),
        renamed("old", "new", run=2, minute=2),
        drop("new", 3, 3),
        # Another table by the name that it left.
        writes("old", {"c": ["IDENTITY s.y"]}, run=4, minute=4),
    )
    assert gone(collector) == {"new": "00:03"}
    with collector.database.read() as connection:
        assert lifecycle.dropped(connection, [find(connection, "old").id]) == {}
        (time,) = lifecycle.dropped(connection, [find(connection, "new").id]).values()
    assert show(time) == "2026-01-01T00:03:00.000000Z"


def test_nobody_is_asked_to_mend_what_is_gone(collector: Collector) -> None:
    said = {"namespace": "db", "name": "t", "availability": "UNAVAILABLE", "issues": ["a UDF"]}
    facets = {"sparkLineage_quality": {**FACET, "outputs": [said]}}
    out = dataset("u", schema=schema("a:string"))
    take(
        collector,
        event(run=1, minute=1, inputs=("s",), outputs=("t",), facets=facets),
        event(run=2, minute=1, outputs=(dataset("s", schema=schema("x:int")),)),
        event(run=3, minute=1, outputs=(out,)),
        writes("u", {"a": ["IDENTITY s.x", "IDENTITY s.gone"]}, run=4, minute=2),
    )
    assert len(collector.ask(operations.queue, 10)) == 3
    take(collector, drop("t", 5, 5), drop("u", 6, 5))
    assert collector.ask(operations.queue, 10) == []
    assert collector.ask(checks.failed, 10) == []
    assert collector.ask(health.totals)["unavailable_outputs"] == 0


def _set() -> list[Json]:
    return [
        writes("a", {"x": ["IDENTITY s.a"]}, run=1, minute=1),
        drop("a", 2, 5, "START"), drop("a", 2, 6),
        writes("a", {"x": ["IDENTITY s.b"]}, run=3, minute=4),
        writes("a", {"x": ["IDENTITY s.b"]}, type="FAIL", run=4, minute=9),
        renamed("b", "a", run=5, minute=8),
        writes("b", {"x": ["IDENTITY s.c"]}, run=6, minute=2),
        writes("c", {"x": ["IDENTITY a.x"]}, run=7, minute=7),
        drop("c", 8, 8, "FAIL"), drop("b", 9, 3), drop("a", 10, 20),
        writes("b", {"x": ["IDENTITY s.c"]}, run=11, minute=12),
    ]  # fmt: skip


_KEPT: list[Collector] = []


def _graph(events: list[Json]) -> dict[str, Any]:
    if not _KEPT:
        _KEPT.append(Collector("sqlite://"))
    with _KEPT[0].database.write() as connection:
        for table in reversed(tables.metadata.sorted_tables):
            connection.execute(table.delete())
    take(_KEPT[0], *events)
    return _KEPT[0].graph()


@settings(
    max_examples=25,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(data=st.data())
def test_any_order_of_drops_writes_and_renames(data: st.DataObject) -> None:
    events = _set()
    order = data.draw(st.permutations(range(len(events))))
    again = data.draw(st.lists(st.sampled_from(range(len(events))), max_size=4))
    expected = _graph(events)
    assert {(one["name"], one["time"][14:16]) for one in expected["dropped"]} == {
        ("a", "06"), ("a", "20"),
    }  # fmt: skip
    assert _graph([events[place] for place in [*order, *again]]) == expected
