"""Each file in ``equivalence/`` is one query written in several ways, whose lineage is one.

A way is SQL, a list of statements of which the last is the query, or ``py:``
and Python that leaves a DataFrame in ``out``. What may differ is ``via``, the
expressions' texts and, for the ways under ``casts``, IDENTITY that a cast makes
TRANSFORMATION.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from spark_lineage.lineage import Lineage
from tests.lineage.bench import Bench, edges

FILES = sorted((Path(__file__).parent / "equivalence").glob("*.json"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_equivalence(path: Path, bench: Bench) -> None:
    case = json.loads(path.read_text(encoding="utf-8"))
    if bench.version < tuple(case.get("since", (3, 0))):
        pytest.skip(f"needs Spark {case['since']}")
    for statement in case["setup"]:
        bench.spark.sql(statement)
    casts = case.get("casts", [])
    ways = list(case["ways"].items())
    first, reference = ways[0]
    expected = lineage_of(bench, reference)
    assert edges(expected) != (set(), set())
    for name, way in ways[1:]:
        told = lineage_of(bench, way)
        assert told.unknown_nodes == {}, name
        assert told.unexplained == (), name
        loose = name in casts
        assert plain(told, loose) == plain(expected, loose), f"{name!r} beside {first!r}"


def lineage_of(bench: Bench, way: str | list[str]) -> Lineage:
    *statements, query = [way] if isinstance(way, str) else way
    views = []
    for statement in statements:
        bench.spark.sql(statement)
        words = statement.split()
        views.append(words[words.index("VIEW") + 1])
    try:
        if not query.startswith("py:"):
            return bench.lineage(query)
        from pyspark.sql import functions

        scope: dict[str, Any] = {"spark": bench.spark, "F": functions}
        exec(compile(query.removeprefix("py:"), "way", "exec"), scope)
        return bench.lineage(scope["out"])
    finally:
        for view in views:
            bench.spark.sql(f"DROP VIEW {view}")


def plain(lineage: Lineage, loose: bool) -> object:
    """All of the lineage but ``via`` and texts."""

    def word(kind: str) -> str:
        return "IDENTITY" if loose and kind == "TRANSFORMATION" else kind

    direct, indirect = edges(lineage)
    columns = [
        (column.name, word(column.type.value), column.origin, column.availability)
        for output in lineage.outputs
        for column in output.columns
    ]
    inputs = {(item.dataset.namespace, item.dataset.name) for item in lineage.inputs}
    loosened = {(column, word(kind), source) for column, kind, source in direct}
    return inputs, columns, loosened, indirect


def test_there_are_ways_to_compare() -> None:
    assert FILES
    for path in FILES:
        case = json.loads(path.read_text(encoding="utf-8"))
        assert case["id"] == path.stem
        assert len(case["ways"]) > 1
        assert set(case.get("casts", ())) <= set(case["ways"])
