"""The explicit ``lineage`` facet of our events says what their columnLineage says."""

from __future__ import annotations

import json
from typing import Any

from spark_lineage.collector.service import Collector
from spark_lineage.lineage.model import Dataset, Kind, Lineage, Origin, Output, OutputColumn
from spark_lineage.openlineage.events import EventBuilder
from tests.collector.build import edges
from tests.openlineage.samples import SUMMARY, SUMMARY_LINEAGE, orders, run
from tests.support.validation import validate

OTHER = Dataset("file:/warehouse", "other")
TWO = Lineage(
    inputs=SUMMARY_LINEAGE.inputs,
    outputs=(
        *SUMMARY_LINEAGE.outputs,
        Output(
            OTHER,
            columns=(
                OutputColumn(
                    "hash", Kind.TRANSFORMATION, Origin.INPUT_FIELDS, "md5(orders.order_id)",
                    direct=(orders("order_id", Kind.TRANSFORMATION, masking=True),),
                ),
            ),
        ),
    ),
)  # fmt: skip
CONSTANT = Lineage(
    inputs=SUMMARY_LINEAGE.inputs[:1],
    outputs=(
        Output(
            SUMMARY,
            columns=(OutputColumn("one", Kind.TRANSFORMATION, Origin.CONSTANT, "1"),),
        ),
    ),
)
EMPTY = Lineage(outputs=CONSTANT.outputs)


def _told(lineage: Lineage, left_out: str) -> dict[str, Any]:
    event = EventBuilder(lineage_facet=True).end(run(), lineage, "COMPLETE")
    validate(event)
    for output in event["outputs"]:
        assert "lineage" in output["facets"]
        output["facets"].pop(left_out, None)
    return event


def test_the_collector_reads_the_same_graph_from_either() -> None:
    for lineage in (SUMMARY_LINEAGE, TWO):
        graphs = []
        for left_out in ("lineage", "columnLineage"):
            collector = Collector("sqlite://")
            collector.take(json.dumps(_told(lineage, left_out)).encode())
            graphs.append(edges(collector))
            collector.close()
        assert graphs[0] == graphs[1]
        assert len(graphs[0]) >= 6


def test_both_together_are_no_contradiction(collector: Collector) -> None:
    collector.take(json.dumps(_told(TWO, "nothing")).encode())
    both = edges(collector)
    plain = Collector("sqlite://")
    plain.take(json.dumps(_told(TWO, "lineage")).encode())
    assert both == edges(plain)
    plain.close()


def test_each_output_names_what_feeds_it_and_none_is_said_outright() -> None:
    def inputs(lineage: Lineage) -> list[list[str]]:
        return [
            [one["name"] for one in output["facets"]["lineage"]["inputs"] if "field" not in one]
            for output in _told(lineage, "nothing")["outputs"]
        ]

    assert inputs(TWO) == [["orders", "customers"], ["orders"]]
    # The rows come from there, if no column does.
    assert inputs(CONSTANT) == [["orders"]]
    assert inputs(EMPTY) == [[]]
    (output,) = _told(CONSTANT, "nothing")["outputs"]
    assert output["facets"]["lineage"]["fields"] == {"one": {"inputs": []}}


def test_it_is_off_by_default() -> None:
    event = EventBuilder().end(run(), SUMMARY_LINEAGE, "COMPLETE")
    assert "lineage" not in event["outputs"][0]["facets"]
