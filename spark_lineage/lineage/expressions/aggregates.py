"""Aggregate functions: their FILTER clause, counting, ordering arguments."""

from __future__ import annotations

from typing import Any

from spark_lineage.lineage.column import AGGREGATE
from spark_lineage.lineage.gather import Gather
from spark_lineage.lineage.handlers import expression
from spark_lineage.lineage.lanes import AGGREGATED, COUNTED, FIRST_INDIRECT, TESTED


@expression("AggregateExpression")
def aggregate(gather: Gather, row: list[Any], lane: int) -> int:
    """The function's arguments are aggregated; the FILTER clause chooses what is."""
    position = gather.fold.shapes[row[0]].position
    function, clause = row[position["aggregateFunction"]], row[position["filter"]]
    gather.push(function, AGGREGATED[lane])
    if type(clause) is int:
        gather.push(clause, TESTED[lane])
    if lane < FIRST_INDIRECT:
        # The value of an aggregate over no column is made by the rows there are.
        gather.system = True
    return AGGREGATE


@expression("Count", "CountIf", "HyperLogLogPlusPlus", "RegrCount")
def count(gather: Gather, row: list[Any], lane: int) -> int:
    """A count hides the values that it counts."""
    gather.push_all(row[1] or (), COUNTED[lane])
    return AGGREGATE


@expression("MaxBy", "MinBy")
def value_by(gather: Gather, row: list[Any], lane: int) -> int:
    """The second argument only chooses which value of the first is taken."""
    value, ordering = row[1]
    gather.push(value, AGGREGATED[lane])
    gather.push(ordering, TESTED[lane])
    return AGGREGATE


@expression("ListAgg")
def list_aggregate(gather: Gather, row: list[Any], lane: int) -> int:
    """WITHIN GROUP (ORDER BY ...) chooses the order in which values stand."""
    value, delimiter, *ordering = row[1]
    gather.push_all((value, delimiter), AGGREGATED[lane])
    gather.push_all(ordering, TESTED[lane])
    return AGGREGATE


@expression("PivotFirst")
def pivot_first(gather: Gather, row: list[Any], lane: int) -> int:
    """PIVOT: the pivot column chooses the place of a value."""
    pivot, value = row[1][:2]
    gather.push(pivot, TESTED[lane])
    gather.push(value, AGGREGATED[lane])
    return AGGREGATE
