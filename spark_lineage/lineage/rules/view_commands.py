"""Commands that make or change a view: its columns are those of its query."""

from __future__ import annotations

from typing import Any

from spark_lineage.lineage import evidence
from spark_lineage.lineage.column import State
from spark_lineage.lineage.fold import Fold
from spark_lineage.lineage.rule import rule
from spark_lineage.lineage.rules.named import is_temporary, named_plan, only_if, session_name
from spark_lineage.lineage.rules.writes import query_schema, write
from spark_lineage.lineage.target import Target
from spark_lineage.plan.node import PlanNode

UNTOLD = "IF NOT EXISTS: the catalog does not tell whether the view was there"


@rule("CreateViewCommand", "AlterViewAsCommand")
def create_view(fold: Fold, node: PlanNode) -> State:
    """A permanent view is an output under its declared names; a temporary one is none."""
    names = _declared(fold, node.raw("userSpecifiedColumns"))
    kind = node.text("viewType") or fold.record.class_of(node.raw("viewType"))
    temporary = kind is not None and not kind.startswith("PersistedView")
    identifier = node.raw("name")
    if temporary or (node.class_name == "AlterViewAsCommand" and is_temporary(fold, identifier)):
        return write(fold, node, None, names)
    dataset = fold.naming.identifier(identifier, query_schema(fold, node, names), view=True)
    if node.class_name == "AlterViewAsCommand":
        return write(fold, node, dataset, names, None, "ALTER")
    return _made(fold, node, write(fold, node, dataset, names, None, "CREATE"))


def _made(fold: Fold, node: PlanNode, state: State) -> State:
    """CREATE VIEW, by what was there: OR REPLACE drops it, IF NOT EXISTS leaves it."""
    name = session_name(fold, node)
    if name is None or evidence.failed(fold.record):
        return state
    for target in state.outputs:
        if not isinstance(target, Target):
            continue
        if node.raw("replace") is True and evidence.changed(fold.record, evidence.DROPPED, *name):
            target.lifecycle = "OVERWRITE"
        if node.raw("allowExisting") is True:
            target.written = evidence.changed(fold.record, evidence.CREATED, *name)
    return state


@rule("CreateView", "CreateIcebergView", "AlterViewAs")
def create_view_in_catalog(fold: Fold, node: PlanNode) -> State:
    """A view of another catalog than the session's. Nobody tells there what was there before."""
    aliases = fold.record.texts(node.raw("columnAliases"))
    names = aliases or _declared(fold, node.raw("userSpecifiedColumns"))
    plan = named_plan(fold, node)
    schema = query_schema(fold, node, names)
    dataset = None if plan is None else fold.naming.resolved_identifier(plan, schema, view=True)
    if node.class_name == "AlterViewAs":
        return write(fold, node, dataset, names, None, "ALTER")
    mode = "OVERWRITE" if node.raw("replace") is True else "CREATE"
    state = write(fold, node, dataset, names, None, mode)
    if node.raw("allowExisting") is not True:
        return state
    return only_if(fold, node, state, evidence.CREATED, UNTOLD)


def _declared(fold: Fold, raw: Any) -> list[str] | None:
    """The names of a list of (name, comment) pairs, however a pair was written down."""
    names = []
    for pair in raw if isinstance(raw, list) else ():
        first = pair[0] if isinstance(pair, list) and pair else pair
        if isinstance(first, dict) and "_1" in first:
            first = first["_1"]
        elif type(first) is int and first >= 0:
            row = fold.rows[first]
            first = row[-2] if len(row) >= 3 else None
        name = fold.record.text(first)
        if name is None:
            return None
        names.append(name)
    return names or None
