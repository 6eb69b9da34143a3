"""Facets of a run, a job and a data set, from what the engine said.

Importing this module imports openlineage-python (0.4 to 0.6 s): only the event
builder does, when it builds its first event.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timezone
from typing import Any

from openlineage.client import facet_v2 as ol

from spark_lineage.lineage.model import Availability, Dataset, Lineage, Output, OutputColumn, Source
from spark_lineage.openlineage.producer import PRODUCER, schema_url
from spark_lineage.openlineage.run import ParentRun, Run
from spark_lineage.openlineage.types import Field, field_of
from spark_lineage.version import __version__

Facets = dict[str, Any]
Identity = tuple[str, str]

COLUMNS_FACET = "sparkLineage_columns"
QUALITY_FACET = "sparkLineage_quality"
CONTEXT_FACET = "sparkLineage_context"

# A description is repeated for each source; the whole expression is in our facet once.
DESCRIPTION_LIMIT = 4_096


def timestamp(milliseconds: int) -> str:
    """Milliseconds since the epoch as an ISO time in UTC, with milliseconds."""
    seconds, rest = divmod(milliseconds, 1000)
    moment = datetime.fromtimestamp(seconds, timezone.utc)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{rest:03d}Z"


def run_facets(run: Run, lineage: Lineage | None) -> Facets:
    """The facets of the run: engine, parent, error, quality, context."""
    facets: Facets = {}
    if run.spark_version:
        facets["processing_engine"] = ol.processing_engine_run.ProcessingEngineRunFacet(
            version=run.spark_version,
            name="spark",
            openlineageAdapterVersion=__version__,
            producer=PRODUCER,
        )
    if run.parent is not None:
        facets["parent"] = _parent(run.parent, run.root)
    if run.error is not None:
        facets["errorMessage"] = ol.error_message_run.ErrorMessageRunFacet(
            message=run.error.message,
            programmingLanguage=run.error.language,
            stackTrace=run.error.stack,
            producer=PRODUCER,
        )
    quality = quality_of(lineage) | run.quality
    if quality:
        facets[QUALITY_FACET] = _own("SparkLineageQualityRunFacet", quality)
    if run.context:
        facets[CONTEXT_FACET] = _own("SparkLineageContextRunFacet", run.context)
    return facets


def job_facets(run: Run) -> Facets:
    """The facets of the job: its type and its SQL text."""
    facets: Facets = {
        "jobType": ol.job_type_job.JobTypeJobFacet(
            processingType="BATCH",
            integration="SPARK",
            jobType=run.job_kind,
            producer=PRODUCER,
        )
    }
    if run.sql:
        facets["sql"] = ol.sql_job.SQLJobFacet(query=run.sql, dialect="spark", producer=PRODUCER)
    return facets


def quality_of(lineage: Lineage | None) -> Facets:
    """What the lineage itself says of its quality; empty without lineage."""
    if lineage is None:
        return {}
    outputs = [
        {
            **({"namespace": o.dataset.namespace, "name": o.dataset.name} if o.dataset else {}),
            "availability": o.availability.value,
            "issues": list(o.issues),
        }
        for o in lineage.outputs
    ]
    not_read = [
        {"namespace": item.dataset.namespace, "name": item.dataset.name}
        for item in lineage.inputs
        if not item.read
    ]
    return {
        "outputs": outputs,
        "unknownNodes": dict(sorted(lineage.unknown_nodes.items())),
        "unexplained": [column.to_dict() for column in lineage.unexplained],
        "explained": dict(sorted(lineage.explained.items())),
        "inputsNotRead": not_read,
    }


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


def lineage_facets(output: Output) -> Facets:
    """The facets that tell what an output is made of."""
    facets: Facets = {}
    if output.columns or output.indirect:
        facets["columnLineage"] = _column_lineage(output)
    if output.columns:
        facets[COLUMNS_FACET] = _columns(output)
    if output.lifecycle in _LIFECYCLE:
        facets["lifecycleStateChange"] = (
            ol.lifecycle_state_change_dataset.LifecycleStateChangeDatasetFacet(
                lifecycleStateChange=_LIFECYCLE[output.lifecycle], producer=PRODUCER
            )
        )
    return facets


_LIFECYCLE = {
    change.value: change for change in ol.lifecycle_state_change_dataset.LifecycleStateChange
}


def _column_lineage(output: Output) -> ol.column_lineage_dataset.ColumnLineageDatasetFacet:
    """The column lineage; columns of one name (allowed in some sinks) share an entry."""
    entries: dict[str, _InputFields] = {}
    for column in output.columns:
        if column.direct or column.indirect:
            entry = entries.setdefault(column.name, _InputFields())
            entry.add(column.direct, column.expression)
            entry.add(column.indirect, None)
    whole = _InputFields()
    whole.add(output.indirect, None)
    return ol.column_lineage_dataset.ColumnLineageDatasetFacet(
        fields={
            name: ol.column_lineage_dataset.Fields(inputFields=entry.fields())
            for name, entry in entries.items()
        },
        dataset=whole.fields() or None,
        producer=PRODUCER,
    )


class _InputFields:
    """Sources gathered by input column: one entry each, with all that it does."""

    def __init__(self) -> None:
        self._sources: dict[tuple[str, str, str], dict[Any, dict[str, Any]]] = {}

    def add(self, sources: Iterable[Source], description: str | None) -> None:
        for source in sources:
            kinds = self._sources.setdefault((source.namespace, source.name, source.field), {})
            told = _capped(description) if source.kind.direct else None
            kinds.setdefault(
                (source.kind, source.masking, told),
                {
                    "type": "DIRECT" if source.kind.direct else "INDIRECT",
                    "subtype": source.kind.value,
                    "description": told,
                    "masking": source.masking,
                },
            )

    def fields(self) -> list[ol.column_lineage_dataset.InputField]:
        return [
            ol.column_lineage_dataset.InputField(
                namespace=namespace,
                name=name,
                field=field,
                transformations=[
                    ol.column_lineage_dataset.Transformation(**told) for told in kinds.values()
                ],
            )
            for (namespace, name, field), kinds in self._sources.items()
        ]


def _capped(expression: str | None) -> str | None:
    if expression is None or len(expression) <= DESCRIPTION_LIMIT:
        return expression
    return expression[: DESCRIPTION_LIMIT - 1] + "…"


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
    return _own(
        "SparkLineageColumnsDatasetFacet", {"columns": told, "via": _views(output.indirect)}
    )


def _views(sources: Iterable[Source]) -> list[str]:
    return list(dict.fromkeys(view for source in sources for view in source.via))


def _own(facet_class: str, content: Facets) -> Facets:
    return {"_producer": PRODUCER, "_schemaURL": schema_url(facet_class), **content}


def _parent(parent: ParentRun, root: ParentRun | None) -> ol.parent_run.ParentRunFacet:
    words = ol.parent_run
    return words.ParentRunFacet(
        run=words.Run(runId=parent.run_id, facets=None),
        job=words.Job(namespace=parent.namespace, name=parent.name, facets=None),
        root=words.Root(
            run=words.RootRun(runId=root.run_id, facets=None),
            job=words.RootJob(namespace=root.namespace, name=root.name, facets=None),
        )
        if root
        else None,
        producer=PRODUCER,
    )


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
    )
