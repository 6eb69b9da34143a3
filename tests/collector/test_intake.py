from __future__ import annotations

import gzip
import json
import zlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_lineage.collector import intake, shapes
from spark_lineage.collector.service import Collector, QuarantinedError
from tests.collector.build import FACET, dataset, event, lineage, schema, writes


def faults(content: Any) -> list[tuple[str, str]]:
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    with pytest.raises(intake.MalformedError) as caught:
        intake.read(body)
    return [(fault.path, fault.message) for fault in caught.value.faults]


def read(content: Any) -> intake.Event:
    return intake.read(json.dumps(content).encode())


def test_all_faults_are_named_with_their_paths() -> None:
    content = event(inputs=(dataset("a", schema={"fields": [{"type": "int"}, {"name": 3}]}),))
    content["eventTime"] = "soon"
    content["run"] = {}
    content["job"]["name"] = ""
    content["outputs"] = [{"name": "x"}, "y"]
    assert faults(content) == [
        ("$.eventTime", "must be an ISO 8601 time such as 2026-01-31T12:00:00Z"),
        ("$.run.runId", "is required"),
        ("$.job.name", "must not be empty"),
        ("$.inputs[0].facets.schema.fields[0].name", "is required"),
        ("$.inputs[0].facets.schema.fields[1].name", "must be a text"),
        ("$.outputs[0].namespace", "is required"),
        ("$.outputs[1]", "must be an object"),
    ]


def test_paths_quote_names_that_are_no_words() -> None:
    facet = {**FACET, "fields": {"total (€)": {"inputFields": [{"name": "a", "field": "b"}]}}}
    content = event(outputs=(dataset("t", columnLineage=facet),))
    assert faults(content) == [
        (
            "$.outputs[0].facets.columnLineage.fields['total (€)'].inputFields[0].namespace",
            "is required",
        )
    ]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "is not JSON"),
        (b"{", "is not JSON"),
        (b"\xff\xfe", "is not UTF-8"),
        (b'{"a": NaN}', "NaN is not allowed"),
        (b"[]", "must be an object"),
        (b"null", "must be an object"),
        (b"[" * 200_000, "is nested too deeply"),
        (b'{"a":' + b"9" * 10_000 + b"}", "is not JSON"),
    ],
)
def test_what_is_no_event_at_all(body: bytes, message: str) -> None:
    ((path, said),) = faults(body)
    assert path == "$"
    assert message in said


@pytest.mark.parametrize(
    "change",
    [
        {"eventType": 5},
        {"producer": None},
        {"run": []},
        {"job": {"namespace": "n"}},
        {"inputs": {}},
        {"eventTime": 1609459200},
    ],
)
def test_malformed(change: dict[str, Any]) -> None:
    assert faults({**event(), **change})


def test_what_is_odd_but_usable_is_taken() -> None:
    content = event(inputs=(dataset("a", schema={"fields": None}),))
    content["eventType"] = "complete"
    del content["schemaURL"]
    content["outputs"] = None
    content["run"]["runId"] = "not a uuid"
    content["run"]["facets"] = {"mine": "no object", "parent": None}
    content["inputs"][0]["facets"]["dataSource"] = {"uri": "no uri at all"}
    taken = read(content)
    assert (taken.kind, taken.type, taken.run_id) == ("RUN", "COMPLETE", "not a uuid")
    assert read({**event(), "eventType": "PAUSED"}).type == "OTHER"
    assert read(event(type=None)).type is None


def test_kinds_by_shape_whatever_the_schema_url_says() -> None:
    base = {"eventTime": "2026-01-01T00:00:00Z", "producer": "https://p"}
    job = {"namespace": "n", "name": "j"}
    assert read({**base, "dataset": {"namespace": "n", "name": "d"}}).kind == "DATASET"
    assert read({**base, "job": job}).kind == "JOB"
    url = "https://openlineage.io/spec/1-0-1/OpenLineage.json#/definitions/JobEvent"
    assert read({**base, "job": job, "eventType": "COMPLETE", "schemaURL": url}).kind == "JOB"
    run = {"runId": "1"}
    assert read({**base, "job": job, "run": run, "schemaURL": url}).kind == "RUN"


def test_a_run_event_without_its_run_is_told_what_it_lacks() -> None:
    content = event()
    del content["run"]
    assert faults(content) == [("$.run", "is required")]


