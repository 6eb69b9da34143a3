"""Truth by execution: what was observed to change an output must be in its lineage.

The queries and what was observed stand in ``shared/oracle`` beside the
project's folder; its README says how they were made. That none was observed
proves nothing, so each column named without is justified in
``oracle/unobserved.json``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from conftest import Bench
from oracle.truth import Score, Truth, load, result

from benchmarks import tpc
from spark_lineage.lineage import Lineage
from spark_lineage.lineage.model import Availability
from tests.conftest import missing

UNOBSERVED = Path(__file__).parent / "oracle" / "unobserved.json"


@dataclass
class Answers:
    """The lineage of every query, planned down to its scans, beside what was observed."""

    truth: dict[str, Truth]
    lineages: dict[str, Lineage] = field(default_factory=dict)
    score: Score = field(default_factory=Score)


@pytest.fixture(scope="module")
def answers(spark: Any) -> Iterator[Answers]:
    folder = tpc.find(Path(__file__).resolve())
    if folder is None:
        missing(f"{tpc.BESIDE} beside the project's folder")
        raise AssertionError("unreachable")
    tpc.create(spark, folder)
    found = Answers(load(folder.path / "truth.jsonl"))
    bench = Bench(spark)
    try:
        for query in folder.queries():
            spark.sql(f"USE {query.database}")
            frame = spark.sql(query.text)
            # The scans are part of the record once the query is planned.
            frame._jdf.queryExecution().executedPlan()
            lineage = bench.lineage(frame)
            found.lineages[query.id] = lineage
            found.score.add(found.truth[query.id], result(lineage))
        yield found
    finally:
        spark.sql("USE default")
        for database in folder.schema:
            spark.sql(f"DROP DATABASE IF EXISTS {database} CASCADE")


def test_every_query_is_there(answers: Answers) -> None:
    print(answers.score.text())
    assert set(answers.lineages) == set(answers.truth)


def test_every_observed_influence_is_named(answers: Answers) -> None:
    assert answers.score.observed > 0
    assert answers.score.missed == []


def test_direct_sources_are_observed(answers: Answers) -> None:
    assert answers.score.direct > 0
    assert answers.score.direct_share >= 0.995, answers.score.direct_unobserved


def test_named_sources_are_observed(answers: Answers) -> None:
    assert answers.score.share >= 0.95, answers.score.text()


def test_what_is_named_and_was_not_observed_is_justified(answers: Answers) -> None:
    justified = {
        ((row["query"], output, row["source"]), tuple(row["kinds"]))
        for row in json.loads(UNOBSERVED.read_text(encoding="utf-8"))
        for output in row["outputs"]
    }
    assert set(answers.score.unobserved) == justified


def test_everything_is_available_and_known(answers: Answers) -> None:
    for query, lineage in answers.lineages.items():
        output = result(lineage)
        assert output.availability is Availability.AVAILABLE, (query, output.issues)
        assert all(c.availability is Availability.AVAILABLE for c in output.columns), query
        assert lineage.unknown_nodes == {}, query


def test_nothing_that_is_read_is_unexplained(answers: Answers) -> None:
    unexplained = {id: l.unexplained for id, l in answers.lineages.items() if l.unexplained}
    assert unexplained == {}


def test_all_inputs_are_read(answers: Answers) -> None:
    unread = {
        query: [item.dataset.name for item in lineage.inputs if not item.read]
        for query, lineage in answers.lineages.items()
    }
    assert {query: names for query, names in unread.items() if names} == {}
