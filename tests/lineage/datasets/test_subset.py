"""What a data set's facts become in an event: valid by OpenLineage's schemas."""

from __future__ import annotations

import json
from typing import Any

import pytest

from spark_lineage.lineage.datasets import subset
from spark_lineage.lineage.datasets.paths import Place
from spark_lineage.lineage.datasets.predicate import of_text
from spark_lineage.lineage.datasets.schema import parse_schema
from spark_lineage.lineage.datasets.tables import Tables
from spark_lineage.lineage.model import Dataset, Input, Lineage, Output
from spark_lineage.openlineage.events import EventBuilder
from tests.openlineage.samples import run
from tests.support.validation import validate

DAY = subset.partitions([{"dt": "1"}])
FILE = subset.locations(["file:/a/*"])
LARGE = subset.compare("n", "GREATER_THAN", "5")


def event_of(dataset: Dataset) -> dict[str, Any]:
    lineage = Lineage(inputs=(Input(dataset),), outputs=(Output(dataset),))
    event = EventBuilder().end(run(), lineage, "COMPLETE")
    validate(event)
    return event


@pytest.mark.parametrize(
    "condition",
    [DAY, FILE, LARGE, subset.joined("AND", [DAY, FILE, LARGE]), subset.joined("OR", [LARGE, DAY])],
)
def test_each_condition_is_valid(condition: dict[str, Any]) -> None:
    event = event_of(Dataset("file", "/a", facts={"subset": condition}))
    assert event["inputs"][0]["inputFacets"]["subset"]["inputCondition"] == condition
    assert event["outputs"][0]["outputFacets"]["subset"]["outputCondition"] == condition


def test_readings_together() -> None:
    other = subset.partitions([{"dt": "2"}])
    assert subset.either([DAY, other]) == subset.partitions([{"dt": "1"}, {"dt": "2"}])
    assert subset.either([DAY, DAY]) == DAY
    assert subset.either([DAY, None]) is None
    assert subset.either([]) is None
    assert subset.of_places([Place("file", "/a", (("dt", "1"),)), Place("file", "/a")]) is None
    many = subset.joined("OR", [subset.compare("n", "EQUAL", str(i)) for i in range(100)])
    assert len(json.dumps(many)) < 50_000
    event_of(Dataset("file", "/a", facts={"subset": many}))


def test_a_table_tells_all_that_is_known_of_it() -> None:
    schema = parse_schema(
        json.dumps(
            {
                "type": "struct",
                "fields": [
                    {
                        "name": "who",
                        "nullable": True,
                        "metadata": {"comment": "the buyer"},
                        "type": {
                            "type": "struct",
                            "fields": [
                                {
                                    "name": "id",
                                    "type": "long",
                                    "nullable": True,
                                    "metadata": {"comment": "of the shop"},
                                }
                            ],
                        },
                    }
                ],
            }
        )
    )
    conf = {"spark.sql.warehouse.dir": "file:/wh", "hive.metastore.uris": "thrift://ms:9083"}
    dataset = Tables(conf).session_table("db", "t", schema, "file:/wh/db.db/t")
    facets = event_of(dataset)["inputs"][0]["facets"]
    (who,) = facets["schema"]["fields"]
    assert (who["description"], who["ordinal_position"]) == ("the buyer", 1)
    assert who["fields"][0]["description"] == "of the shop"
    catalog = {k: v for k, v in facets["catalog"].items() if v and not k.startswith("_")}
    assert catalog == {
        "framework": "hive",
        "type": "hive",
        "name": "spark_catalog",
        "metadataUri": "thrift://ms:9083",
        "warehouseUri": "file:/wh",
        "source": "spark",
    }
    assert facets["dataSource"]["uri"] == "hive://ms:9083"
    assert facets["datasetType"]["datasetType"] == "TABLE"
    assert facets["symlinks"]["identifiers"] == [
        {"namespace": "file", "name": "/wh/db.db/t", "type": "LOCATION"}
    ]


X = subset.compare("dt", "EQUAL", "x")


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("dt = 'x'", X),
        ("'x' <=> `dt`", X),
        ("(dt = 'x') AND upper(a) = 'B'", X),
        ("n > -5", subset.compare("n", "GREATER_THAN", "-5")),
        ("5 >= n", subset.compare("n", "LESS_EQUAL_THAN", "5")),
        ("d < DATE '2026-01-01'", subset.compare("d", "LESS_THAN", "2026-01-01")),
        ("dt IN ('x')", X),
        (
            "dt = 'x' OR n BETWEEN 1 AND 2",
            subset.joined(
                "OR",
                [
                    X,
                    subset.joined(
                        "AND",
                        [
                            subset.compare("n", "GREATER_EQUAL_THAN", "1"),
                            subset.compare("n", "LESS_EQUAL_THAN", "2"),
                        ],
                    ),
                ],
            ),
        ),
        ("dt = 'x' OR upper(a) = 'B'", None),
        ("NOT dt = 'x'", None),
        ("a = b", None),
        ("true", None),
        ("dt = (", None),
        ("a = 1 AND " * 300 + "b = 2", None),
    ],
)
def test_a_predicates_text_is_the_condition_that_has_words(
    text: str, condition: dict[str, Any] | None
) -> None:
    assert of_text(text) == condition
