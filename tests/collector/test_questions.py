"""Time, tags, schema changes, reads, search, audits and the one graph."""

from __future__ import annotations

import json
from typing import Any

import pytest

from spark_lineage.collector import history, maps, questions, times
from spark_lineage.collector.graph import Bounds
from spark_lineage.collector.resolve import column, dataset
from spark_lineage.collector.service import Collector
from tests.collector import summary
from tests.collector.build import FACET, Json, at, event, run_id, schema, source, take, writes
from tests.collector.build import dataset as ds

SHIFT = [
    writes("t", {"a": ["IDENTITY s.x"]}, run=1, minute=10),
    writes("t", {"a": ["IDENTITY s.y"]}, run=2, minute=20),
    writes("u", {"b": ["IDENTITY t.a"]}, run=3, minute=25),
    writes("t", {"a": ["IDENTITY s.x"]}, run=4, minute=30),
]


def when(minute: int) -> int:
    return times.parse(at(minute))


@pytest.mark.parametrize(
    ("minute", "sources"),
    [(5, []), (10, ["x"]), (15, ["x"]), (20, ["y"]), (29, ["y"]), (30, ["x"]), (99, ["x"])],
)
def test_as_of(collector: Collector, minute: int, sources: list[str]) -> None:
    # Whatever came last: the past is told by times.
    take(collector, *reversed(SHIFT))
    answer = collector.explain_column("t", "a", None, Bounds(as_of=when(minute)))
    assert [n["column"] for n in answer["nodes"][1:]] == sources
    told = [s["column"] for step in answer["nodes"][0]["steps"] for s in step["direct"]]
    assert told == sources
    hit = collector.impact("s", "x", None, Bounds(as_of=when(minute)))
    wanted = [("t", "a")] if "x" in sources else []
    assert [(c["dataset"], c["column"]) for c in hit["columns"]][: len(wanted)] == wanted


def test_as_of_without_column_lineage(collector: Collector) -> None:
    take(
        collector,
        event(run=1, minute=1, inputs=("s",), outputs=("t",)),
        event(run=2, minute=3, inputs=("r",), outputs=("t",)),
    )
    for minute, wanted in ((1, {"s"}), (2, {"s"}), (3, {"r"})):
        answer = collector.explain_dataset("t", None)
        assert {d["dataset"] for d in answer["results"][0]["datasets"]} == {"r"}
        bounds = Bounds(as_of=when(minute))
        with collector.database.read() as connection:
            found = column(connection, "t", None)
            told = maps.around(connection, found, bounds, "up", None)
        assert {d["dataset"] for d in told["datasets"]} == wanted | {"t"}


def test_diff(collector: Collector) -> None:
    take(collector, *SHIFT)
    told = collector.ask(history.diff, when(15), when(25), None)

    def short(edges: list[Json]) -> list[str]:
        return [
            f"{e['dataset']}.{e['column']} < {e['source']['dataset']}.{e['source']['column']}"
            for e in edges
            if e["column"]
        ]

    assert short(told["added"]) == ["t.a < s.y", "u.b < t.a"]
    assert short(told["removed"]) == ["t.a < s.x"]
    assert not told["truncated"]
    same = collector.ask(history.diff, when(15), when(30), None)
    assert short(same["added"]) == ["u.b < t.a"]


def pii() -> list[Json]:
    tags = {**FACET, "tags": [{"key": "PII", "value": "email", "field": "mail", "source": "x"}]}
    masked = source("TRANSFORMATION people.mail", masking=True)
    return [
        event(run=1, minute=1, outputs=(ds("people", schema=schema("mail", "age"), tags=tags),)),
        writes("copy", {"m": ["IDENTITY people.mail"], "h": [masked], "n": ["IDENTITY people.age"]},
               run=2, minute=2),
        writes("far", {"m2": ["TRANSFORMATION copy.m"], "h2": ["IDENTITY copy.h"]},
               ["FILTER copy.m"], run=3, minute=3),
    ]  # fmt: skip


def test_tags_flow_along_values_and_stop_at_masking(collector: Collector) -> None:
    take(collector, *pii())
    told = collector.ask(questions.tagged, "pii", Bounds())
    assert [(c["dataset"], c["column"], c["tagged"]) for c in told["columns"]] == [
        ("people", "mail", True), ("copy", "m", False), ("far", "m2", False),
    ]  # fmt: skip
    with collector.database.read() as connection:
        (tag,) = questions.tags_of(connection, column(connection, "far", "m2"), Bounds())["tags"]
        assert (tag["key"], tag["at"]["dataset"], tag["distance"]) == ("PII", "people", 2)
        for masked in ("h2",):
            of = column(connection, "far", masked)
            assert questions.tags_of(connection, of, Bounds())["tags"] == []