def test_column_lineage_1_0_1() -> None:
    """Type and description on the field, no transformations on the sources."""
    facet = {
        "fields": {
            "a": {
                "inputFields": [{"namespace": "n", "name": "t", "field": "x"}],
                "transformationType": "IDENTITY",
                "transformationDescription": "identical",
            },
            "b": {
                "inputFields": [{"namespace": "n", "name": "t", "field": "y"}],
                "transformationType": "MASKED",
            },
            "c": {"inputFields": [{"namespace": "n", "name": "t", "field": "z"}]},
        }
    }
    (output,) = read(event(outputs=(dataset("o", columnLineage=facet),))).outputs
    assert output.columns is not None
    told = {(e.column, e.field, e.kind, e.masking, e.description) for e in output.columns.edges}
    assert told == {
        ("a", "x", "IDENTITY", False, "identical"),
        ("b", "y", "TRANSFORMATION", True, None),
        ("c", "z", "DIRECT", False, None),
    }


def test_a_deleted_facet_is_none() -> None:
    facet = {**lineage({"a": ["IDENTITY t.x"]}), "_deleted": True}
    (output,) = read(event(outputs=(dataset("o", columnLineage=facet),))).outputs
    assert output.columns is None


def test_nested_fields_get_paths() -> None:
    facet = schema("id:int")
    facet["fields"].append(
        {"name": "address", "type": "struct", "fields": [{"name": "city", "type": "string"}]}
    )
    (item,) = read(event(inputs=(dataset("i", schema=facet),))).inputs
    assert item.schema is not None
    assert [(f.path, f.root, f.type) for f in item.schema] == [
        ("id", "id", "int"),
        ("address", "address", "struct"),
        ("address.city", "address", "string"),
    ]


def test_text_that_no_database_takes(collector: Collector) -> None:
    body = json.dumps(event(outputs=(dataset("a\0b\ud800c"),))).encode()
    assert collector.take(body)
    assert collector.graph()["datasets"][0]["name"] == "a�b�c"


def test_packed_bodies() -> None:
    body = json.dumps(event()).encode()
    assert intake.unpack(gzip.compress(body), "gzip") == body
    assert intake.unpack(zlib.compress(body), "deflate") == body
    assert intake.unpack(body, None) == body
    with pytest.raises(intake.MalformedError, match="is not gzip"):
        intake.unpack(body, "gzip")
    with pytest.raises(intake.MalformedError, match="ends too early"):
        intake.unpack(gzip.compress(body)[:-20], "gzip")
    with pytest.raises(intake.EncodingError, match="'br'"):
        intake.unpack(body, "br")


def test_a_bomb_is_not_unpacked() -> None:
    bomb = gzip.compress(b"0" * 10_000_000)
    with pytest.raises(intake.TooLargeError):
        intake.unpack(bomb, "gzip", most=1_000_000)


def test_quarantine_keeps_each_body_once(collector: Collector) -> None:
    numbers = []
    for _ in range(2):
        with pytest.raises(QuarantinedError) as caught:
            collector.take(b'{"eventTime": "2026-01-01T00:00:00Z"}')
        numbers.append(caught.value.number)
    assert len(set(numbers)) == 1
    (kept,) = collector.quarantine(10)
    assert kept["times"] == 2
    assert kept["body"] == '{"eventTime": "2026-01-01T00:00:00Z"}'
    assert {"path": "$.run", "message": "is required"} in kept["faults"]
    assert collector.health()["quarantined"] == 1


def test_a_fault_of_ours_is_quarantined_not_sent_again(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> bool:
        raise KeyError("ours")

    monkeypatch.setattr("spark_lineage.collector.store.write.apply_all", broken)
    with pytest.raises(QuarantinedError, match="could not be stored: KeyError"):
        collector.take(json.dumps(event()).encode())
    assert collector.health()["quarantined"] == 1


_ODD = st.sampled_from([None, 3, 3.0, True, "", "x", [], {}, [None], {"a": None}, [{}]])


@given(st.data())
def test_the_quick_look_finds_what_the_long_one_does(data: st.DataObject) -> None:
    """Each place of a whole event in turn is something odd, or not there."""
    content = writes("t", {"a": ["IDENTITY s.a"]}, inputs=("s",), own={"schema": schema("a:int")})
    place: Any = content
    for _ in range(data.draw(st.integers(0, 9))):
        steps = list(place) if isinstance(place, dict) else list(range(len(place)))
        if not steps:
            break
        step = data.draw(st.sampled_from(steps))
        if not isinstance(place[step], dict | list) or data.draw(st.booleans()):
            place[step] = data.draw(_ODD)
            if isinstance(place, dict) and data.draw(st.booleans()):
                del place[step]
            break
        place = place[step]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shapes, "fits", lambda *_: False)
        found = shapes.faults(content, shapes.RUN_EVENT)
    assert shapes.fits(content, shapes.RUN_EVENT) == (not found)
