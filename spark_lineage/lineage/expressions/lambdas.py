"""Higher-order functions, and expressions that are named once and used often."""

from __future__ import annotations

from typing import Any

from spark_lineage.lineage.column import BARE, DERIVED
from spark_lineage.lineage.gather import Gather
from spark_lineage.lineage.handlers import expression
from spark_lineage.lineage.lanes import TESTED, VALUE
from spark_lineage.plan.node import number


def _higher_order(gather: Gather, row: list[Any], lane: int, body_lane: int) -> int:
    fold = gather.fold
    arguments: list[int] = []
    functions: list[int] = []
    for child in row[1]:
        is_function = fold.record.shape(child).name == "LambdaFunction"
        (functions if is_function else arguments).append(child)
    gather.push_all(arguments, VALUE[lane])
    for function in functions:
        body, *variables = fold.rows[function][1]
        # One variable an argument (zip_with, map_zip_with): each stands for its own.
        paired = len(variables) == len(arguments) > 1
        for index, variable in enumerate(variables):
            expr_id = fold.record.expr_id(variable)
            gather.bindings[expr_id] = [arguments[index]] if paired else arguments
        gather.push(body, body_lane)
    return DERIVED


@expression(
    "ArrayAggregate",
    "ArrayExists",
    "ArrayForAll",
    "ArrayTransform",
    "MapZipWith",
    "TransformKeys",
    "TransformValues",
    "ZipWith",
)
def higher_order(gather: Gather, row: list[Any], lane: int) -> int:
    """A lambda's variable stands for the collection that it runs over."""
    return _higher_order(gather, row, lane, VALUE[lane])


@expression("ArrayFilter", "ArraySort", "MapFilter")
def choosing_higher_order(gather: Gather, row: list[Any], lane: int) -> int:
    """Here the lambda only chooses or orders elements."""
    return _higher_order(gather, row, lane, TESTED[lane])


@expression("NamedLambdaVariable")
def lambda_variable(gather: Gather, row: list[Any], lane: int) -> int:
    """A variable stands for what it is bound to."""
    expr_id = number(row[gather.fold.shapes[row[0]].position["exprId"]])
    gather.push_all(gather.bindings.get(expr_id, ()), VALUE[lane])
    return DERIVED


@expression("With")
def with_(gather: Gather, row: list[Any], lane: int) -> int:
    """Spark 4 names a common subexpression; a reference stands for its definition."""
    fold = gather.fold
    body, *definitions = row[1]
    for definition in definitions:
        key = _common_id(gather, fold.rows[definition])
        gather.bindings[key] = [fold.rows[definition][1][0]]
    gather.push(body, lane)
    return BARE


@expression("CommonExpressionRef")
def common_expression(gather: Gather, row: list[Any], lane: int) -> int:
    """A reference to what WITH defined."""
    key = _common_id(gather, row)
    bound = gather.bindings.get(key)
    if bound is None:
        gather.miss("a common expression is referred to but not defined")
        return DERIVED
    gather.push_all(bound, lane)
    return BARE


def _common_id(gather: Gather, row: list[Any]) -> tuple[str, Any]:
    fold = gather.fold
    raw = row[fold.shapes[row[0]].position["id"]]
    if type(raw) is int and raw >= 0:
        inner = fold.rows[raw]
        raw = inner[1] if len(inner) > 1 else raw
    found = number(raw)
    return ("common", raw if found is None and not isinstance(raw, dict) else found)
