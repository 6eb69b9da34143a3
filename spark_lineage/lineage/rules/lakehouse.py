"""Commands of Delta's and Iceberg's own: maintenance, clones, branches, procedures."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, Final

from spark_lineage.lineage.column import BARE, DERIVED, Column, Origin, State
from spark_lineage.lineage.datasets.lakehouse import table_of
from spark_lineage.lineage.fold import Fold
from spark_lineage.lineage.lanes import IDENTITY
from spark_lineage.lineage.model import Dataset
from spark_lineage.lineage.rule import rule
from spark_lineage.lineage.rules.named import changes
from spark_lineage.lineage.rules.relations import short_name
from spark_lineage.lineage.rules.writes import write
from spark_lineage.lineage.target import Target
from spark_lineage.plan.node import PlanNode

_PART: Final = re.compile(r"`((?:[^`]|``)*)`|([^.`]+)")
#: Procedures that take over another table's files, by their class (Spark 3) or name.
_SNAPSHOT: Final = frozenset({"SnapshotTableProcedure", "snapshot"})
_ADD_FILES: Final = frozenset({"AddFilesProcedure", "add_files"})
COPIED: Final = "files are taken over as they are: which of their columns are whose is not told"


def kept(dataset: Dataset | None) -> State:
    """The state of a command that rearranges a table and changes no row of it."""
    if dataset is not None:
        dataset = replace(dataset, facts={**dataset.facts, "maintenance": True})
    return changes(dataset, None)


def answered(fold: Fold, node: PlanNode, state: State) -> State:
    """The same command, with the columns of its answer."""
    state.columns = {i: Column({}, DERIVED, system=True) for i in fold.ids(node.output())}
    state.order = None
    return state


def _target(fold: Fold, node: PlanNode) -> Dataset | None:
    """The table that a command of Delta's names: a plan, a table, or an identifier."""
    for field in ("child", "target", "sourceTable", "table"):
        found = table_of(fold.naming, node.raw(field))
        if found is not None:
            return found
        for ref in node.refs(field):
            plan = PlanNode(fold.record, ref)
            while plan.class_name == "SubqueryAlias":
                plan = PlanNode(fold.record, plan.children[0])
            found = fold.naming.resolved_identifier(plan)
            if found is not None:
                return found
    return _of_identifier(fold, node.raw("tableIdentifier") or node.raw("table"))


def _of_identifier(fold: Fold, raw: Any) -> Dataset | None:
    """An identifier's table: ``parquet.`/a/b``` and ``delta.`/a/b``` are paths."""
    if not isinstance(raw, dict):
        return None
    table, database = fold.record.text(raw.get("table")), fold.record.text(raw.get("database"))
    if table and "/" in table and database:
        place = table.replace("%", "%25")
        return fold.naming.path(place, trim=False, form=database.lower())
    return fold.naming.identifier(raw)


@rule(
    "DeltaGenerateCommand",
    "DeltaReorgTable",
    "DeltaReorgTableCommand",
    "OptimizeTableCommand",
    "VacuumTableCommand",
)
def maintain(fold: Fold, node: PlanNode) -> State:
    """OPTIMIZE, VACUUM, REORG, GENERATE: the same rows in other files."""
    return answered(fold, node, kept(_target(fold, node)))


@rule("RestoreTableCommand")
def restore(fold: Fold, node: PlanNode) -> State:
    """RESTORE: the table as it was in an earlier version of itself."""
    return answered(fold, node, kept(_target(fold, node)))


@rule("ConvertToDelta", "ConvertToDeltaCommand", "ConvertToDeltaStatement")
def convert(fold: Fold, node: PlanNode) -> State:
    """CONVERT TO DELTA: the files stay where they are, and get a log."""
    return answered(fold, node, changes(_target(fold, node), "ALTER"))


@rule("DescribeDeltaDetailCommand", "DescribeDeltaHistory", "DescribeDeltaHistoryCommand")
def describe(fold: Fold, node: PlanNode) -> State:
    """DESCRIBE DETAIL and HISTORY read a table's log, none of its rows."""
    return answered(fold, node, State({}, {}))


@rule("CreateDeltaTableCommand")
def create_delta_table(fold: Fold, node: PlanNode) -> State:
    """CREATE and REPLACE as Delta runs them, with a query, a clone's source, or neither."""
    dataset = fold.naming.catalog_table(node.raw("table"))
    if node.raw("tableByPath") is True and dataset is not None:
        described = node.raw("table")
        place = fold.record.text(described.get("location")) if isinstance(described, dict) else None
        if place:
            dataset = fold.naming.path(place, trim=False, schema=dataset.schema, form="delta")
    replaced = (node.text("operation") or "Create") != "Create"
    lifecycle = "OVERWRITE" if replaced else "CREATE"
    query = node.ref_of("query")
    if query is None:
        return answered(fold, node, changes(dataset, lifecycle))
    if fold.record.shape(query).name == "CloneTableCommand":
        return answered(fold, node, _clone(fold, PlanNode(fold.record, query), dataset, lifecycle))
    return answered(fold, node, write(fold, node, dataset, None, None, lifecycle))


@rule("CloneTableCommand")
def clone(fold: Fold, node: PlanNode) -> State:
    """CLONE: what is copied is said by the command around it."""
    return _clone(fold, node, _of_identifier(fold, node.raw("targetIdent")), "CREATE")


