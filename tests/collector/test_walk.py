"""What a walk over the graph costs, told in statements and not in time, and that it is fresh."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, select
from sqlalchemy import event as sqlalchemy_event

from spark_lineage.collector import graph
from spark_lineage.collector.graph import Bounds, Walk
from spark_lineage.collector.service import Collector
from spark_lineage.collector.store import rows, schema
from tests.collector import postgres
from tests.collector.build import event, take, writes


def column_id(collector: Collector, table: str, path: str) -> int:
    c, d = schema.columns, schema.datasets
    query = select(c.c.id).join(d, d.c.id == c.c.dataset_id)
    with collector.database.read() as connection:
        found = connection.scalar(query.where(d.c.name == table, c.c.path == path))
    assert found is not None
    return int(found)


def walked(collector: Collector, start: int, bounds: Bounds | None = None) -> Walk:
    with collector.database.read() as connection:
        return graph.downstream(connection, [start], bounds or Bounds())


def names(walk: Walk) -> set[str]:
    return {f"{node.dataset}.{node.path}" for node in walk.nodes.values()}


@contextmanager
def counted(collector: Collector) -> Iterator[list[str]]:
    statements: list[str] = []

    def note(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        statements.append(statement)

    def fetched(connection: Connection, statement: str, keys: Iterable[int]) -> list[Any]:
        # By the driver alone: SQLAlchemy does not see it.
        every = list(keys)
        statements.extend([statement] if every else [])
        return rows.fetched(connection, statement, every)

    sqlalchemy_event.listen(collector.database.engine, "before_cursor_execute", note)
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(graph, "fetched", fetched)
            yield statements
    finally:
        sqlalchemy_event.remove(collector.database.engine, "before_cursor_execute", note)


def layers(collector: Collector, depth: int, width: int) -> None:
    """``depth`` layers; each column is made of all columns of the layer before."""
    fields = [f"c{n}" for n in range(width)]
    for layer in range(depth):
        made = {one: [f"TRANSFORMATION l{layer}.{field}" for field in fields] for one in fields}
        take(collector, writes(f"l{layer + 1}", made, run=layer + 1))


def test_the_statements_are_as_many_as_the_levels(collector: Collector) -> None:
    layers(collector, 6, 8)
    start = column_id(collector, "l0", "c0")
    with counted(collector) as statements:
        walk = walked(collector, start)
    assert len(walk.nodes) == 1 + 6 * 8
    assert sum(len(steps) for steps in walk.steps.values()) == 8 + 5 * 64
    # Data sets, edges, columns of each level; what begins and ends the transaction beside.
    assert 6 <= len(statements) <= 3 * 7 + 4


def test_little_is_read_at_once_from_a_server(collector: Collector) -> None:
    """Where a statement is a journey: all edges, columns, data sets, and those of whole results."""
    if collector.database.sqlite:
        pytest.skip("SQLite is no journey away")
    layers(collector, 10, 2)
    start = column_id(collector, "l5", "c0")
    with counted(collector) as statements:
        walk = walked(collector, start)
    assert len(walk.nodes) == 1 + 5 * 2
    assert len(statements) <= 8


def tangled(chance: random.Random) -> Iterator[dict[str, Any]]:
    """Tables that feed each other, by columns, inner columns, whole results, or not told how."""
    tables, columns = "abcdef", ("x", "y", "z", "z.p", "z.q", "z.p.r")
    for number in range(12):
        table, *sources = chance.sample(tables, chance.randrange(2, 4))

        def some(sources: list[str] = sources) -> list[str]:
            kind = chance.choice(("IDENTITY", "AGGREGATION", "FILTER"))
            return [f"{kind} {chance.choice(sources)}.{chance.choice(columns)}"]

        told = {one: some() for one in chance.sample(columns, chance.randrange(4))}
        whole = some() if chance.random() < 0.4 else None
        more = {"run": number + 1, "minute": number, "inputs": tuple(sources)}
        if told or whole:
            yield writes(table, told, whole, **more)
        else:
            yield event(job=f"make_{table}", outputs=(table,), **more)


@pytest.mark.parametrize("seed", range(12))
def test_what_is_read_ahead_changes_no_walk(seed: int, postgres_url: str) -> None:
    postgres.empty(postgres_url)
    collector = Collector(postgres_url)
    chance = random.Random(seed)
    take(collector, *tangled(chance))
    every = [Bounds(), Bounds(depth=2), Bounds(limit=5), Bounds(values_only=True)]
    with collector.database.read() as connection:
        starts = sorted(connection.scalars(select(schema.columns.c.id)))

        def walks() -> list[Walk]:
            return [
                way(connection, [start], bounds)
                for start in starts
                for bounds in every
                for way in (graph.upstream, graph.downstream)
            ]

        ahead = walks()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(graph._Walker, "_read_ahead", lambda *_: None)
            assert walks() == ahead
    assert max(len(walk.nodes) for walk in ahead) > 2
    collector.close()


def test_a_walk_reads_edges_from_an_index_alone(tmp_path: Path) -> None:
    collector = Collector(str(tmp_path / "c.db"))
    for end in ("out_id", "in_id"):
        query = graph._EDGES + f"closed IS NULL AND {end} IN (SELECT value FROM json_each('[1]'))"
        with collector.database.read() as connection:
            plan = str(connection.exec_driver_sql("EXPLAIN QUERY PLAN " + query).all())
        assert f"USING COVERING INDEX edges_{'up' if end == 'out_id' else 'down'}" in plan
    collector.close()


def test_bounds_cut_the_same_columns_on_each_database(collector: Collector) -> None:
    layers(collector, 3, 4)
    walk = walked(collector, column_id(collector, "l0", "c1"), Bounds(limit=7))
    assert names(walk) == {"l0.c1", "l1.c0", "l1.c1", "l1.c2", "l1.c3", "l2.c0", "l2.c1"}
    # Two of the second layer, and what the two that were taken lead to: the four of the third.
    assert walk.left_out == 2 + 4


def test_cycles_end(collector: Collector) -> None:
    take(collector, writes("a", {"x": ["IDENTITY b.x"]}, run=1))
    take(collector, writes("b", {"x": ["IDENTITY a.x", "IDENTITY b.x"]}, run=2))
    walk = walked(collector, column_id(collector, "a", "x"), Bounds(depth=10_000))
    assert names(walk) == {"a.x", "b.x"}
    assert walk.left_out == 0


def test_what_another_collector_wrote_is_seen_at_once(tmp_path: Path) -> None:
    one, other = (Collector(str(tmp_path / "c.db")) for _ in range(2))
    take(one, writes("t", {"a": ["IDENTITY s.a"]}, run=1))
    start = column_id(one, "s", "a")
    assert names(walked(one, start)) == names(walked(other, start)) == {"s.a", "t.a"}
    take(other, writes("u", {"a": ["IDENTITY t.a"]}, run=2))
    assert names(walked(one, start)) == {"s.a", "t.a", "u.a"}
    take(other, writes("t", {"a": ["IDENTITY v.a"]}, run=3, minute=9))
    assert names(walked(one, start)) == {"s.a"}
    take(one, writes("u", {"a": ["IDENTITY s.a"]}, run=4, minute=10))
    assert names(walked(other, start)) == {"s.a", "u.a"}
    one.close()
    other.close()
