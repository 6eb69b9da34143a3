"""The graph that ``benchmarks/collector.py`` asks: as large as a big company's, built at once.

19,000 tables of 20 columns in 40 layers. Each table is written by a job of its
own and reads two to four others, mostly of the layer before and near its own
place (a domain's tables feed each other), one in a hundred from anywhere with a
strong preference for few popular ones; one table in 25 also reads one of the next
layer, so that there are cycles. Each edge goes from a column of such a source,
the first ones more often, to a column of the table; none stands for whole rows.
"""

from __future__ import annotations

import random
from typing import Any

from sqlalchemy import Table

from spark_lineage.collector.service import Collector
from spark_lineage.collector.store import rows, schema

COLUMNS, EDGES = 380_000, 920_000
PER_TABLE, LAYERS = 20, 40
HOPS = 8
_DAY = 1_767_225_600_000_000


def build(collector: Collector, scale: float) -> list[int]:
    """Fill an empty collector; gives the ids of all columns that have something downstream."""
    tables, count = int(COLUMNS * scale) // PER_TABLE, int(EDGES * scale)
    pairs = _pairs(tables, count, random.Random(5))
    _insert(collector, tables, pairs)
    if not collector.database.sqlite:
        # As the server does of itself within a minute or so.
        with collector.database.engine.connect() as connection:
            connection.execution_options(isolation_level="AUTOCOMMIT")
            connection.exec_driver_sql("VACUUM ANALYZE")
    return sorted({source for source, _ in pairs})


def _pairs(tables: int, count: int, chance: random.Random) -> set[tuple[int, int]]:
    """Edges from column to column, by ids that count from 1."""
    a_layer = tables // LAYERS
    tables = a_layer * LAYERS
    reads = [_sources(table, a_layer, chance) for table in range(a_layer, tables)]
    found: set[tuple[int, int]] = set()
    while len(found) < count:
        place = chance.randrange(len(reads))
        source = chance.choice(reads[place])
        target = a_layer + place
        if source != target:
            first = int(PER_TABLE * chance.random() ** 1.3)
            second = chance.randrange(PER_TABLE)
            found.add((1 + source * PER_TABLE + first, 1 + target * PER_TABLE + second))
    return found


def _sources(table: int, a_layer: int, chance: random.Random) -> list[int]:
    layer, place = divmod(table, a_layer)
    found = []
    for _ in range(chance.choice((2, 3, 4))):
        if chance.random() < 0.01:
            near = int(a_layer * chance.random() ** 3)
        else:
            near = (place + int(chance.gauss(0, 2))) % a_layer
        back = 1 if layer < 3 or chance.random() < 0.9 else 2
        found.append((layer - back) * a_layer + near)
    if layer + 1 < LAYERS and chance.random() < 0.04:
        found.append((layer + 1) * a_layer + chance.randrange(a_layer))
    return found


def _insert(collector: Collector, tables: int, pairs: set[tuple[int, int]]) -> None:
    names = [f"layer_{t * LAYERS // tables}.table_{t}" for t in range(tables)]
    every, columns = range(1, tables + 1), range(tables * PER_TABLE)
    described = '{"opaque":[],"via":[]}'
    # In the order of their outputs, as jobs write them.
    ordered = sorted(pairs, key=lambda pair: pair[::-1])
    of = [1 + (target - 1) // PER_TABLE for _, target in ordered]
    rows_of: list[tuple[Table, tuple[str, ...], list[tuple[Any, ...]]]] = [
        (
            schema.jobs,
            ("id", "digest", "namespace", "name"),
            [(t, f"j{t}", "bench", f"job_{t}") for t in every],
        ),
        (
            schema.datasets,
            ("id", "namespace", "name", "ghost"),
            [(t, "bench", names[t - 1], False) for t in every],
        ),
        (
            schema.names,
            ("id", "digest", "namespace", "name", "used"),
            [(t, f"n{t}", "bench", names[t - 1], True) for t in every],
        ),
        (
            schema.meanings,
            ("name_id", "since", "dataset_id"),
            [(t, rows.BEGINNING, t) for t in every],
        ),
        (
            schema.columns,
            ("id", "digest", "dataset_id", "whole", "path", "root", "stated", "type", "position"),
            [
                (1 + n, f"d{n}", 1 + n // PER_TABLE, False, path, path, True, "int", n % PER_TABLE)
                for n in columns
                for path in (f"column_{n % PER_TABLE}",)
            ]
            + [(len(columns) + t, f"w{t}", t, True, "", "", False, None, None) for t in every],
        ),
        (
            schema.definitions,
            (
                "id", "job_id", "output_id", "hash", "columns_known", "availability", "detail",
                "first_seen", "last_seen",
            ),
            [
                (t, t, t, "h", True, "AVAILABLE", '{"issues":[],"via":[]}', _DAY, _DAY)
                for t in every
            ],
        ),
        (
            schema.edges,
            ("id", "job_id", "output_id", "out_id", "in_id", "kind", "masking"),
            [
                (n, of[n - 1], of[n - 1], target, source, "TRANSFORMATION", False)
                for n, (source, target) in enumerate(ordered, 1)
            ],
        ),
        (
            schema.definition_edges,
            ("definition_id", "edge_id"),
            [(table, n) for n, table in enumerate(of, 1)],
        ),
        (
            schema.definition_columns,
            ("definition_id", "column_id", "type", "origin", "availability", "detail"),
            [
                (
                    1 + n // PER_TABLE, 1 + n, "TRANSFORMATION", "INPUT_FIELDS", "AVAILABLE",
                    described,
                )
                for n in columns
            ],
        ),
    ]  # fmt: skip
    with collector.database.write() as connection:
        for table, columns_of, values in rows_of:
            for some in rows.chunks(values, 50_000):
                rows.put(connection, table, columns_of, some)
