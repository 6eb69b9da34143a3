"""Subqueries in expressions."""

from __future__ import annotations

from typing import Any

from spark_lineage.lineage.column import BARE, DERIVED
from spark_lineage.lineage.gather import Gather
from spark_lineage.lineage.handlers import expression
from spark_lineage.lineage.lanes import FILTERED, FIRST_INDIRECT, VALUE, add


def _plan(gather: Gather, row: list[Any]) -> int:
    plan: int = row[gather.fold.shapes[row[0]].position["plan"]]
    gather.uses.append(plan)
    return plan


@expression("ScalarSubquery")
def scalar_subquery(gather: Gather, row: list[Any], lane: int) -> int:
    """Its one column is the value; what its rows depend on holds for the column it feeds."""
    fold = gather.fold
    plan = _plan(gather, row)
    state = fold.state(plan)
    order = fold.order(plan)
    if order:
        column = state.columns[order[0]]
        gather.take(fold.fill(column, gather), lane)
    add(gather.lanes, fold.fill_lanes(state.rows, gather), lane)
    gather.issues |= state.issues
    return BARE


@expression("ListQuery")
def list_query(gather: Gather, row: list[Any], lane: int) -> int:
    """The right side of IN: its columns and rows decide membership."""
    fold = gather.fold
    plan = _plan(gather, row)
    state = fold.state(plan)
    inner = FILTERED[lane]
    for expr_id in fold.order(plan):
        gather.take(fold.fill(state.columns[expr_id], gather), inner)
    add(gather.lanes, fold.fill_lanes(state.rows, gather), inner)
    gather.issues |= state.issues
    return DERIVED


@expression("Exists")
def exists(gather: Gather, row: list[Any], lane: int) -> int:
    """Only whether there are rows matters, not what stands in them."""
    fold = gather.fold
    state = fold.state(_plan(gather, row))
    add(gather.lanes, fold.fill_lanes(state.rows, gather), FILTERED[lane])
    gather.issues |= state.issues
    gather.system |= lane < FIRST_INDIRECT
    return DERIVED


@expression("InSubquery")
def in_subquery(gather: Gather, row: list[Any], lane: int) -> int:
    """``values IN (query)``: the values are compared, the query is a ListQuery."""
    position = gather.fold.shapes[row[0]].position
    gather.push_all(gather.fold.record.refs(row[position["values"]]), VALUE[lane])
    gather.push_all(gather.fold.record.refs(row[position["query"]]), lane)
    return DERIVED
