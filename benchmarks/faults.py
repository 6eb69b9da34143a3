"""Faults put into the engine on purpose, to see whether the self-check finds them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from spark_lineage.lineage import LineageOptions, derive, handlers, rule
from spark_lineage.lineage.column import Column, State
from spark_lineage.lineage.datasets import Naming
from spark_lineage.lineage.fold import Fold
from spark_lineage.lineage.lanes import union
from spark_lineage.lineage.model import Lineage, Output, Source
from spark_lineage.lineage.selfcheck import Reading, check
from spark_lineage.plan.node import PlanNode, Record


def deaf(fold: Fold, node: PlanNode) -> State:
    """A rule that forgets what its node does: columns pass by, nothing is added."""
    columns: dict[int, Column] = {}
    rows: dict[int, int] = {}
    for ref in node.children:
        child = fold.states.get(ref)
        if child is not None:
            columns.update(child.columns)
            rows = union(rows, child.rows)
    ids = fold.ids(node.output())
    state = State({i: columns.get(i, Column({}, 0)) for i in ids}, rows, ids)
    state.uses = list(node.children)
    return state


@contextmanager
def rule_off(name: str, instead: Callable[[Fold, PlanNode], State] | None) -> Iterator[None]:
    """The rule of a class of plan nodes replaced, or (``None``) not there at all."""
    known = rule._RULES.pop(name)
    if instead is not None:
        rule._RULES[name] = instead
    try:
        yield
    finally:
        rule._RULES[name] = known


@contextmanager
def expression_off(name: str) -> Iterator[None]:
    """The handler of a class of expressions replaced by one that sees no children."""
    built_in = handlers._BUILT_IN.get(name)
    handlers._BUILT_IN[name] = handlers.CONSTANT
    known: Any = handlers._HANDLERS.pop(name, None)
    try:
        yield
    finally:
        del handlers._BUILT_IN[name]
        if built_in is not None:
            handlers._BUILT_IN[name] = built_in
        if known is not None:
            handlers._HANDLERS[name] = known


def edges(lineage: Lineage) -> frozenset[tuple[str, int, Source]]:
    """All edges: the output's name, the column's position (-1: whole result), the source."""
    found = set()
    for output in lineage.outputs:
        name = output.dataset.name if output.dataset else ""
        for source in output.indirect:
            found.add((name, -1, source))
        for index, column in enumerate(output.columns):
            for source in (*column.direct, *column.indirect):
                found.add((name, index, source))
    return frozenset(found)


@dataclass(frozen=True)
class Subject:
    """A record whose lineage has been checked and found whole."""

    id: str
    record: Record
    lineage: Lineage

    @staticmethod
    def of(id: str, record: Record) -> Subject | None:
        """None if the self-check cannot tell anything of it: no optimized plan, or faults."""
        lineage = derive(record)
        reading = Reading(record, Naming(record, LineageOptions()))
        if not reading.referred or lineage.unexplained or not edges(lineage):
            return None
        return Subject(id, record, lineage)

    def classes(self, kind: str) -> set[str]:
        """The classes of plan nodes (``P``) or expressions (``E``) of the analyzed plan."""
        record = self.record
        assert record.analyzed is not None
        shapes = {row[0] for row in record.rows[: record.analyzed + 1]}
        return {record.shapes[i].name for i in shapes if record.shapes[i].kind == kind}

    def recheck(self, outputs: tuple[Output, ...]) -> bool:
        """Whether the self-check fires for these outputs."""
        reading = Reading(self.record, Naming(self.record, LineageOptions()))
        return bool(check(reading, outputs)[0])


@dataclass
class Tally:
    """How many faults of one kind were put in, and how many were found, and by what."""

    faults: int = 0
    fired: int = 0
    reported: int = 0

    def add(self, fired: bool, reported: bool = False) -> None:
        self.faults += 1
        self.fired += fired
        self.reported += fired or reported

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.faults + other.faults, self.fired + other.fired, self.reported + other.reported
        )


def derived(subject: Subject) -> tuple[bool, bool, bool] | None:
    """Derive with the fault in place: lost edges?, fired, reported otherwise. None: unchanged."""
    lineage = derive(subject.record)
    before, after = edges(subject.lineage), edges(lineage)
    if before == after:
        return None
    reported = bool(lineage.unknown_nodes) or any(output.issues for output in lineage.outputs)
    return bool(before - after), bool(lineage.unexplained), reported


def without(outputs: tuple[Output, ...], drop: Callable[[int, int, Source], bool]) -> Any:
    """The outputs without the sources that ``drop`` picks by output, column (-1: all), source."""
    changed = []
    for number, output in enumerate(outputs):
        columns = tuple(
            replace(
                column,
                direct=tuple(s for s in column.direct if not drop(number, index, s)),
                indirect=tuple(s for s in column.indirect if not drop(number, index, s)),
            )
            for index, column in enumerate(output.columns)
        )
        kept = tuple(s for s in output.indirect if not drop(number, -1, s))
        changed.append(replace(output, columns=columns, indirect=kept))
    return tuple(changed)


def single_edges(subject: Subject, most: int, chance: random.Random) -> Iterator[tuple[str, bool]]:
    """Remove edges one at a time: the kind, and whether the check fired."""
    outputs = subject.lineage.outputs
    every = [
        (number, index, source)
        for number, output in enumerate(outputs)
        for index, sources in [
            (-1, output.indirect),
            *((i, (*c.direct, *c.indirect)) for i, c in enumerate(output.columns)),
        ]
        for source in sources
    ]
    for picked in chance.sample(every, min(most, len(every))):
        changed = without(outputs, lambda *edge, picked=picked: edge == picked)
        yield picked[2].kind.value, subject.recheck(changed)


def forgotten_columns(subject: Subject) -> Iterator[tuple[str, bool]]:
    """Remove all edges of one source column: the kinds it had, and whether the check fired."""
    by_column: dict[tuple[str, str, str], set[str]] = {}
    for _, _, source in edges(subject.lineage):
        key = (source.namespace, source.name, source.field)
        by_column.setdefault(key, set()).add(source.kind.value)
    for key, kinds in sorted(by_column.items()):
        changed = without(
            subject.lineage.outputs,
            lambda _n, _i, s, key=key: (s.namespace, s.name, s.field) == key,
        )
        yield (kinds.pop() if len(kinds) == 1 else "several kinds"), subject.recheck(changed)


def forgotten_kinds(subject: Subject) -> Iterator[tuple[str, bool]]:
    """Remove all edges of one source column and one kind: that kind, and whether it fired."""
    found = {(s.namespace, s.name, s.field, s.kind) for _, _, s in edges(subject.lineage)}
    for key in sorted(found):
        changed = without(
            subject.lineage.outputs,
            lambda _n, _i, s, key=key: (s.namespace, s.name, s.field, s.kind) == key,
        )
        yield key[3].value, subject.recheck(changed)
