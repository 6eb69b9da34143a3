from __future__ import annotations

import uuid

from hypothesis import given
from hypothesis import strategies as st

from spark_lineage.openlineage.ids import run_id


def test_known_value():
    # 1700000000005 ms is 0x018bcfe56805; the rest is the start of a SHA-256.
    assert run_id(1_700_000_000_005, "app-1", 7) == run_id(1_700_000_000_005, "app-1", "7")
    assert run_id(1_700_000_000_005, "app-1", 7).startswith("018bcfe5-6805-7")


@given(st.integers(0, 2**48 - 1), st.text(), st.none() | st.integers(0))
def test_is_a_version_7_uuid_of_its_time(start, application, execution):
    text = run_id(start, application, execution)
    parsed = uuid.UUID(text)
    assert str(parsed) == text
    assert (parsed.version, parsed.variant) == (7, uuid.RFC_4122)
    assert parsed.int >> 80 == start


def test_differs_by_each_part():
    ids = {
        run_id(1, "a", 1),
        run_id(2, "a", 1),
        run_id(1, "b", 1),
        run_id(1, "a", 2),
        run_id(1, "a"),
    }
    assert len(ids) == 5


def test_sorts_by_start():
    assert run_id(1_000, "z", 9) < run_id(2_000, "a", 1)
