from __future__ import annotations

import json
from dataclasses import replace

import pytest

from spark_lineage.lineage.model import (
    Availability,
    Dataset,
    Input,
    Kind,
    Lineage,
    Origin,
    Output,
    OutputColumn,
    Source,
)
from spark_lineage.openlineage.events import EventBuilder
from spark_lineage.openlineage.producer import PRODUCER
from tests.openlineage.samples import (
    FAILURE,
    ORDERS,
    RUN_ID,
    SUMMARY,
    SUMMARY_LINEAGE,
    WAREHOUSE,
    orders,
    run,
)
from tests.support.python import run_python
from tests.support.validation import validate


def written(*columns: OutputColumn, **more: object) -> Lineage:
    return Lineage((Input(ORDERS),), (Output(SUMMARY, columns, **more),))  # type: ignore[arg-type]


def column(name: str, *direct: Source, indirect: tuple[Source, ...] = ()) -> OutputColumn:
    return OutputColumn(name, Kind.IDENTITY, Origin.INPUT_FIELDS, name, direct, indirect)


def output_facets(lineage: Lineage, at: int = 0) -> dict:
    event = EventBuilder().end(run(), lineage, "COMPLETE")
    validate(event)
    return event["outputs"][at]["facets"]


def test_start_event_carries_time_producer_and_schema():
    event = EventBuilder().start(run(), SUMMARY_LINEAGE)
    validate(event)
    assert event["eventType"] == "START"
    assert event["eventTime"] == "2023-11-14T22:13:20.005Z"
    assert event["producer"] == PRODUCER
    assert (
        event["schemaURL"] == "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"
    )
    assert event["run"]["runId"] == RUN_ID
    assert (event["job"]["namespace"], event["job"]["name"]) == ("default", "app.customer_summary")


@pytest.mark.parametrize("state", ["COMPLETE", "FAIL", "ABORT"])
def test_end_event_is_at_the_end(state):
    event = EventBuilder().end(run(), SUMMARY_LINEAGE, state)
    validate(event)
    assert (event["eventType"], event["eventTime"]) == (state, "2023-11-14T22:13:21.250Z")


def test_end_without_a_known_time_is_at_the_start():
    event = EventBuilder().end(run(end_time=None), None, "ABORT")
    assert event["eventTime"] == "2023-11-14T22:13:20.005Z"


def test_unknown_state_is_refused():
    with pytest.raises(ValueError, match="COMPLETE, FAIL, ABORT"):
        EventBuilder().end(run(), None, "DONE")


def test_bare_event_has_no_datasets():
    event = EventBuilder().start(
        run(sql=None, parent=None, root=None, context={}, quality={}), None
    )
    validate(event)
    assert (event["inputs"], event["outputs"]) == ([], [])
    assert set(event["run"]["facets"]) == {"processing_engine"}
    assert set(event["job"]["facets"]) == {"jobType"}


def test_column_lineage_of_all_kinds():
    facet = output_facets(SUMMARY_LINEAGE)["columnLineage"]

    def field(name: str, field: str, *transformations: dict) -> dict:
        return {
            "namespace": WAREHOUSE,
            "name": name,
            "field": field,
            "transformations": list(transformations),
        }

    def direct(subtype: str, description: str) -> dict:
        return {
            "type": "DIRECT",
            "subtype": subtype,
            "description": description,
            "masking": False,
        }

    def indirect(subtype: str) -> dict:
        return {"type": "INDIRECT", "subtype": subtype, "masking": False}

    assert facet["fields"] == {
        "customer_id": {
            "inputFields": [
                field("orders", "customer_id", direct("IDENTITY", "orders.customer_id"))
            ]
        },
        "total_amount": {
            "inputFields": [field("orders", "amount", direct("AGGREGATION", "sum(orders.amount)"))]
        },
        "customer_seq": {"inputFields": [field("orders", "customer_id", indirect("WINDOW"))]},
    }
    assert facet["dataset"] == [
        field("orders", "customer_id", indirect("JOIN"), indirect("GROUP_BY")),
        field("customers", "customer_id", indirect("JOIN")),
        field("orders", "amount", indirect("FILTER")),
    ]
    assert facet["_schemaURL"].endswith(
        "facets/1-2-0/ColumnLineageDatasetFacet.json#/$defs/ColumnLineageDatasetFacet"
    )


def test_one_input_field_with_several_transformations():
    lineage = written(
        column(
            "x",
            orders("amount", Kind.TRANSFORMATION),
            orders("amount", Kind.TRANSFORMATION, masking=True),
            indirect=(orders("amount", Kind.CONDITIONAL), orders("amount", Kind.FILTER)),
        )
    )
    (entry,) = output_facets(lineage)["columnLineage"]["fields"]["x"]["inputFields"]
    assert [
        (t["type"], t["subtype"], t["masking"], t.get("description"))
        for t in entry["transformations"]
    ] == [
        ("DIRECT", "TRANSFORMATION", False, "x"),
        ("DIRECT", "TRANSFORMATION", True, "x"),
        ("INDIRECT", "CONDITIONAL", False, None),
        ("INDIRECT", "FILTER", False, None),
    ]


