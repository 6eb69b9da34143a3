"""How columns are made: for each, by each job that writes it, the newest open definition."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from sqlalchemy import Connection, Row, select

from spark_lineage.collector import kinds, overrides
from spark_lineage.collector.graph import Node, whole_ids
from spark_lineage.collector.history import History
from spark_lineage.collector.store import schema
from spark_lineage.collector.store.rows import chunks
from spark_lineage.collector.times import show

Answer = dict[str, Any]
_c, _d, _e = schema.columns, schema.datasets, schema.edges
_def, _link, _stated = schema.definitions, schema.definition_edges, schema.definition_columns


class Steps:
    """The steps of some columns, read at once.

    ``numbers`` gives a column's number in the answer, so that a source can name it.
    """

    def __init__(
        self,
        connection: Connection,
        nodes: Iterable[Node],
        numbers: dict[int, int],
        as_of: int | None = None,
    ) -> None:
        self._connection = connection
        self._history = History(connection, as_of)
        self._removed = overrides.removed(connection)
        self._numbers = numbers
        every = list(nodes)
        outputs = {node.dataset_id for node in every}
        self._wholes = whole_ids(connection, outputs)
        self._kin = self._holders(every)
        self._definitions = self._read_definitions(outputs)
        self._runs = self._read_runs()
        asked = {node.id for node in every}.union(self._wholes.values(), *self._kin.values())
        self._read_columns(asked)
        self._read_edges(asked)

    def of_column(self, node: Node) -> list[Answer]:
        """The steps of a column, the newest first; of a data set, what makes its rows."""
        if node.path is None:
            return self.of_result(node.dataset_id)
        found = []
        told = {row.job_id for row in self._of(node.dataset_id) if row.columns_known}
        seen: set[int] = set()
        for row in self._of(node.dataset_id):
            if row.job_id in seen:
                continue
            if row.columns_known:
                step = self._column_step(node, row)
            elif row.job_id not in told and (node.dataset_id, row.job_id) in self._datasets:
                step = self._bare_step(row)
            else:
                step = None
            if step is not None:
                seen.add(row.job_id)
                found.append(step)
        return found

    def of_result(self, dataset: int) -> list[Answer]:
        """What decides the rows of a data set, by each job that writes it."""
        found = []
        seen: set[int] = set()
        for row in self._of(dataset):
            if row.job_id not in seen and self._tells(row):
                seen.add(row.job_id)
                found.append({**self._about(row), **self._result(row)})
        return found

    def _tells(self, row: Row[Any]) -> bool:
        """Whether it says anything of the data: a CREATE TABLE, a DROP or an ANALYZE does not."""
        read = self._datasets.get((row.output_id, row.job_id))
        return bool(row.columns_known or read) or row.availability not in (None, "AVAILABLE")

    def _of(self, dataset: int) -> list[Row[Any]]:
        return self._definitions.get(dataset, [])

    def _column_step(self, node: Node, row: Row[Any]) -> Answer | None:
        holders = [node.id, *self._kin.get(node.id, ())]
        stated = next(
            (self._columns[row.id, one] for one in holders if (row.id, one) in self._columns), None
        )
        if stated is None:
            return None
        sources = [s for one in holders for s in self._sources.get((one, row.job_id), ())]
        detail = json.loads(stated.detail)
        return {
            **self._about(row),
            "type": stated.type,
            "origin": stated.origin,
            "expression": stated.expression,
            "availability": stated.availability or row.availability or "AVAILABLE",
            "opaque": detail["opaque"],
            "via": detail["via"],
            "direct": [one for one in sources if kinds.is_direct(one["type"])],
            "indirect": [one for one in sources if not kinds.is_direct(one["type"])],
            **self._result(row),
        }

    def _bare_step(self, row: Row[Any]) -> Answer:
        return {
            **self._about(row),
            "type": None,
            "origin": None,
            "expression": None,
            "availability": "UNAVAILABLE",
            "opaque": [],
            "via": [],
            "direct": [],
            "indirect": [],
            **self._result(row),
        }

    def _about(self, row: Row[Any]) -> Answer:
        return {
            "job": {"namespace": row.namespace, "name": row.name} if row.name else None,
            "run": self._runs.get(row.id),
            "first_seen": show(row.first_seen),
            "last_seen": show(row.last_seen),
        }

    def _result(self, row: Row[Any]) -> Answer:
        whole = self._wholes[row.output_id]
        return {
            "rows": self._sources.get((whole, row.job_id), []),
            "datasets": self._datasets.get((row.output_id, row.job_id), []),
            "result_availability": row.availability
            or ("AVAILABLE" if row.columns_known else "UNAVAILABLE"),
            "issues": json.loads(row.detail)["issues"],
        }

    def _holders(self, nodes: list[Node]) -> dict[int, list[int]]:
        """For nested columns the ids of the columns that hold them, the nearest first."""
        wanted: dict[tuple[int, str], list[int]] = defaultdict(list)
        for node in nodes:
            parts = (node.path or "").split(".")
            for length in range(len(parts) - 1, 0, -1):
                wanted[node.dataset_id, ".".join(parts[:length])].append(node.id)
        kin: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for some in chunks({dataset for dataset, _ in wanted}):
            paths = {path for _, path in wanted}
            query = select(_c.c.id, _c.c.dataset_id, _c.c.path).where(
                _c.c.dataset_id.in_(some), ~_c.c.whole
            )
            for row in self._connection.execute(query):
                if row.path in paths:
                    for node_id in wanted.get((row.dataset_id, row.path), ()):
                        kin[node_id].append((-len(row.path), row.id))
        return {node: [one for _, one in sorted(found)] for node, found in kin.items()}

    def _read_definitions(self, outputs: set[int]) -> dict[int, list[Row[Any]]]:
        found: dict[int, list[Row[Any]]] = defaultdict(list)
        jobs = schema.jobs
        for some in chunks(outputs):
            query = (
                select(_def, jobs.c.namespace, jobs.c.name)
                .join(jobs, jobs.c.id == _def.c.job_id)
                .where(_def.c.output_id.in_(some))
            )
            if self._history.when is None:
                query = query.where(_def.c.closed.is_(None))
            else:
                query = query.where(_def.c.id.in_(list(self._history.open_definitions(some))))
            for row in self._connection.execute(query):
                found[row.output_id].append(row)
        for rows in found.values():
            # Where a job has several open ones (a failed or running try), the newest tells.
            rows.sort(key=lambda row: (-row.last_seen, row.namespace, row.name, row.hash))
        return found

    def _read_runs(self) -> dict[int, Answer]:
        runs, claims = schema.runs, schema.claims
        found: dict[int, Answer] = {}
        every = [row.id for rows in self._definitions.values() for row in rows]
        for some in chunks(every):
            query = (
                select(
                    claims.c.definition_id, runs.c.run_id, runs.c.state, runs.c.started,
                    runs.c.ended,
                )
                .join(runs, runs.c.id == claims.c.run_id)
                .join(_def, _def.c.id == claims.c.definition_id)
                .where(
                    claims.c.definition_id.in_(some),
                    claims.c.time == _def.c.last_seen,
                    runs.c.kind == "RUN",
                )
                .order_by(runs.c.run_id)
            )  # fmt: skip
            for row in self._connection.execute(query):
                found[row.definition_id] = {
                    "id": row.run_id,
                    "state": row.state,
                    "started": show(row.started),
                    "ended": show(row.ended),
                }
        return found

    def _read_columns(self, asked: set[int]) -> None:
        self._columns: dict[tuple[int, int], Row[Any]] = {}
        open_ones = {row.id for rows in self._definitions.values() for row in rows}
        for some in chunks(asked):
            query = (
                select(_stated)
                .join(_def, _def.c.id == _stated.c.definition_id)
                .where(_stated.c.column_id.in_(some))
            )
            for row in self._connection.execute(query):
                if row.definition_id in open_ones:
                    self._columns[row.definition_id, row.column_id] = row

    def _read_edges(self, asked: set[int]) -> None:
        """Open edges into the columns asked, with what the newest open definition says of each."""
        self._sources: dict[tuple[int, int], list[Answer]] = defaultdict(list)
        self._datasets: dict[tuple[int, int], list[Answer]] = defaultdict(list)
        newest: dict[int, Any] = {}
        for some in chunks(asked):
            query = (
                select(
                    _e.c.id, _e.c.job_id, _e.c.output_id, _e.c.out_id, _e.c.in_id, _e.c.kind,
                    _e.c.masking, _c.c.path, _d.c.namespace, _d.c.name, _link.c.description,
                )
                .join(_link, _link.c.edge_id == _e.c.id)
                .join(_def, _def.c.id == _link.c.definition_id)
                .join(_c, _c.c.id == _e.c.in_id)
                .join(_d, _d.c.id == _c.c.dataset_id)
                .where(_e.c.out_id.in_(some))
                .order_by(_def.c.last_seen, _def.c.hash)
            )  # fmt: skip
            if self._history.when is None:
                query = query.where(_e.c.closed.is_(None))
            found = self._connection.execute(query).all()
            if self._history.when is not None:
                found = self._history.open_edges(list(found))
            newest.update(
                (row.id, row)
                for row in found
                if (row.out_id, row.in_id, row.kind) not in self._removed
            )
        for row in newest.values():
            if row.kind in kinds.TABLE_LEVEL:
                place = self._datasets[row.output_id, row.job_id]
                one = {"namespace": row.namespace, "dataset": row.name}
                if one not in place:
                    place.append(one)
            else:
                self._sources[row.out_id, row.job_id].append(self._source(row))
        for sources in self._sources.values():
            sources.sort(key=_order)
        for datasets in self._datasets.values():
            datasets.sort(key=lambda one: (one["namespace"], one["dataset"]))

    def _source(self, row: Any) -> Answer:
        return {
            "namespace": row.namespace,
            "dataset": row.name,
            "column": row.path,
            "type": row.kind,
            "masking": row.masking,
            "description": row.description,
            "node": self._numbers.get(row.in_id),
        }


def _order(source: Answer) -> tuple[Any, ...]:
    place = kinds.ALL.index(source["type"])
    return (place, source["dataset"], source["namespace"], source["column"], source["masking"])
