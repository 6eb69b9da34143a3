"""The conservative rules, for nodes that no other knows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from spark_lineage.lineage.column import BARE, Column, State
from spark_lineage.lineage.fallback import written_by
from spark_lineage.lineage.lanes import union
from spark_lineage.lineage.model import Dataset
from spark_lineage.lineage.target import Target
from spark_lineage.plan.node import PlanNode

if TYPE_CHECKING:
    from spark_lineage.lineage.fold import Fold


#: What a connector calls a command that writes rows, and where it keeps what it writes to.
_WRITES: Final = re.compile(r"Append|AsSelect|Insert|Overwrite|Save|Upsert|Write")
_TARGETS: Final = ("table", "catalogTable", "relation", "logicalRelation", "target", "tableDesc")


def unknown(fold: Fold, node: PlanNode, issue: str | None = None) -> State:
    """Outputs that a child has are that child's; the rest may depend on every child column."""
    issue = issue or f"{node.class_name} is not known"
    written = _write(fold, node, issue)
    if written is not None:
        return written
    below: dict[int, Column] = {}
    state = State(below, {}, None, frozenset({issue}))
    everything: list[Column] = []
    plans = [*node.children, *_plans_in_fields(fold, node)]
    for ref in plans:
        child = fold.states.get(ref)
        if child is None:
            continue
        state.uses.append(ref)
        state.rows = union(state.rows, child.rows)
        state.issues |= child.issues
        state.outputs.extend(child.outputs)
        below.update(child.columns)
        everything.extend(child.columns[i] for i in fold.order(ref) if i in child.columns)
    try:
        output = node.output()
    except (TypeError, IndexError):
        output = []
    rest: Column | None = None
    for expr_id in fold.ids(output):
        if expr_id in below:
            continue
        if rest is None:
            rest = fold.every(everything)
            rest = Column(
                rest.lanes, rest.type, None, rest.system, rest.opaque, rest.issues | {issue}
            )
        below[expr_id] = rest
    if not output:
        state.order = []
    if not state.outputs:
        # A command that is not known column by column still says what it writes.
        for dataset in written_by(fold.naming, node):
            state.outputs.append(Target(dataset, [], state.rows, state.issues))
    return state


def _write(fold: Fold, node: PlanNode, issue: str) -> State | None:
    """A connector's own command that writes a query into a table; None for any other node.

    By its class's name, and by a query and a table in its fields: so the table is no input.
    """
    query = node.ref_of("query")
    told = None if query is None else fold.states.get(query)
    if told is None or query is None or not _WRITES.search(node.class_name):
        return None
    names, dataset = _target(fold, node, query)
    if dataset is None:
        return None
    own = fold.names(PlanNode(fold.record, query).output())
    if len(names) != len(own):
        names = own
    columns: list[tuple[str, Column, str | None]] = []
    for name, expr_id in zip(names, fold.order(query), strict=True):
        made = told.columns[expr_id]
        issues = made.issues | {issue}
        column = Column(made.lanes, made.type, made.origin, made.system, made.opaque, issues)
        columns.append((name, column, None))
    state = State({}, {}, [], told.issues | {issue})
    state.uses = [query]
    state.outputs.append(Target(dataset, columns, told.rows, state.issues))
    return state


def _target(fold: Fold, node: PlanNode, query: int) -> tuple[list[str], Dataset | None]:
    """What a command writes to, and its columns' names where a plan tells them."""
    for field in _TARGETS:
        raw = node.raw(field)
        if isinstance(raw, dict):
            described = fold.record.class_of(raw)
            if described == "CatalogTable":
                return [], fold.naming.catalog_table(raw)
            if described == "TableIdentifier":
                return [], fold.naming.identifier(raw)
        for ref in node.refs(field):
            if fold.record.shape(ref).kind != "P" or ref == query:
                continue
            plan = PlanNode(fold.record, ref)
            while plan.class_name == "SubqueryAlias":
                plan = PlanNode(fold.record, plan.children[0])
            dataset = None if plan.children else fold.naming.resolved_identifier(plan)
            if dataset is not None:
                return fold.names(plan.output()), dataset
    return [], None


def _plans_in_fields(fold: Fold, node: PlanNode) -> list[int]:
    children = set(node.children)
    found = []
    for _, raw in node.fields():
        for ref in fold.record.refs(raw):
            if ref not in children and fold.record.shape(ref).kind == "P" and ref < node.ref:
                found.append(ref)
    return found


__all__ = ["BARE", "unknown"]
