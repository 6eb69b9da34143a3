"""Which names are one data set: symlinks, namespace aliases, renames and swaps."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, insert, select

from spark_lineage.collector import owned, schema_change
from spark_lineage.collector.graph import Bounds
from spark_lineage.collector.service import Collector
from spark_lineage.collector.store import schema as tables
from spark_lineage.collector.times import parse
from tests.collector.build import (
    FACET,
    Json,
    at,
    dataset,
    edges,
    event,
    lineage,
    schema,
    take,
    writes,
)

PATH = ("file", "/warehouse/t")


def linked(name: str, to: tuple[str, str] = PATH, kind: str = "LOCATION", **facets: Any) -> Json:
    links = {**FACET, "identifiers": [{"namespace": to[0], "name": to[1], "type": kind}]}
    return dataset(name, symlinks=links, **facets)


def renamed(old: str, new: str, run: int, minute: int, type: str = "COMPLETE") -> Json:
    facet = {
        **FACET,
        "lifecycleStateChange": "RENAME",
        "previousIdentifier": {"namespace": "db", "name": old},
    }
    out = dataset(new, lifecycleStateChange=facet)
    return event(type, run=run, minute=minute, job="rename", outputs=(out,))


def by_path(column: str, run: int, minute: int) -> Json:
    """A job that reads the path."""
    source = {"namespace": PATH[0], "name": PATH[1], "field": column}
    out = dataset("by_path", columnLineage=lineage({"z": [source]}))
    return event(run=run, minute=minute, job="reader", outputs=(out,))


def shown(collector: Collector) -> set[str]:
    return {
        item["name"] + (" (ended)" if item["ended"] else "")
        for item in collector.graph()["datasets"]
    }


def test_a_symlink_that_arrives_later_joins_what_was_two(collector: Collector) -> None:
    take(
        collector,
        writes("t", {"a": ["IDENTITY s.x"]}, run=1, minute=1),
        by_path("a", run=2, minute=2),
    )
    assert shown(collector) == {"t", "s", "by_path", PATH[1]}
    take(collector, event(run=3, minute=3, job="other", inputs=(linked("t"),)))
    assert shown(collector) == {"t", "s", "by_path"}
    assert edges(collector) == {"t.a < IDENTITY s.x", "by_path.z < DIRECT t.a"}
    answer = collector.impact("s", "x", None, Bounds())
    assert [(c["dataset"], c["column"]) for c in answer["columns"]] == [
        ("t", "a"),
        ("by_path", "z"),
    ]
    assert collector.resolve("/warehouse/t.a", None)["dataset"] == "t"


def test_a_newer_run_by_another_name_closes_what_it_no_longer_has(collector: Collector) -> None:
    path = dataset(PATH[1], PATH[0], columnLineage=lineage({"a": ["IDENTITY s.y"]}))
    take(
        collector,
        writes("t", {"a": ["IDENTITY s.x"]}, run=1, minute=1, job="j"),
        event(run=2, minute=2, job="j", outputs=(path,)),
        event(run=3, minute=3, job="other", inputs=(linked("t"),)),
    )
    assert edges(collector) == {"t.a < IDENTITY s.y"}
    assert edges(collector, closed=True) == {"t.a < IDENTITY s.x"}


def test_a_rename_keeps_the_history(collector: Collector) -> None:
    take(
        collector,
        writes("old", {"a": ["IDENTITY s.x"]}, run=1, minute=1, own={"schema": schema("a:int")}),
        renamed("old", "new", run=2, minute=5),
        writes("out", {"b": ["IDENTITY new.a"]}, run=3, minute=6),
    )
    assert shown(collector) == {"new", "out", "s"}
    assert edges(collector) == {"new.a < IDENTITY s.x", "out.b < IDENTITY new.a"}
    assert collector.resolve("old.a", None) == {"namespace": "db", "dataset": "new", "column": "a"}
    # The old name, used again, is another table.
    take(collector, writes("old", {"c": ["IDENTITY s.y"]}, run=4, minute=7))
    assert shown(collector) == {"new", "old", "out", "s"}
    assert edges(collector) == {
        "new.a < IDENTITY s.x", "out.b < IDENTITY new.a", "old.c < IDENTITY s.y",
    }  # fmt: skip
    assert collector.resolve("old.c", None)["dataset"] == "old"


@pytest.mark.parametrize("state", ["FAIL", "RUNNING", "START"])
def test_only_a_rename_that_succeeded_is_one(collector: Collector, state: str) -> None:
    take(
        collector,
        writes("old", {"a": ["IDENTITY s.x"]}, run=1, minute=1),
        renamed("old", "new", run=2, minute=5, type=state),
    )
    assert edges(collector) == {"old.a < IDENTITY s.x"}


def test_a_rename_onto_a_name_in_use_ends_what_had_it(collector: Collector) -> None:
    take(
        collector,
        writes("live", {"a": ["IDENTITY s.x"]}, run=1, minute=1),
        writes("staged", {"a": ["IDENTITY s.y"]}, run=2, minute=2),
        renamed("staged", "live", run=3, minute=3),
    )
    assert shown(collector) == {"live", "live (ended)", "s"}
    # By its name the one that has it now is found.
    answer = collector.explain_column("live", "a", None, Bounds())
    assert [(n["dataset"], n["column"]) for n in answer["nodes"]] == [("live", "a"), ("s", "y")]


def swap() -> list[Json]:
    """`a` and `b` change their names by way of a third; a job reads each before and after."""
    return [
        writes("a", {"x": ["IDENTITY s.a"]}, run=1, minute=1),
        writes("b", {"x": ["IDENTITY s.b"]}, run=2, minute=1),
        writes("early", {"y": ["IDENTITY a.x", "IDENTITY b.x"]}, run=3, minute=2),
        renamed("a", "tmp", run=4, minute=10),
        renamed("b", "a", run=5, minute=11),
        renamed("tmp", "b", run=6, minute=12),
        writes("late", {"y": ["AGGREGATION a.x"]}, run=7, minute=20),
    ]


def test_a_swap(collector: Collector) -> None:
    take(collector, *swap())
    assert shown(collector) == {"a", "b", "early", "late", "s"}
    assert edges(collector) == {
        "b.x < IDENTITY s.a",
        "a.x < IDENTITY s.b",
        "early.y < IDENTITY a.x",
        "early.y < IDENTITY b.x",
        "late.y < AGGREGATION a.x",
    }
    assert [
        (c["dataset"], c["column"]) for c in collector.impact("s", "b", None, Bounds())["columns"]
    ] == [("a", "x"), ("early", "y"), ("late", "y")]


def test_a_path_that_a_renamed_table_left_is_another_table_s(collector: Collector) -> None:
    take(
        collector,
        event(run=1, minute=1, job="w", outputs=(linked("t", schema=schema("a")),)),
        renamed("t", "moved", run=2, minute=2),
        event(run=3, minute=3, job="w", outputs=(linked("t", schema=schema("b")),)),
    )
    assert shown(collector) == {"moved", "t"}
    columns = {(c["name"], c["path"]) for c in collector.graph()["columns"] if not c["whole"]}
    assert columns == {("moved", "a"), ("t", "b")}


def test_namespace_aliases(collector: Collector) -> None:
    collector.set_alias(r"hdfs://nn\d(:8020)?", "hdfs://cluster")
    one = dataset("/t", "hdfs://nn1:8020", columnLineage=lineage({"a": ["IDENTITY s.x"]}))
    two = {"namespace": "hdfs://nn2", "name": "/t", "field": "a"}
    take(collector, event(outputs=(one,)), writes("out", {"b": [two]}, run=2, minute=2))
    assert edges(collector) == {"/t.a < IDENTITY s.x", "out.b < DIRECT /t.a"}
    (found,) = [d for d in collector.graph()["datasets"] if d["name"] == "/t"]
    assert found["namespace"] == "hdfs://cluster"


def test_an_alias_that_is_told_later_or_taken_back(collector: Collector) -> None:
    one = dataset("/t", "nn1", columnLineage=lineage({"a": ["IDENTITY s.x"]}))
    two = {"namespace": "nn2", "name": "/t", "field": "a"}
    events = [event(outputs=(one,)), writes("out", {"b": [two]}, run=2, minute=2)]
    take(collector, *events)
    before = collector.graph()
    collector.set_alias("nn[12]", "nn")
    assert len([d for d in collector.graph()["datasets"] if d["name"] == "/t"]) == 1
    take(collector, event(run=3, minute=3, job="x", inputs=(dataset("/u", "nn1"),)))
    collector.remove_alias("nn[12]")
    after = collector.graph()
    assert after["edges"] == before["edges"]
    assert {d["namespace"] for d in after["datasets"] if d["name"] == "/u"} == {"nn1"}


def _hard_set() -> list[Json]:
    facets = {"schema": schema("a:int", "b")}
    return [
        *swap(),
        writes("t", {"a": ["IDENTITY s.x"]}, run=11, minute=1, own=facets),
        by_path("a", run=12, minute=2),
        event(run=13, minute=3, job="links", inputs=(linked("t"),)),
        renamed("t", "u", run=14, minute=5, type="START"),
        renamed("t", "u", run=14, minute=6),
        event(run=15, minute=8, job="again", outputs=(linked("t", schema=schema("c")),)),
        by_path("c", run=16, minute=9),
        writes("late", {"y": ["AGGREGATION b.x"]}, type="START", run=7, minute=11),
        renamed("u", "a", run=17, minute=30, type="FAIL"),
        renamed("late", "final", run=18, minute=20),
        writes("final", {"y": ["IDENTITY u.a"]}, run=19, minute=25),
    ]


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


@pytest.fixture(scope="module")
def expected() -> Json:
    return _graph(_hard_set())


@settings(
    max_examples=25,
    deadline=None,
    # The set is fixed: a smaller failing order says no more than the first.
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.data())
def test_any_order_of_renames_swaps_and_links(data: st.DataObject, expected: Json) -> None:
    events = _hard_set()
    order = data.draw(st.permutations(range(len(events))))
    again = data.draw(st.lists(st.sampled_from(range(len(events))), max_size=4))
    assert _graph(events[place] for place in [*order, *again]) == expected


@settings(
    max_examples=12,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.data())
def test_batches_give_what_single_events_give(data: st.DataObject, expected: Json) -> None:
    events = data.draw(st.permutations(_hard_set()))
    size = data.draw(st.integers(2, len(events)))
    _graph([])
    for place in range(0, len(events), size):
        some = json.dumps(events[place : place + size]).encode()
        assert _KEPT[0].take_batch(some)["status"] == "success"
    assert _KEPT[0].graph() == expected


_NAMES = ("a", "b", "c")


@st.composite
def _any_event(draw: st.DrawFn, run: int) -> Json:
    """Any event about three names: written, read, renamed, linked, in any state at any time."""
    minute = draw(st.integers(1, 6))
    state = draw(st.sampled_from(["START", "COMPLETE", "COMPLETE", "FAIL", None]))
    run = draw(st.sampled_from([run, run, max(1, run - 1)]))
    one, other = draw(st.permutations(_NAMES))[:2]
    kind = draw(st.sampled_from(["write", "read", "rename", "link", "schema"]))
    more: Json = {"type": state, "run": run, "minute": minute}
    if kind == "write":
        return writes(one, {"x": [f"IDENTITY {other}.x"]}, **more)
    if kind == "read":
        return event(job="read", inputs=(one,), outputs=("out",), **more)
    if kind == "rename":
        return renamed(one, other, run, minute, type=state or "COMPLETE")
    if kind == "link":
        return event(job="link", inputs=(linked(one, ("db", other), "TABLE"),), **more)
    return event(job="schema", outputs=(dataset(one, schema=schema(f"c{minute}:int")),), **more)


@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(data=st.data())
def test_any_events_in_any_order(data: st.DataObject) -> None:
    events = [data.draw(_any_event(run)) for run in range(1, data.draw(st.integers(2, 7)) + 1)]
    order = data.draw(st.permutations(events))
    assert _graph(order) == _graph(events)


@settings(
    max_examples=30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(data=st.data())
def test_any_events_in_any_batches(data: st.DataObject) -> None:
    """New names, links and schemas that come together are made and settled at once."""
    events = [data.draw(_any_event(run)) for run in range(1, data.draw(st.integers(2, 7)) + 1)]
    expected = _graph(events)
    order = data.draw(st.permutations(events))
    _graph([])
    while order:
        size = data.draw(st.integers(1, len(order)))
        some, order = order[:size], order[size:]
        assert _KEPT[0].take_batch(json.dumps(some).encode())["status"] == "success"
    assert _KEPT[0].graph() == expected


def test_readers_and_tags_of_a_name_are_of_what_it_meant_then(collector: Collector) -> None:
    context = {"sparkLineage_context": {**FACET, "stars": True}}
    take(
        collector,
        event(run=1, minute=1, job="early", inputs=("t",), facets=context),
        renamed("t", "u", run=2, minute=3),
        writes("t", {"a": ["IDENTITY s.x"]}, run=3, minute=4),
        event(run=4, minute=5, job="late", inputs=("t",), facets=context),
    )

    def tag(connection: Connection) -> None:
        names = tables.names
        name = connection.scalar(select(names.c.id).where(names.c.name == "t"))
        row = {"name_id": name, "field": "", "value": "", "by": "me"}
        rows = [{**row, "key": key, "time": parse(at(minute))}
                for key, minute in (("OLD", 2), ("NEW", 6))]  # fmt: skip
        connection.execute(insert(tables.tags), rows)

    collector.change(tag)
    for name, reader, key in (("u", "early", "OLD"), ("t", "late", "NEW")):
        told = collector.impact(name, None, None, Bounds())
        assert [one["job"]["name"] for one in told["readers"]] == [reader]
        stars = collector.of_dataset(schema_change.star_readers, name, None)
        assert [one["job"]["name"] for one in stars] == [reader]
        dataset_id = collector.of_dataset(lambda _, found: found.id, name, None)
        tags = collector.ask(owned.tags, [dataset_id])[dataset_id]
        assert [one["key"] for one in tags] == [key]
