"""One forward pass over the rows of a plan: from the leaves to the root, each node once."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Any

from spark_lineage.lineage.column import BARE, DERIVED, NOTHING, Column, Origin, State
from spark_lineage.lineage.datasets import Naming
from spark_lineage.lineage.expressions import handler_of
from spark_lineage.lineage.expressions.functions import masked
from spark_lineage.lineage.function_names import known_name
from spark_lineage.lineage.gather import Gather
from spark_lineage.lineage.handlers import ATTRIBUTE, TRANSPARENT
from spark_lineage.lineage.lanes import IDENTITY, TRANSFORMATION, Lanes, add, union
from spark_lineage.lineage.memory import Memory
from spark_lineage.lineage.model import Dataset
from spark_lineage.lineage.options import LineageOptions
from spark_lineage.lineage.rule import rule_of
from spark_lineage.lineage.rules.unknown import unknown
from spark_lineage.lineage.sources import Sources
from spark_lineage.lineage.struct_parts import field_at, struct_parts
from spark_lineage.plan.node import PlanNode, Record, number
from spark_lineage.plan.walk import plan_rows

log = logging.getLogger(__name__)

#: How often a plan with recursion (or with a reference before its definition) is folded at most.
_MAX_ROUNDS = 64


class Fold:
    """The pass over one plan, and what rules and expression handlers ask of it."""

    def __init__(
        self, record: Record, options: LineageOptions, memory: Memory | None = None
    ) -> None:
        self.record = record
        self.memory = memory
        self.options = options
        self.rows = record.rows
        self.shapes = record.shapes
        self.sources = Sources()
        self.naming = Naming(record, options)
        #: The data sets that leaves read, by row.
        self.leaves: dict[int, list[Dataset]] = {}
        #: The data sets that a command reads itself, not by a plan that is scanned.
        self.taken: set[Dataset] = set()
        self.masking_names = frozenset(name.lower() for name in options.masking_functions)
        self.handlers = [self._handler(shape.name) for shape in record.shapes]
        self.id_position = [shape.position.get("exprId", -1) for shape in record.shapes]
        self.states: dict[int, State] = {}
        self._orders: dict[int, list[int]] = {}
        #: CTE definitions and recursive loops by id, with the state of the last round.
        self.definitions: dict[int, tuple[int, State]] = {}
        self.pending = False
        self.failures: dict[int, str] = {}
        self.unknown: dict[int, str] = {}

    def _handler(self, name: str) -> Any:
        if self.masking_names:
            plain = name.lower()
            if any(plain == known.replace("_", "") for known in self.masking_names):
                return masked
        return handler_of(name)

    # -- the pass ---------------------------------------------------------

    def run(self, root: int) -> State:
        """The state of ``root``; all nodes before it are folded on the way."""
        order = list(plan_rows(self.record, root))
        before: list[Any] = []
        for _ in range(_MAX_ROUNDS):
            self.pending = False
            self.unknown.clear()
            self.failures.clear()
            self._orders.clear()
            for ref in order:
                self.states[ref] = self._fold(ref)
            if not self.pending:
                return self.states[root]
            after = self._measure()
            if after == before:
                return self.states[root]
            before = after
        state = self.states[root]
        state.issues |= {f"a recursive query did not settle in {_MAX_ROUNDS} rounds"}
        return state

    def _measure(self) -> list[Any]:
        """What must stop changing before a recursive definition is told completely."""
        return [
            (
                key,
                [(i, c.type, c.system, sorted(c.lanes.items())) for i, c in state.columns.items()],
                sorted(state.rows.items()),
            )
            for key, (_, state) in sorted(self.definitions.items())
        ]

    def _fold(self, ref: int) -> State:
        node = PlanNode(self.record, ref)
        function = rule_of(node.class_name)
        if function is None:
            self.unknown[ref] = node.class_name
            return unknown(self, node)
        try:
            state = function(self, node)
        except Exception as error:
            # A fault in one rule must cost this node's exactness, not the query's lineage.
            log.debug("rule for %s failed", node.class_name, exc_info=True)
            self.failures[ref] = f"{node.class_name}: {type(error).__name__}: {error}"
            return unknown(self, node, f"the rule for {node.class_name} failed ({error!r})")
        if not state.uses:
            state.uses = list(node.children)
        return state

    # -- states -----------------------------------------------------------

    def state(self, ref: int) -> State:
        """The state of a plan row that stands before."""
        return self.states[ref]

    def child(self, node: PlanNode, index: int = 0) -> State:
        """The state of a child."""
        return self.states[node.children[index]]

    def order(self, ref: int) -> list[int]:
        """The expression ids of a plan row's output, in order."""
        asked: list[int] = []
        while ref not in self._orders:
            asked.append(ref)
            state = self.states.get(ref)
            row = self.rows[ref]
            if state is not None and state.order is not None:
                self._orders[ref] = state.order
            elif row[2] == -1:
                ref = row[1][0]
            else:
                self._orders[ref] = self.ids(row[2])
        found = self._orders[ref]
        for other in asked:
            self._orders[other] = found
        return found

    def ids(self, refs: Iterable[int]) -> list[int]:
        """The expression ids of named expressions."""
        found = []
        for ref in refs:
            row = self.rows[ref]
            position = self.id_position[row[0]]
            expr_id = number(row[position]) if position >= 0 else None
            found.append(-1 - ref if expr_id is None else expr_id)
        return found

    def names(self, refs: Iterable[int]) -> list[str]:
        """The names of named expressions."""
        return [self.record.name(ref) for ref in refs]

    # -- expressions ------------------------------------------------------

    def gather(
        self,
        refs: Iterable[int],
        lane: int,
        columns: Mapping[int, Column],
        uses: list[int] | None = None,
    ) -> Gather:
        """Walk expressions over these columns, seen in this lane."""
        found = Gather(self, columns, [] if uses is None else uses)
        found.push_all(refs, lane)
        found.run()
        return found

    def depend(self, state: State, refs: Iterable[int], lane: int, base: State) -> None:
        """Let the rows of ``state`` depend on expressions over the columns of ``base``."""
        found = self.gather(refs, lane, base.columns, state.uses)
        state.rows = union(state.rows, found.lanes)
        if found.issues:
            state.issues |= found.issues

    def column(
        self, ref: int, columns: Mapping[int, Column], uses: list[int] | None = None, depth: int = 0
    ) -> Column:
        """The column that an expression makes; a bare attribute is the same column."""
        rows, handlers = self.rows, self.handlers
        row = rows[ref]
        handler = handlers[row[0]]
        while handler == TRANSPARENT:
            ref = row[1][0]
            row = rows[ref]
            handler = handlers[row[0]]
        if handler == ATTRIBUTE:
            column = columns.get(row[self.id_position[row[0]]]["#"])
            if column is not None:
                return column
        found = self.gather((ref,), IDENTITY, columns, uses)
        parts = struct_parts(self, ref, columns, depth)
        return found.column(Origin(expression=ref, columns=columns), parts)

    def project(
        self, refs: Iterable[int], columns: Mapping[int, Column], uses: list[int]
    ) -> dict[int, Column]:
        """The columns of a list of named expressions, by expression id."""
        rows, handlers, id_position = self.rows, self.handlers, self.id_position
        found: dict[int, Column] = {}
        for ref in refs:
            row = rows[ref]
            position = id_position[row[0]]
            expr_id: int = row[position]["#"] if position >= 0 else -1 - ref
            if handlers[row[0]] == ATTRIBUTE:
                column = columns.get(expr_id)
                if column is not None:
                    found[expr_id] = column
                    continue
            found[expr_id] = self.column(ref, columns, uses)
        return found

    def every(self, columns: Iterable[Column], lane: int = TRANSFORMATION) -> Column:
        """A column that may depend on all of these."""
        gather = Gather(self, {}, [])
        for column in columns:
            gather.take(column, lane)
        gather.type = max(gather.type, DERIVED)
        return gather.column(None)

    # -- holes of correlated subqueries -----------------------------------

    def fill_lanes(self, lanes: Lanes, gather: Gather) -> Lanes:
        """Put the enclosing query's columns in the place of their holes."""
        holes = self.sources.holes
        if not holes or not any(bits & holes for bits in lanes.values()):
            return lanes
        filled: Lanes = {}
        for lane, bits in lanes.items():
            for bit, expr_id in self.sources.hole_ids(bits):
                column = gather.columns.get(expr_id)
                if column is not None:
                    bits &= ~bit
                    add(filled, column.lanes, lane)
            if bits:
                filled[lane] = filled.get(lane, 0) | bits
        return filled

    def fill(self, column: Column, gather: Gather) -> Column:
        """A column with the holes of its lanes filled."""
        lanes = self.fill_lanes(column.lanes, gather)
        if lanes is column.lanes:
            return column
        return Column(
            lanes, column.type, column.origin, column.system, column.opaque, column.issues
        )

    def has_class(self, name: str) -> bool:
        """Whether a class occurs in the record at all."""
        return any(shape.name == name for shape in self.shapes)

    # -- facts of rows ----------------------------------------------------

    def is_true(self, ref: int) -> bool:
        """Whether an expression is the literal TRUE."""
        shape = self.record.shape(ref)
        if shape.name != "Literal":
            return False
        value = self.rows[ref][shape.position["value"]]
        return value is True or str(self.record.text(value)).lower() == "true"

    def is_null(self, ref: int) -> bool:
        """Whether an expression is the literal NULL, whatever its type."""
        while True:
            shape = self.record.shape(ref)
            if shape.name == "Literal":
                return self.rows[ref][shape.position["value"]] is None
            if shape.name not in ("Cast", "Alias", "AnsiCast"):
                return False
            ref = self.rows[ref][1][0]

    def same_type(self, left: Any, right: Any) -> bool:
        """Whether two data types are the same."""
        if left == right:
            return True
        return self.record.text(left) == self.record.text(right)

    def literal(self, ref: int) -> str | None:
        """The text of a literal."""
        shape = self.record.shape(ref)
        if shape.name != "Literal":
            return None
        value = self.rows[ref][shape.position["value"]]
        whole = number(value)
        return str(whole) if whole is not None else self.record.text(value)

    def field_name(self, row: list[Any]) -> str | None:
        """The field that a GetStructField or GetArrayStructFields takes."""
        shape = self.shapes[row[0]]
        if shape.name == "GetStructField":
            return self.record.text(row[shape.position["name"]]) or self._field_by_ordinal(row)
        raw = row[shape.position["field"]]
        if type(raw) is int and raw >= 0:
            return self.record.name(raw) or None
        return self.record.text(raw.get("name") if isinstance(raw, dict) else raw)

    def _field_by_ordinal(self, row: list[Any]) -> str | None:
        """``s.*`` names no fields: they are known by the type of the attribute below."""
        ordinals: list[int] = []
        current = row
        while self.shapes[current[0]].name == "GetStructField":
            ordinal = number(current[self.shapes[current[0]].position["ordinal"]])
            if ordinal is None:
                return None
            ordinals.append(ordinal)
            current = self.rows[current[1][0]]
        position = self.shapes[current[0]].position.get("dataType")
        text = self.record.type_text(current[position]) if position is not None else None
        return field_at(text, tuple(reversed(ordinals)))

    def struct_part(self, row: list[Any], name: str) -> int | None:
        """The expression of one field of a CreateNamedStruct."""
        children = row[1] or []
        near: int | None = None
        for index in range(0, len(children) - 1, 2):
            known = self.literal(children[index]) or ""
            if known == name:
                exact: int = children[index + 1]
                return exact
            if near is None and known.lower() == name.lower():
                near = children[index + 1]
        return near

    def function_name(self, row: list[Any]) -> str:
        """The name of a user's function."""
        return known_name(self.record, row) or self.shapes[row[0]].name

    def unknown_attribute(self, gather: Gather, ref: int, lane: int) -> None:
        """An attribute that no child gives: a metadata column, else a gap that is told."""
        name = self.record.name(ref)
        if name.startswith("_metadata") or name in ("_file", "_pos", "_partition", "_spec_id"):
            gather.system = True
            gather.type = max(gather.type, DERIVED)
            return
        gather.miss(f"no column {name}#{self.record.expr_id(ref)} below")


__all__ = ["BARE", "NOTHING", "Fold"]