def test_a_tags_facet_that_is_deleted(collector: Collector) -> None:
    deleted = {**FACET, "_deleted": True}
    take(collector, *pii(), event(run=9, minute=9, outputs=(ds("people", tags=deleted),)))
    assert collector.ask(questions.tagged, "PII", Bounds())["columns"] == []


def test_a_proposed_schema(collector: Collector) -> None:
    context = {"sparkLineage_context": {**FACET, "stars": True}}
    take(
        collector,
        *pii(),
        event(run=5, minute=5, job="all", inputs=("people",), facets=context),
        event(run=6, minute=6, job="some", inputs=("people",)),
    )

    def ask(*fields: tuple[str, str | None]) -> Json:
        return collector.of_dataset(questions.change, "people", None, list(fields), Bounds())

    same = ask(("mail", None), ("age", None))
    assert (same["breaking"], same["changes"], same["star_readers"]) == (False, [], [])
    less = ask(("mail", "string"))
    assert less["breaking"]
    assert [(c["column"], c["change"]) for c in less["changes"]] == [("age", "removed")]
    assert [(c["dataset"], c["column"]) for c in less["changes"][0]["columns"]] == [("copy", "n")]
    assert [one["job"]["name"] for one in less["star_readers"]] == ["all"]
    more = ask(("mail", None), ("age", None), ("new", "int"))
    assert (more["breaking"], more["added"]) == (False, ["new"])
    assert [one["job"]["name"] for one in more["star_readers"]] == ["all"]


def test_types_of_a_proposed_schema(collector: Collector) -> None:
    take(
        collector,
        event(run=1, outputs=(ds("t", schema=schema("a:decimal(4,2)")),)),
        writes("u", {"b": ["IDENTITY t.a"]}, run=2),
    )
    for kind, changed in (("DECIMAL(4, 2)", []), ("string", ["a"]), (None, [])):
        told = collector.of_dataset(questions.change, "t", None, [("a", kind)], Bounds())
        assert [one["column"] for one in told["changes"]] == changed


def change(kind: str, run: int, minute: int) -> Json:
    facet = {**FACET, "lifecycleStateChange": kind}
    return event(run=run, minute=minute, job="w", outputs=(ds("t", lifecycleStateChange=facet),))


def test_what_a_read_saw(collector: Collector) -> None:
    take(
        collector,
        change("OVERWRITE", 1, 1), event(run=2, minute=2, job="w", outputs=("t",)),
        change("OVERWRITE", 3, 3), event(run=4, minute=4, job="w", outputs=("t",)),
        event("FAIL", run=5, minute=5, job="w", outputs=("t",)),
        event(run=6, minute=6, job="w", outputs=("t",)),
    )  # fmt: skip
    for minute, runs in ((2, [2, 1]), (3, [3]), (5, [4, 3]), (9, [6, 4, 3])):
        told = collector.of_dataset(questions.seen_by, "t", None, when(minute))
        assert [w["run"] for w in told["writes"]] == [run_id(n) for n in runs]
        assert told["complete"]
    assert collector.of_dataset(questions.seen_by, "t", None, when(0))["writes"] == []


def test_search(summarised: Collector) -> None:
    def found(text: str, limit: int = 50) -> list[tuple[str, str, Any]]:
        told = summarised.ask(questions.search, text, limit)
        return [
            (one["type"], one["name"].rpartition(".")[2], one["column"]) for one in told["results"]
        ]

    assert found("customers")[0] == ("DATASET", "customers", None)
    assert found("customer_summary")[0] == ("DATASET", "customer_summary", None)
    assert ("COLUMN", "orders", "amount") in found("amou")
    assert ("JOB", "report", None) in found("REPORT")
    # By another name of it.
    assert ("DATASET", "customer_summary", None) in found("warehouse")
    assert found("100%") == []
    told = summarised.ask(questions.search, "a", 2)
    assert (len(told["results"]), told["truncated"]) == (2, True)


def test_an_audit_record(summarised: Collector) -> None:
    told = summarised.ask(questions.audit, run_id(3))
    assert told is not None
    assert (told["state"], told["duration_ms"], told["availability"]) == (
        "COMPLETE", 60_000, "AVAILABLE",
    )  # fmt: skip
    assert [one["dataset"].rpartition(".")[2] for one in told["inputs"]] == ["customers", "orders"]
    assert [one["type"] for one in told["events"]] == ["START", "COMPLETE"]
    assert summarised.ask(questions.audit, "no") is None


