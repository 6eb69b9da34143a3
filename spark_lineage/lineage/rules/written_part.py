"""Which part of its table a write through DataSource V2 writes or replaces."""

from __future__ import annotations

import re
from typing import Any, Final

from spark_lineage.lineage.datasets.predicate import of_text
from spark_lineage.lineage.datasets.subset import of_filters, partitions
from spark_lineage.lineage.fold import Fold
from spark_lineage.plan.node import PlanNode

_REPLACED: Final = "replacewhere"
_WHOLE: Final = frozenset({"byte", "short", "integer", "long"})
_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
#: A query is looked through so many projections for the literals of its columns.
_DEPTH: Final = 8


def replaced_by_option(fold: Fold, options: Any) -> dict[str, Any] | None:
    """What the option ``replaceWhere`` of a writer (Delta's) says is replaced."""
    for key, value in fold.record.mapping(options).items():
        if key.lower() == _REPLACED and isinstance(value, str):
            return of_text(value)
    return None


def written_part(
    fold: Fold, node: PlanNode, target: PlanNode, query: int, names: list[str]
) -> dict[str, Any] | None:
    """The part of a V2 table that a command writes; None for any part of it.

    Of an overwrite it is what its condition deletes, else the partitions whose values stand in
    the statement as literals. ``names`` are those of the query's columns in the table.
    """
    table = target.raw("table")
    described = table if isinstance(table, dict) else {}
    columns = {name.lower(): name for name in fold.record.texts(described.get("partitioning"))}
    if node.class_name == "OverwriteByExpression":
        option = replaced_by_option(fold, node.raw("writeOptions"))
        if option is not None:
            return option
        refs = node.refs("deleteExpr")
        values = _equal(fold, refs[0]) if refs else None
        if values and all(name.lower() in columns for name in values):
            return partitions([{columns[name.lower()]: text for name, text in values.items()}])
        return of_filters(fold.record, refs)
    found = {
        columns[name.lower()]: value
        for name, value in zip(names, _literals(fold, query), strict=False)
        if value is not None and name.lower() in columns
    }
    return partitions([found]) if found else None


def _equal(fold: Fold, root: int) -> dict[str, str] | None:
    """The columns that a conjunction sets equal to literals; None if it says anything else."""
    found: dict[str, str] = {}
    stack = [root]
    while stack:
        node = fold.record.expression(stack.pop())
        if node.class_name == "And":
            stack.extend(reversed(node.children))
            continue
        if node.class_name not in ("EqualTo", "EqualNullSafe"):
            return None
        left, right = node.children
        value = _literal(fold, right)
        if fold.record.shape(left).name != "AttributeReference" or value is None:
            return None
        found[fold.record.name(left)] = value
    return found


def _literals(fold: Fold, query: int) -> list[str | None]:
    """The literal that each column of a query is; None for any other column."""
    record = fold.record
    refs = PlanNode(record, query).output()
    wanted: list[int | None] = [record.expr_id(ref) for ref in refs]
    found: list[str | None] = [None] * len(refs)
    node = PlanNode(record, query)
    for _ in range(_DEPTH):
        if node.class_name != "Project":
            break
        made = {record.expr_id(ref): ref for ref in node.refs("projectList")}
        for at, expr_id in enumerate(wanted):
            alias = made.get(expr_id) if expr_id is not None else None
            if alias is None or record.shape(alias).name != "Alias":
                continue
            inner = record.expression(alias).children[0]
            found[at] = _literal(fold, inner)
            wanted[at] = record.expr_id(_seen_through(fold, inner))
        node = PlanNode(record, node.children[0])
    return found


def _seen_through(fold: Fold, ref: int) -> int:
    """An expression without casts to the type that it has."""
    node = fold.record.expression(ref)
    while node.class_name == "Cast" and node.data_type("fromType") == node.data_type():
        ref = node.children[0]
        node = fold.record.expression(ref)
    return ref


def _literal(fold: Fold, ref: int) -> str | None:
    """The text of a literal, as its column's type writes it; None where that is not known."""
    ref = _seen_through(fold, ref)
    node = fold.record.expression(ref)
    kind = None
    if node.class_name == "Cast":
        kind = node.data_type() or ""
        ref = node.children[0]
        node = fold.record.expression(ref)
    value = node.text("value") if node.class_name == "Literal" else None
    if value is None or kind is None or kind == "string":
        return value
    if kind in _WHOLE and re.fullmatch(r"\s*[+-]?\d+\s*", value):
        return str(int(value))
    return value if kind == "date" and _DATE.fullmatch(value) else None
