"""Bounds, late imports, and the public rows that are plain SQL text."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_lineage.lineage.datasets.remote import remote_relation
from spark_lineage.lineage.lanes import FIRST_INDIRECT, KINDS
from spark_lineage.lineage.sqltext import MAX_CHARACTERS, resolve
from tests.support.python import run_python

ROWS = Path(__file__).parents[4] / "shared" / "cases" / "edges.jsonl"


def public() -> list[dict[str, Any]]:
    if not ROWS.exists():
        return []
    rows = [json.loads(line) for line in ROWS.read_text().splitlines()]
    wanted = ("OL-SQ", "OL-SF", "OL-BQ", "OL-JD")
    return [
        row for row in rows if row["id"].startswith(wanted) and not row["code"].startswith("--")
    ]


#: Rows that give other kinds than the design's table of kinds, and what is right.
CORRECTED = {
    # Window keys are WINDOW, and no value.
    "OL-SQ11": set(),
    # A sum is a TRANSFORMATION of both.
    "OL-SQ04": {
        ("u", "IDENTITY", "wh.inv.u"),
        ("v", "IDENTITY", "wh.inv.v"),
        ("_0", "TRANSFORMATION", "wh.inv.u"),
        ("_0", "TRANSFORMATION", "wh.inv.v"),
    },
}
#: Names of the results, where the row's direct edges do not say them all.
NAMES = {"OL-SQ11": ["rk"], "OL-JD08": ["a"], "OL-BQ02": ["nope"]}


@pytest.mark.skipif(not ROWS.exists(), reason="the public rows are not on this machine")
def test_public_rows() -> None:
    rows = public()
    assert len(rows) >= 20
    for row in rows:
        names = list(dict.fromkeys(edge[0] for edge in row["direct"])) or NAMES[row["id"]]
        url = "jdbc:snowflake://o-a.snowflakecomputing.com/?db=DB0&schema=SC0"
        if not row["id"].startswith("OL-SF"):
            url = "jdbc:mysql://h"
        schema = tuple((name, "string", None) for name in names)
        found = remote_relation({"url": url, "query": row["code"]}, schema)
        assert found.lineage is not None
        told = {
            (name, KINDS[lane >> 1].value, f"{found.datasets[table].name}.{'.'.join(path)}")
            for name, column in zip(names, found.lineage.columns, strict=True)
            for lane, table, path in column.edges
            if lane < FIRST_INDIRECT
        }
        wanted = CORRECTED.get(row["id"], {tuple(edge) for edge in row["direct"]})
        # An account of Snowflake's folds names without quotes; the rows have them as written.
        assert {tuple(map(str.lower, each)) for each in told} == {
            tuple(map(str.lower, each)) for each in wanted
        }, row["id"]


def test_a_long_text_is_said_so() -> None:
    found = resolve(f"SELECT a FROM t WHERE b IN ({'1,' * MAX_CHARACTERS}1)", ["a"], "postgres")
    assert found.tables == ()
    assert f"longer than {MAX_CHARACTERS}" in next(iter(found.issues))


@pytest.mark.parametrize(
    "text",
    [
        "SELECT " + "(" * 3000 + "a" + ")" * 3000 + " FROM t",
        "SELECT * FROM " + "(SELECT * FROM " * 200 + "t" + ") q" * 200,
        "SELECT " + "CASE WHEN a THEN " * 700 + "b" + " END" * 700 + " FROM t",
        "SELECT " + "NOT " * 3000 + "a FROM t",
    ],
    ids=["brackets", "queries", "cases", "operators"],
)
def test_what_is_nested_too_deep_is_said_so(text: str) -> None:
    found = resolve(text, ["a"], "postgres", "lower")
    assert found.issues or found.columns[0].edges
    assert len(found.columns) == 1


def test_long_chains_are_no_depth() -> None:
    union = " UNION ALL ".join(f"SELECT a{i} FROM t" for i in range(400))
    found = resolve(union, ["a"], "postgres", "lower")
    assert (len(found.columns[0].edges), found.issues) == (400, frozenset())
    total = "SELECT " + " + ".join(f"c{i}" for i in range(2000)) + " AS x FROM t"
    found = resolve(total, ["x"], "postgres", "lower")
    assert (len(found.columns[0].edges), found.issues) == (2000, frozenset())


def test_doubling_queries_are_walked_once() -> None:
    steps = ["q0 AS (SELECT a FROM t)"]
    steps += [f"q{i} AS (SELECT x.a FROM q{i - 1} x, q{i - 1} y)" for i in range(1, 36)]
    found = resolve(f"WITH {', '.join(steps)} SELECT a FROM q35", ["a"], "postgres", "lower")
    assert len(found.columns[0].edges) == 1


WORDS = re.findall(
    r"\S+", "SELECT a , b.c * ( ) FROM t JOIN u ON = WHERE WITH q AS UNION ALL GROUP BY 1 ' \" "
    "CASE WHEN THEN END OVER PARTITION ORDER IN EXISTS [ ] . ; count sum t.* LATERAL VALUES"
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.sampled_from(WORDS), max_size=25),
    st.sampled_from(["postgres", "mysql", "tsql", "oracle", "snowflake", "bigquery", "", "no"]),
)
def test_no_text_raises(words: list[str], dialect: str) -> None:
    found = resolve(" ".join(words), ["a", "b"], dialect)
    assert len(found.columns) == 2


def test_literals_can_be_left_out() -> None:
    text = "SELECT a || 'Zecret' AS x FROM t"
    shown = resolve(text, ["x"], "postgres", "lower", literals=False).columns[0].text
    assert shown is not None
    assert "Zecret" not in shown
    assert "Zecret" in str(resolve(text, ["x"], "postgres", "lower").columns[0].text)


def test_masking_functions_of_the_settings() -> None:
    found = resolve("SELECT my_hide(a) AS x FROM t", ["x"], "postgres", "lower",
                    frozenset({"my_hide"}))  # fmt: skip
    assert [lane & 1 for lane, _, _ in found.columns[0].edges] == [1]


def test_sqlglot_is_imported_only_for_a_text() -> None:
    code = """
        import sys
        import spark_lineage.lineage, spark_lineage.agent.sidecar, spark_lineage.agent.session
        from spark_lineage.lineage.datasets.remote import remote_relation
        plain = remote_relation({"url": "jdbc:postgresql://h/d", "dbtable": "t"}, ())
        assert plain.datasets and "sqlglot" not in sys.modules
        text = {"url": "jdbc:postgresql://h/d", "query": "SELECT 1"}
        remote_relation(text, (("a", "integer", None),))
        assert "sqlglot" in sys.modules
    """
    done = run_python(code)
    assert done.returncode == 0, done.stderr
