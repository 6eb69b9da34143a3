"""ROLLUP, CUBE, GROUPING SETS, UNPIVOT: each row becomes several."""

from __future__ import annotations

from spark_lineage.lineage.column import DERIVED, Column, Origin, State, merge
from spark_lineage.lineage.fold import Fold
from spark_lineage.lineage.rule import rule
from spark_lineage.plan.node import PlanNode


@rule("Expand")
def expand(fold: Fold, node: PlanNode) -> State:
    """Column by position, from every projection; the NULLs that fill up give nothing."""
    child = fold.child(node)
    projections = node.raw("projections")
    ids = fold.ids(node.output())
    state = State({}, child.rows, ids, child.issues)
    state.uses.extend(node.children)
    columns: dict[int, Column] = {}
    for position, expr_id in enumerate(ids):
        choices: dict[int, Column] = {}
        for projection in projections:
            ref = projection[position]
            if not fold.is_null(ref):
                column = fold.column(ref, child.columns, state.uses)
                choices[id(column)] = column
        found = list(choices.values())
        if not found:
            columns[expr_id] = Column({}, DERIVED)
        elif all(not column.lanes for column in found):
            # A grouping id, or the names that UNPIVOT writes: which projection it is.
            name = fold.record.name(node.output()[position])
            system = name.startswith("spark_grouping_id")
            words = "grouping_id()" if system else name
            columns[expr_id] = Column({}, DERIVED, Origin(words), system)
        else:
            columns[expr_id] = merge(found)
    state.columns = {**child.columns, **columns}
    return state
