"""Expressions as SQL-like text over source columns.

A column's text is put together only when it is asked for, by following columns
down to the sources. It stops at a length, so that definitions that double at
each step cost no more than the text that is shown.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from spark_lineage.lineage.column import Column
from spark_lineage.lineage.function_names import known_name
from spark_lineage.plan.node import Record

LIMIT: Final = 2000
_MAX_STEPS: Final = 20_000

_OPERATORS: Final = {
    "Add": "+",
    "Subtract": "-",
    "Multiply": "*",
    "Divide": "/",
    "Remainder": "%",
    "IntegralDivide": "div",
    "EqualTo": "=",
    "EqualNullSafe": "<=>",
    "LessThan": "<",
    "LessThanOrEqual": "<=",
    "GreaterThan": ">",
    "GreaterThanOrEqual": ">=",
    "And": "AND",
    "Or": "OR",
    "BitwiseAnd": "&",
    "BitwiseOr": "|",
    "BitwiseXor": "^",
    "Like": "LIKE",
    "RLike": "RLIKE",
}
_SPACED: Final = {"IsNull": " IS NULL", "IsNotNull": " IS NOT NULL"}
_NAMES: Final = {
    "ArrayTransform": "transform",
    "ArrayFilter": "filter",
    "ArrayAggregate": "aggregate",
    "CreateArray": "array",
    "CreateMap": "map",
    "CreateNamedStruct": "named_struct",
    "Average": "avg",
    "Ceil": "ceil",
    "CurrentDate": "current_date",
    "DateFormatClass": "date_format",
    "ElementAt": "element_at",
    "First": "first",
    "GetArrayItem": "element",
    "GetMapValue": "element",
    "HyperLogLogPlusPlus": "approx_count_distinct",
    "JsonToStructs": "from_json",
    "Length": "length",
    "Murmur3Hash": "hash",
    "ParseToDate": "to_date",
    "ParseToTimestamp": "to_timestamp",
    "StringTrim": "trim",
    "StringTrimLeft": "ltrim",
    "StringTrimRight": "rtrim",
    "StructsToJson": "to_json",
    "TruncDate": "trunc",
    "UnaryMinus": "negative",
    "Md5": "md5",
    "Sha1": "sha1",
    "Sha2": "sha2",
    "XxHash64": "xxhash64",
}
_THROUGH: Final = frozenset(
    {
        "Alias",
        "CheckOverflow",
        "CheckOverflowInTableInsert",
        "KnownNotNull",
        "PromotePrecision",
        "TempResolvedColumn",
    }
)

_OTHER: Final = -1
_HIDDEN: Final = -2

Columns = Mapping[int, Column]
Item = Any
"""On the stack: a text, ``(column, operand)``, or ``(row, columns, operand)``."""


@lru_cache(maxsize=1024)
def function_text(class_name: str) -> str:
    """The SQL name of a function's class: ``DateAdd`` is ``date_add``."""
    known = _NAMES.get(class_name)
    if known is not None:
        return known
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", class_name).lower()


