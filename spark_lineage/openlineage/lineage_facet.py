"""OpenLineage's explicit ``lineage`` facet 1-0-0 of an output: the same edges as columnLineage.

On the data set: ``inputs`` without a field are the data sets that feed it, with
a field the columns on which all of it depends; ``fields`` are its own columns.
"""

from __future__ import annotations

from collections.abc import Iterable

from openlineage.client import facet_v2 as ol

from spark_lineage.lineage.model import Dataset, Output, Source
from spark_lineage.openlineage.column_entries import Entry, entries_of
from spark_lineage.openlineage.producer import PRODUCER

LINEAGE_FACET = "lineage"


def lineage_facet(output: Output, inputs: Iterable[Dataset]) -> ol.lineage.LineageDatasetFacet:
    """The facet of one output. ``inputs`` are the data sets that feed it.

    No input at all is said outright: nothing that is tracked feeds it.
    """
    fields, whole = entries_of(output)
    feeding = [
        ol.lineage.LineageDatasetInput(
            namespace=dataset.namespace, name=dataset.name, type="DATASET"
        )
        for dataset in inputs
    ]
    made = {
        name: ol.lineage.LineageFieldEntry(inputs=_inputs(entries))
        for name, entries in fields.items()
    }
    for column in output.columns:
        # A constant has no source, which is something else than not to be told.
        made.setdefault(column.name, ol.lineage.LineageFieldEntry(inputs=[]))
    return ol.lineage.LineageDatasetFacet(
        inputs=[*feeding, *_inputs(whole)], fields=made, producer=PRODUCER
    )


def feeding(output: Output, inputs: Iterable[Dataset], alone: bool) -> list[Dataset]:
    """The inputs of a run that feed this output: all, if it is ``alone`` or names none of them."""
    inputs = list(inputs)
    named = {(source.namespace, source.name) for source in _sources(output)}
    found = [one for one in inputs if (one.namespace, one.name) in named]
    return inputs if alone or not found else found


def _sources(output: Output) -> Iterable[Source]:
    yield from output.indirect
    for column in output.columns:
        yield from column.direct
        yield from column.indirect


def _inputs(entries: Iterable[Entry]) -> list[ol.lineage.LineageInput]:
    return [
        ol.lineage.LineageDatasetInput(
            namespace=entry.namespace,
            name=entry.name,
            type="DATASET",
            field=entry.column,
            transformations=[
                ol.lineage.LineageTransformation(**told) for told in entry.transformations
            ],
        )
        for entry in entries
    ]
