"""From a record to its lineage."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

import spark_lineage.lineage.rules  # noqa: F401  (importing registers)
from spark_lineage.lineage.column import Column, State
from spark_lineage.lineage.datasets.lakehouse import (
    version_written,
    versions_read,
    with_version,
)
from spark_lineage.lineage.datasets.subset import narrowed
from spark_lineage.lineage.fallback import datasets_only
from spark_lineage.lineage.fold import Fold
from spark_lineage.lineage.lanes import FIRST_INDIRECT, KINDS, MASK, Lanes
from spark_lineage.lineage.memory import Memory
from spark_lineage.lineage.model import (
    Availability,
    Dataset,
    Input,
    Lineage,
    Origin,
    Output,
    OutputColumn,
    Source,
)
from spark_lineage.lineage.options import LineageOptions
from spark_lineage.lineage.rules.writes import query_of
from spark_lineage.lineage.selfcheck import Reading, check
from spark_lineage.lineage.streams import BATCHES, source_leaf
from spark_lineage.lineage.target import Target
from spark_lineage.lineage.text import LIMIT, Texts
from spark_lineage.plan.node import PlanNode, Record

#: The texts of one output together are about this long at most, but each may have the least.
_ALL_TEXTS = 60_000
_MIN_TEXT = 200

#: Fields of a built struct are outputs of their own down to this depth.
_MAX_PATH = 8

_DEFAULTS = LineageOptions()


def derive(
    record: Record, options: LineageOptions = _DEFAULTS, memory: Memory | None = None
) -> Lineage:
    """The lineage of a record's query.

    The analyzed plan says what depends on what; the optimized plan and the
    scans say what was read. A record without an analyzed plan gives one output
    that is UNAVAILABLE, with the reason. ``memory``, one for an application,
    carries lineage through checkpoints; it is read and added to. Never raises
    for a plan it does not understand: what is not known is told in issues and
    ``unknown_nodes``.
    """
    if record.analyzed is None:
        reason = record.bridge.get("truncated") or "the query has no analyzed plan"
        return Lineage(
            outputs=(Output(None, availability=Availability.UNAVAILABLE, issues=(str(reason),)),)
        )
    fold = Fold(record, options, memory)
    state = fold.run(record.analyzed)
    used = _used(fold, record.analyzed)
    teller = _Teller(fold)
    outputs = _versioned(
        record, [teller.output(target) for target in _targets(fold, record.analyzed, state)]
    )
    datasets = narrowed(record, _readings(fold, used), fold.naming.relation)
    if memory is not None:
        _remember(memory, fold, state, teller, datasets)
    reading = Reading(record, fold.naming)
    versions = versions_read(fold.naming)
    inputs = tuple(
        sorted(
            (
                Input(
                    with_version(dataset, versions.get(dataset)),
                    dataset in fold.taken or reading.read(dataset),
                )
                for dataset in datasets
            ),
            key=lambda item: (item.dataset.namespace, item.dataset.name),
        )
    )
    resolved = outputs
    if options.views_as_datasets:
        # The optimized plan knows no views: check what their queries read.
        plain = derive(record, replace(options, views_as_datasets=False, texts=False))
        resolved = plain.outputs
    unexplained, explained = check(reading, resolved)
    unknown = Counter(name for ref, name in fold.unknown.items() if ref in used)
    return Lineage(inputs, outputs, dict(unknown), unexplained, explained)


def _versioned(record: Record, outputs: Sequence[Output]) -> tuple[Output, ...]:
    """The outputs; the only one, if it was written, with the version that the write has made."""
    if len(outputs) == 1 and outputs[0].dataset is not None and outputs[0].written is not False:
        dataset = with_version(outputs[0].dataset, version_written(record))
        return (replace(outputs[0], dataset=dataset),)
    return tuple(outputs)


def _remember(
    memory: Memory, fold: Fold, state: State, teller: _Teller, inputs: list[Dataset]
) -> None:
    """Keep a query's result for what starts from its rows later."""
    root = fold.record.analyzed
    if root is None:
        return
    sink = PlanNode(fold.record, root)
    if sink.class_name in BATCHES:
        _remember_sources(memory, fold, teller)
        # What foreachBatch is given are the rows of the query, in an execution inside.
        root = query_of(fold, sink)
        state = fold.state(root)
    if state.outputs:
        return
    ids = fold.order(root)
    columns = [state.columns[expr_id] for expr_id in ids if expr_id in state.columns]
    if ids and len(columns) == len(ids):
        texts = [teller.text(column) for column in columns]
        memory.remember(ids, columns, texts, state.rows, inputs, state.issues, fold.sources)


def _remember_sources(memory: Memory, fold: Fold, teller: _Teller) -> None:
    """Keep what a stream reads for its batches in which a source has nothing new."""
    for ref, state in fold.states.items():
        leaf = source_leaf(fold.record, ref)
        if leaf is None:
            continue
        ids = list(state.columns)
        columns = list(state.columns.values())
        texts = [teller.text(column) for column in columns]
        # Which files came is of one batch only.
        inputs = [
            replace(one, facts={k: v for k, v in one.facts.items() if k != "subset"})
            for one in fold.leaves.get(leaf, ())
        ]
        memory.remember(
            ids, columns, texts, state.rows, inputs, state.issues, fold.sources, of_source=True
        )


