"""Functions that hide what they are given, whose code is not known, or that no column feeds."""

from __future__ import annotations

from typing import Any

from spark_lineage.lineage.column import AGGREGATE, DERIVED
from spark_lineage.lineage.gather import Gather
from spark_lineage.lineage.handlers import expression
from spark_lineage.lineage.lanes import AGGREGATED, FIRST_INDIRECT, MASK, MASKED, VALUE
from spark_lineage.plan.node import number

#: PythonEvalType of functions that take a group (SQL_GROUPED_AGG_* and SQL_WINDOW_AGG_*).
_GROUPED = frozenset({202, 203, 252, 253, 254, 255})


@expression(
    "AesEncrypt",
    "CollationAwareMurmur3Hash",
    "CollationAwareXxHash64",
    "Crc32",
    "HiveHash",
    "Mask",
    "Md5",
    "Murmur3Hash",
    "Sha1",
    "Sha2",
    "XxHash64",
)
def masked(gather: Gather, row: list[Any], lane: int) -> int:
    """Hashes, checksums, masks, encryption: the value cannot be read any more."""
    gather.push_all(row[1] or (), MASKED[lane])
    return DERIVED


@expression(
    "CurDateExpressionBuilder",
    "CurrentCatalog",
    "CurrentDatabase",
    "CurrentDate",
    "CurrentTime",
    "CurrentTimeZone",
    "CurrentTimestamp",
    "CurrentUser",
    "InputFileBlockLength",
    "InputFileBlockStart",
    "InputFileName",
    "LocalTimestamp",
    "MonotonicallyIncreasingID",
    "Now",
    "Rand",
    "RandStr",
    "Randn",
    "SparkPartitionID",
    "SparkVersion",
    "Uniform",
    "Uuid",
)
def system(gather: Gather, row: list[Any], lane: int) -> int:
    """The clock, chance or the engine makes the value."""
    gather.push_all(row[1] or (), VALUE[lane])
    gather.system |= lane < FIRST_INDIRECT
    return DERIVED


@expression(
    "ApplyFunctionExpression",
    "HiveGenericUDF",
    "HiveSimpleUDF",
    "HiveUDAFFunction",
    "PythonUDAF",
    "PythonUDF",
    "ScalaAggregator",
    "ScalaUDAF",
    "ScalaUDF",
    "TypedAggregateExpression",
    "V2Aggregator",
)
def opaque(gather: Gather, row: list[Any], lane: int) -> int:
    """A user's function may do anything with its arguments."""
    fold = gather.fold
    name = fold.function_name(row)
    gather.opaque |= {name}
    position = fold.shapes[row[0]].position.get("evalType")
    grouped = position is not None and number(row[position]) in _GROUPED
    inner = AGGREGATED[lane] if grouped else VALUE[lane]
    if name.lower() in fold.masking_names:
        inner |= MASK
    gather.push_all(row[1] or (), inner)
    gather.system |= grouped and lane < FIRST_INDIRECT
    return AGGREGATE if grouped else DERIVED


@expression("SQLScalarFunction")
def sql_function(gather: Gather, row: list[Any], lane: int) -> int:
    """A function written in SQL: its body is here, over the arguments that it uses."""
    fold = gather.fold
    inner = VALUE[lane]
    if fold.function_name(row).lower() in fold.masking_names:
        inner |= MASK
    gather.push(row[fold.shapes[row[0]].position["child"]], inner)
    return DERIVED


@expression("PreciseTimestampConversion")
def time_window(gather: Gather, row: list[Any], lane: int) -> int:
    """Spark computes a time window's bounds with CASE and arithmetic: all that is its own.

    The outermost conversion makes the bound, the innermost takes the time that
    the user gave; what stands between is not the query's.
    """
    fold = gather.fold
    inner: list[int] = []
    stack = list(row[1] or ())
    seen = set(stack)
    while stack:
        ref = stack.pop()
        current = fold.rows[ref]
        if fold.handlers[current[0]] is time_window:
            inner.extend(current[1])
            continue
        for child in current[1] or ():
            if child not in seen:
                seen.add(child)
                stack.append(child)
    gather.push_all(inner or row[1], VALUE[lane])
    return DERIVED
