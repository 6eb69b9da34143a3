"""New definitions with their edges and columns, all of a transaction at once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import Connection

from spark_lineage.collector import kinds
from spark_lineage.collector.model import ColumnFacts, ColumnPart, canonical
from spark_lineage.collector.store import rows, schema
from spark_lineage.collector.store.batch import Batch
from spark_lineage.collector.store.names import Identity

# The column of the output, that of the source, kind, masking.
End = tuple[int, int, str, bool]
# A column by its data set and its path; without a path the data set as a whole.
Column = tuple[int, str | None]
_SPOKEN = (
    "id", "job_id", "output_id", "hash", "columns_known", "availability", "detail",
    "first_seen", "last_seen",
)  # fmt: skip
_EDGE = ("id", "job_id", "output_id", "out_id", "in_id", "kind", "masking")
_COLUMN = (
    "definition_id", "column_id", "type", "origin", "expression", "availability", "detail",
)  # fmt: skip
_NONE = ColumnPart()
_NO_DETAIL = canonical({"opaque": (), "via": ()})


@dataclass
class Definition:
    """One way in which a job makes an output, that is not there yet."""

    id: int
    # The job, and the data set that it writes.
    place: tuple[int, int]
    key: str
    part_id: int | None
    part_hash: str | None
    # What the sources, and what else is read, mean.
    datasets: dict[Identity, int]
    first: int | None = None
    last: int | None = None

    def see(self, time: int) -> None:
        """Note that a run claims it at a time."""
        self.first = time if self.first is None else min(self.first, time)
        self.last = time if self.last is None else max(self.last, time)

    def columns(self, part: ColumnPart) -> Iterable[Column]:
        """The columns that it speaks of."""
        output = self.place[1]
        yield output, None
        for column in part.columns:
            yield output, column.name
        for edge in part.edges:
            yield self.datasets[edge.namespace, edge.name], edge.field
            yield output, edge.column
        for dataset in self.datasets.values():
            yield dataset, None

    def ends(self, part: ColumnPart, columns: dict[Column, int]) -> dict[End, str | None]:
        """Its edges, each with what is said of it."""
        output = self.place[1]
        found: dict[End, str | None] = {}
        for edge in part.edges:
            source = columns[self.datasets[edge.namespace, edge.name], edge.field]
            end = (columns[output, edge.column], source, edge.kind, edge.masking)
            # Two names of one data set may be told with two descriptions: the least stays.
            found[end] = min(edge.description or "", found.get(end) or "\uffff") or None
        level = kinds.INPUT if part.known else kinds.DATASET
        whole = columns[output, None]
        for dataset in self.datasets.values():
            found[whole, columns[dataset, None], level, False] = None
        return found

    def row(self, part: ColumnPart) -> tuple[object, ...]:
        """As it is kept."""
        detail = canonical({"issues": part.issues, "via": part.via})
        return (
            self.id, *self.place, self.key, part.known, part.availability, detail, self.first,
            self.last,
        )  # fmt: skip


def write(batch: Batch, new: list[Definition]) -> None:
    """Write definitions that are not there."""
    if not new:
        return
    connection = batch.connection
    wanted = {
        one.part_hash: one.part_id
        for one in new
        if one.part_hash is not None and one.part_id is not None
    }
    parts = batch.parts.whole(wanted)
    said = [(one, parts[one.part_hash] if one.part_hash else _NONE) for one in new]
    columns = batch.names.columns(column for one, part in said for column in one.columns(part))
    spoken = [one.row(part) for one, part in said]
    rows.put(connection, schema.definitions, _SPOKEN, spoken)
    _link(connection, [(one, one.ends(part, columns)) for one, part in said])
    described = [
        (
            one.id, columns[one.place[1], column.name], column.type, column.origin,
            column.expression, column.availability,
            _detail(column),
        )
        for one, part in said
        for column in part.columns
    ]  # fmt: skip
    rows.put(connection, schema.definition_columns, _COLUMN, described)


def _detail(column: ColumnFacts) -> str:
    if not (column.opaque or column.via):
        return _NO_DETAIL
    return canonical({"opaque": column.opaque, "via": column.via})


def _link(connection: Connection, said: list[tuple[Definition, dict[End, str | None]]]) -> None:
    """Write the edges that are not there, and which definition has which."""
    query = """
        SELECT e.job_id, e.output_id, e.out_id, e.in_id, e.kind, e.masking, e.id FROM pairs
        CROSS JOIN edges e WHERE e.job_id = pairs.a AND e.output_id = pairs.b"""
    places = {one.place for one, _ in said}
    known: dict[tuple[tuple[int, int], End], int | None] = {
        ((job, output), (target, source, kind, bool(masking))): number
        for job, output, target, source, kind, masking, number in rows.fetched_pairs(
            connection, query, places
        )
    }
    wanted = dict.fromkeys((one.place, end) for one, ends in said for end in ends)
    new = [key for key in wanted if key not in known]
    known.update(zip(new, rows.new_ids(connection, schema.edges, len(new)), strict=True))
    edges = [(known[place, end], *place, *end) for place, end in new]
    rows.put(connection, schema.edges, _EDGE, edges)
    links = [
        (one.id, known[one.place, end], text) for one, ends in said for end, text in ends.items()
    ]
    columns = ("definition_id", "edge_id", "description")
    rows.put(connection, schema.definition_edges, columns, links)