def _used(fold: Fold, root: int) -> set[int]:
    """The plan rows from which the root's state was made."""
    used: set[int] = set()
    stack = [root]
    while stack:
        ref = stack.pop()
        if ref in used:
            continue
        used.add(ref)
        state = fold.states.get(ref)
        if state is not None:
            stack.extend(state.uses)
            stack.extend(PlanNode(fold.record, ref).children if not state.uses else ())
    return used


def _readings(fold: Fold, used: set[int]) -> list[Dataset]:
    """What the leaves read, a data set once for each of them."""
    return [dataset for ref in sorted(used) for dataset in fold.leaves.get(ref, ())]


def _targets(fold: Fold, root: int, state: State) -> list[Target]:
    found = [target for target in state.outputs if isinstance(target, Target)]
    if found:
        return found
    refs = PlanNode(fold.record, root).output()
    order = fold.order(root)
    columns = []
    for ref, expr_id in zip(refs, order, strict=False):
        column = state.columns.get(expr_id)
        if column is not None:
            kind = fold.record.expression(ref).data_type()
            columns.append((fold.record.name(ref), column, kind))
    return [Target(None, columns, state.rows, state.issues)]


class _Teller:
    """Turns bits into the words of the result."""

    def __init__(self, fold: Fold) -> None:
        self.fold = fold
        self.texts = Texts(fold.record, fold.options.literals) if fold.options.texts else None
        self._limit = LIMIT
        self._lists: dict[tuple[int, int], list[_Keyed]] = {}
        self._tuples: dict[tuple[bool, tuple[tuple[int, int], ...]], tuple[Source, ...]] = {}

    def text(self, column: Column) -> str | None:
        """A column's expression, if texts are wanted."""
        return self.texts.column(column, self._limit) if self.texts else None

    def output(self, target: Target) -> Output:
        columns: list[OutputColumn] = []
        # A table of a thousand columns gets shorter texts, not a thousand long ones.
        self._limit = max(_MIN_TEXT, min(LIMIT, _ALL_TEXTS // max(1, len(target.columns))))
        for name, column, kind in target.columns:
            columns.extend(self._column(name, column, kind))
        issues = set(target.issues)
        rows = self._fill(target.rows)
        if rows[1]:
            issues.add("an outer column was not found")
        for _, column, _ in target.columns:
            issues |= column.issues
        available = Availability.PARTIAL if issues else Availability.AVAILABLE
        return Output(
            target.dataset,
            tuple(columns),
            self._sources(rows[0], direct=False),
            available,
            tuple(sorted(issues)),
            target.lifecycle,
            target.previous,
            target.written,
        )

    def _fill(self, lanes: Lanes) -> tuple[Lanes, bool]:
        holes = self.fold.sources.holes
        missing = bool(holes) and any(bits & holes for bits in lanes.values())
        return lanes, missing

    def _column(self, name: str, column: Column, kind: str | None) -> Iterable[OutputColumn]:
        stack: list[tuple[str, Column, str | None, int]] = [(name, column, kind, 0)]
        while stack:
            path, current, data_type, depth = stack.pop()
            yield self._one(path, current, data_type)
            if current.parts and depth < _MAX_PATH:
                for part in reversed(list(current.parts)):
                    shown = f"`{part}`" if "." in part else part
                    stack.append((f"{path}.{shown}", current.parts[part], None, depth + 1))

    def _one(self, name: str, column: Column, data_type: str | None) -> OutputColumn:
        direct = self._sources(column.lanes, direct=True)
        if direct:
            origin = Origin.INPUT_FIELDS
        else:
            origin = Origin.SYSTEM if column.system else Origin.CONSTANT
        return OutputColumn(
            name,
            KINDS[column.type],
            origin,
            self.text(column),
            direct,
            self._sources(column.lanes, direct=False),
            Availability.PARTIAL if column.issues else Availability.AVAILABLE,
            tuple(sorted(column.opaque)),
            data_type,
        )

    def _sources(self, lanes: Lanes, direct: bool) -> tuple[Source, ...]:
        """The sources of a column's lanes, one for each data set, path, kind and masking."""
        key = (direct, tuple(sorted(lanes.items())))
        known = self._tuples.get(key)
        if known is None:
            found: list[_Keyed] = []
            for lane, bits in lanes.items():
                if (lane < FIRST_INDIRECT) is direct:
                    found.extend(self._list(lane, bits))
            found.sort(key=_order)
            known = self._tuples[key] = tuple(source for _, source in found)
        return known

    def _list(self, lane: int, bits: int) -> list[_Keyed]:
        """The sources of one lane; those that differ by the views passed only are one."""
        known = self._lists.get((lane, bits))
        if known is not None:
            return known
        paths: dict[tuple[str, str, str], tuple[str, ...]] = {}
        for dataset, path, via in self.fold.sources.describe(bits):
            key = (dataset.namespace, dataset.name, path)
            before = paths.get(key)
            if before is None:
                paths[key] = via
            elif before != via:
                paths[key] = tuple(dict.fromkeys((*before, *via)))
        kind, masking = KINDS[lane >> 1], bool(lane & MASK)
        known = [
            ((*key, kind.value, masking), Source(*key, kind, masking, via))
            for key, via in paths.items()
        ]
        self._lists[lane, bits] = known
        return known


_Keyed = tuple[tuple[str, str, str, str, bool], Source]


def _order(keyed: _Keyed) -> tuple[str, str, str, str, bool]:
    return keyed[0]


__all__ = ["datasets_only", "derive"]
