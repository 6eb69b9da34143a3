"""The topics that rows are written to, where a column of the rows names them."""

from __future__ import annotations

from typing import Any

from spark_lineage.lineage.column import NOTHING
from spark_lineage.lineage.datasets import kafka
from spark_lineage.lineage.fold import Fold
from spark_lineage.plan.node import PlanNode

COMPUTED = "the topic is computed for each row: which topics were written is not in the plan"

#: Nodes that pass their child's rows on under the same expression ids.
_PASSING = frozenset(
    {
        "Distinct",
        "Filter",
        "GlobalLimit",
        "LocalLimit",
        "Offset",
        "RebalancePartitions",
        "Repartition",
        "RepartitionByExpression",
        "ResolvedHint",
        "Sample",
        "Sort",
        "SubqueryAlias",
    }
)


def topics_of(fold: Fold, query: int, raw: Any) -> tuple[list[str], frozenset[str]]:
    """The literal topics of the query's ``topic`` column, and what could not be told.

    Nothing for a writer (``raw``: its options) that is not Kafka's, or that has a ``topic``
    option, which wins over the column.
    """
    options = {key.lower(): value for key, value in fold.record.mapping(raw).items()}
    if not kafka.is_kafka(options) or options.get("topic"):
        return [], NOTHING
    at = next(
        (
            place
            for place, ref in enumerate(PlanNode(fold.record, query).output())
            if fold.record.name(ref).lower() == "topic"
        ),
        None,
    )
    if at is None:
        return [], NOTHING
    found: list[str] = []
    missing = False
    stack = [(query, at)]
    while stack:
        plan, place = stack.pop()
        node = PlanNode(fold.record, plan)
        if node.class_name == "Union":
            stack.extend((child, place) for child in reversed(node.children))
            continue
        below = _literal(fold, node, place, found) if node.class_name == "Project" else None
        if node.class_name in _PASSING:
            below = (node.children[0], _place(fold, node, place))
        if below is None:
            missing = True
        elif below[1] is not None:
            stack.append((below[0], below[1]))
    return found, frozenset({COMPUTED}) if missing else NOTHING


def _literal(
    fold: Fold, node: PlanNode, place: int, found: list[str]
) -> tuple[int, int | None] | None:
    """Take the literal that a projection gives at a place; else where its child has it."""
    record = fold.record
    ref = node.refs("projectList")[place]
    while record.shape(ref).name in ("Alias", "Cast"):
        children = record.expression(ref).children
        ref = children[0] if children else record.expression(ref).refs("child")[0]
    child = node.children[0]
    if record.shape(ref).name == "Literal":
        value = record.expression(ref).text("value")
        if value:
            found.append(value)
        return child, None
    if record.shape(ref).name == "AttributeReference":
        expr_id = record.expr_id(ref)
        for below, attribute in enumerate(PlanNode(record, child).output()):
            if record.expr_id(attribute) == expr_id:
                return child, below
    return None


def _place(fold: Fold, node: PlanNode, place: int) -> int | None:
    """Where the child has the attribute that this node gives at a place."""
    record = fold.record
    expr_id = record.expr_id(node.output()[place])
    for below, attribute in enumerate(PlanNode(record, node.children[0]).output()):
        if record.expr_id(attribute) == expr_id:
            return below
    return None
