"""The sources of a stream in the plan of one of its batches.

In the plan of a batch stands what each source has new: a DataSource V2 scan, or the
rows of a first-generation source under a projection that gives them the stream's own
expression ids. A source that has nothing new is an empty ``LocalRelation`` with the same
ids, so that a batch made of the stream's state alone names no source at all
(Spark's ``MicroBatchExecution.constructNextBatch`` and ``runBatch``).
"""

from __future__ import annotations

from typing import Final

from spark_lineage.plan.node import Record

#: The commands that hand the rows of a stream's batch to its sink.
BATCHES: Final = frozenset({"WriteToMicroBatchDataSource", "WriteToMicroBatchDataSourceV1"})

_SCANS: Final = frozenset({"StreamingDataSourceV2Relation", "StreamingDataSourceV2ScanRelation"})


def source_leaf(record: Record, ref: int) -> int | None:
    """The leaf that a source's new rows come from, if this plan row is such a source.

    None for any other row, and for a source without anything new (:func:`is_idle`).
    """
    name = record.shape(ref).name
    if name in _SCANS:
        return ref
    children = record.node(ref).children
    if name != "Project" or len(children) != 1:
        return None
    leaf = children[0]
    shape = record.shape(leaf)
    streams = shape.kind == "P" and shape.name not in _SCANS and _streams(record, leaf)
    return leaf if streams and shape.name != "LocalRelation" else None


def is_idle(record: Record, ref: int) -> bool:
    """Whether the plan row stands for a source that has nothing new in this batch."""
    return record.shape(ref).name == "LocalRelation" and _streams(record, ref)


def _streams(record: Record, ref: int) -> bool:
    return record.node(ref).raw("isStreaming") is True
