"""Data sets without columns, for a plan that the fold could not take at all."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator

from spark_lineage.lineage.datasets import Naming
from spark_lineage.lineage.model import Availability, Dataset, Input, Lineage, Output
from spark_lineage.lineage.options import LineageOptions
from spark_lineage.plan.node import PlanNode, Record
from spark_lineage.plan.walk import plan_rows

log = logging.getLogger(__name__)

_LEAVES = frozenset(
    {
        "LogicalRelation",
        "HiveTableRelation",
        "DataSourceV2Relation",
        "StreamingRelation",
        "StreamingRelationV2",
        "StreamingDataSourceV2Relation",
    }
)
#: Commands that write, with the fields in which their target may stand.
_WRITERS = {
    "InsertIntoHadoopFsRelationCommand": ("catalogTable", "outputPath"),
    "InsertIntoHiveTable": ("table",),
    "CreateDataSourceTableAsSelectCommand": ("table",),
    "CreateHiveTableAsSelectCommand": ("tableDesc",),
    "OptimizedCreateHiveTableAsSelectCommand": ("tableDesc",),
    "SaveAsV1TableCommand": ("tableDesc",),
    "SaveIntoDataSourceCommand": ("options",),
    "AppendData": ("table",),
    "OverwriteByExpression": ("table",),
    "OverwritePartitionsDynamic": ("table",),
    "CreateTableAsSelect": ("name",),
    "ReplaceTableAsSelect": ("name",),
    "InsertIntoDataSourceCommand": ("logicalRelation",),
    "InsertIntoDataSourceDirCommand": ("storage",),
    "InsertIntoHiveDirCommand": ("storage",),
    "InsertIntoStatement": ("table",),
    "MergeIntoTable": ("targetTable",),
    "UpdateTable": ("table",),
    "DeleteFromTable": ("table",),
    "ReplaceData": ("table",),
    "WriteDelta": ("table",),
    "MergeIntoCommand": ("target",),
    "UpdateCommand": ("target",),
    "DeleteCommand": ("target",),
    "CreateDeltaTableCommand": ("table",),
    "CreateHoodieTableAsSelectCommand": ("table",),
    "InsertIntoHoodieTableCommand": ("logicalRelation",),
    "DeleteFromPaimonTableCommand": ("relation",),
    "MergeIntoPaimonTable": ("targetTable",),
    "PaimonDynamicPartitionOverwriteCommand": ("table",),
    "UpdatePaimonTableCommand": ("relation",),
    "CreateViewCommand": ("name",),
    "AlterViewAsCommand": ("name",),
    "CreateView": ("child",),
    "CreateIcebergView": ("child",),
    "AlterViewAs": ("child",),
}

_DEFAULTS = LineageOptions()


def datasets_only(
    record: Record, options: LineageOptions = _DEFAULTS, reason: str = "the plan was not understood"
) -> Lineage:
    """The inputs and outputs of a record by a plain scan of its rows, without any column.

    Each row is guarded on its own, so that this works where ``derive`` raised.
    Outputs are UNAVAILABLE with ``reason`` as their issue.
    """
    inputs: dict[Dataset, None] = {}
    outputs: dict[Dataset | None, None] = {}
    if record.analyzed is not None:
        naming = Naming(record, options)
        targets: set[int] = set()
        for ref in plan_rows(record, record.analyzed):
            node = PlanNode(record, ref)
            if node.class_name in _WRITERS:
                for dataset in _guarded(_written, naming, node):
                    outputs[dataset] = None
                targets.update(_target_rows(node))
        for ref in plan_rows(record, record.analyzed):
            node = PlanNode(record, ref)
            if node.class_name in _LEAVES and ref not in targets:
                for dataset in _guarded(_read, naming, node):
                    inputs[dataset] = None
    found = sorted(inputs, key=lambda item: (item.namespace, item.name))
    unavailable = Availability.UNAVAILABLE
    return Lineage(
        tuple(Input(dataset) for dataset in found),
        tuple(
            Output(dataset, availability=unavailable, issues=(reason,))
            for dataset in outputs or {None: None}
        ),
    )


def written_by(naming: Naming, node: PlanNode) -> list[Dataset]:
    """What a command writes, if it is one of those that do."""
    return _guarded(_written, naming, node) if node.class_name in _WRITERS else []


def _guarded(
    find: Callable[[Naming, PlanNode], Iterator[Dataset]], naming: Naming, node: PlanNode
) -> list[Dataset]:
    try:
        return list(find(naming, node))
    except Exception:
        log.debug("no data set of %r", node, exc_info=True)
        return []


def _read(naming: Naming, node: PlanNode) -> Iterator[Dataset]:
    yield from naming.relation(node)


def _target_rows(node: PlanNode) -> list[int]:
    """The rows that stand for what is written, which is not what is read."""
    found: list[int] = []
    for field in _WRITERS[node.class_name]:
        stack = [ref for ref in node.refs(field) if node.record.shape(ref).kind == "P"]
        while stack:
            ref = stack.pop()
            found.append(ref)
            stack.extend(node.record.node(ref).children)
    return found


def _written(naming: Naming, node: PlanNode) -> Iterator[Dataset]:
    record = naming.record
    for field in _WRITERS[node.class_name]:
        raw = node.raw(field)
        if raw is None:
            continue
        found: Dataset | None = None
        if isinstance(raw, dict):
            kind = record.class_of(raw)
            if kind == "CatalogTable":
                found = naming.catalog_table(raw)
            elif kind == "TableIdentifier":
                found = naming.identifier(raw)
            elif kind == "Path":
                found = naming.path(naming.described_path(raw) or "", trim=False)
            elif "map" in raw:
                yield from naming.saved_by(node.raw("dataSource"), raw)
                return
        else:
            for ref in _target_rows(node):
                target = PlanNode(record, ref)
                found = found or naming.resolved_identifier(target)
            for ref in node.refs(field):
                place = naming.described_path(record.expression(ref).raw("locationUri"))
                if found is None and place:
                    found = naming.path(place, trim=False)
        if found is not None:
            yield found
            return
