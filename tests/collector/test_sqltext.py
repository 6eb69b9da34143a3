from __future__ import annotations

import pytest

from spark_lineage.collector.sqltext import normalised, statements


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("SELECT  1\n", "SELECT 1"),
        ("SELECT 1 ;\n", "SELECT 1"),
        ("SELECT 'a  b', \"c  d\", `e  f`", "SELECT 'a  b', \"c  d\", `e  f`"),
        ("SELECT 1 -- why\n, 2", "SELECT 1 , 2"),
        ("SELECT /* a\n b */ 1", "SELECT 1"),
        ("SELECT /*+ BROADCAST(t) */ 1", "SELECT /*+ BROADCAST(t) */ 1"),
        ("SELECT '--no', '/*no*/',  'it''s', 'a\\'b ;  c'",
         "SELECT '--no', '/*no*/', 'it''s', 'a\\'b ;  c'"),
        ("SELECT 2 - -1, 4 / 2", "SELECT 2 - -1, 4 / 2"),
        ("SELECT 'never ended", "SELECT 'never ended"),
    ],
)  # fmt: skip
def test_one_form(text: str, form: str) -> None:
    assert normalised(text) == form


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", []),
        (" ;; -- nothing\n;", []),
        ("SELECT 1;\nSELECT 2", [(1, "SELECT 1"), (2, "SELECT 2")]),
        ("-- a head; with a semicolon\n\nSELECT ';' -- ;\n, 2;\n/* ; */ SELECT\n3;",
         [(3, "SELECT ';' -- ;\n, 2"), (5, "SELECT\n3")]),
    ],
)  # fmt: skip
def test_statements(text: str, told: list[tuple[int, str]]) -> None:
    assert statements(text) == told


def test_it_is_linear() -> None:
    text = "SELECT '" + "x" * 1_000_000 + "', /* " + "*" * 1_000_000
    assert normalised(text).startswith("SELECT 'xxx")