def _clone(fold: Fold, node: PlanNode, target: Dataset | None, lifecycle: str) -> State:
    """Each column of a clone is the same column of its source."""
    raw = node.raw("sourceTable")
    source: Dataset | None = None
    if isinstance(raw, dict):
        source = table_of(fold.naming, raw.get("table"))
        source = source or _of_identifier(fold, raw.get("identifier"))
    return copied(fold, node, source, target, lifecycle)


def copied(
    fold: Fold, node: PlanNode, source: Dataset | None, target: Dataset | None, lifecycle: str
) -> State:
    """A table that has another one's columns, each as it is."""
    state = changes(target, lifecycle)
    if source is None:
        return state
    index = fold.sources.dataset(source)
    label = short_name(source)
    state.uses = [node.ref]
    fold.leaves[node.ref] = [source]
    fold.taken.add(source)
    for made in state.outputs:
        if isinstance(made, Target) and made.dataset is not None:
            for name, kind, _ in source.schema:
                lanes = {IDENTITY: fold.sources.field(index, name)}
                column = Column(lanes, BARE, Origin(f"{label}.{name}"))
                made.columns.append((name, column, kind))
            if not made.dataset.schema:
                made.dataset = replace(made.dataset, schema=source.schema)
            if not source.schema:
                made.issues = frozenset({COPIED})
    return state


# -- Iceberg -------------------------------------------------------------------


@rule(
    "AddPartitionField",
    "CreateOrReplaceBranch",
    "CreateOrReplaceTag",
    "DropBranch",
    "DropIdentifierFields",
    "DropPartitionField",
    "DropTag",
    "ReplacePartitionField",
    "SetIdentifierFields",
    "SetWriteDistributionAndOrdering",
)
def alter_iceberg(fold: Fold, node: PlanNode) -> State:
    """ALTER TABLE as Iceberg's extensions add it: the table's parts, the catalog first."""
    raw = node.raw("table")
    dataset = of_parts(fold, fold.record.texts(raw)) if isinstance(raw, list) else None
    return changes(dataset or _target(fold, node), "ALTER")


def of_parts(fold: Fold, parts: list[str], catalog: str | None = None) -> Dataset | None:
    """A table by its parts, with or without the catalog's name before them."""
    if not parts:
        return None
    if len(parts) > 1 and f"spark.sql.catalog.{parts[0]}" in fold.record.conf:
        catalog, parts = parts[0], parts[1:]
    if catalog is None:
        current = fold.record.session.get("catalog")
        catalog = current if isinstance(current, str) and current else "spark_catalog"
    if len(parts) == 1:
        database = fold.record.session.get("database")
        parts = [database if isinstance(database, str) and database else "default", *parts]
    return fold.naming.table_of(catalog, parts, ())


@rule("Call")
def call(fold: Fold, node: PlanNode) -> State:
    """CALL: a procedure of Iceberg's works on the table that its first argument names."""
    catalog, name = procedure_of(fold, node)
    arguments = [fold.literal(ref) for ref in node.refs("args")]
    places = [of_place(fold, text, catalog) if text else None for text in arguments[:2]]
    if catalog is None or not places:
        return answered(fold, node, State({}, {}))
    if name in _SNAPSHOT or name in _ADD_FILES:
        first, second = places[0], places[1] if len(places) > 1 else None
        source, target = (first, second) if name in _SNAPSHOT else (second, first)
        lifecycle = "CREATE" if name in _SNAPSHOT else None
        return answered(fold, node, taken_over(fold, node, source, target, lifecycle))
    return answered(fold, node, kept(places[0]))


def taken_over(
    fold: Fold,
    node: PlanNode,
    source: Dataset | None,
    target: Dataset | None,
    lifecycle: str | None,
) -> State:
    """A table that takes over another one's files."""
    state = changes(target, lifecycle)
    for made in state.outputs:
        if isinstance(made, Target):
            made.issues = frozenset({COPIED})
    if source is not None:
        fold.leaves[node.ref] = [source]
        fold.taken.add(source)
    return state


def procedure_of(fold: Fold, node: PlanNode) -> tuple[str | None, str]:
    """The catalog of a procedure, and the procedure's name or class."""
    raw = node.raw("procedure")
    text = fold.record.text
    if isinstance(raw, dict):
        return text(raw.get("catalog")), fold.record.class_of(raw) or ""
    for ref in node.refs("procedure"):
        plan = PlanNode(fold.record, ref)
        catalog, identifier = plan.raw("catalog"), plan.raw("ident") or plan.raw("identifier")
        return (
            text(catalog.get("name")) if isinstance(catalog, dict) else None,
            text(identifier.get("name")) or "" if isinstance(identifier, dict) else "",
        )
    return None, ""


def parts_of(text: str) -> list[str]:
    """The parts of a name as statements write it."""
    return [
        quoted.replace("``", "`") if quoted or not plain else plain
        for quoted, plain in _PART.findall(text)
    ]


def of_place(fold: Fold, text: str, catalog: str | None) -> Dataset | None:
    """A table or a path as a procedure's argument names it (``db.t``, ``parquet.`/a/b```)."""
    parts = parts_of(text)
    if parts and "/" in parts[-1]:
        form = parts[0].lower() if len(parts) > 1 else None
        return fold.naming.path(parts[-1].replace("%", "%25"), trim=False, form=form)
    if len(parts) == 1:
        return None if catalog is None else fold.naming.table_of(catalog, ["default", *parts], ())
    return of_parts(fold, parts, catalog)


__all__ = [
    "COPIED",
    "answered",
    "kept",
    "of_parts",
    "of_place",
    "parts_of",
    "procedure_of",
    "taken_over",
]
