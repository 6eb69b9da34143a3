"""MERGE, UPDATE and DELETE: what each sets, and what decides which rows it sets.

A command names what it sets; a value that is carried over unchanged is no edge. Conditions of a
clause are FILTER: of the columns that the clause sets, of all rows where it deletes. Clauses of
one kind are tried in order, so those before decide too. A MERGE's ON is JOIN.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from spark_lineage.lineage.column import DERIVED, Column, State, merge
from spark_lineage.lineage.fold import Fold
from spark_lineage.lineage.lanes import FILTER, JOIN, Lanes, union
from spark_lineage.lineage.model import Dataset
from spark_lineage.lineage.rule import rule
from spark_lineage.lineage.target import Target
from spark_lineage.plan.node import Expression, PlanNode

#: `__row_operation` of a row that is only taken away.
_DELETE: Final = "1"
_OPERATION: Final = "__row_operation"
_THROUGH: Final = frozenset({"SubqueryAlias", "View", "Project"})


@dataclass
class _Clause:
    """What one clause sets, by the target's column names (None: it deletes)."""

    condition: int | None
    sets: dict[str, int] | None


@dataclass
class _Setting:
    """What all clauses together set."""

    fold: Fold
    columns: Mapping[int, Column]
    uses: list[int] = field(default_factory=list)
    found: dict[str, list[Column]] = field(default_factory=dict)
    rows: Lanes = field(default_factory=dict)
    issues: frozenset[str] = frozenset()

    def lanes(self, refs: Iterable[int], lane: int) -> Lanes:
        gather = self.fold.gather(refs, lane, self.columns, self.uses)
        self.issues |= gather.issues
        return gather.lanes

    def clauses(self, clauses: Iterable[_Clause]) -> None:
        """Clauses of one kind, of which the first that holds is taken."""
        before: Lanes = {}
        for clause in clauses:
            if clause.condition is not None:
                before = union(before, self.lanes([clause.condition], FILTER))
            if clause.sets is None:
                self.rows = union(self.rows, before)
                continue
            for name, ref in clause.sets.items():
                column = self.fold.column(ref, self.columns, self.uses)
                self.found.setdefault(name, []).append(_under(column, before))

    def state(self, node: PlanNode, dataset: Dataset | None, names: list[str]) -> State:
        """The command's state, its columns in the table's order."""
        order = {name.lower(): at for at, name in enumerate(names)}
        kinds = {name.lower(): kind for name, kind, _ in (dataset.schema if dataset else ())}
        told = sorted(self.found.items(), key=lambda item: order.get(item[0].lower(), len(order)))
        columns = [(name, merge(made), kinds.get(name.lower())) for name, made in told]
        answers = self.fold.ids(node.output())
        state = State({i: Column({}, DERIVED, system=True) for i in answers}, {})
        state.issues = self.issues
        state.uses = self.uses
        state.outputs.append(Target(dataset, columns, self.rows, self.issues))
        return state


def _under(column: Column, conditions: Lanes) -> Column:
    if not conditions:
        return column
    lanes = union(column.lanes, conditions)
    return Column(
        lanes,
        column.type,
        column.origin,
        column.system,
        column.opaque,
        column.issues,
        column.parts,
    )


# -- what is written ----------------------------------------------------------


def _relation(fold: Fold, ref: int) -> PlanNode:
    """The relation of a target, without its aliases."""
    node = PlanNode(fold.record, ref)
    while node.class_name in _THROUGH and node.children:
        node = PlanNode(fold.record, node.children[0])
    return node


def _dataset(fold: Fold, node: PlanNode) -> Dataset | None:
    found = fold.naming.relation(node)
    return found[0] if found else None


def _attribute(fold: Fold, ref: int) -> tuple[int | None, str]:
    """The id and name of what is set: an attribute, or a field of one."""
    node = fold.record.expression(ref)
    path = ""
    while node.class_name in ("GetStructField", "Alias", "Cast") and node.children:
        if node.class_name == "GetStructField":
            path = "." + (fold.field_name(node.row) or "") + path
        node = fold.record.expression(node.children[0])
    return fold.record.expr_id(node.ref), fold.record.name(node.ref) + path


def _is_same(fold: Fold, ref: int, expr_id: int | None) -> bool:
    """Whether an expression is the attribute itself, which is carried over."""
    while fold.record.shape(ref).name in ("Alias", "KnownNotNull"):
        ref = fold.rows[ref][1][0]
    named = fold.record.shape(ref).name == "AttributeReference"
    return named and expr_id is not None and fold.record.expr_id(ref) == expr_id


