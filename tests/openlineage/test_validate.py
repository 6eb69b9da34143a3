from __future__ import annotations

import copy
import json

import pytest

from spark_lineage.openlineage import validate as package
from spark_lineage.openlineage.events import EventBuilder
from spark_lineage.openlineage.producer import schema_url
from tests.openlineage.samples import SUMMARY_LINEAGE, run
from tests.support.validation import SPECIFICATION, validate


@pytest.fixture
def event():
    return EventBuilder().end(run(), SUMMARY_LINEAGE, "COMPLETE")


def faults(event, specification=SPECIFICATION):
    with pytest.raises(package.InvalidEventError) as caught:
        package.validate(event, specification)
    return caught.value.faults


def paths(event, specification=SPECIFICATION):
    return [path for path, _ in faults(event, specification)]


def test_good_event_passes(event):
    validate(event)
    package.validate(event)


def test_all_faults_are_told_with_their_paths(event):
    event["eventTime"] = "yesterday"
    event["run"]["runId"] = "7"
    del event["job"]["name"]
    event["outputs"][0]["facets"]["columnLineage"]["fields"]["total_amount"] = {}
    event["outputs"][0]["facets"]["sparkLineage_columns"]["columns"][1]["origin"] = "ELSEWHERE"
    assert set(paths(event)) == {
        "$.eventTime",
        "$.run.runId",
        "$.job",
        "$.outputs[0].facets.columnLineage.fields.total_amount",
        "$.outputs[0].facets.sparkLineage_columns.columns[1].origin",
    }


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("eventTime", "2023-13-01T00:00:00Z"),
        ("eventTime", "2023-01-01"),
        ("eventTime", "2023-01-01T00:00:00"),
        ("producer", "no uri"),
        ("producer", "relative/path"),
        ("eventType", "DONE"),
    ],
)
def test_formats_are_checked(event, place, value):
    assert paths(event | {place: value}) == [f"$.{place}"]


def test_unknown_facet_schema_is_a_fault(event):
    event["run"]["facets"]["mine"] = {"_producer": "https://a.b/c", "_schemaURL": "https://a.b/d"}
    assert faults(event) == [
        ("$.run.facets.mine._schemaURL", "no schema is known at https://a.b/d")
    ]


def test_null_is_a_fault(event):
    event["job"]["facets"]["sql"]["extra"] = None
    with pytest.raises(package.InvalidEventError, match=r"\$\.job\.facets\.sql\.extra: is null"):
        validate(event)


def test_our_facets_are_checked_without_the_specification(event):
    event["run"]["facets"]["sparkLineage_quality"]["dropped"]["queue_full"] = "many"
    event["eventTime"] = "not looked at"
    assert paths(event, None) == ["$.run.facets.sparkLineage_quality.dropped.queue_full"]


def test_shipped_schemas_are_schemas_at_their_urls():
    import jsonschema

    files = sorted(package.SCHEMAS.glob("*.json"))
    assert len(files) == 4
    for file in files:
        document = json.loads(file.read_text(encoding="utf-8"))
        jsonschema.Draft202012Validator.check_schema(document)
        facet_class = file.stem.removesuffix("-1-0-0")
        assert schema_url(facet_class) == f"{document['$id']}#/$defs/{facet_class}"
        assert document["$defs"][facet_class]["allOf"][0]["$ref"].endswith("Facet")


def test_validation_changes_nothing(event):
    before = copy.deepcopy(event)
    validate(event)
    assert event == before