def test_columns_of_one_name_share_the_column_lineage_and_keep_their_own_facts():
    lineage = written(
        column("x", orders("order_id", Kind.IDENTITY)), column("x", orders("amount", Kind.IDENTITY))
    )
    facets = output_facets(lineage)
    assert [field["field"] for field in facets["columnLineage"]["fields"]["x"]["inputFields"]] == [
        "order_id",
        "amount",
    ]
    assert [told["name"] for told in facets["sparkLineage_columns"]["columns"]] == ["x", "x"]


def test_columns_facet_tells_of_every_column():
    facet = output_facets(SUMMARY_LINEAGE)["sparkLineage_columns"]
    assert facet["columns"][1:] == [
        {
            "name": "total_amount",
            "type": "AGGREGATION",
            "origin": "INPUT_FIELDS",
            "expression": "sum(orders.amount)",
            "availability": "AVAILABLE",
            "via": ["paid_orders"],
            "opaque": [],
        },
        {
            "name": "customer_seq",
            "type": "TRANSFORMATION",
            "origin": "SYSTEM",
            "expression": "row_number() OVER (ORDER BY orders.customer_id)",
            "availability": "AVAILABLE",
            "via": [],
            "opaque": [],
        },
        {
            "name": "loaded_by",
            "type": "TRANSFORMATION",
            "origin": "CONSTANT",
            "expression": "'etl'",
            "availability": "AVAILABLE",
            "via": [],
            "opaque": [],
        },
    ]


def test_constant_columns_alone_still_have_an_empty_column_lineage():
    facets = output_facets(written(OutputColumn("c", Kind.TRANSFORMATION, Origin.CONSTANT, "1")))
    assert facets["columnLineage"]["fields"] == {}
    assert "dataset" not in facets["columnLineage"]


def test_output_without_column_lineage_is_an_output_still():
    facets = output_facets(written(availability=Availability.UNAVAILABLE, issues=("opaque",)))
    assert "columnLineage" not in facets
    assert "sparkLineage_columns" not in facets


def test_a_long_expression_is_cut_in_descriptions_only():
    long = "a + " * 5000 + "a"
    lineage = written(replace(column("x", orders("amount", Kind.IDENTITY)), expression=long))
    facets = output_facets(lineage)
    (entry,) = facets["columnLineage"]["fields"]["x"]["inputFields"]
    description = entry["transformations"][0]["description"]
    assert len(description) == 4096
    assert description.endswith("…")
    assert facets["sparkLineage_columns"]["columns"][0]["expression"] == long


def test_schema_symlinks_and_lifecycle():
    event = EventBuilder().end(run(), SUMMARY_LINEAGE, "COMPLETE")
    facets = event["inputs"][0]["facets"]
    assert facets["schema"]["fields"] == [
        {"name": "order_id", "type": "long", "ordinal_position": 1},
        {
            "name": "customer_id",
            "type": "long",
            "description": "who bought",
            "ordinal_position": 2,
        },
        {"name": "amount", "type": "decimal(10,2)", "ordinal_position": 3},
    ]
    assert facets["symlinks"]["identifiers"] == [
        {"namespace": "file", "name": "/warehouse/orders", "type": "LOCATION"}
    ]
    output = event["outputs"][0]["facets"]
    assert output["lifecycleStateChange"]["lifecycleStateChange"] == "OVERWRITE"
    # The output tells no schema of its own: its columns do.
    assert [(f["name"], f["type"]) for f in output["schema"]["fields"]] == [
        ("customer_id", "long"),
        ("total_amount", "decimal(20,2)"),
        ("customer_seq", "integer"),
        ("loaded_by", "string"),
    ]


def test_statistics():
    event = EventBuilder().end(run(), SUMMARY_LINEAGE, "COMPLETE")
    read = event["inputs"][0]["inputFacets"]["inputStatistics"]
    assert (read["rowCount"], read["size"], read["fileCount"]) == (10, 2048, 2)
    wrote = event["outputs"][0]["outputFacets"]["outputStatistics"]
    assert (wrote["rowCount"], wrote["size"], "fileCount" in wrote) == (3, 512, False)
    assert event["inputs"][1]["inputFacets"] == {}


def test_facts_become_facets_and_malformed_ones_do_not():
    dataset = replace(
        ORDERS,
        facts={
            "storage": {"storageLayer": "delta", "fileFormat": "parquet", "surplus": 1},
            "catalog": {"framework": "delta"},  # lacks type and name
            "version": 12,
            "subset": {"type": "location", "locations": ["/warehouse/orders/day=1"]},
            "free": "text",
        },
    )
    event = EventBuilder().end(run(), Lineage((Input(dataset),)), "COMPLETE")
    validate(event)
    facets = event["inputs"][0]["facets"]
    assert set(facets) == {"schema", "symlinks", "storage", "version"}
    assert facets["storage"]["storageLayer"] == "delta"
    assert facets["version"]["datasetVersion"] == "12"
    subset = event["inputs"][0]["inputFacets"]["subset"]["inputCondition"]
    assert subset == {"type": "location", "locations": ["/warehouse/orders/day=1"]}


