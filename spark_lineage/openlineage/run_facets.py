"""Facets of a run and of its job.

Importing this module imports openlineage-python (0.4 to 0.6 s): only the event
builder does, when it builds its first event.
"""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

from openlineage.client import facet_v2 as ol

from spark_lineage.lineage.model import Lineage
from spark_lineage.openlineage.producer import PRODUCER, own_facet
from spark_lineage.openlineage.run import Declared, ParentRun, Run
from spark_lineage.version import __version__

Facets = dict[str, Any]

QUALITY_FACET = "sparkLineage_quality"
CONTEXT_FACET = "sparkLineage_context"
VERSION_FACET = "sparkLineage_version"

# Who said a tag that does not tell its own source.
TAG_SOURCE = "CONFIG"


def timestamp(milliseconds: int) -> str:
    """Milliseconds since the epoch as an ISO time in UTC, with milliseconds."""
    seconds, rest = divmod(milliseconds, 1000)
    moment = datetime.fromtimestamp(seconds, timezone.utc)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{rest:03d}Z"


def run_facets(run: Run, lineage: Lineage | None) -> Facets:
    """The facets of the run: engine, parent, error, times, tags, quality, context."""
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
    declared = run.declared
    if declared.nominal_start:
        facets["nominalTime"] = ol.nominal_time_run.NominalTimeRunFacet(
            nominalStartTime=declared.nominal_start,
            nominalEndTime=declared.nominal_end,
            producer=PRODUCER,
        )
    if declared.run_tags:
        facets["tags"] = ol.tags_run.TagsRunFacet(
            tags=[
                ol.tags_run.TagsRunFacetFields(key=key, value=value, source=source or TAG_SOURCE)
                for key, value, source in declared.run_tags
            ],
            producer=PRODUCER,
        )
    quality = quality_of(lineage) | run.quality
    if quality:
        facets[QUALITY_FACET] = own_facet("SparkLineageQualityRunFacet", quality)
    if run.context:
        facets[CONTEXT_FACET] = own_facet("SparkLineageContextRunFacet", run.context)
    return facets


def job_facets(run: Run) -> Facets:
    """The facets of the job: its type, text, version, owners, tags and where its source is."""
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
    version = {"planHash": run.plan_hash, "sqlHash": run.sql_hash}
    if any(version.values()):
        facets[VERSION_FACET] = own_facet(
            "SparkLineageVersionJobFacet", {key: told for key, told in version.items() if told}
        )
    return facets | _declared_facets(run.declared)


def _declared_facets(declared: Declared) -> Facets:
    facets: Facets = {}
    if declared.owners:
        facets["ownership"] = ol.ownership_job.OwnershipJobFacet(
            owners=[ol.ownership_job.Owner(name=name, type=kind) for kind, name in declared.owners],
            producer=PRODUCER,
        )
    if declared.job_tags:
        facets["tags"] = ol.tags_job.TagsJobFacet(
            tags=[
                ol.tags_job.TagsJobFacetFields(key=key, value=value, source=source or TAG_SOURCE)
                for key, value, source in declared.job_tags
            ],
            producer=PRODUCER,
        )
    if declared.source:
        source = declared.source
        facets["sourceCodeLocation"] = ol.source_code_location_job.SourceCodeLocationJobFacet(
            type="git",
            url=source.url,
            repoUrl=source.repository,
            path=source.path,
            version=source.version,
            branch=source.branch,
            tag=source.tag,
            producer=PRODUCER,
        )
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
        if o.written
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
