"""References that are not plain attributes."""

from __future__ import annotations

from typing import Any

from spark_lineage.lineage.column import BARE, Column
from spark_lineage.lineage.gather import Gather
from spark_lineage.lineage.handlers import expression
from spark_lineage.lineage.lanes import IDENTITY


@expression("OuterReference")
def outer_reference(gather: Gather, row: list[Any], lane: int) -> int:
    """A column of an enclosing query: a hole, filled where the subquery stands."""
    fold = gather.fold
    inner = row[fold.shapes[row[0]].position["e"]]
    expr_id = fold.record.expr_id(inner)
    if expr_id is None:
        gather.push(inner, lane)
        return BARE
    gather.take(Column({IDENTITY: fold.sources.hole(expr_id)}, BARE), lane)
    return BARE
