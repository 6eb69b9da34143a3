"""Views: passed through, and named on the sources."""

from __future__ import annotations

from spark_lineage.lineage.column import Column, State
from spark_lineage.lineage.fold import Fold
from spark_lineage.lineage.rule import rule
from spark_lineage.lineage.rules.relations import relation_columns
from spark_lineage.plan.node import PlanNode


@rule("View")
def view(fold: Fold, node: PlanNode) -> State:
    """The columns of its query, each source marked with the view."""
    child = fold.child(node)
    described = node.raw("desc")
    name, temporary = _name(fold, node, described)
    ids = fold.ids(node.output())
    if fold.options.views_as_datasets and not temporary:
        dataset = fold.naming.catalog_table(described)
        if dataset is not None:
            state = relation_columns(fold, node, [dataset])
            state.uses = [node.ref]
            return state
    columns: dict[int, Column] = {}
    remembered: dict[int, int] = {}
    order = fold.order(node.children[0])
    for expr_id, below in zip(ids, order, strict=True):
        columns[expr_id] = _through(fold, child.columns[below], name, remembered)
    rows = {lane: _bits(fold, bits, name, remembered) for lane, bits in child.rows.items()}
    return State(columns, rows, ids, child.issues)


def _bits(fold: Fold, bits: int, name: str, remembered: dict[int, int]) -> int:
    found = remembered.get(bits)
    if found is None:
        found = remembered[bits] = fold.sources.through_view(bits, name)
    return found


def _through(fold: Fold, column: Column, name: str, remembered: dict[int, int]) -> Column:
    lanes = {lane: _bits(fold, bits, name, remembered) for lane, bits in column.lanes.items()}
    parts = None
    if column.parts is not None:
        # Struct nesting is bounded where parts are made.
        parts = {key: _through(fold, part, name, remembered) for key, part in column.parts.items()}
    return Column(
        lanes, column.type, column.origin, column.system, column.opaque, column.issues, parts
    )


def _name(fold: Fold, node: PlanNode, described: object) -> tuple[str, bool]:
    temporary = node.raw("isTempView") is True
    if not isinstance(described, dict):
        return "view", temporary
    text = fold.record.text
    table = text(described.get("table")) or "view"
    database = text(described.get("database"))
    return (f"{database}.{table}" if database else table), temporary