def test_run_and_job_facets():
    event = EventBuilder().end(run(error=FAILURE), SUMMARY_LINEAGE, "FAIL")
    validate(event)
    facets = event["run"]["facets"]
    assert (facets["processing_engine"]["name"], facets["processing_engine"]["version"]) == (
        "spark",
        "3.5.9",
    )
    assert facets["parent"]["run"] == {"runId": "018c2f1e-0000-7000-8000-0000000000aa"}
    assert facets["parent"]["job"] == {"namespace": "default", "name": "app"}
    assert facets["parent"]["root"] == {
        "run": {"runId": "018c2f1e-0000-7000-8000-0000000000ff"},
        "job": {"namespace": "airflow", "name": "dag"},
    }
    assert facets["errorMessage"]["message"] == "java.lang.ArithmeticException: / by zero"
    assert facets["errorMessage"]["programmingLanguage"] == "JVM"
    assert facets["errorMessage"]["stackTrace"] == "at Foo.bar(Foo.java:1)"
    job = event["job"]["facets"]
    assert (job["sql"]["query"], job["sql"]["dialect"]) == (
        "INSERT OVERWRITE customer_summary ...",
        "spark",
    )
    assert (
        job["jobType"]["processingType"],
        job["jobType"]["integration"],
        job["jobType"]["jobType"],
    ) == ("BATCH", "SPARK", "COMMAND")


def test_quality_joins_what_lineage_and_agent_say():
    event = EventBuilder().end(run(), SUMMARY_LINEAGE, "COMPLETE")
    quality = event["run"]["facets"]["sparkLineage_quality"]
    assert quality["outputs"] == [
        {
            "namespace": WAREHOUSE,
            "name": "customer_summary",
            "availability": "AVAILABLE",
            "issues": [],
        }
    ]
    assert quality["unknownNodes"] == {"Frobnicate": 2}
    assert quality["inputsNotRead"] == [{"namespace": WAREHOUSE, "name": "customers"}]
    assert quality["dropped"] == {"queue_full": 1}
    assert event["run"]["facets"]["sparkLineage_context"]["user"] == "ann"


def test_read_only_query_has_no_output():
    lineage = Lineage((Input(ORDERS),), (Output(None, (column("x"),)),))
    event = EventBuilder().end(run(), lineage, "COMPLETE")
    validate(event)
    assert event["outputs"] == []
    assert [item["name"] for item in event["inputs"]] == ["orders"]
    assert event["run"]["facets"]["sparkLineage_quality"]["outputs"] == [
        {"availability": "AVAILABLE", "issues": []}
    ]


def test_every_dataset_once_and_an_input_may_be_an_output():
    other = Dataset(WAREHOUSE, "orders", schema=(("other", '"long"', None),))
    lineage = Lineage(
        (Input(ORDERS), Input(other)),
        (
            Output(ORDERS, (column("x", orders("order_id", Kind.IDENTITY)),)),
            Output(
                other,
                (column("x", orders("amount", Kind.IDENTITY)),),
                availability=Availability.UNAVAILABLE,
            ),
        ),
    )
    event = EventBuilder().end(run(), lineage, "COMPLETE")
    validate(event)
    assert [item["name"] for item in event["inputs"]] == ["orders"]
    (output,) = event["outputs"]
    inputs = output["facets"]["columnLineage"]["fields"]["x"]["inputFields"]
    assert [entry["field"] for entry in inputs] == ["order_id", "amount"]


def test_disabled_facets_are_left_out():
    builder = EventBuilder(("sql", "sparkLineage_context", "columnLineage", "inputStatistics"))
    event = builder.end(run(), SUMMARY_LINEAGE, "COMPLETE")
    validate(event)
    assert "sql" not in event["job"]["facets"]
    assert "sparkLineage_context" not in event["run"]["facets"]
    assert "columnLineage" not in event["outputs"][0]["facets"]
    assert event["inputs"][0]["inputFacets"] == {}


def test_events_are_plain_and_the_same_each_time():
    one, two = (EventBuilder().end(run(), SUMMARY_LINEAGE, "COMPLETE") for _ in range(2))
    assert json.loads(json.dumps(one)) == one == two


def test_importing_the_builder_imports_no_openlineage():
    code = (
        "import sys, spark_lineage.openlineage.events\n"
        "print([m for m in sys.modules if m.startswith('openlineage')])"
    )
    done = run_python(code)
    assert done.stdout.strip() == "[]", done.stderr