class Texts:
    """Makes the texts of one record's columns; without ``literals`` each of them is a ``?``."""

    def __init__(self, record: Record, literals: bool = True) -> None:
        self._record = record
        self._rows = record.rows
        self._id_position = [
            shape.position["exprId"]
            if shape.name == "AttributeReference"
            else _HIDDEN
            if shape.name == "Literal" and not literals
            else _OTHER
            for shape in record.shapes
        ]
        self._signs = [
            f" {_OPERATORS[s.name]} " if s.name in _OPERATORS else "" for s in record.shapes
        ]

    def column(self, column: Column, limit: int = LIMIT) -> str | None:
        """The expression that makes a column, over source columns; None if it is not known."""
        if column.origin is None:
            return None
        rows, id_position, signs = self._rows, self._id_position, self._signs
        written: list[str] = []
        length = steps = 0
        stack: list[Item] = [(column, False)]
        pop, push = stack.pop, stack.append
        while stack:
            item = pop()
            if type(item) is str:
                written.append(item)
                length += len(item)
                if length > limit:
                    break
                continue
            steps += 1
            if steps > _MAX_STEPS:
                written.append("…")
                break
            if len(item) == 2:
                stack.extend(reversed(_column(item[0], item[1])))
                continue
            ref, columns, operand = item
            row = rows[ref]
            position = id_position[row[0]]
            if position >= 0:
                found = columns.get(row[position]["#"])
                if found is None or found.origin is None:
                    push(self._record.name(ref))
                elif found.origin.words is not None:
                    push(found.origin.words)
                elif found.origin.expression is not None:
                    push((found.origin.expression, found.origin.columns or {}, operand))
                else:
                    push((found, operand))
                continue
            if position == _HIDDEN:
                push("?")
                continue
            sign = signs[row[0]]
            if sign and len(row[1]) == 2:
                left, right = row[1]
                if operand:
                    push(")")
                push((right, columns, True))
                push(sign)
                push((left, columns, True))
                if operand:
                    push("(")
                continue
            stack.extend(reversed(_row(self._record, ref, columns, operand)))
        text = "".join(written)
        return text if len(text) <= limit else text[: limit - 1] + "…"


def _column(column: Column, operand: bool) -> list[Item]:
    origin = column.origin
    if origin is None:
        return ["?"]
    if origin.words is not None:
        return [origin.words]
    if origin.branches is not None:
        items: list[Item] = ["("] if operand else []
        for index, branch in enumerate(origin.branches):
            if index:
                items.append(" UNION ")
            items.append((branch, False))
        return [*items, ")"] if operand else items
    if origin.expression is None:
        return ["?"]
    return [(origin.expression, origin.columns or {}, operand)]


def _commas(refs: list[int], columns: Mapping[int, Column]) -> list[Item]:
    items: list[Item] = []
    for index, ref in enumerate(refs):
        if index:
            items.append(", ")
        items.append((ref, columns, False))
    return items


def _row(record: Record, ref: int, columns: Columns, operand: bool) -> list[Item]:
    row = record.rows[ref]
    name = record.shapes[row[0]].name
    children: list[int] = row[1] or []
    if name in _SPACED:
        return [(children[0], columns, True), _SPACED[name]]
    if name in _THROUGH:
        return [(children[0], columns, operand)]
    special = _SPECIAL.get(name)
    if special is not None:
        return special(record, ref, columns, children)
    view = record.expression(ref)
    if view.has("replacement") and children == [view.ref_of("replacement")]:
        return [(children[0], columns, operand)]
    shown = None
    if name in ("PythonUDF", "ScalaUDF", "PythonUDAF", "HiveSimpleUDF", "HiveGenericUDF"):
        shown = known_name(record, row)
    if name == "SQLScalarFunction":
        # The body is a child too: what the user wrote is the call.
        shown, children = known_name(record, row), view.refs("inputs")
    if name == "StaticInvoke":
        shown = view.text("functionName")
    return [f"{shown or function_text(name)}(", *_commas(children, columns), ")"]


def _literal(record: Record, ref: int, columns: Columns, children: list[int]) -> list[Item]:
    view = record.expression(ref)
    raw = view.raw("value")
    value = record.text(raw)
    if value is None:
        whole = raw.get("#") if isinstance(raw, dict) else raw
        return ["NULL" if whole is None else str(whole)]
    kind = view.data_type() or ""
    if kind.startswith(("string", "char", "varchar")) or kind in ("date", "timestamp"):
        return ["'" + value.replace("'", "''") + "'"]
    return [value]


def _cast(record: Record, ref: int, columns: Columns, children: list[int]) -> list[Item]:
    view = record.expression(ref)
    kind = view.data_type() or view.data_type("target") or "?"
    if view.raw("fromType") is not None and kind == view.data_type("fromType"):
        return [(children[0], columns, False)]
    names = {"integer": "int", "long": "bigint", "short": "smallint", "byte": "tinyint"}
    shown = names.get(kind, "struct" if kind.startswith("{") else kind)
    return ["CAST(", (children[0], columns, False), f" AS {shown})"]


