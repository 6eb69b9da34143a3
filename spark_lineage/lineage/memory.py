"""What earlier queries of one application left behind in RDDs.

``checkpoint``, ``localCheckpoint`` and ``foreachBatch`` cut a plan: what comes
after starts from a ``LogicalRDD`` whose attributes have the expression ids of
the query that filled it, or, in the second use of it in a self-join, fresh ids
over the same RDD. So the columns of finished queries are remembered by
expression id, and those of an RDD by its identity and position. What a stream's
sources gave is remembered apart from that: a query may hand a source's ids on with
other rows behind them.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from spark_lineage.lineage.column import Column, Origin
from spark_lineage.lineage.lanes import Lanes
from spark_lineage.lineage.model import Dataset
from spark_lineage.lineage.sources import Sources

_Sources = tuple[tuple[int, Dataset, tuple[str, ...], tuple[str, ...]], ...]


@dataclass(frozen=True)
class _Rows:
    """What the rows of a remembered query depend on, and what it read."""

    sources: _Sources
    inputs: tuple[Dataset, ...]
    issues: frozenset[str]


@dataclass(frozen=True)
class _Remembered:
    sources: _Sources
    type: int
    text: str | None
    system: bool
    opaque: frozenset[str]
    issues: frozenset[str]
    rows: _Rows


@dataclass(frozen=True)
class Recalled:
    """Remembered columns, in the terms of the query that asks."""

    columns: list[Column]
    rows: Lanes
    inputs: list[Dataset]
    issues: frozenset[str]


class Memory:
    """A bounded memory of one application; the oldest is forgotten first. Not thread-safe."""

    def __init__(self, columns: int = 20_000, rdds: int = 1_000) -> None:
        self._limit = columns
        self._rdd_limit = rdds
        self._columns: OrderedDict[int, _Remembered] = OrderedDict()
        self._sources: OrderedDict[int, _Remembered] = OrderedDict()
        self._rdds: OrderedDict[int, tuple[_Remembered, ...]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._columns) + len(self._sources)

    def remember(
        self,
        ids: list[int],
        columns: list[Column],
        texts: list[str | None],
        rows: Lanes,
        inputs: list[Dataset],
        issues: frozenset[str],
        sources: Sources,
        of_source: bool = False,
    ) -> None:
        """Keep the columns of a query's result, or of a stream's source, by expression id."""
        memory = self._sources if of_source else self._columns
        kept_rows = _Rows(sources.portable(rows), tuple(inputs), issues)
        for expr_id, column, text in zip(ids, columns, texts, strict=True):
            memory[expr_id] = _Remembered(
                sources.portable(column.lanes),
                column.type,
                text,
                column.system,
                column.opaque,
                column.issues,
                kept_rows,
            )
            memory.move_to_end(expr_id)
        while len(memory) > self._limit:
            memory.popitem(last=False)

    def recall(self, ids: list[int], rdd: int | None, sources: Sources) -> Recalled | None:
        """The columns of an RDD's attributes; None if they are not known, all of them."""
        found = [self._columns[expr_id] for expr_id in ids if expr_id in self._columns]
        if len(found) == len(ids):
            if rdd is not None:
                self._rdds[rdd] = tuple(found)
                while len(self._rdds) > self._rdd_limit:
                    self._rdds.popitem(last=False)
        elif rdd is not None and len(self._rdds.get(rdd, ())) == len(ids):
            found = list(self._rdds[rdd])
        else:
            return None
        return _recalled(found, sources)

    def recall_source(self, ids: list[int], sources: Sources) -> Recalled | None:
        """What a stream's source with these ids gave before; None if that is not known."""
        found = [self._sources[expr_id] for expr_id in ids if expr_id in self._sources]
        return _recalled(found, sources) if len(found) == len(ids) else None


def _recalled(found: Sequence[_Remembered], sources: Sources) -> Recalled:
    columns = [
        Column(
            sources.lanes(item.sources),
            item.type,
            Origin(item.text),
            item.system,
            item.opaque,
            item.issues,
        )
        for item in found
    ]
    rows: Lanes = {}
    inputs: dict[Dataset, None] = {}
    issues: frozenset[str] = frozenset()
    for kept in {id(item.rows): item.rows for item in found}.values():
        for lane, bits in sources.lanes(kept.sources).items():
            rows[lane] = rows.get(lane, 0) | bits
        inputs.update(dict.fromkeys(kept.inputs))
        issues |= kept.issues
    return Recalled(columns, rows, list(inputs), issues)
