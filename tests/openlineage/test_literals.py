"""No literal is left in what an event quotes, and what names something stays."""

from __future__ import annotations

import pytest

from spark_lineage.openlineage.literals import mask_error, mask_sql, mask_stack, without_literals


@pytest.mark.parametrize(
    ("sql", "masked"),
    [
        ("SELECT a FROM t WHERE b = 'ann'", "SELECT a FROM t WHERE b = ?"),
        ("SELECT 'it''s', \"it\"\"s\", 'a\\'b'", "SELECT ?, ?, ?"),
        ("SELECT r'\\', 'ann', R\"\\\"", "SELECT ?, ?, ?"),
        ("SELECT X'0AFF', x\"0a\"", "SELECT ?, ?"),
        (
            "SELECT 1, 1.5, .5, 1e10, 1.5E-3, 12L, 3BD, 4s, -7",
            "SELECT ?, ?, ?, ?, ?, ?, ?, ?, -?",
        ),
        ("SELECT t1.c2, t_3.`4 'x'`, 5 FROM db1.t1", "SELECT t1.c2, t_3.`4 'x'`, ? FROM db1.t1"),
        ("SELECT `a``b'c` FROM t", "SELECT `a``b'c` FROM t"),
        ("SELECT DATE '2024-01-01', TIMESTAMP'2024-01-01 10:00'", "SELECT DATE ?, TIMESTAMP?"),
        ("SELECT a -- ann's number 5\nFROM t", "SELECT a  \nFROM t"),
        ("SELECT a /* 'ann' 5 */ FROM t", "SELECT a   FROM t"),
        ("SELECT /*+ BROADCAST(t) */ a FROM t", "SELECT /*+ BROADCAST(t) */ a FROM t"),
        ("SELECT a FROM t WHERE b IN ('x', 7)", "SELECT a FROM t WHERE b IN (?, ?)"),
        ("SELECT 'never ends", "SELECT ?"),
        ("SELECT 1 /* never ends 'ann'", "SELECT ?  "),
        ("SELECT $$ann$$, $x$a $$ b$x$", "SELECT ?, ?"),
        ("SELECT a1b, _1 FROM t", "SELECT a1b, _1 FROM t"),
        ("", ""),
    ],
)
def test_a_statement_without_literals(sql: str, masked: str) -> None:
    assert mask_sql(sql) == masked


def test_a_long_statement_takes_linear_steps() -> None:
    # A backtracking pattern would not end on these within the test's time limit.
    for unit in ("'a\\'", "''", '"', "1e", "/*", "$a", "`", "-- "):
        mask_sql(unit * 60_000)


@pytest.mark.parametrize(
    ("message", "masked"),
    [
        (
            "org.apache.spark.SparkNumberFormatException: [CAST_INVALID_INPUT] The value 'ann'",
            "org.apache.spark.SparkNumberFormatException: [CAST_INVALID_INPUT]",
        ),
        (
            "org.x.E: [A.B_C] ann\nmore",
            "org.x.E: [A.B_C]",
        ),
        ("ValueError: ann", "ValueError"),
        ("java.lang.RuntimeException", "java.lang.RuntimeException"),
        ("'ann'", "error"),
        ("", "error"),
    ],
)
def test_an_error_without_values(message: str, masked: str) -> None:
    assert mask_error(message) == masked


def test_a_stack_without_messages() -> None:
    stack = (
        "org.x.E: ann\n\tat a.B.c(B.java:1)\nann again\nCaused by: java.lang.X: ann\n"
        '  File "/a/job.py", line 3, in f\n    raise ValueError("ann")\n\t... 3 more\n'
    )
    assert mask_stack(stack) == (
        "\tat a.B.c(B.java:1)\nCaused by: java.lang.X\n"
        '  File "/a/job.py", line 3, in f\n\t... 3 more'
    )


def _event() -> dict[str, object]:
    return {
        "job": {"facets": {"sql": {"query": "SELECT 'ann'"}}},
        "run": {
            "facets": {
                "errorMessage": {"message": "E: ann", "stackTrace": "E: ann\n\tat x"},
                "sparkLineage_context": {"callSite": "SELECT 'ann'"},
                "sparkLineage_quality": {
                    "issues": ["not understood: 'ann'"],
                    "outputs": [{"issues": ["not understood: 'ann'"]}],
                },
            }
        },
        "inputs": [{"name": "t", "inputFacets": {"subset": {"inputCondition": "ann"}}}],
        "outputs": [{"name": "u", "outputFacets": {"subset": {"outputCondition": "ann"}}}],
    }


@pytest.mark.parametrize("sql", ["normalized", "off"])
def test_an_event_without_literals(sql: str) -> None:
    event = without_literals(_event(), sql)
    assert "ann" not in str(event)
    assert ("sql" in event["job"]["facets"]) is (sql == "normalized")
    assert [d["name"] for d in event["inputs"] + event["outputs"]] == ["t", "u"]


def test_a_place_in_code_is_no_statement() -> None:
    event = _event()
    event["run"]["facets"]["sparkLineage_context"]["callSite"] = "collect at /a/job.py:12"  # type: ignore[index]
    told = without_literals(event, "off")["run"]["facets"]["sparkLineage_context"]
    assert told == {"callSite": "collect at /a/job.py:12"}
