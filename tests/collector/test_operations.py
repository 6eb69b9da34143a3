"""Checks, the work queue, overrides, samples, health, pruning, export and import."""

from __future__ import annotations

from pathlib import Path

import pytest

from spark_lineage.collector import checks, maintenance, maps, operations, overrides
from spark_lineage.collector.graph import Bounds
from spark_lineage.collector.intake import MalformedError
from spark_lineage.collector.resolve import column as find_column
from spark_lineage.collector.service import Collector
from tests.collector import summary
from tests.collector.build import FACET, Json, dataset, edges, event, schema, take, writes
from tests.collector.test_identity import renamed


def failing() -> list[Json]:
    out = {"schema": schema("a:string", "b:bigint", "c")}
    return [
        event(run=1, outputs=(dataset("s", schema=schema("x:decimal(4,2)", "y:int", "z:struct")),)),
        writes("t", {"a": ["IDENTITY s.x"], "b": ["IDENTITY s.y"], "c": ["IDENTITY s.gone"]},
               run=2, own=out),
        writes("t", {"b": ["IDENTITY s.x"]}, run=3, job="another"),
        # A struct's field is there with the struct; nothing is known of the schema of `q`.
        writes("u", {"d": ["IDENTITY s.z.deep", "TRANSFORMATION q.any"]}, run=4),
    ]  # fmt: skip


def test_rule_checks(collector: Collector) -> None:
    take(collector, *failing())
    told = {(one["rule"], one["dataset"], one["column"]): one["message"]
            for one in collector.ask(checks.failed, 100)}  # fmt: skip
    assert told == {
        ("UNKNOWN_SOURCE_COLUMN", "t", "c"): "s has no column gone",
        ("TYPE", "t", "a"): "string from decimal(4,2) without a change of it",
        ("CONFLICT", "t", "b"): "jobs differ on where it comes from: another, make_t",
    }


@pytest.mark.parametrize(
    ("kind", "family"),
    [
        ("decimal(4,2)", "number"), ("BIGINT", "number"), ("int8", "number"),
        ("varchar(10)", "text"), ("timestamp_ntz", "time"),
        ("struct<a:int>", "nested"), ("array<string>", "nested"),
        ("weird", None), (None, None), ("", None),
    ],
)  # fmt: skip
def test_families_of_types(kind: str | None, family: str | None) -> None:
    assert checks.family(kind) == family


def test_the_queue_is_worked_off(collector: Collector) -> None:
    take(collector, *failing())
    with pytest.raises(MalformedError):
        collector.take(b"{}")
    waiting = collector.ask(operations.queue, 100)
    assert {one["kind"] for one in waiting} == {
        "QUARANTINED", "UNKNOWN_SOURCE_COLUMN", "TYPE", "CONFLICT",
    }  # fmt: skip
    assert all(one["advice"] for one in waiting)
    for one in waiting:
        assert collector.change(operations.decide, one["kind"], one["key"], "ann", "is so")
        assert not collector.change(operations.decide, one["kind"], one["key"], "ann", "again")
    assert collector.ask(operations.queue, 100) == []
    (aside,) = collector.quarantine(10, state=None)
    assert (aside["state"], aside["by"], aside["reason"]) == ("RESOLVED", "ann", "is so")
    assert collector.change(operations.undecide, "TYPE", waiting[2]["key"])
    assert [one["kind"] for one in collector.ask(operations.queue, 100)] == ["TYPE"]


def test_unavailable_outputs_wait_with_their_issues(collector: Collector) -> None:
    said = {"namespace": "db", "name": "t", "availability": "UNAVAILABLE", "issues": ["a UDF"]}
    facets = {"sparkLineage_quality": {**FACET, "outputs": [said]}}
    take(collector, event(inputs=("s",), outputs=("t",), facets=facets))
    (one,) = collector.ask(operations.queue, 10)
    assert (one["kind"], one["message"], one["detail"]["dataset"]) == ("UNAVAILABLE", "a UDF", "t")