def _set(fold: Fold, pairs: Iterable[tuple[int | None, str, int]]) -> dict[str, int]:
    return {name: ref for expr_id, name, ref in pairs if not _is_same(fold, ref, expr_id)}


# -- Spark's own commands -------------------------------------------------------


def _assignments(fold: Fold, refs: Iterable[int]) -> dict[str, int]:
    """``key = value`` each, of UPDATE and MERGE."""
    pairs = []
    for ref in refs:
        node = fold.record.expression(ref)
        key, value = node.children
        pairs.append((*_attribute(fold, key), value))
    return _set(fold, pairs)


@rule("UpdateTable")
def update_table(fold: Fold, node: PlanNode) -> State:
    """UPDATE of a table that takes it as it is."""
    return _update(fold, node, node.refs("table")[0], _assignments(fold, node.refs("assignments")))


@rule("DeleteFromTable", "DeleteFromTableWithFilters")
def delete_from_table(fold: Fold, node: PlanNode) -> State:
    """DELETE of a table that takes it as it is."""
    return _update(fold, node, node.refs("table")[0], None)


@rule("UpdateHoodieTableCommand", "MergeIntoHoodieTableCommand")
def hudi_row_level(fold: Fold, node: PlanNode) -> State:
    """UPDATE and MERGE of Hudi: Spark's own command stands in a field."""
    return wrapped(fold, (node.refs("ut") or node.refs("mergeInto"))[0])


def wrapped(fold: Fold, command: int) -> State:
    """The state of a command that runs another one, by a write of whole rows."""
    found = fold.state(command)
    state = State({}, found.rows, [], found.issues)
    state.uses = [command]
    for made in found.outputs:
        if isinstance(made, Target) and made.dataset is not None:
            facts = {**made.dataset.facts, "rowLevel": True}
            made = replace(made, dataset=replace(made.dataset, facts=facts))
        state.outputs.append(made)
    return state


@rule("UpdatePaimonTableCommand")
def paimon_update(fold: Fold, node: PlanNode) -> State:
    """UPDATE of Paimon."""
    sets = _assignments(fold, node.refs("assignments"))
    return _update(fold, node, node.refs("relation")[0], sets)


@rule("DeleteFromPaimonTableCommand")
def paimon_delete(fold: Fold, node: PlanNode) -> State:
    """DELETE of Paimon."""
    return _update(fold, node, node.refs("relation")[0], None)


@rule("DeleteHoodieTableCommand")
def hudi_delete(fold: Fold, node: PlanNode) -> State:
    """DELETE of Hudi: a query for the rows that are taken away; before 1.1 Spark's command."""
    spark = node.ref_of("dft")
    if spark is not None:
        return wrapped(fold, spark)
    query = node.refs("query")[0]
    setting = _Setting(fold, {}, [query])
    setting.rows, setting.issues = fold.state(query).rows, fold.state(query).issues
    relation = _leaf(fold, PlanNode(fold.record, query))
    return setting.state(node, _dataset(fold, relation), fold.names(relation.output()))


def _update(fold: Fold, node: PlanNode, target: int, sets: dict[str, int] | None) -> State:
    setting = _Setting(fold, fold.state(target).columns, [target])
    setting.rows = fold.state(target).rows
    setting.clauses([_Clause(node.ref_of("condition"), sets)])
    relation = _relation(fold, target)
    return setting.state(node, _dataset(fold, relation), fold.names(relation.output()))


@rule("MergeIntoTable", "MergeIntoPaimonTable")
def merge_into_table(fold: Fold, node: PlanNode) -> State:
    """MERGE of a table that takes it as it is, or that nothing has rewritten."""
    kinds = [
        [_action(fold, fold.record.expression(ref)) for ref in node.refs(name)]
        for name in ("matchedActions", "notMatchedActions", "notMatchedBySourceActions")
    ]
    on = node.ref_of("mergeCondition")
    return _merge(fold, node, node.refs("targetTable")[0], node.refs("sourceTable")[0], on, kinds)


def _action(fold: Fold, node: Expression) -> _Clause:
    deletes = node.class_name == "DeleteAction"
    sets = None if deletes else _assignments(fold, node.refs("assignments"))
    return _Clause(node.ref_of("condition"), sets)


def _merge(
    fold: Fold,
    node: PlanNode,
    target: int,
    source: int,
    on: int | None,
    kinds: list[list[_Clause]],
) -> State:
    of_target, of_source = fold.state(target), fold.state(source)
    setting = _Setting(fold, {**of_target.columns, **of_source.columns}, [target, source])
    setting.rows = union(of_target.rows, of_source.rows)
    setting.issues = of_target.issues | of_source.issues
    if on is not None:
        setting.rows = union(setting.rows, setting.lanes([on], JOIN))
    for clauses in kinds:
        setting.clauses(clauses)
    relation = _relation(fold, target)
    return setting.state(node, _dataset(fold, relation), fold.names(relation.output()))


