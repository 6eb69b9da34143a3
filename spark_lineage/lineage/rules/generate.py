"""explode and its kin: one row becomes as many as the argument says."""

from __future__ import annotations

from spark_lineage.lineage.column import DERIVED, Column, Element, Origin, State, merge
from spark_lineage.lineage.fold import Fold
from spark_lineage.lineage.handlers import ATTRIBUTE, TRANSPARENT
from spark_lineage.lineage.lanes import FILTER, TRANSFORMATION
from spark_lineage.lineage.rule import rule
from spark_lineage.lineage.struct_parts import names_in
from spark_lineage.plan.node import Expression, PlanNode

#: Generators that make a row count of their own, whatever their values are.
_FIXED_ROWS = frozenset({"Stack"})
#: Generators of an array's elements, and how many columns they make of one.
_OF_ARRAYS = {"Explode": 1, "PosExplode": 2}
#: Those that make a row of each element.
_ELEMENT_BY_ELEMENT = frozenset({*_OF_ARRAYS, "Inline"})


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
    elif generator.class_name in _ELEMENT_BY_ELEMENT and _built(fold, generator):
        # As many rows as the array has elements, whatever these are.
        decides = []
    elif (pairs := _map(fold, generator)) is not None:
        # A key that comes again makes no row of its own; values decide nothing.
        decides = pairs[0]
    fold.depend(state, decides, FILTER, child)
    return state


def _made(
    fold: Fold, generator: Expression, count: int, child: State, uses: list[int]
) -> list[Column]:
    children = generator.children
    if generator.class_name == "Stack" and children:
        return _stack(fold, generator, count, child, uses)
    if generator.class_name == "Inline":
        fields = _inline(fold, generator, count, child, uses)
        if fields is not None:
            return fields
    pairs = _map(fold, generator)
    if pairs is not None:
        return _of_map(fold, generator, pairs, count, child, uses)
    gathered = fold.gather(children, TRANSFORMATION, child.columns, uses)
    gathered.type = max(gathered.type, DERIVED)
    if generator.class_name in ("UserDefinedGenerator", "HiveGenericUDTF", "PythonUDTF"):
        gathered.opaque |= {fold.function_name(generator.row)}
    origin = Origin(expression=generator.ref, columns=child.columns)
    column = gathered.column(origin)
    made = [column] * count
    if generator.class_name == "PosExplode" and _built(fold, generator):
        made[0] = Column({}, DERIVED, origin)
    if count == _OF_ARRAYS.get(generator.class_name):
        found = _array(fold, children[0], child)
        if found is not None:
            made[-1] = Element(found[0], origin)
        elif (structs := _structs(fold, _uncast(fold, children[0]))) is not None:
            made[-1] = gathered.column(origin, _fields(fold, structs, child, uses, origin))
    return made


def _of_map(
    fold: Fold,
    generator: Expression,
    pairs: tuple[list[int], list[int]],
    count: int,
    child: State,
    uses: list[int],
) -> list[Column]:
    """A map that is built pair by pair: its position, a key, a value."""
    origin = Origin(expression=generator.ref, columns=child.columns)
    made = [Column({}, DERIVED, origin)] * (count - 2)
    return [*made, *(_one_of(fold, refs, child, uses, origin) for refs in pairs)]


def _one_of(
    fold: Fold, refs: list[int], child: State, uses: list[int], origin: Origin | None
) -> Column:
    gathered = fold.gather(refs, TRANSFORMATION, child.columns, uses)
    gathered.type = max(gathered.type, DERIVED)
    return gathered.column(origin)


def _fields(
    fold: Fold, structs: list[Expression], child: State, uses: list[int], origin: Origin
) -> dict[str, Column] | None:
    """The fields of an element of an array of structs that are built alike."""
    names = [fold.literal(name) for name in structs[0].children[::2]]
    columns = {
        name: _one_of(fold, refs, child, uses, origin)
        for name, refs in zip(names, _by_position(structs), strict=True)
        if name is not None
    }
    return columns if len(columns) == len(names) else None


def _structs(fold: Fold, argument: Expression) -> list[Expression] | None:
    """The structs that an array is built of; None for any other array."""
    if argument.class_name != "CreateArray" or not argument.children:
        return None
    structs = [_uncast(fold, ref) for ref in argument.children]
    size = len(structs[0].children)
    alike = all(s.class_name == "CreateNamedStruct" and len(s.children) == size for s in structs)
    return structs if alike else None


def _by_position(structs: list[Expression]) -> list[list[int]]:
    """The values of structs, those of one field together."""
    return [list(refs) for refs in zip(*(s.children[1::2] for s in structs), strict=True)]


def _map(fold: Fold, generator: Expression) -> tuple[list[int], list[int]] | None:
    """The keys and the values of a map that is built pair by pair to be exploded."""
    if generator.class_name not in _OF_ARRAYS:
        return None
    argument = _uncast(fold, generator.children[0])
    if argument.class_name == "CreateMap":
        return list(argument.children[::2]), list(argument.children[1::2])
    arrays = [_uncast(fold, ref) for ref in argument.children]
    if argument.class_name == "MapFromEntries":
        structs = _structs(fold, arrays[0])
        pairs = None if structs is None else _by_position(structs)
        return (pairs[0], pairs[1]) if pairs is not None and len(pairs) == 2 else None
    built = all(array.class_name == "CreateArray" for array in arrays)
    if argument.class_name == "MapFromArrays" and built:
        return list(arrays[0].children), list(arrays[1].children)
    return None


def _inline(
    fold: Fold, generator: Expression, count: int, child: State, uses: list[int]
) -> list[Column] | None:
    """A column for each field of an array's structs; None where these are not known."""
    origin = Origin(expression=generator.ref, columns=child.columns)
    argument = _uncast(fold, generator.children[0])
    if argument.class_name == "CreateArray":
        structs = _structs(fold, argument)
        if structs is None or len(structs[0].children) != 2 * count:
            return None
        return [_one_of(fold, refs, child, uses, origin) for refs in _by_position(structs)]
    found = _array(fold, argument.ref, child)
    if found is None:
        return None
    array, *place = found
    fields = names_in(*place)
    if fields is None or len(fields) != count:
        return None
    return [Element(array.field(name, fold.sources), origin) for name in fields]


def _built(fold: Fold, generator: Expression) -> bool:
    """Whether the argument is an array that is built element by element."""
    return _uncast(fold, generator.children[0]).class_name == "CreateArray"


def _uncast(fold: Fold, ref: int) -> Expression:
    """What is cast: elements of one array are cast to one type, field by field."""
    expression = fold.record.expression(ref)
    while expression.class_name == "Cast":
        expression = fold.record.expression(expression.children[0])
    return expression


def _array(fold: Fold, ref: int, child: State) -> tuple[Column, str | None, tuple[str, ...]] | None:
    """The column of an array that is one as it stands, or by a path; None for any other.

    With it the type of the attribute that it is in, and the path.
    """
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
    if column is None:
        return None
    names.reverse()
    position = fold.shapes[row[0]].position.get("dataType")
    text = fold.record.type_text(row[position]) if position is not None else None
    for name in names:
        column = column.field(name, fold.sources)
    # What is an array in each element of another array is one of all of them.
    array = column.array if isinstance(column, Element) else column
    return array, text, tuple(names)


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
        columns[expr_id] = _one_of(fold, [ref, *bounds], child, state.uses, None)
    for expr_id in fold.ids(node.refs("appendedAttributes")):
        columns[expr_id] = _one_of(fold, bounds, child, state.uses, None)
    state.columns = columns
    fold.depend(state, bounds, FILTER, child)
    return state
