"""The condition that a predicate's text names, as far as OpenLineage's ``subset`` has words for it.

sqlglot parses, and is imported only when there is a text to parse.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spark_lineage.lineage.datasets.subset import MAX_VALUES, Condition, compare, joined

if TYPE_CHECKING:
    from sqlglot import exp

#: A longer text is not parsed.
MAX_CHARACTERS: Final = 2_000


def of_text(text: str) -> Condition | None:
    """The condition of a predicate in Spark's SQL (``dt >= '2026-01-01' AND r = 'a'``).

    None where it has no words, or is no predicate. Never raises. What is left out of an AND
    makes the condition say more than the predicate, never less.
    """
    if not text or len(text) > MAX_CHARACTERS:
        return None
    from sqlglot import parse_one
    from sqlglot.errors import SqlglotError

    try:
        return _condition(parse_one(text, dialect="spark"))
    except (SqlglotError, RecursionError):
        return None


def _condition(node: exp.Expr) -> Condition | None:
    """As deep as its brackets are nested, which the text's length limits."""
    from sqlglot import exp

    node = node.unnest()
    if isinstance(node, (exp.And, exp.Or)):
        told = [_condition(part) for part in node.flatten()]
        known = [condition for condition in told if condition is not None]
        if not known or (isinstance(node, exp.Or) and len(known) < len(told)):
            return None
        return joined("AND" if isinstance(node, exp.And) else "OR", known)
    if isinstance(node, exp.Between):
        bounds = (
            _compared(node.this, "GREATER_EQUAL_THAN", node.args["low"]),
            _compared(node.this, "LESS_EQUAL_THAN", node.args["high"]),
        )
        both = [bound for bound in bounds if bound is not None]
        return joined("AND", both) if both else None
    if isinstance(node, exp.In):
        values = [_compared(node.this, "EQUAL", value) for value in node.expressions]
        each = [value for value in values if value is not None]
        return joined("OR", each) if each and len(each) == len(values) <= MAX_VALUES else None
    told_by: dict[type[exp.Expr], tuple[str, str]] = {
        exp.EQ: ("EQUAL", "EQUAL"),
        exp.NullSafeEQ: ("EQUAL", "EQUAL"),
        exp.GT: ("GREATER_THAN", "LESS_THAN"),
        exp.GTE: ("GREATER_EQUAL_THAN", "LESS_EQUAL_THAN"),
        exp.LT: ("LESS_THAN", "GREATER_THAN"),
        exp.LTE: ("LESS_EQUAL_THAN", "GREATER_EQUAL_THAN"),
    }
    words = told_by.get(type(node))
    if words is None or not isinstance(node, exp.Binary):
        return None
    word, turned = words
    return _compared(node.left, word, node.right) or _compared(node.right, turned, node.left)


def _compared(field: exp.Expr, comparison: str, value: exp.Expr) -> Condition | None:
    from sqlglot import exp

    field, value = field.unnest(), value.unnest()
    if isinstance(value, (exp.Cast, exp.Date)) and value.this is not None:
        value = value.this
    negative = isinstance(value, exp.Neg)
    if negative:
        value = value.this
    if not isinstance(field, exp.Column) or not isinstance(value, exp.Literal):
        return None
    return compare(field.name, comparison, f"-{value.name}" if negative else value.name)
