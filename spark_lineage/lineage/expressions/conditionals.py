"""Expressions that choose: a branch gives a value, a test decides which."""

from __future__ import annotations

from typing import Any

from spark_lineage.lineage.column import BARE, DERIVED
from spark_lineage.lineage.gather import Gather
from spark_lineage.lineage.handlers import expression
from spark_lineage.lineage.lanes import TESTED, VALUE


@expression("CaseWhen")
def case_when(gather: Gather, row: list[Any], lane: int) -> int:
    """Children are test, value, test, value, ... and perhaps the ELSE value."""
    children = row[1]
    pairs = len(children) // 2 * 2
    gather.push_all(children[0:pairs:2], TESTED[lane])
    gather.push_all(children[1:pairs:2], VALUE[lane])
    gather.push_all(children[pairs:], VALUE[lane])
    return DERIVED


@expression("If")
def if_(gather: Gather, row: list[Any], lane: int) -> int:
    """``if(true, x, y)`` is a wrapper that Spark adds in UPDATE: it is x."""
    test, then, otherwise = row[1]
    if gather.fold.is_true(test):
        gather.push(then, lane)
        return BARE
    gather.push(test, TESTED[lane])
    gather.push(then, VALUE[lane])
    gather.push(otherwise, VALUE[lane])
    return DERIVED


@expression("NullIfResult")
def null_if_result(gather: Gather, row: list[Any], lane: int) -> int:
    """Spark 4.3's ``if(test, NULL, value)`` of NULLIF."""
    test, value = row[1]
    gather.push(test, TESTED[lane])
    gather.push(value, VALUE[lane])
    return DERIVED


@expression("Coalesce")
def coalesce(gather: Gather, row: list[Any], lane: int) -> int:
    """Each argument is a value, and a test of whether a later one is taken."""
    gather.push_all(row[1], TESTED[lane])
    gather.push_all(row[1], VALUE[lane])
    return DERIVED


@expression("NaNvl")
def nanvl(gather: Gather, row: list[Any], lane: int) -> int:
    """Like COALESCE, for NaN."""
    return coalesce(gather, row, lane)
