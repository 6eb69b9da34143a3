"""Time, tags, schema changes, reads, search, audits and the one graph."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from spark_lineage.collector import history, maps, questions, schema_change, times
from spark_lineage.collector.graph import Bounds
from spark_lineage.collector.resolve import column, dataset
from spark_lineage.collector.schema_diff import Field
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
        wanted = [Field(*one) for one in fields]
        return collector.of_dataset(schema_change.proposed, "people", None, wanted, Bounds())

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
        told = collector.of_dataset(schema_change.proposed, "t", None, [Field("a", kind)], Bounds())
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


def test_a_run_tells_which_writes_it_read(collector: Collector) -> None:
    read = {"job": "r", "run": 9, "inputs": ("t",)}
    take(
        collector,
        change("OVERWRITE", 1, 1), change("OVERWRITE", 2, 3),
        event(run=3, minute=4, job="w", outputs=("t",)),
        event("START", minute=5, **read), event("COMPLETE", minute=8, **read),
        # Written while it read: it had begun before.
        change("OVERWRITE", 4, 6),
    )  # fmt: skip
    told = collector.ask(questions.audit, run_id(9))
    assert told is not None
    (saw,) = [one["saw"] for one in told["inputs"]]
    assert [w["run"] for w in saw["writes"]] == [run_id(3), run_id(2)]
    assert (saw["complete"], saw["truncated"]) == (True, False)


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
        told = maps.around(connection, start, Bounds(), "down", re.compile("^tmp_"))
    assert [(c["dataset"], c["column"]) for c in told["columns"]] == [("s", "x"), ("t", "b")]
    (edge,) = told["column_edges"]
    assert (edge["type"], edge["masking"], told["folded"]) == ("AGGREGATION", True, 2)


def test_folding_in_impact_and_explain(collector: Collector) -> None:
    take(
        collector,
        writes("tmp_1", {"a": ["IDENTITY s.x"]}, run=1),
        writes("tmp_2", {"a": ["IDENTITY tmp_1.a"]}, run=2),
        writes("t", {"b": ["AGGREGATION tmp_2.a"]}, run=3),
        writes("u", {"c": ["IDENTITY t.b"]}, run=4),
        writes("tmp_3", {"c": ["IDENTITY u.c"]}, run=5),
    )
    fold = re.compile("^tmp_")
    answer = collector.impact("s", "x", None, Bounds(), fold=fold)
    assert [(c["dataset"], c["through"]["dataset"], c["distance"]) for c in answer["columns"]] == [
        ("t", "s", 3), ("u", "t", 4),
    ]  # fmt: skip
    assert [d["dataset"] for d in answer["datasets"]] == ["t", "u"]
    assert [j["job"]["name"] for j in answer["jobs"]] == ["make_t", "make_u"]
    assert answer["folded"] == 3
    answer = collector.explain_column("u", "c", None, Bounds(), fold=fold)
    assert [(s["dataset"], s["kinds"][0]["type"]) for s in answer["sources"]] == [
        ("t", "IDENTITY"), ("s", "AGGREGATION"),
    ]  # fmt: skip
    assert [(n["dataset"], n["folded"]) for n in answer["nodes"]] == [
        ("u", False), ("t", False), ("tmp_2", True), ("tmp_1", True), ("s", False),
    ]  # fmt: skip
    # What is asked of is never folded.
    assert collector.impact("tmp_1", "a", None, Bounds(), fold=fold)["columns"][0]["dataset"] == "t"


def viewed(table: str, columns: dict[str, list[str]], run: int, **views: list[str]) -> Json:
    """A write that tells for each column the views that it was read through."""
    facts = [
        {"name": name, "type": "IDENTITY", "origin": "INPUT_FIELDS", "availability": "AVAILABLE",
         "via": views.get(name, [])}
        for name in columns
    ]  # fmt: skip
    own = {"sparkLineage_columns": {**FACET, "columns": facts, "via": views.get("all", [])}}
    rows = [f"FILTER {columns[next(iter(columns))][0].partition(' ')[2].partition('.')[0]}.f"]
    return writes(table, columns, rows, run=run, own=own)


def test_only_through_a_view(collector: Collector) -> None:
    take(
        collector,
        viewed("t", {"a": ["IDENTITY s.x"], "b": ["IDENTITY s.y"]}, 1, a=["cat.db.v"]),
        viewed("u", {"c": ["IDENTITY t.a", "IDENTITY t.b"]}, 2),
        viewed("w", {"d": ["IDENTITY s.x"]}, 3, all=["cat.db.v"], d=["cat.db.v"]),
    )
    values = Bounds(values_only=True)

    def down(column: str, view: str | None, bounds: Bounds = values) -> set[str]:
        answer = collector.impact("s", column, None, bounds, view=view)
        return {f"{c['dataset']}.{c['column']}" for c in answer["columns"]}

    assert down("x", None) == {"t.a", "u.c", "w.d"}
    # What comes after the view is through it, too.
    for name in ("v", "db.v", "CAT.DB.V", "`cat`.`db`.`v`"):
        assert down("x", name) == {"t.a", "u.c", "w.d"}
    assert down("y", "v") == set()
    assert down("x", "other") == down("x", "b.v") == set()
    # The rows of `w` are read through the view as well; those of `t` are not said to be.
    assert down("f", "v", Bounds(depth=1)) == {"w.d"}
    answer = collector.explain_column("u", "c", None, values, view="v")
    assert {(s["dataset"], s["column"]) for s in answer["sources"]} == {("t", "a"), ("s", "x")}
    with collector.database.read() as connection:
        start = column(connection, "s", "x")
        told = maps.around(connection, start, values, "down", None, "v")
    assert {d["dataset"] for d in told["datasets"]} == {"s", "t", "u", "w"}


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


def test_job_versions_by_the_hash_of_the_plan(collector: Collector) -> None:
    def of(text: str, run: int, **told: str) -> Json:
        content = event(run=run, minute=run)
        version = {"sparkLineage_version": {**FACET, **told}} if told else {}
        content["job"]["facets"] = {"sql": {**FACET, "query": text}, **version}
        return content

    take(
        collector,
        # The same plan of another text; then another plan; then only the text's hash.
        of("SELECT 1", 1, planHash="p1", sqlHash="s1"),
        of("select 1", 2, planHash="p1", sqlHash="s2"),
        of("select 1", 3, planHash="p2", sqlHash="s2"),
        of("select 1", 4, sqlHash="s2"),
        of("select 1 -- no more", 5, sqlHash="s2"),
    )
    told = {
        (v["source"], v["first_seen"][14:16], v["last_seen"][14:16])
        for v in collector.graph()["job_versions"]
    }
    assert told == {("plan", "01", "02"), ("plan", "03", "03"), ("sql", "04", "05")}


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
