"""A batch is read event by event, which must give what reading it whole gives."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_lineage.collector import intake
from spark_lineage.collector.model import Event
from tests.collector.build import event, writes

_ODD: list[Any] = [
    3, "x", None, [], {}, [{"eventType": 1}], {"eventType": "START"}, {"a": [{"eventType": "b"}]},
    event(facets={"mine": {"list": [{"eventType": "a"}, {"eventType": "b"}]}}),
    event(facets={"mine": {"text": ',{"eventType": "COMPLETE"'}}),
    event(facets={"mine": {"number": 10**30, "password": "geheim"}}),
    event(facets={"mine": {"text": "a\0b"}}),
    event(type=None), writes("t", {"a": ["IDENTITY s.a"]}, run=5),
]  # fmt: skip


def told(found: list[intake.Read]) -> list[Any]:
    return [
        (one, one.body) if isinstance(one, Event) else (one.faults, bytes(text))
        for text, one in found
    ]


@given(st.lists(st.sampled_from(_ODD), max_size=5), st.sampled_from([None, 0, 1]), st.booleans())
def test_an_array_in_parts_and_whole(items: list[Any], indent: int | None, tight: bool) -> None:
    separators = (",", ":") if tight else None
    body = json.dumps(items, indent=indent, separators=separators).encode()
    found = told(intake.read_batch(body))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(intake, "_read_array", lambda _: None)
        assert found == told(intake.read_batch(body))
    assert len(found) == len(items)


@pytest.mark.parametrize(
    "body", [b'[{"a":1},{"a":2}', b'[{"a":1},{"a":2]', b'[{"a":1},,{"a":2}]', b'[{"a":1},{"a":}]']
)
def test_what_is_no_array_is_refused_whole(body: bytes) -> None:
    with pytest.raises(intake.MalformedError, match="is not JSON"):
        intake.read_batch(body)


def test_what_could_not_be_stored_is_put_aside_without_its_secrets() -> None:
    content = event(facets={"mine": {"database.password": ["geheim"], "token": "geheim2"}})
    ((text, _),) = intake.read_batch(json.dumps([content]).encode())
    assert b"geheim2" not in bytes(text)