def _case(record: Record, ref: int, columns: Columns, children: list[int]) -> list[Item]:
    items: list[Item] = ["CASE"]
    pairs = len(children) // 2 * 2
    for index in range(0, pairs, 2):
        items += [
            " WHEN ",
            (children[index], columns, False),
            " THEN ",
            (children[index + 1], columns, False),
        ]
    if len(children) > pairs:
        items += [" ELSE ", (children[-1], columns, False)]
    return [*items, " END"]


def _aggregate(record: Record, ref: int, columns: Columns, children: list[int]) -> list[Item]:
    view = record.expression(ref)
    function = record.expression(view.refs("aggregateFunction")[0])
    arguments = function.children
    shown = known_name(record, function.row) or function_text(function.class_name)
    if function.class_name in ("First", "Last", "Percentile"):
        arguments = arguments[:1] if function.class_name != "Percentile" else arguments
    if function.class_name == "Count" and all(
        record.shape(argument).name == "Literal" for argument in arguments
    ):
        items: list[Item] = ["count(*)"]
    else:
        inside = function.ref_of("replacement")
        if inside is not None and function.children == [inside]:
            items = [(inside, columns, False)]
        else:
            word = "DISTINCT " if view.raw("isDistinct") is True else ""
            items = [f"{shown}({word}", *_commas(arguments, columns), ")"]
    clause = view.ref_of("filter")
    if clause is not None:
        items += [" FILTER (WHERE ", (clause, columns, False), ")"]
    return items


def _window(record: Record, ref: int, columns: Columns, children: list[int]) -> list[Item]:
    function, spec = children
    view = record.expression(spec)
    inner = record.expression(function)
    shown: Item = (function, columns, False)
    if inner.class_name in ("Rank", "DenseRank", "PercentRank"):
        shown = f"{function_text(inner.class_name)}()"
    items: list[Item] = [shown, " OVER ("]
    partitions, orders = view.refs("partitionSpec"), view.refs("orderSpec")
    if partitions:
        items += ["PARTITION BY ", *_commas(partitions, columns)]
    if orders:
        items += [" " if partitions else "", "ORDER BY ", *_commas(orders, columns)]
    return [*items, ")"]


def _sort_order(record: Record, ref: int, columns: Columns, children: list[int]) -> list[Item]:
    direction = record.expression(ref).text("direction") or ""
    return [(children[0], columns, False), " DESC" if direction.startswith("Desc") else ""]


def _subquery(record: Record, ref: int, columns: Columns, children: list[int]) -> list[Item]:
    return ["(subquery)"]


def _field(record: Record, ref: int, columns: Columns, children: list[int]) -> list[Item]:
    view = record.expression(ref)
    name = view.text("name")
    if name is None and isinstance(view.raw("field"), dict):
        name = record.text(view.raw("field").get("name"))
    return [(children[0], columns, True), f".{name or '?'}"]


def _in(record: Record, ref: int, columns: Columns, children: list[int]) -> list[Item]:
    return [(children[0], columns, True), " IN (", *_commas(children[1:], columns), ")"]


def _not(record: Record, ref: int, columns: Columns, children: list[int]) -> list[Item]:
    return ["NOT ", (children[0], columns, True)]


def _name(record: Record, ref: int, columns: Columns, children: list[int]) -> list[Item]:
    view = record.expression(ref)
    inner = view.ref_of("e")
    return [record.name(ref if inner is None else inner) or function_text(view.class_name)]


_SPECIAL: Final = {
    "AggregateExpression": _aggregate,
    "Cast": _cast,
    "AnsiCast": _cast,
    "TryCast": _cast,
    "UpCast": _cast,
    "CaseWhen": _case,
    "Exists": _subquery,
    "GetArrayStructFields": _field,
    "GetStructField": _field,
    "In": _in,
    "ListQuery": _subquery,
    "Literal": _literal,
    "NamedLambdaVariable": _name,
    "Not": _not,
    "OuterReference": _name,
    "ScalarSubquery": _subquery,
    "SortOrder": _sort_order,
    "WindowExpression": _window,
}
