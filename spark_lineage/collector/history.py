"""What was open at a time, and what two times differ in: told from the claims of the runs.

An edge is open at a time if a run up to then made it, and no success after that
run and up to then said otherwise. That is asked of the claims when it is needed,
so that nothing has to be kept for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sqlalchemy import Connection, func, select

from spark_lineage.collector import kinds
from spark_lineage.collector.store import schema
from spark_lineage.collector.store.rows import chunks
from spark_lineage.collector.times import show

_claims, _defs, _e = schema.claims, schema.definitions, schema.edges
_links, _c, _d, _j = schema.definition_edges, schema.columns, schema.datasets, schema.jobs
Answer = dict[str, Any]
MOST_CHANGES = 10_000


class History:
    """The state at one time. With ``when`` None it is the present, and costs nothing."""

    def __init__(self, connection: Connection, when: int | None) -> None:
        self._connection = connection
        self.when = when
        self._closings: dict[tuple[int, int], tuple[int, int]] = {}

    def open_edges(self, edges: list[Any]) -> list[Any]:
        """Those of ``edges`` (with id, job_id, output_id, kind, in any state) that were open."""
        seen: dict[int, int] = {}
        for some in chunks([edge.id for edge in edges]):
            query = (
                select(_links.c.edge_id, func.max(_claims.c.time))
                .join(_claims, _claims.c.definition_id == _links.c.definition_id)
                .where(_links.c.edge_id.in_(some), _claims.c.time <= self.when)
                .group_by(_links.c.edge_id)
            )
            seen.update((row[0], row[1]) for row in self._connection.execute(query))
        self._read_closings({edge.output_id for edge in edges})
        return [
            edge
            for edge in edges
            if edge.id in seen
            and seen[edge.id] >= self._closed(edge, edge.kind not in kinds.TABLE_LEVEL)
        ]

    def open_definitions(self, outputs: Iterable[int]) -> dict[int, int]:
        """The definitions of these outputs that were open, and when each was last claimed."""
        every = list(outputs)
        found: dict[int, int] = {}
        self._read_closings(set(every))
        for some in chunks(every):
            query = (
                select(
                    _defs.c.id, _defs.c.job_id, _defs.c.output_id, _defs.c.columns_known,
                    func.max(_claims.c.time).label("seen"),
                )
                .join(_claims, _claims.c.definition_id == _defs.c.id)
                .where(_defs.c.output_id.in_(some), _claims.c.time <= self.when)
                .group_by(_defs.c.id, _defs.c.job_id, _defs.c.output_id, _defs.c.columns_known)
            )  # fmt: skip
            for row in self._connection.execute(query):
                if row.seen >= self._closed(row, row.columns_known):
                    found[row.id] = row.seen
        return found

    def _closed(self, row: Any, column_level: bool) -> int:
        columns, datasets = self._closings.get((row.job_id, row.output_id), (_NEVER, _NEVER))
        return columns if column_level else datasets

    def _read_closings(self, outputs: set[int]) -> None:
        """Of each job and output the last success that closed what it did not have."""
        for which, column in enumerate((_claims.c.closes_columns, _claims.c.closes_datasets)):
            for some in chunks(sorted(outputs)):
                query = (
                    select(_claims.c.job_id, _claims.c.output_id, func.max(_claims.c.time))
                    .where(_claims.c.output_id.in_(some), column, _claims.c.time <= self.when)
                    .group_by(_claims.c.job_id, _claims.c.output_id)
                )
                for job, output, time in self._connection.execute(query):
                    pair = list(self._closings.get((job, output), (_NEVER, _NEVER)))
                    pair[which] = time
                    self._closings[job, output] = (pair[0], pair[1])


_NEVER = -(1 << 62)


def diff(connection: Connection, before: int, after: int, dataset: int | None) -> Answer:
    """The edges that were open at one of two times only, of all or of one output.

    ``changed`` counts both; at most ``MOST_CHANGES`` of each are listed.
    """
    query = select(_e.c.id, _e.c.job_id, _e.c.output_id, _e.c.kind)
    if dataset is not None:
        query = query.where(_e.c.output_id == dataset)
    every = list(connection.execute(query))
    first = {edge.id for edge in History(connection, before).open_edges(every)}
    second = {edge.id for edge in History(connection, after).open_edges(every)}
    added, removed = sorted(second - first), sorted(first - second)
    return {
        "from": show(before),
        "to": show(after),
        "added": named(connection, added[:MOST_CHANGES]),
        "removed": named(connection, removed[:MOST_CHANGES]),
        "truncated": max(len(added), len(removed)) > MOST_CHANGES,
        "left_out": max(0, len(added) - MOST_CHANGES) + max(0, len(removed) - MOST_CHANGES),
    }


def named(connection: Connection, edges: list[int]) -> list[Answer]:
    """Edges by the names of their ends and their job, in order."""
    found: list[Answer] = []
    source, origin = _c.alias("source"), _d.alias("origin")
    for some in chunks(edges):
        query = (
            select(
                _d.c.namespace, _d.c.name.label("dataset"), _c.c.path, _c.c.whole, _e.c.kind,
                _e.c.masking, source.c.path.label("from_path"), source.c.whole.label("from_whole"),
                origin.c.namespace.label("from_namespace"), origin.c.name.label("from_dataset"),
                _j.c.namespace.label("job_namespace"), _j.c.name.label("job_name"),
            )
            .select_from(_e)
            .join(_c, _c.c.id == _e.c.out_id)
            .join(_d, _d.c.id == _c.c.dataset_id)
            .join(source, source.c.id == _e.c.in_id)
            .join(origin, origin.c.id == source.c.dataset_id)
            .join(_j, _j.c.id == _e.c.job_id)
            .where(_e.c.id.in_(some))
        )  # fmt: skip
        found.extend(_edge(row) for row in connection.execute(query))
    return sorted(found, key=repr)


def _edge(row: Any) -> Answer:
    return {
        "namespace": row.namespace,
        "dataset": row.dataset,
        "column": None if row.whole else row.path,
        "type": row.kind,
        "masking": row.masking,
        "source": {
            "namespace": row.from_namespace,
            "dataset": row.from_dataset,
            "column": None if row.from_whole else row.from_path,
        },
        "job": {"namespace": row.job_namespace, "name": row.job_name},
    }
