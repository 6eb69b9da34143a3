"""explode and its kin: one row becomes as many as the argument says."""

from __future__ import annotations

from spark_lineage.lineage.column import DERIVED, Column, Element, Origin, State, merge
from spark_lineage.lineage.fold import Fold
from spark_lineage.lineage.handlers import ATTRIBUTE, TRANSPARENT
from spark_lineage.lineage.lanes import FILTER, TRANSFORMATION
from spark_lineage.lineage.rule import rule
from spark_lineage.plan.node import Expression, PlanNode

#: Generators that make a row count of their own, whatever their values are.
_FIXED_ROWS = frozenset({"Stack"})
#: Generators of an array's elements, and how many columns they make of one.
_OF_ARRAYS = {"Explode": 1, "PosExplode": 2}


@rule("Generate")
def generate(fold: Fold, node: PlanNode) -> State:
    """The child's columns and those that the generator makes."""
    child = fold.child(node)
    generator = fold.record.expression(node.refs("generator")[0])
    state = State(dict(child.columns), child.rows, None, child.issues)
    state.uses.extend(node.children)
    made = fold.ids(node.refs("generatorOutput"))
    columns = _made(fold, generator, len(made), child, state.uses)
    state.columns = {**child.columns, **dict(zip(made, columns, strict=True))}
    decides = generator.children
    if generator.class_name in _FIXED_ROWS:
        decides = decides[:1]
    fold.depend(state, decides, FILTER, child)
    return state


def _made(
    fold: Fold, generator: Expression, count: int, child: State, uses: list[int]
) -> list[Column]:
    children = generator.children
    if generator.class_name == "Stack" and children:
        return _stack(fold, generator, count, child, uses)
    gathered = fold.gather(children, TRANSFORMATION, child.columns, uses)
    gathered.type = max(gathered.type, DERIVED)
    if generator.class_name in ("UserDefinedGenerator", "HiveGenericUDTF", "PythonUDTF"):
        gathered.opaque |= {fold.function_name(generator.row)}
    origin = Origin(expression=generator.ref, columns=child.columns)
    column = gathered.column(origin)
    made = [column] * count
    if count == _OF_ARRAYS.get(generator.class_name):
        array = _array(fold, children[0], child)
        if array is not None:
            made[-1] = Element(array, origin)
    return made


def _array(fold: Fold, ref: int, child: State) -> Column | None:
    """The column of an array that is one as it stands, or by a path; None for any other."""
    names: list[str] = []
    row = fold.rows[ref]
    while fold.handlers[row[0]] != ATTRIBUTE:
        if fold.handlers[row[0]] != TRANSPARENT:
            name = fold.field_name(row) if fold.shapes[row[0]].name == "GetStructField" else None
            if name is None:
                return None
            names.append(name)
        row = fold.rows[row[1][0]]
    column = child.columns.get(row[fold.id_position[row[0]]]["#"])
    for name in reversed(names):
        column = column and column.field(name, fold.sources)
    # What is an array in each element of another array is one of all of them.
    return column.array if isinstance(column, Element) else column


def _stack(
    fold: Fold, generator: Expression, count: int, child: State, uses: list[int]
) -> list[Column]:
    """``stack(n, a, b, c, d)``: column j is made of every count-th argument after the first."""
    values = generator.children[1:]
    columns = []
    for position in range(count):
        choices = [
            fold.column(ref, child.columns, uses)
            for ref in values[position::count]
            if not fold.is_null(ref)
        ]
        columns.append(merge(choices) if choices else Column({}, DERIVED))
    return columns


@rule("BinBy")
def bin_by(fold: Fold, node: PlanNode) -> State:
    """BIN BY: a row for each bin that the row's range touches, its values scaled by the overlap."""
    child = fold.child(node)
    state = State({}, child.rows, None, child.issues)
    state.uses.extend(node.children)
    bounds = [*node.refs("rangeStart"), *node.refs("rangeEnd")]
    columns = dict(child.columns)
    whole, scaled = node.refs("distributeColumns"), node.refs("scaledDistributeColumns")
    for ref, expr_id in zip(whole, fold.ids(scaled), strict=True):
        columns[expr_id] = _binned(fold, [ref, *bounds], child, state.uses)
    for expr_id in fold.ids(node.refs("appendedAttributes")):
        columns[expr_id] = _binned(fold, bounds, child, state.uses)
    state.columns = columns
    fold.depend(state, bounds, FILTER, child)
    return state


def _binned(fold: Fold, refs: list[int], child: State, uses: list[int]) -> Column:
    gathered = fold.gather(refs, TRANSFORMATION, child.columns, uses)
    gathered.type = max(gathered.type, DERIVED)
    return gathered.column(None)