def override(action: str, out: str, source: str, kind: str = "DIRECT") -> Json:
    (table, column), (other, field) = out.split("."), source.split(".")
    return {
        "action": action, "namespace": "db", "dataset": table, "column": column,
        "from_namespace": "db", "from_dataset": other, "from_column": field,
        "kind": kind, "masking": False, "by": "ann", "reason": "seen in the code",
    }  # fmt: skip


def reached(collector: Collector, table: str, column: str) -> list[str]:
    answer = collector.impact(table, column, None, Bounds())
    return [f"{c['dataset']}.{c['column']}" for c in answer["columns"]]


def test_an_added_edge_stays_over_new_events_until_it_is_undone(collector: Collector) -> None:
    again = [writes("t", {"a": ["IDENTITY s.x"]}, run=n, minute=n) for n in (1, 2)]
    take(collector, again[0])
    before = collector.graph()
    told = collector.change(overrides.put, override("ADD", "t.a", "s.y", "TRANSFORMATION"))
    take(collector, again[1])
    assert edges(collector) == {"t.a < IDENTITY s.x", "t.a < TRANSFORMATION s.y"}
    assert reached(collector, "s", "y") == ["t.a"]
    (step,) = [
        step
        for step in collector.explain_column("t", "a", None, Bounds())["nodes"][0]["steps"]
        if step["job"]["namespace"] == overrides.JOB_NAMESPACE
    ]
    assert (step["expression"], told["by"]) == ("seen in the code", "ann")
    assert collector.change(overrides.undo, told["number"], "bob")
    assert collector.change(overrides.undo, told["number"], "bob") is None
    assert edges(collector) == {"t.a < IDENTITY s.x"}
    assert [e["field"] for e in collector.graph()["edges"]] == [e["field"] for e in before["edges"]]
    assert collector.ask(overrides.rows) == []
    assert collector.ask(overrides.rows, True)[0]["undone_by"] == "bob"


def test_a_removed_edge_is_left_out_of_every_answer(collector: Collector) -> None:
    wrong = override("REMOVE", "t.a", "s.x", "IDENTITY")
    take(collector, writes("t", {"a": ["IDENTITY s.x"], "b": ["IDENTITY s.x"]}, run=1, minute=1))
    told = collector.change(overrides.put, wrong)
    take(collector, writes("t", {"a": ["IDENTITY s.x"], "b": ["IDENTITY s.x"]}, run=2, minute=2))
    assert reached(collector, "s", "x") == ["t.b"]
    (node,) = collector.explain_column("t", "a", None, Bounds())["nodes"]
    assert node["steps"][0]["direct"] == []
    collector.change(overrides.undo, told["number"], "ann")
    assert reached(collector, "s", "x") == ["t.a", "t.b"]


def marks(answer: Json) -> list[str | None]:
    """Who said what of the sources of the asked column."""
    found = []
    for step in answer["nodes"][0]["steps"]:
        for one in step["direct"]:
            said = one["override"]
            found.append(None if said is None else f"{said['action']} by {said['by']}")
    return sorted(found, key=str)


def test_what_people_said_is_shown_on_the_edges(collector: Collector) -> None:
    content = writes("t", {"a": ["IDENTITY s.x", "IDENTITY s.y"]}, ["FILTER s.z"], run=1, minute=1)
    take(collector, content)
    confirmed = collector.change(overrides.put, override("CONFIRM", "t.a", "s.x", "IDENTITY"))
    rows = override("CONFIRM", "t.a", "s.z", "FILTER") | {"column": None}
    collector.change(overrides.put, rows)
    added = collector.change(overrides.put, override("ADD", "t.a", "r.q"))
    take(collector, {**content, "eventTime": "2026-01-01T00:09:00Z"})

    def asked() -> Json:
        return collector.explain_column("t", "a", None, Bounds())

    assert marks(asked()) == ["ADD by ann", "CONFIRM by ann", None]
    by_job = {s["job"]["name"]: s for s in asked()["nodes"][0]["steps"]}
    (row,) = by_job["make_t"]["rows"]
    assert row["override"]["action"] == "CONFIRM"
    assert row["override"]["reason"] == "seen in the code"
    (column,) = collector.explain_dataset("t", None)["columns"]
    shown = {o["override"] is not None for s in column["steps"] for o in s["direct"]}
    assert shown == {True, False}
    hit = collector.impact("s", "x", None, Bounds())["columns"][0]
    assert hit["override"]["number"] == confirmed["number"]
    with collector.database.read() as connection:
        start = find_column(connection, "t", "a")
        told = maps.around(connection, start, Bounds(), "up", None)
    assert sorted(str(e["override"] and e["override"]["action"]) for e in told["column_edges"]) == [
        "ADD", "CONFIRM", "CONFIRM", "None",
    ]  # fmt: skip
    for one in (confirmed, added):
        collector.change(overrides.undo, one["number"], "bob")
    assert marks(asked()) == [None, None]


