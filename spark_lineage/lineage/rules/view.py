"""Views: passed through, and named on the sources."""

from __future__ import annotations

from collections.abc import Iterable

from spark_lineage.lineage.column import Column, State
from spark_lineage.lineage.fold import Fold
from spark_lineage.lineage.rule import rule
from spark_lineage.lineage.rules.named import SESSION_CATALOG
from spark_lineage.lineage.rules.passing import passing
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
    return _marked(fold, child, name, zip(ids, fold.order(node.children[0]), strict=True), ids)


@rule("SubqueryAlias")
def alias(fold: Fold, node: PlanNode) -> State:
    """Another name, which changes nothing; but a view of a V2 catalog shows as its query so."""
    parts = _view_of_catalog(fold, node)
    if parts is None:
        return passing(fold, node)
    catalog, *inner = parts
    if fold.options.views_as_datasets:
        facts = {"datasetType": {"datasetType": "VIEW"}}
        state = relation_columns(
            fold, node, [fold.naming.table_of(catalog, inner, (), facts=facts)]
        )
        state.uses = [node.ref]
        return state
    child = fold.child(node)
    state = _marked(fold, child, ".".join(inner), ((each, each) for each in child.columns), None)
    state.outputs.extend(child.outputs)
    return state


def _view_of_catalog(fold: Fold, node: PlanNode) -> list[str] | None:
    """Catalog, namespace and name of a view that was resolved to its query; None for others.

    Iceberg's rules put a projection to the view's columns over the query's own plan; a table has
    its relation right below its name, or a projection of it (which pads ``char`` columns).
    """
    refs = node.refs("identifier")
    below = PlanNode(fold.record, node.children[0])
    if not refs or below.class_name != "Project":
        return None
    if not PlanNode(fold.record, below.children[0]).children:
        return None
    _, name, qualifier, *_ = (*fold.rows[refs[0]], None, None)
    parts = fold.record.texts(qualifier)
    found = fold.record.text(name)
    if not found or len(parts) < 2 or parts[0] == SESSION_CATALOG:
        return None
    return [*parts, found]


def _marked(
    fold: Fold,
    child: State,
    name: str,
    pairs: Iterable[tuple[int, int]],
    order: list[int] | None,
) -> State:
    """The child's columns under other ids, each source marked with the view."""
    remembered: dict[int, int] = {}
    columns = {own: _through(fold, child.columns[below], name, remembered) for own, below in pairs}
    rows = {lane: _bits(fold, bits, name, remembered) for lane, bits in child.rows.items()}
    return State(columns, rows, order, child.issues)


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
