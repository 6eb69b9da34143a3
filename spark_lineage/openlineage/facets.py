"""Facets of a data set, from what the engine said.

Importing this module imports openlineage-python (0.4 to 0.6 s): only the event
builder does, when it builds its first event.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from openlineage.client import facet_v2 as ol

from spark_lineage.lineage.model import Availability, Dataset, Output, OutputColumn, Source
from spark_lineage.openlineage.column_entries import Entry, entries_of
from spark_lineage.openlineage.producer import PRODUCER, own_facet
from spark_lineage.openlineage.types import Field, field_of

Facets = dict[str, Any]
Identity = tuple[str, str]

COLUMNS_FACET = "sparkLineage_columns"


def dataset_facets(dataset: Dataset, columns: Iterable[OutputColumn] = ()) -> Facets:
    """The facets that tell what a data set is: schema, other names, storage, version.

    ``columns`` give the schema where the data set itself tells none.
    """
    facets: Facets = {}
    fields = [field_of(*told) for told in dataset.schema] or _fields_of(columns)
    if fields:
        facets["schema"] = ol.schema_dataset.SchemaDatasetFacet(
            fields=[_schema_field(field, place) for place, field in enumerate(fields, 1)],
            producer=PRODUCER,
        )
    if dataset.symlinks:
        facets["symlinks"] = ol.symlinks_dataset.SymlinksDatasetFacet(
            identifiers=[
                ol.symlinks_dataset.Identifier(namespace=namespace, name=name, type=kind)
                for namespace, name, kind in dict.fromkeys(dataset.symlinks)
            ],
            producer=PRODUCER,
        )
    for key, facet_class in _FACTS.items():
        fact = dataset.facts.get(key)
        if key == "version" and isinstance(fact, (str, int)):
            fact = {"datasetVersion": str(fact)}
        if key == "dataSource" and isinstance(fact, dict) and ":" not in str(fact.get("uri")):
            # A namespace such as "file" is no URI.
            fact = {name: value for name, value in fact.items() if name != "uri"}
        if fact and (facet := _known_fields(facet_class, fact)):
            facets[key] = facet
    return facets


# Facts of a data set whose words are those of the OpenLineage facet of the same key.
_FACTS: dict[str, type[ol.DatasetFacet]] = {
    "catalog": ol.catalog_dataset.CatalogDatasetFacet,
    "dataSource": ol.datasource_dataset.DatasourceDatasetFacet,
    "datasetType": ol.dataset_type_dataset.DatasetTypeDatasetFacet,
    "storage": ol.storage_dataset.StorageDatasetFacet,
    "version": ol.dataset_version_dataset.DatasetVersionDatasetFacet,
}


def input_facets(dataset: Dataset, statistics: dict[str, int] | None) -> Facets:
    """The facets of one reading: how much, and which part."""
    facets: Facets = {}
    if statistics:
        facets["inputStatistics"] = (
            ol.input_statistics_input_dataset.InputStatisticsInputDatasetFacet(
                **_statistics(statistics), producer=PRODUCER
            )
        )
    if subset := dataset.facts.get("subset"):
        facets["subset"] = ol.base_subset_dataset.InputSubsetInputDatasetFacet(
            inputCondition=subset, producer=PRODUCER
        )
    return facets


def output_facets(dataset: Dataset, statistics: dict[str, int] | None) -> Facets:
    """The facets of one writing: how much, and which part."""
    facets: Facets = {}
    if statistics:
        facets["outputStatistics"] = (
            ol.output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet(
                **_statistics(statistics), producer=PRODUCER
            )
        )
    if subset := dataset.facts.get("subset"):
        facets["subset"] = ol.base_subset_dataset.OutputSubsetOutputDatasetFacet(
            outputCondition=subset, producer=PRODUCER
        )
    return facets


def lineage_facets(output: Output, done: bool = True) -> Facets:
    """The facets that tell what an output is made of and, once it is done, what became of it."""
    facets: Facets = {}
    if output.columns or output.indirect:
        facets["columnLineage"] = _column_lineage(output)
    if output.columns:
        facets[COLUMNS_FACET] = _columns(output)
    if done and output.lifecycle in _LIFECYCLE:
        words = ol.lifecycle_state_change_dataset
        previous = output.previous
        facets["lifecycleStateChange"] = words.LifecycleStateChangeDatasetFacet(
            lifecycleStateChange=_LIFECYCLE[output.lifecycle],
            previousIdentifier=words.PreviousIdentifier(namespace=previous[0], name=previous[1])
            if previous
            else None,
            producer=PRODUCER,
        )
    return facets


_LIFECYCLE = {
    change.value: change for change in ol.lifecycle_state_change_dataset.LifecycleStateChange
}


def _column_lineage(output: Output) -> ol.column_lineage_dataset.ColumnLineageDatasetFacet:
    fields, whole = entries_of(output)
    return ol.column_lineage_dataset.ColumnLineageDatasetFacet(
        fields={
            name: ol.column_lineage_dataset.Fields(inputFields=_input_fields(entries))
            for name, entries in fields.items()
        },
        dataset=_input_fields(whole) or None,
        producer=PRODUCER,
    )


def _input_fields(entries: Iterable[Entry]) -> list[ol.column_lineage_dataset.InputField]:
    return [
        ol.column_lineage_dataset.InputField(
            namespace=entry.namespace,
            name=entry.name,
            field=entry.column,
            transformations=[
                ol.column_lineage_dataset.Transformation(**told) for told in entry.transformations
            ],
        )
        for entry in entries
    ]


def _columns(output: Output) -> Facets:
    told = [
        {
            "name": column.name,
            "type": column.type.value,
            "origin": column.origin.value,
            "expression": column.expression,
            "availability": column.availability.value,
            "via": _views((*column.direct, *column.indirect)),
            "opaque": list(column.opaque),
        }
        for column in output.columns
    ]
    return own_facet(
        "SparkLineageColumnsDatasetFacet", {"columns": told, "via": _views(output.indirect)}
    )


def _views(sources: Iterable[Source]) -> list[str]:
    return list(dict.fromkeys(view for source in sources for view in source.via))


def _fields_of(columns: Iterable[OutputColumn]) -> list[Field]:
    return [field_of(column.name, column.data_type) for column in columns if column.data_type]


def _schema_field(
    field: Field, place: int | None = None
) -> ol.schema_dataset.SchemaDatasetFacetFields:
    return ol.schema_dataset.SchemaDatasetFacetFields(
        name=field.name,
        type=field.type,
        description=field.comment,
        ordinal_position=place,
        # `types.MAX_DEPTH` bounds this recursion.
        fields=[_schema_field(inner) for inner in field.fields] or None,
    )


def _known_fields(facet_class: type[ol.DatasetFacet], fact: Any) -> ol.DatasetFacet | None:
    """The facet, or None where the fact lacks what the facet requires."""
    import attr

    known = {a.name for a in attr.fields(facet_class) if not a.name.startswith("_")}
    try:
        return facet_class(
            **{key: value for key, value in dict(fact).items() if key in known}, producer=PRODUCER
        )
    except (TypeError, ValueError):
        return None


def _statistics(told: dict[str, int]) -> dict[str, int]:
    words = {"rows": "rowCount", "bytes": "size", "files": "fileCount"}
    return {words[key]: int(value) for key, value in told.items() if key in words}


def merged(outputs: list[Output]) -> Output:
    """Several writings of one data set in one run (a multi-insert) as one output."""
    if len(outputs) == 1:
        return outputs[0]
    first = outputs[0]
    said = {output.availability for output in outputs}
    columns = dict.fromkeys(column for output in outputs for column in output.columns)
    return Output(
        dataset=first.dataset,
        columns=tuple(columns),
        indirect=tuple(dict.fromkeys(s for output in outputs for s in output.indirect)),
        availability=said.pop() if len(said) == 1 else Availability.PARTIAL,
        issues=tuple(dict.fromkeys(issue for output in outputs for issue in output.issues)),
        lifecycle=next((output.lifecycle for output in outputs if output.lifecycle), None),
        previous=next((output.previous for output in outputs if output.previous), None),
    )