# -- Delta's commands -----------------------------------------------------------


@rule("UpdateCommand")
def delta_update(fold: Fold, node: PlanNode) -> State:
    """UPDATE of Delta: one expression for each column of the target."""
    target = node.refs("target")[0]
    output = PlanNode(fold.record, target).output()
    ids = fold.ids(output)
    made = node.refs("updateExpressions")
    pairs = zip(ids, fold.names(output), made, strict=False)
    return _update(fold, node, target, _set(fold, pairs))


@rule("DeleteCommand")
def delta_delete(fold: Fold, node: PlanNode) -> State:
    """DELETE of Delta."""
    return _update(fold, node, node.refs("target")[0], None)


@rule("MergeIntoCommand", "DeltaMergeInto")
def delta_merge(fold: Fold, node: PlanNode) -> State:
    """MERGE of Delta: its clauses hold an expression for each column."""
    target, source = node.refs("target")[0], node.refs("source")[0]
    output = PlanNode(fold.record, target).output()
    ids = dict(zip((n.lower() for n in fold.names(output)), fold.ids(output), strict=True))
    kinds = [
        [_delta_clause(fold, fold.record.expression(ref), ids) for ref in node.refs(name)]
        for name in ("matchedClauses", "notMatchedClauses", "notMatchedBySourceClauses")
    ]
    return _merge(fold, node, target, source, node.ref_of("condition"), kinds)


def _delta_clause(fold: Fold, node: Expression, ids: Mapping[str, int]) -> _Clause:
    condition = node.ref_of("condition")
    if "Delete" in node.class_name:
        return _Clause(condition, None)
    pairs = []
    for ref in node.refs("actions"):
        action = fold.record.expression(ref)
        path = fold.record.texts(action.raw("targetColNameParts"))
        value = action.ref_of("expr")
        if path and value is not None:
            own = ids.get(path[0].lower()) if len(path) == 1 else None
            pairs.append((own, ".".join(path), value))
    return _Clause(condition, _set(fold, pairs))


# -- what Spark rewrites for the tables of other connectors -----------------------


@rule("MergeRows")
def merge_rows(fold: Fold, node: PlanNode) -> State:
    """The rows that a rewritten MERGE makes; its write says which columns are set."""
    child = fold.child(node)
    ids = fold.ids(node.output())
    state = State({i: Column({}, DERIVED, system=True) for i in ids}, child.rows, ids, child.issues)
    state.uses = list(node.children)
    return state


@rule("ReplaceData", "WriteDelta")
def replace_data(fold: Fold, node: PlanNode) -> State:
    """MERGE, UPDATE and DELETE of a V2 table, as Spark's analyzer has rewritten them."""
    relation = _relation(fold, node.refs("table")[0])
    output = relation.output()
    names, ids = fold.names(output), fold.ids(output)
    query = node.refs("query")[0]
    merged = _find(fold, query, "MergeRows")
    if merged is not None:
        setting = _merged_rows(fold, merged, names, ids)
    else:
        setting = _changed_rows(fold, node, query, dict(zip(names, ids, strict=True)))
    return setting.state(node, _dataset(fold, relation), names)


def _find(fold: Fold, ref: int, name: str) -> PlanNode | None:
    """The node of this class below, through nodes with one child."""
    node = PlanNode(fold.record, ref)
    while node.class_name != name:
        if len(node.children) != 1:
            return None
        node = PlanNode(fold.record, node.children[0])
    return node


def _merged_rows(fold: Fold, node: PlanNode, names: list[str], ids: list[int]) -> _Setting:
    child = fold.child(node)
    setting = _Setting(fold, child.columns, list(node.children))
    setting.rows, setting.issues = child.rows, child.issues
    places = fold.names(node.output())
    for kind in ("matchedInstructions", "notMatchedInstructions", "notMatchedBySourceInstructions"):
        clauses = []
        for ref in node.refs(kind):
            instruction = fold.record.expression(ref)
            clause = _instruction(fold, instruction, places, names, ids)
            if clause is not None:
                clauses.append(clause)
        setting.clauses(clauses)
    return setting


