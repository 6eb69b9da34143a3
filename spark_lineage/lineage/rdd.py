"""The lineage of a job of RDDs, which has no plan: data sets, and no columns.

A function over an RDD is code that Spark does not look into: what an output's
records are made of is not known, but which files they come from is.
"""

from __future__ import annotations

import hashlib
from typing import Any, Final

from spark_lineage.lineage.datasets import Naming
from spark_lineage.lineage.fingerprint import masked
from spark_lineage.lineage.model import Availability, Input, Lineage, Output
from spark_lineage.lineage.options import LineageOptions
from spark_lineage.plan.decode import decode

OPAQUE: Final = "an RDD's records have no columns that Spark knows"


def rdd_lineage(record: dict[str, Any], options: LineageOptions) -> Lineage:
    """What the job of a record of ``kind: job`` reads and writes.

    Raises :class:`~spark_lineage.errors.RecordError` for a record that cannot be read.
    """
    job = record.get("job") or {}
    decoded = decode(record)
    naming = Naming(decoded, options)
    inputs = tuple(Input(dataset) for dataset in naming.rdd(job.get("rdd") or {}))
    # In plain text: a job's configuration holds Path.toString, which is decoded.
    path = naming.described_path((job.get("output") or {}).get("path"))
    if path is None:
        return Lineage(inputs=inputs)
    written = Output(
        naming.path(path, trim=False),
        availability=Availability.UNAVAILABLE,
        issues=(OPAQUE,),
    )
    return Lineage(inputs=inputs, outputs=(written,))


def rdd_hash(action: str, operations: list[str], lineage: Lineage | None) -> str:
    """The hash of a job of RDDs, as 64 hexadecimal digits: its operations and its data sets.

    Dates, times and UUIDs in names are masked, as in the hash of a plan.
    """
    datasets = [item.dataset for item in lineage.inputs] if lineage else []
    written = [one.dataset for one in lineage.outputs if one.dataset] if lineage else []
    names = [
        sorted((one.namespace, masked(one.name)) for one in some) for some in (datasets, written)
    ]
    told = repr((action, operations, names))
    return hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()
