"""Window functions and their windows."""

from __future__ import annotations

from typing import Any

from spark_lineage.lineage.column import DERIVED
from spark_lineage.lineage.gather import Gather
from spark_lineage.lineage.handlers import expression
from spark_lineage.lineage.lanes import FIRST_INDIRECT, VALUE, WINDOWED


@expression("WindowExpression")
def window(gather: Gather, row: list[Any], lane: int) -> int:
    """PARTITION BY, ORDER BY and the frame decide which rows the function sees."""
    function, spec = row[1]
    gather.push(function, VALUE[lane])
    gather.push(spec, WINDOWED[lane])
    gather.system |= lane < FIRST_INDIRECT
    return DERIVED


@expression("Rank", "DenseRank", "PercentRank")
def rank(gather: Gather, row: list[Any], lane: int) -> int:
    """Spark gives these the ORDER BY expressions as arguments: they are the window's."""
    gather.push_all(row[1] or (), WINDOWED[lane])
    gather.system |= lane < FIRST_INDIRECT
    return DERIVED
