"""What a write of Hudi's does: its mode is an option, and may be to take rows away."""

from __future__ import annotations

from typing import Final

from spark_lineage.lineage.column import State
from spark_lineage.lineage.fold import Fold
from spark_lineage.lineage.lanes import FILTER, union
from spark_lineage.lineage.model import Dataset
from spark_lineage.lineage.target import Target
from spark_lineage.plan.node import PlanNode

_OPERATION: Final = "hoodie.datasource.write.operation"
#: The columns by which rows, or whole partitions, are found.
_KEYS: Final = (
    "hoodie.datasource.write.recordkey.field",
    "hoodie.datasource.write.partitionpath.field",
)
HUDI_DELETES: Final = frozenset({"delete", "delete_partition"})
HUDI_OVERWRITES: Final = frozenset({"insert_overwrite", "insert_overwrite_table"})


def hudi_operation(fold: Fold, node: PlanNode) -> str | None:
    """The operation of a write to a Hudi table; None where another source is written."""
    source = node.raw("dataSource")
    name = fold.record.text(source.get("class")) if isinstance(source, dict) else None
    if not (name or "").startswith("org.apache.hudi."):
        return None
    asked = fold.record.mapping(node.raw("options")).get(_OPERATION)
    return asked.lower() if isinstance(asked, str) else "upsert"


def hudi_deletes(fold: Fold, node: PlanNode, dataset: Dataset, query: int) -> State:
    """A write that takes away the rows which have the query's keys: it sets no column."""
    told = fold.state(query)
    options = fold.record.mapping(node.raw("options"))
    texts = [text for key in _KEYS if isinstance(text := options.get(key), str)]
    # A key generator may have the column's kind behind its name: ``dt:SIMPLE``.
    keys = {name.partition(":")[0].strip().lower() for text in texts for name in text.split(",")}
    refs = [
        ref
        for ref in PlanNode(fold.record, query).output()
        if fold.record.name(ref).lower() in keys
    ]
    uses = [query]
    lanes = fold.gather(refs, FILTER, told.columns, uses).lanes
    state = State({}, {}, [], told.issues)
    state.uses = uses
    state.outputs.append(Target(dataset, [], union(told.rows, lanes), told.issues))
    return state
