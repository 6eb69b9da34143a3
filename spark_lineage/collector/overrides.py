"""Edges that people add, remove or confirm: kept over all events, until they undo it.

An added edge is claimed by a job and run of its own, which no event can close; a
removed one stays in the store and is left out of every answer.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, delete, insert, select, update

from spark_lineage.collector import times
from spark_lineage.collector.model import (
    ColumnFacts,
    ColumnPart,
    DatasetFacts,
    Event,
    SourceEdge,
    digest,
)
from spark_lineage.collector.store import definitions, schema, write
from spark_lineage.collector.store.names import Names
from spark_lineage.collector.store.rows import chunks

JOB_NAMESPACE = "spark-lineage:override"
_table = schema.overrides
Answer = dict[str, Any]


def put(connection: Connection, said: dict[str, Any]) -> Answer:
    """Keep an override; ``said`` has the columns of its table but the id and times."""
    # An empty name is none: the data set as a whole.
    ends = {key: said[key] or None for key in ("column", "from_column")}
    row = {**said, **ends, "time": times.now()}
    number = connection.execute(insert(_table).returning(_table.c.id), row).scalar_one()
    if said["action"] == "ADD":
        write.apply(connection, _event(int(number), row))
    return _one(connection, int(number))


def undo(connection: Connection, number: int, by: str) -> Answer | None:
    """Undo one; None if there is none or it is undone already."""
    where = (_table.c.id == number, _table.c.undone.is_(None))
    found = connection.execute(select(_table).where(*where)).first()
    if found is None:
        return None
    change = {"undone": times.now(), "undone_by": by}
    connection.execute(update(_table).where(_table.c.id == number).values(**change))
    if found.action == "ADD":
        _withdraw(connection, number)
    return _one(connection, number)


def rows(connection: Connection, all_of_them: bool = False) -> list[Answer]:
    """The overrides that stand, or all there ever were; the newest first."""
    query = select(_table).order_by(_table.c.id.desc())
    if not all_of_them:
        query = query.where(_table.c.undone.is_(None))
    return [_shown(row) for row in connection.execute(query)]


def removed(connection: Connection) -> set[tuple[int, int, str]]:
    """The ends and kinds of the edges that are to be left out."""
    query = select(_table).where(_table.c.action == "REMOVE", _table.c.undone.is_(None))
    found: set[tuple[int, int, str]] = set()
    names: Names | None = None
    for row in connection.execute(query).all():
        names = names or Names(connection)
        out = _column(connection, names, row.time, row.namespace, row.dataset, row.column)
        source = _column(
            connection, names, row.time, row.from_namespace, row.from_dataset, row.from_column
        )
        if out is not None and source is not None:
            found.add((out, source, row.kind))
    return found


class Marks:
    """What people said of edges, found by the ids of their ends and their kind."""

    def __init__(self, connection: Connection) -> None:
        self._found: dict[tuple[int, int, str], Answer] = {}
        self._names: dict[tuple[Any, ...], Answer] = {}
        self._shown: dict[int, tuple[str, str, str | None]] = {}
        query = select(_table).where(_table.c.action != "REMOVE", _table.c.undone.is_(None))
        rows = connection.execute(query.order_by(_table.c.id)).all()
        names = Names(connection) if rows else None
        ends: dict[tuple[int, int, str], Answer] = {}
        for row in rows:
            assert names is not None
            out = _column(connection, names, row.time, row.namespace, row.dataset, row.column)
            source = _column(
                connection, names, row.time, row.from_namespace, row.from_dataset, row.from_column
            )
            if out is not None and source is not None:
                ends[out, source, row.kind] = {
                    key: value for key, value in _shown(row).items() if key in _OF_A_MARK
                }
        self._found = ends
        columns, datasets = schema.columns, schema.datasets
        for some in chunks({end for out, source, _ in ends for end in (out, source)}):
            shown = (
                select(columns.c.id, datasets.c.namespace, datasets.c.name, columns.c.path,
                       columns.c.whole)
                .join(datasets, datasets.c.id == columns.c.dataset_id)
                .where(columns.c.id.in_(some))
            )  # fmt: skip
            for one in connection.execute(shown):
                path = None if one.whole else one.path
                self._shown[one.id] = (one.namespace, one.name, path)
        for (out, source, kind), said in ends.items():
            ends_of = (self._shown[out], self._shown[source], kind)
            self._names[ends_of] = said

    def of_edge(self, out: int, source: int, kind: str) -> Answer | None:
        """What was said of an edge by the ids of its columns."""
        return self._found.get((out, source, kind))

    def of_source(self, node: Answer, source: Answer, rows: bool) -> Answer | None:
        """What was said of a source of a column (``rows``: of the whole result) by names."""
        out = (node["namespace"], node["dataset"], None if rows else node["column"])
        end = (source["namespace"], source["dataset"], source["column"] or None)
        return self._names.get((out, end, source["type"]))


_OF_A_MARK = ("number", "action", "by", "reason", "time")


def _column(
    connection: Connection,
    names: Names,
    time: int,
    namespace: str,
    dataset: str,
    path: str | None,
) -> int | None:
    key = schema.names.c.digest == digest(namespace, dataset)
    name = connection.scalar(select(schema.names.c.id).where(key))
    if name is None:
        return None
    # As it was meant then: a later rename takes what was said along.
    of = names.dataset(name, time)
    c = schema.columns
    this = c.c.whole if path is None else (c.c.path == path) & ~c.c.whole
    return connection.scalar(select(c.c.id).where(c.c.dataset_id == of, this))


def _event(number: int, row: dict[str, Any]) -> Event:
    name = f"override {number}"
    source = SourceEdge(
        row["column"], row["from_namespace"], row["from_dataset"], row["from_column"] or "",
        row["kind"], row["masking"], row["reason"],
    )  # fmt: skip
    facts = ColumnFacts(row["column"] or "", expression=row["reason"])
    part = ColumnPart((source,), (facts,) if row["column"] else ())
    return Event(
        kind="OVERRIDE",
        hash=digest(name),
        body="{}",
        time=row["time"],
        type=None,
        run_id=name,
        job_namespace=JOB_NAMESPACE,
        job_name=name,
        producer=row["by"],
        outputs=(DatasetFacts(row["namespace"], row["dataset"], True, columns=part),),
    )


def _withdraw(connection: Connection, number: int) -> None:
    """Take back what an added edge's run claims, and the run."""
    claims, runs, events = schema.claims, schema.runs, schema.events
    run_id = f"override {number}"
    run = connection.scalar(select(runs.c.id).where(runs.c.digest == digest(run_id)))
    mine = claims.c.run_id == run
    every = list(connection.scalars(select(claims.c.definition_id).where(mine)))
    connection.execute(delete(claims).where(mine))
    definitions.forget(connection, every)
    connection.execute(delete(runs).where(runs.c.id == run))
    connection.execute(delete(events).where(events.c.hash == digest(run_id)))


def _one(connection: Connection, number: int) -> Answer:
    return _shown(connection.execute(select(_table).where(_table.c.id == number)).one())


def _shown(row: Any) -> Answer:
    return {
        "number": row.id,
        "action": row.action,
        "namespace": row.namespace,
        "dataset": row.dataset,
        "column": row.column,
        "source": {
            "namespace": row.from_namespace,
            "dataset": row.from_dataset,
            "column": row.from_column,
        },
        "type": row.kind,
        "masking": row.masking,
        "by": row.by,
        "reason": row.reason,
        "time": times.show(row.time),
        "undone": times.show(row.undone),
        "undone_by": row.undone_by,
    }