def _instruction(
    fold: Fold, node: Expression, places: list[str], names: list[str], ids: list[int]
) -> _Clause | None:
    """One instruction; None for the last, which carries over what no clause takes."""
    condition = node.ref_of("condition")
    if condition is not None and fold.is_true(condition):
        condition = None
    # A split row is taken away and written anew.
    refs = node.refs("otherOutput") or node.refs("output")
    if not refs:
        return _Clause(condition, None)
    row = dict(zip(places, refs, strict=False))
    if _takes_away(fold, row):
        return _Clause(condition, None)
    sets = _row_sets(fold, row, names, ids)
    return _Clause(condition, sets) if sets else None


def _row_sets(
    fold: Fold, row: Mapping[str, int], names: list[str], ids: list[int]
) -> dict[str, int]:
    pairs = zip(ids, names, strict=True)
    return _set(fold, ((i, name, row[name]) for i, name in pairs if name in row))


def _changed_rows(fold: Fold, node: PlanNode, query: int, ids: dict[str, int]) -> _Setting:
    """UPDATE and DELETE: the projection over the rows that the condition finds."""
    condition = node.ref_of("condition")
    top = PlanNode(fold.record, query)
    # With a union, the rows that change are written beside those of their files that do not.
    whole = node.class_name == "ReplaceData" and not _has_union(fold, top)
    row, under = _projected(fold, top)
    below = fold.state(under)
    leaf = _leaf(fold, top)
    base = fold.state(leaf.ref)
    own = dict(zip(fold.names(leaf.output()), fold.ids(leaf.output()), strict=True))
    setting = _Setting(fold, {**base.columns, **below.columns}, [leaf.ref])
    setting.issues = base.issues
    sets: dict[str, int] | None = None
    if row and not _takes_away(fold, row):
        row = {name: _new_value(fold, ref, whole) for name, ref in row.items()}
        sets = _row_sets(fold, row, list(ids), [own.get(name, at) for name, at in ids.items()])
    if condition is not None and fold.is_true(condition):
        condition = None
    # What sets nothing takes away.
    setting.clauses([_Clause(condition, sets or None)])
    return setting


def _has_union(fold: Fold, node: PlanNode) -> bool:
    while node.class_name == "Project":
        node = PlanNode(fold.record, node.children[0])
    return node.class_name == "Union"


def _projected(fold: Fold, node: PlanNode) -> tuple[dict[str, int], int]:
    """A row's expressions by the names of its columns, and the plan row that they are over.

    No expressions for what is no projection; what several projections in a row make is told in
    terms of the lowest.
    """
    if node.class_name == "Expand":
        projections: Any = node.raw("projections")
        # The first takes the row away, the last writes it anew.
        last = fold.record.refs(projections[-1]) if projections else []
        return dict(zip(fold.names(node.output()), last, strict=False)), node.children[0]
    row: dict[str, int] = {}
    while node.class_name in ("Project", "Union"):
        if node.class_name == "Union":
            # Its columns are those of its first child, which has the rows that change.
            node = PlanNode(fold.record, node.children[0])
            continue
        refs = node.refs("projectList")
        made = dict(zip(fold.ids(refs), refs, strict=True))
        if not row:
            row = dict(zip(fold.names(refs), refs, strict=True))
        else:
            row = {name: _replaced(fold, ref, made) for name, ref in row.items()}
        node = PlanNode(fold.record, node.children[0])
    return row, node.ref


def _replaced(fold: Fold, ref: int, made: Mapping[int, int]) -> int:
    """The expression that an attribute stands for."""
    inner = _without_alias(fold, ref)
    expr_id = fold.record.expr_id(inner)
    if fold.record.shape(inner).name != "AttributeReference" or expr_id is None:
        return ref
    return made.get(expr_id, ref)


def _without_alias(fold: Fold, ref: int) -> int:
    while fold.record.shape(ref).name == "Alias":
        ref = fold.rows[ref][1][0]
    return ref


def _takes_away(fold: Fold, row: Mapping[str, int]) -> bool:
    """Whether a row's operation is to delete."""
    return _OPERATION in row and fold.literal(_without_alias(fold, row[_OPERATION])) == _DELETE


def _new_value(fold: Fold, ref: int, whole: bool) -> int:
    """The new value in ``if(condition) new else old``.

    A file that is rewritten as a ``whole`` has it for each column; where only rows that change
    are made, the engine writes ``if(true)``.
    """
    inner = _without_alias(fold, ref)
    if fold.record.shape(inner).name != "If":
        return ref
    test, new, _ = fold.rows[inner][1]
    found: int = new if whole or fold.is_true(test) else ref
    return found


def _leaf(fold: Fold, node: PlanNode) -> PlanNode:
    """The relation that the rows come from: the first way down."""
    while node.children:
        node = PlanNode(fold.record, node.children[0])
    return node