def test_one_graph(summarised: Collector) -> None:
    with summarised.database.read() as connection:
        start = column(connection, "customer_summary", "total_amount")
        told = maps.around(connection, start, Bounds(values_only=True), "both", None)
    names = {c["id"]: f"{c['dataset'].rpartition('.')[2]}.{c['column']}" for c in told["columns"]}
    edges = {
        (names[e["source"]], names[e["target"]], e["type"]) for e in told["column_edges"]
    }  # fmt: skip
    assert ("orders.amount", "customer_summary.total_amount", "AGGREGATION") in edges
    assert ("customer_summary.total_amount", "report.share", "TRANSFORMATION") in edges
    distance = {names[c["id"]]: c["distance"] for c in told["columns"]}
    assert (distance["orders.amount"], distance["report.share"]) == (-1, 1)
    assert {job["name"] for job in told["jobs"]} >= {summary.INSERT, "report"}


def test_folding_joins_the_ends(collector: Collector) -> None:
    masked = source("TRANSFORMATION s.x", masking=True)
    take(
        collector,
        writes("tmp_1", {"a": [masked]}, run=1),
        writes("tmp_2", {"a": ["AGGREGATION tmp_1.a"]}, run=2),
        writes("tmp_1", {"a": ["IDENTITY tmp_2.a"]}, run=3, job="cycle"),
        writes("t", {"b": ["IDENTITY tmp_2.a"]}, run=4),
    )
    with collector.database.read() as connection:
        start = column(connection, "s", "x")
        told = maps.around(connection, start, Bounds(), "down", "^tmp_")
    assert [(c["dataset"], c["column"]) for c in told["columns"]] == [("s", "x"), ("t", "b")]
    (edge,) = told["column_edges"]
    assert (edge["type"], edge["masking"], told["folded"]) == ("AGGREGATION", True, 2)


def test_only_some_kinds(summarised: Collector) -> None:
    bounds = Bounds(kinds=frozenset({"JOIN"}), depth=1)
    answer = summarised.explain_column("customer_summary", "total_amount", None, bounds)
    assert {n["column"] for n in answer["nodes"][1:]} == {"customer_id"}


def test_owners_are_told(collector: Collector) -> None:
    owners = {**FACET, "owners": [{"name": "team:data", "type": "MAINTAINER"}]}
    content = writes("t", {"a": ["IDENTITY s.x"]}, own={"ownership": owners})
    content["job"]["facets"] = {"ownership": {**FACET, "owners": [{"name": "ann"}]}}
    take(collector, content)
    answer = collector.impact("s", "x", None, Bounds())
    assert answer["columns"][0]["owners"] == ["team:data"]
    assert answer["datasets"][0]["owners"] == ["team:data"]
    assert answer["jobs"][0]["owners"] == ["ann"]


def test_job_versions_by_the_text_of_the_query(collector: Collector) -> None:
    def of(text: str, run: int) -> Json:
        content = event(run=run, minute=run)
        content["job"]["facets"] = {"sql": {**FACET, "query": text}}
        return content

    take(collector, of("SELECT 1", 1), of("SELECT  1\n", 2), of("SELECT 2", 3), of("SELECT 1", 4))
    told = [(v["first_seen"][:16], v["last_seen"][:16]) for v in collector.graph()["job_versions"]]
    assert sorted(told) == [(at(1)[:16], at(4)[:16]), (at(3)[:16], at(3)[:16])]


def test_an_unchanged_schema_makes_no_new_version(collector: Collector) -> None:
    for run, fields in enumerate((["a:int"], ["a:int"], ["a:int", "b:int"], ["a:int"])):
        take(collector, event(run=run, minute=run, outputs=(ds("t", schema=schema(*fields)),)))
    assert len(collector.graph()["schemas"]) == 2


def test_every_facet_is_kept_by_its_newest(collector: Collector) -> None:
    said = [{**FACET, "description": text} for text in ("first", "second")]
    take(
        collector,
        event(run=2, minute=2, outputs=(ds("t", documentation=said[1]),)),
        event(run=1, minute=1, outputs=(ds("t", documentation=said[0]),)),
    )
    (facet,) = [f for f in collector.graph()["stated"] if f["facet"] == "documentation"]
    assert json.loads(facet["body"])["description"] == "second"
    with collector.database.read() as connection:
        assert dataset(connection, "t").name == "t"