def test_a_confirmation_follows_a_rename(collector: Collector) -> None:
    take(collector, writes("t", {"a": ["IDENTITY s.x"]}, run=1, minute=1))
    collector.change(overrides.put, override("CONFIRM", "t.a", "s.x", "IDENTITY"))
    take(collector, {**renamed("s", "moved", run=2, minute=2), "eventTime": "2100-01-01T00:00:00Z"})
    answer = collector.explain_column("t", "a", None, Bounds())
    assert [s["dataset"] for s in answer["sources"]] == ["moved"]
    assert marks(answer) == ["CONFIRM by ann"]


def test_an_edge_between_data_sets_as_wholes(collector: Collector) -> None:
    take(collector, writes("t", {"a": ["IDENTITY s.x"]}, run=1, minute=1))
    rows = override("ADD", "t.a", "r.q", "FILTER") | {"column": "", "from_column": ""}
    told = collector.change(overrides.put, rows)
    assert (told["column"], told["source"]["column"]) == (None, None)
    collector.change(overrides.undo, told["number"], "ann")
    assert edges(collector) == {"t.a < IDENTITY s.x"}


def test_samples_and_their_accuracy(summarised: Collector) -> None:
    drawn = summarised.change(operations.draw, 4, 7)
    assert len(drawn["edges"]) == 4
    assert (drawn["judged"], drawn["accuracy"], drawn["interval"]) == (0, None, None)
    for edge, verdict in zip(
        drawn["edges"], ("CORRECT", "CORRECT", "WRONG", "UNSURE"), strict=True
    ):
        told = summarised.change(operations.judge, edge["number"], verdict, "ann", "")
    assert told is not None
    assert (told["judged"], told["correct"]) == (3, 2)
    assert told["accuracy"] == pytest.approx(2 / 3)
    assert summarised.ask(operations.sample_of, None) == told
    assert summarised.change(operations.judge, 99_999, "WRONG", "ann", "") is None
    # Five columns, eight of the whole result, and `share`.
    assert len(summarised.change(operations.draw, 10_000, None)["edges"]) == 14


def test_wilson_s_interval() -> None:
    # Newcombe 1998, table I: 81 of 263 and 0 of 20.
    assert operations.wilson(81, 263) == pytest.approx([0.2553, 0.3662], abs=1e-4)
    assert operations.wilson(0, 20) == pytest.approx([0.0, 0.1611], abs=1e-4)
    assert operations.wilson(0, 0) is None


def test_raw_events_go_and_the_graph_stays(summarised: Collector) -> None:
    before = summarised.graph()
    told = maintenance.prune(summarised.database, 0, dry_run=True)
    assert (told["events"], summarised.health()["events"]) == (7, 7)
    assert maintenance.prune(summarised.database, 1, dry_run=False)["events"] == 0
    maintenance.prune(summarised.database, 0, dry_run=False)
    assert summarised.health()["events"] == 0
    assert summarised.graph() == before
    # What is sent again changes nothing either.
    take(summarised, *summary.events())
    assert summarised.graph() == before


def test_export_and_import(summarised: Collector, tmp_path: Path) -> None:
    lines = list(maintenance.export(summarised.database))
    assert len(lines) == 7
    other = Collector(str(tmp_path / "c.db"))
    assert other.take_batch("\n".join(reversed(lines)).encode())["summary"]["failed"] == 0
    assert other.graph() == summarised.graph()
    other.close()
