"""``check``: real Spark over empty tables with the collector's schemas."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from spark_lineage.cli import check, compare, sandbox
from spark_lineage.collector.server import running
from tests.cli.conftest import Run
from tests.collector.build import FACET, Json, dataset, event, lineage, schema, source
from tests.support.parts import missing

FOLDER = Path(__file__).parent / "sql"
ORDERS = ("id:bigint", "customer:struct", "amount:decimal(6,2)", "day:date", "note:VARCHAR2")


def told(name: str, kind: str, expression: str) -> Json:
    return {"name": name, "type": kind, "origin": "INPUT_FIELDS", "expression": expression,
            "availability": "AVAILABLE"}  # fmt: skip


def recorded() -> list[Json]:
    """What ran before: a report of orders, and a mail made of the report."""
    orders = dataset("shop.orders", "hive://prod", schema=schema(*ORDERS))
    orders["facets"]["schema"]["fields"][1]["fields"] = [
        {"name": "name", "type": "string"},
        {"name": "phones", "type": "array", "fields": [{"name": "_element", "type": "string"}]},
    ]

    def of(text: str) -> Json:
        return {**source(text), "namespace": "hive://prod", "name": "shop.orders"}

    columns = {
        "customer": [of("IDENTITY shop.customer.name")],
        "total": [of("AGGREGATION shop.amount")],
        "last_day": [of("AGGREGATION shop.day")],
    }
    columns["customer"][0]["field"] = "customer.name"
    facts = [told("customer", "IDENTITY", "orders.customer.name"),
             told("total", "AGGREGATION", "sum(orders.amount)"),
             told("last_day", "AGGREGATION", "max(orders.day)")]  # fmt: skip
    rows = [{**of("GROUP_BY shop.customer"), "field": "customer.name"},
            of("FILTER shop.amount")]  # fmt: skip
    owners = {**FACET, "owners": [{"name": "team:mail"}]}
    report = dataset(
        "shop.report", "hive://prod",
        schema=schema("customer:string", "total:decimal(16,2)", "last_day:date"),
        columnLineage=lineage(columns, rows),
        sparkLineage_columns={**FACET, "columns": facts},
    )  # fmt: skip
    read = {**source("IDENTITY shop.total"), "namespace": "hive://prod", "name": "shop.report"}
    mail = dataset("shop.mail", "hive://prod", columnLineage=lineage({"sum": [read]}),
                   ownership=owners)  # fmt: skip
    return [
        event(run=1, minute=1, job="load", outputs=(orders,)),
        event(run=2, minute=2, job="report", outputs=(report,)),
        event(run=3, minute=3, job="mail", outputs=(mail,)),
    ]


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running(str(tmp_path_factory.mktemp("shop") / "c.db")) as url:
        for content in recorded():
            sent = httpx.post(f"{url}/api/v1/lineage", json=content, trust_env=False)
            assert sent.status_code == 201, sent.text
        yield url


END = "WHERE amount > 0 GROUP BY customer.name"
SCRIPTS = {
    "same.sql": "-- As it was; only spelled otherwise.\nCREATE OR REPLACE TEMP VIEW big AS\n"
                "  select * from shop.orders where amount > 0;\n"
                "CREATE TABLE shop.report AS SELECT customer.name AS customer, sum(amount) total,"
                " max(day) AS last_day FROM big GROUP BY customer.name;",
    "gone.sql": f"CREATE TABLE shop.report AS SELECT customer.name AS customer,"
                f" max(day) AS last_day FROM shop.orders {END}",
    "narrow.sql": f"CREATE TABLE shop.report AS SELECT customer.name AS customer,"
                  f" CAST(sum(amount) AS decimal(8,2)) AS total, max(day) AS last_day"
                  f" FROM shop.orders {END}",
    "other.sql": "USE shop;\nINSERT INTO report\nSELECT concat(customer.name, note),"
                 " sum(amount), max(day) FROM orders WHERE id > 7 GROUP BY customer.name, note",
    "new.sql": "CREATE TABLE shop.step AS SELECT id, customer.phones[0] AS phone FROM shop.orders;"
               "INSERT INTO shop.mail SELECT phone FROM shop.step; SELECT 1",
    "broken.sql": "INSERT INTO shop.report SELECT nothing FROM shop.orders;\n"
                  "INSERT INTO shop.report SELECT * FROM shop.nowhere",
    "notes.md": "INSERT INTO shop.report SELECT 1",
}  # fmt: skip


@pytest.fixture(scope="module")
def result(shop: str, tmp_path_factory: pytest.TempPathFactory) -> Json:
    """All scripts in one session of Spark, as JSON; statements by file."""
    if shutil.which("java") is None:
        missing("Java")
    pytest.importorskip("pyspark")
    folder = tmp_path_factory.mktemp("sql")
    for name, text in SCRIPTS.items():
        (folder / name).write_text(text)
    done = subprocess.run(
        [sys.executable, "-m", "spark_lineage.cli", "check", *SCRIPTS, "deleted.sql",
         "--url", shop, "--json"],
        cwd=folder, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    answer: Json = json.loads(done.stdout)
    by_file: Json = {}
    for one in answer["statements"]:
        by_file.setdefault(one["file"], []).append(one)
    return {"answer": answer, "by_file": by_file}


def changes(one: Json) -> dict[str | None, tuple[str, bool]]:
    return {c["column"]: (c["state"], c["breaking"]) for c in one["columns"]}


@pytest.mark.spark
def test_what_is_only_spelled_otherwise_is_the_same(result: Json) -> None:
    # Through a view of the script, by Spark's own view of what it means.
    (one,) = [s for s in result["by_file"]["same.sql"] if s["target"]["dataset"] == "shop.report"]
    assert (one["job"], one["columns"], one["error"]) == ("report", [], None)
    assert one["target"]["namespace"] == "hive://prod"


@pytest.mark.spark
def test_a_column_that_is_gone(result: Json) -> None:
    (one,) = result["by_file"]["gone.sql"]
    assert changes(one) == {"total": ("removed", True)}
    (hit,) = one["columns"][0]["hits"]
    assert (hit["dataset"], hit["column"], hit["owners"]) == ("shop.mail", "sum", ["team:mail"])


@pytest.mark.spark
def test_a_type_that_holds_less(result: Json) -> None:
    (one,) = result["by_file"]["narrow.sql"]
    assert changes(one) == {"total": ("changed", True)}
    (column,) = one["columns"]
    assert column["type"] == {
        "before": "decimal(16,2)", "after": "decimal(8,2)", "change": "narrowed",
    }  # fmt: skip
    # A cast after the sum is of the same kind, from the same source.
    assert (column["added"], column["removed"]) == ([], [])


@pytest.mark.spark
def test_other_sources_and_rows(result: Json) -> None:
    (one,) = result["by_file"]["other.sql"]
    assert (one["line"], changes(one)) == (
        2, {"customer": ("changed", False), None: ("changed", False)},
    )  # fmt: skip
    by_name = {c["column"]: c for c in one["columns"]}

    def edges(name: str | None, side: str) -> set[tuple[str, str]]:
        return {(e["type"], e["column"]) for e in by_name[name][side]}

    assert edges("customer", "added") == {
        ("TRANSFORMATION", "customer.name"), ("TRANSFORMATION", "note"),
    }  # fmt: skip
    assert edges("customer", "removed") == {("IDENTITY", "customer.name")}
    assert edges(None, "added") == {("FILTER", "id"), ("GROUP_BY", "note")}
    assert edges(None, "removed") == {("FILTER", "amount")}


@pytest.mark.spark
def test_statements_build_on_each_other(result: Json) -> None:
    step, mail = result["by_file"]["new.sql"]
    assert (step["target"]["dataset"], step["job"]) == ("shop.step", None)
    # The mail's schema is not known, so Spark cannot say what is inserted.
    assert "knows no schema of shop.mail" in mail["error"]


@pytest.mark.spark
def test_what_cannot_be_analysed_is_said(result: Json) -> None:
    first, second = result["by_file"]["broken.sql"]
    assert "UNRESOLVED_COLUMN" in first["error"]
    assert second["error"] == "no table shop.nowhere is known to the collector"
    assert second["line"] == 2
    assert "notes.md" not in result["by_file"]


@pytest.mark.spark
def test_policies(result: Json) -> None:
    def failing(policy: str) -> set[str]:
        return {s["file"] for s in result["answer"]["statements"] if check._fails(s, policy)}

    errors = {"new.sql", "broken.sql"}
    assert failing("never") == set()
    assert failing("removed") == errors | {"gone.sql", "narrow.sql"}
    assert failing("hit") == errors | {"gone.sql", "narrow.sql"}
    assert failing("changed") == errors | {"gone.sql", "narrow.sql", "other.sql"}
    (gone,) = result["by_file"]["gone.sql"]
    alone: Any = {**gone, "columns": [{**c, "hits": []} for c in gone["columns"]]}
    assert (check._fails(alone, "removed"), check._fails(alone, "hit")) == (True, False)


@pytest.mark.spark
def test_as_markdown(result: Json) -> None:
    from spark_lineage.cli.check_report import markdown

    answer = result["answer"]
    failed = [one for one in answer["statements"] if check._fails(one, "removed")]
    text = markdown(answer, failed)
    assert text.startswith("## Lineage check: failed (5 of ")
    assert "| total | **breaking** removed | - AGGREGATION shop.orders.amount |" in text
    assert "shop.mail.sum (owners: team:mail)" in text
    assert "narrowed from decimal(16,2) to decimal(8,2)" in text
    assert "### `same.sql` line 4: `shop.report`\n\nThe same as what `report` recorded." in text
    assert "> no table shop.nowhere is known to the collector" in text


def test_without_sql_nothing_is_started(run: Run, shop: str, tmp_path: Path) -> None:
    done = run("check", str(tmp_path / "deleted.sql"), __file__, "--url", shop)
    assert done.code == 0
    assert done.out.startswith("## Lineage check: passed")
    assert run("check", "x.sql", "--url", "http://127.0.0.1:9").code == 3
    assert run("check", "x.sql", "--url", shop, "--conf", "nothing").code == 2


@pytest.mark.parametrize(
    ("rows", "ddl"),
    [
        ([("a", "int"), ("b", None)], [("a", "int"), ("b", "string")]),
        ([("s", "struct"), ("s.x y", "int"), ("s.z", "string")],
         [("s", "struct<`x y`:int,`z`:string>")]),
        ([("m", "map"), ("m.key", "string"), ("m.value", "array"), ("m.value._element", "struct"),
          ("m.value._element.k", "date")], [("m", "map<string,array<struct<`k`:date>>>")]),
        # A dot in a top-level name is no nesting.
        ([("a.b", "int")], [("a.b", "int")]),
        ([("s", "struct<x:int>")], [("s", "struct<x:int>")]),
    ],
)  # fmt: skip
def test_types_from_nested_schemas(rows: Any, ddl: Any) -> None:
    given = [{"column": name, "data_type": kind} for name, kind in rows]
    assert sandbox.columns_of(given) == ddl


def test_the_job_that_fits_best() -> None:
    def step(job: str, source: str, last: str) -> Json:
        one = {"dataset": "s", "column": source, "type": "IDENTITY", "masking": False}
        return {"job": {"name": job}, "last_seen": last, "direct": [one], "indirect": [],
                "expression": None}  # fmt: skip

    steps = [step("one", "x", "2026-02"), step("two", "y", "2026-01")]
    answer = {"results": [], "columns": [{"column": "a", "data_type": None, "steps": steps}]}
    for source_column, wanted in (("x", "one"), ("y", "two"), ("z", "one")):
        edges: Any = {("a", ("s", source_column, "IDENTITY", False))}
        found = compare.recorded(answer, edges, None)
        assert found is not None
        assert found["job"] == wanted
    named = compare.recorded(answer, set(), "two")
    assert named is not None
    assert named["job"] == "two"
    assert compare.recorded(answer, set(), "three") is None
