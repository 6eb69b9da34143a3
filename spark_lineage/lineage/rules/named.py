"""What a command names: its table, however the plan holds it, and its partitions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from spark_lineage.lineage import evidence
from spark_lineage.lineage.column import State
from spark_lineage.lineage.datasets import subset
from spark_lineage.lineage.fold import Fold
from spark_lineage.lineage.model import Dataset
from spark_lineage.lineage.target import Target
from spark_lineage.plan.node import PlanNode

SESSION_CATALOG = "spark_catalog"

#: Plans of a view's name, and commands that name a view alone.
_VIEWS = frozenset({"ResolvedPersistentView", "ResolvedV2View"})
_VIEW_COMMANDS = frozenset({"DropView", "DropIcebergView"})
_FIELDS = (
    "table",
    "tableName",
    "tableIdent",
    "tableIdentifier",
    "tableId",
    "targetTable",
    "name",
    "tableDesc",
    "oldName",
)


def named_table(fold: Fold, node: PlanNode) -> Dataset | None:
    """The data set that a command names, by its identifier or by the plan that resolved it."""
    described = described_table(fold, node)
    if described is not None:
        if fold.record.class_of(described) == "CatalogTable":
            return fold.naming.catalog_table(described)
        return fold.naming.identifier(described, view=is_view(node))
    plan = named_plan(fold, node)
    if plan is None:
        return None
    view, iceberg = is_view(node, plan), makes_iceberg(fold, node)
    return fold.naming.resolved_identifier(plan, view=view, iceberg=iceberg)


def makes_iceberg(fold: Fold, node: PlanNode) -> bool:
    """Whether a command makes a table of Iceberg's, where Iceberg has the session's catalog.

    A table without a provider is one of its own there.
    """
    for ref in node.refs("tableSpec"):
        provider = fold.record.expression(ref).text("provider")
        return provider is None or provider.lower() == "iceberg"
    return False


def is_view(node: PlanNode, plan: PlanNode | None = None) -> bool:
    """Whether a command, whose name's plan is ``plan``, is about a view."""
    if node.raw("isView") is True or node.class_name in _VIEW_COMMANDS:
        return True
    return plan is not None and plan.class_name in _VIEWS


def described_table(fold: Fold, node: PlanNode) -> dict[str, Any] | None:
    """The CatalogTable or TableIdentifier of a command of the session catalog."""
    for field in _FIELDS:
        raw = node.raw(field)
        kind = fold.record.class_of(raw)
        if isinstance(raw, dict) and kind in ("CatalogTable", "TableIdentifier"):
            return raw
    return None


def named_plan(fold: Fold, node: PlanNode) -> PlanNode | None:
    """The plan of what a command names (ResolvedIdentifier, ResolvedTable, a relation)."""
    for ref in [*node.refs("name"), *node.refs("table"), *node.refs("child"), *node.children]:
        if fold.record.shape(ref).kind == "P":
            plan = PlanNode(fold.record, ref)
            while plan.class_name == "SubqueryAlias":
                plan = PlanNode(fold.record, plan.children[0])
            if plan.has("identifier"):
                return plan
    return None


def session_name(fold: Fold, node: PlanNode) -> tuple[str, str] | None:
    """Database and table of what a command names in the session catalog; None in another."""
    text = fold.record.text
    described = described_table(fold, node)
    if described is not None:
        catalog, table = text(described.get("catalog")), text(described.get("table"))
        database = text(described.get("database")) or current_database(fold)
        known = catalog in (None, SESSION_CATALOG) and table is not None
        return (database, table or "") if known else None
    plan = named_plan(fold, node)
    if plan is None:
        return None
    catalog, identifier = plan.raw("catalog"), plan.raw("identifier")
    if not isinstance(catalog, dict) or text(catalog.get("name")) != SESSION_CATALOG:
        return None
    if not isinstance(identifier, dict):
        return None
    parts = fold.record.texts(identifier.get("namespace"))
    return ".".join(parts) or current_database(fold), text(identifier.get("name")) or ""


def only_if(fold: Fold, node: PlanNode, state: State, event: str, issue: str) -> State:
    """The same command, done only if the catalog has told this event of its table.

    Where another catalog has the table, nobody tells: then that is the ``issue``.
    """
    if evidence.failed(fold.record):
        return state
    name = session_name(fold, node)
    if name is None:
        return untold(state, issue)
    for target in state.outputs:
        if isinstance(target, Target):
            target.written = evidence.changed(fold.record, event, *name)
    return state


def untold(state: State, issue: str) -> State:
    """The same command, of which nobody tells whether it has changed anything."""
    for target in state.outputs:
        if isinstance(target, Target):
            target.lifecycle, target.issues = None, frozenset({issue})
    return state


def current_database(fold: Fold) -> str:
    """The database in which a name without one is looked for."""
    found = fold.record.session.get("database")
    return found if isinstance(found, str) and found else "default"


def is_temporary(fold: Fold, raw: Any) -> bool:
    """Whether an identifier of a view is of a temporary one: those alone have no database."""
    return isinstance(raw, dict) and fold.record.text(raw.get("database")) is None


def partitions(fold: Fold, *specs: Any) -> dict[str, Any] | None:
    """The part of a table that partition specs (maps of column to value) name; None for all."""
    found = []
    for raw in specs:
        spec = {
            key: value
            for key, value in fold.record.mapping(raw).items()
            # A column without a value stands for all of its values.
            if isinstance(value, str)
        }
        if spec:
            found.append(spec)
    return subset.partitions(found) if found else None


def changes(
    dataset: Dataset | None, lifecycle: str | None, part: dict[str, Any] | None = None
) -> State:
    """The state of a command that changes a data set without giving it columns."""
    state = State({}, {}, [])
    if dataset is not None:
        if part is not None:
            dataset = replace(dataset, facts={**dataset.facts, "subset": part})
        state.outputs.append(Target(dataset, lifecycle=lifecycle))
    return state
