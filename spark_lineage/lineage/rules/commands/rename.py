"""RENAME of a table or view: the output is the new name, and says what it was before."""

from __future__ import annotations

from typing import Any

from spark_lineage.lineage.column import State
from spark_lineage.lineage.fold import Fold
from spark_lineage.lineage.model import Dataset
from spark_lineage.lineage.rule import rule
from spark_lineage.lineage.rules.named import changes, is_temporary, is_view, named_plan
from spark_lineage.lineage.target import Target
from spark_lineage.plan.node import PlanNode


def _renamed(old: Dataset | None, new: Dataset | None) -> State:
    state = changes(new, "RENAME")
    for target in state.outputs:
        if isinstance(target, Target) and old is not None:
            target.previous = (old.namespace, old.name)
    return state


@rule("AlterHoodieTableRenameCommand", "AlterTableRenameCommand")
def rename(fold: Fold, node: PlanNode) -> State:
    """In the session catalog: a new name without a database stays in the old one's."""
    old, new = node.raw("oldName"), node.raw("newName")
    if not isinstance(old, dict) or not isinstance(new, dict):
        return changes(None, None)
    if node.raw("isView") is True and is_temporary(fold, old):
        return changes(None, None)
    if fold.record.text(new.get("database")) is None:
        new = {**new, "database": old.get("database")}
    view, naming = is_view(node), fold.naming
    return _renamed(naming.identifier(old, view=view), naming.identifier(new, view=view))


@rule("RenameTable")
def rename_in_catalog(fold: Fold, node: PlanNode) -> State:
    """In another catalog: a single name stays in the old one's namespace."""
    plan = named_plan(fold, node)
    if plan is None:
        return changes(None, None)
    old = fold.naming.resolved_identifier(plan, view=is_view(node, plan))
    return _renamed(old, _new_name(fold, node, plan))


def _new_name(fold: Fold, node: PlanNode, plan: PlanNode) -> Dataset | None:
    catalog, identifier = plan.raw("catalog"), plan.raw("identifier")
    parts = fold.record.texts(node.raw("newName"))
    name = fold.record.text(catalog.get("name")) if isinstance(catalog, dict) else None
    if not parts or not name or not isinstance(identifier, dict):
        return None
    before: list[Any] = fold.record.texts(identifier.get("namespace"))
    if len(parts) == 1:
        parts = [*before, *parts]
    elif len(parts) == len(before) + 2 and parts[0] == name:
        parts = parts[1:]
    facts = {"datasetType": {"datasetType": "VIEW"}} if is_view(node, plan) else None
    return fold.naming.table_of(name, parts, (), facts=facts)
