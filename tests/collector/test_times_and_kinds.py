from __future__ import annotations

import pytest

from spark_lineage.collector import times
from spark_lineage.collector.kinds import compose


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("2020-12-28T19:51:01.641Z", "2020-12-28T19:51:01.641000Z"),
        ("2020-12-28T19:52:00.001+10:00", "2020-12-28T09:52:00.001000Z"),
        ("2020-12-28T19:51:01.641499123Z", "2020-12-28T19:51:01.641499Z"),
        ("2020-12-28T19:51:01.641499", "2020-12-28T19:51:01.641499Z"),
        ("2020-12-28 19:51:01-0130", "2020-12-28T21:21:01.000000Z"),
        ("2016-12-31T23:59:60Z", "2016-12-31T23:59:59.000000Z"),
        ("2024-01-01T00:00+01:00[Europe/Paris]", "2023-12-31T23:00:00.000000Z"),
    ],
)
def test_times_of_many_producers(text: str, shown: str) -> None:
    assert times.show(times.parse(text)) == shown


@pytest.mark.parametrize("text", ["", "yesterday", "2020-13-01T00:00:00Z", "2020-01-01", "1606"])
def test_what_is_no_time(text: str) -> None:
    with pytest.raises(ValueError, match=r"no ISO 8601 time|month must be|offset"):
        times.parse(text)


@pytest.mark.parametrize(
    ("so_far", "step", "result"),
    [
        ("IDENTITY", "IDENTITY", "IDENTITY"),
        ("AGGREGATION", "IDENTITY", "AGGREGATION"),
        ("TRANSFORMATION", "AGGREGATION", "AGGREGATION"),
        ("DIRECT", "IDENTITY", "DIRECT"),
        ("DIRECT", "TRANSFORMATION", "TRANSFORMATION"),
        ("IDENTITY", "FILTER", "FILTER"),
        ("FILTER", "AGGREGATION", "FILTER"),
        ("FILTER", "SORT", "SORT"),
        ("CONDITIONAL", "JOIN", "JOIN"),
        ("DATASET", "FILTER", "DATASET"),
        ("AGGREGATION", "DATASET", "DATASET"),
    ],
)
def test_composition(so_far: str, step: str, result: str) -> None:
    assert compose((so_far, False), (step, False)) == (result, False)


def test_masking_is_kept_along_values() -> None:
    assert compose(("IDENTITY", True), ("IDENTITY", False)) == ("IDENTITY", True)
    assert compose(("IDENTITY", False), ("TRANSFORMATION", True)) == ("TRANSFORMATION", True)
    # A masked value that is then filtered by: the value that filters is the masked one.
    assert compose(("TRANSFORMATION", True), ("FILTER", False)) == ("FILTER", True)
    # Whether a row is there says nothing that masking another value would hide.
    assert compose(("FILTER", False), ("TRANSFORMATION", True)) == ("FILTER", False)
