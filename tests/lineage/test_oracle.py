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

from benchmarks import tpc
from benchmarks.tpc.executed import capturing
from spark_lineage.lineage import Lineage, derive
from spark_lineage.lineage.model import Availability
from spark_lineage.plan import decode
from tests.conftest import missing
from tests.lineage.oracle.marks import COLLECTS
from tests.lineage.oracle.truth import Score, Truth, load, result

pytestmark = [pytest.mark.timeout(900), *COLLECTS]

UNOBSERVED = Path(__file__).parent / "oracle" / "unobserved.json"


@dataclass
class Answers:
    """The lineage of every query as it was executed, beside what was observed."""

    truth: dict[str, Truth]
    lineages: dict[str, Lineage] = field(default_factory=dict)
    #: How many scans each executed plan had.
    scans: dict[str, int] = field(default_factory=dict)
    score: Score = field(default_factory=Score)


@pytest.fixture(scope="module")
def answers(spark: Any) -> Iterator[Answers]:
    folder = tpc.find(Path(__file__).resolve())
    if folder is None:
        missing(f"{tpc.BESIDE} beside the project's folder")
        raise AssertionError("unreachable")
    tpc.create(spark, folder)
    found = Answers(load(folder.path / "truth.jsonl"))
    try:
        with capturing(spark) as capture:
            for query in folder.queries():
                spark.sql(f"USE {query.database}")
                record = decode(json.loads(capture.text(spark.sql(query.text))))
                lineage = derive(record)
                found.lineages[query.id] = lineage
                found.scans[query.id] = len(record.scans)
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
    assert all(answers.scans.values()), "each executed plan tells its scans"
    unexplained = {query: lineage.unexplained for query, lineage in answers.lineages.items()}
    assert {query: columns for query, columns in unexplained.items() if columns} == {}


def test_no_scan_reads_what_is_in_no_edge(answers: Answers) -> None:
    """Parquet prunes: nothing needs the excuse that a format cannot."""
    explained = {query: lineage.explained for query, lineage in answers.lineages.items()}
    assert {query: reasons for query, reasons in explained.items() if reasons} == {}


def test_all_inputs_are_read(answers: Answers) -> None:
    unread = {
        query: [item.dataset.name for item in lineage.inputs if not item.read]
        for query, lineage in answers.lineages.items()
    }
    assert {query: names for query, names in unread.items() if names} == {}
