"""The walk over an expression of another engine's SQL: inward, each node once for each lane."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from spark_lineage.lineage.column import AGGREGATE, BARE, DERIVED, NOTHING, Column
from spark_lineage.lineage.lanes import (
    AGGREGATED,
    COUNTED,
    FILTERED,
    FIRST_INDIRECT,
    MASKED,
    TESTED,
    TRANSFORMATION,
    VALUE,
    WINDOWED,
    Lanes,
    add,
)
from spark_lineage.lineage.sqltext import kinds
from spark_lineage.lineage.sqltext.scope import Scope
from spark_lineage.lineage.sqltext.tree import Node, arg, bare, children, function_name, nodes

if TYPE_CHECKING:
    from spark_lineage.lineage.sqltext.query import Walk

_TRANSPARENT: Final = (exp.Paren, exp.Ordered, exp.IgnoreNulls, exp.RespectNulls,
                       exp.Where, exp.Having, exp.Tuple, exp.Kwarg, exp.Distinct)  # fmt: skip
_SILENT: Final = (exp.Identifier, exp.Var, exp.DataType, exp.Star, exp.WindowSpec, exp.JSONPath)
_AGGREGATES: Final = (exp.AggFunc, exp.CombinedAggFunc, exp.AnonymousAggFunc)


class Found:
    """What one walk found so far."""

    def __init__(self, walk: Walk, scope: Scope, aliases: bool) -> None:
        self.walk = walk
        self.scope = scope
        #: Whether a name may be that of an item of SELECT.
        self.aliases = aliases
        self.lanes: Lanes = {}
        self.type = BARE
        self.system = False
        self.opaque: frozenset[str] = NOTHING
        self.issues: frozenset[str] = NOTHING
        self._stack: list[tuple[Node, int]] = []

    def push(self, node: Node | None, lane: int) -> None:
        """Walk this node, seen in this lane."""
        if isinstance(node, exp.Expression):
            self._stack.append((node, lane))

    def push_all(self, found: Iterable[Node], lane: int) -> None:
        """Walk these nodes, seen in this lane."""
        self._stack.extend((node, lane) for node in found)

    def take(self, column: Column, lane: int) -> None:
        """Depend on a column, seen in this lane."""
        add(self.lanes, column.lanes, lane)
        self.type = max(self.type, column.type)
        if lane < FIRST_INDIRECT:
            self.system = self.system or column.system
            self.opaque |= column.opaque
        self.issues |= column.issues

    def miss(self, issue: str) -> None:
        """Note what could not be followed."""
        self.issues |= {issue}

    def least(self, type_: int) -> None:
        """The value is at least of this type."""
        self.type = max(self.type, type_)

    def made(self, lane: int) -> None:
        """The engine, the clock or the rows have a share in the value."""
        if lane < FIRST_INDIRECT:
            self.system = True

    def run(self) -> Found:
        """Walk until nothing is left."""
        seen: set[tuple[int, int]] = set()
        while self._stack:
            node, lane = self._stack.pop()
            if (id(node), lane) in seen:
                continue
            seen.add((id(node), lane))
            self.walk.step()
            _handler(type(node))(self, node, lane)
        return self

    def column(self) -> Column:
        """What was found, as a column."""
        return Column(self.lanes, self.type, None, self.system, self.opaque, self.issues)


Handler = Callable[[Found, Node, int], None]


def _transparent(found: Found, node: Node, lane: int) -> None:
    found.push_all(children(node), lane)


def _alias(found: Found, node: Node, lane: int) -> None:
    found.push(node.this if isinstance(node.this, exp.Expression) else None, lane)


def _silent(found: Found, node: Node, lane: int) -> None:
    found.least(DERIVED)


def _generic(found: Found, node: Node, lane: int) -> None:
    found.least(DERIVED)
    found.push_all(children(node), VALUE[lane])


def _product(found: Found, node: Node, lane: int) -> None:
    if isinstance(node.this, exp.Star):
        # The record's mask, *** without quotes, in the place of an expression.
        found.miss("a part of the text was taken for a secret and is not there")
    _generic(found, node, lane)


def _column(found: Found, node: Node, lane: int) -> None:
    if isinstance(node.this, exp.Star):
        found.made(lane)
        return
    result = _resolve(found, node)
    if isinstance(result, str):
        found.least(DERIVED)
        found.miss(result)
    else:
        found.take(result, lane)


def _resolve(found: Found, node: Node) -> Column | str:
    walk, scope = found.walk, found.scope
    # The parts as they stand: ``a.b.c.d`` may have more than a Column's own.
    parts = [part for part in node.parts if isinstance(part, exp.Identifier)]
    name = walk.name(parts[-1])
    if len(parts) == 1:
        plain = parts[0]
        alias = scope.aliases.get(name.lower())
        if alias is not None and (found.aliases or not _has(scope, name)):
            if found.aliases or walk.dialect not in kinds.LATERAL_ALIASES:
                pass
            elif any(not relation.is_closed for relation in scope.relations):
                found.miss(f"column {name}: taken for the alias in the same SELECT")
            return alias
        pseudo = kinds.PSEUDO.get(walk.dialect, NOTHING)
        if not plain.args.get("quoted") and name.lower() in pseudo and not scope.surely(name):
            return Column({}, DERIVED, system=True)
        return scope.column(name, walk.bits)
    tables = tuple(walk.name(part).lower() for part in parts[:-1])
    relation = scope.relation(tables)
    if relation is not None:
        result = relation.find(name, walk.bits)
        return result if result is not None else f"column {'.'.join(tables)}.{name}: not there"
    if walk.dialect in kinds.NESTED:
        return _nested(found, parts)
    return f"column {'.'.join(tables)}.{name}: no such table in the query"


def _has(scope: Scope, name: str) -> bool:
    return name.lower() in scope.merged or any(r.has_named(name) for r in scope.relations)


def _nested(found: Found, parts: list[Node]) -> Column | str:
    """``column.field`` or ``table.column.field`` in engines with structs."""
    walk, scope = found.walk, found.scope
    names = [walk.name(part) for part in parts]
    relation = scope.relation((names[0].lower(),))
    rest = names[1:]
    if relation is not None:
        base = relation.find(names[1], walk.bits)
        rest = names[2:]
    else:
        base = scope.column(names[0], walk.bits)
    if base is None:
        return f"column {'.'.join(names)}: not there"
    if isinstance(base, str):
        return base
    for name in rest:
        base = deeper(walk, base, name)
    return base


def deeper(walk: Walk, column: Column, name: str) -> Column:
    """A field of a column that is a struct."""
    lanes = {
        lane: walk.bits.deeper(bits, name) if lane < TRANSFORMATION else bits
        for lane, bits in column.lanes.items()
    }
    return Column(lanes, column.type, None, column.system, column.opaque, column.issues)


def _dot(found: Found, node: Node, lane: int) -> None:
    """``(struct).field``."""
    base = bare(node.this)
    field = arg(node, "expression")
    if isinstance(base, exp.Column) and isinstance(field, exp.Identifier):
        result = _resolve(found, base)
        if isinstance(result, Column):
            found.take(deeper(found.walk, result, found.walk.name(field)), lane)
            return
    _generic(found, node, lane)


def _case(found: Found, node: Node, lane: int) -> None:
    found.least(DERIVED)
    found.push(node.this if isinstance(node.this, exp.Expression) else None, TESTED[lane])
    for branch in nodes(node.args.get("ifs")):
        found.push(branch.this, TESTED[lane])
        found.push(branch.args.get("true"), VALUE[lane])
    found.push(node.args.get("default"), VALUE[lane])


def _if(found: Found, node: Node, lane: int) -> None:
    found.least(DERIVED)
    found.push(node.this, TESTED[lane])
    found.push(node.args.get("true"), VALUE[lane])
    found.push(node.args.get("false"), VALUE[lane])


def _coalesce(found: Found, node: Node, lane: int) -> None:
    """Each argument is a value, and a test of whether a later one is taken."""
    found.least(DERIVED)
    arguments = list(children(node))
    found.push_all(arguments, TESTED[lane])
    found.push_all(arguments, VALUE[lane])


def _null_if(found: Found, node: Node, lane: int) -> None:
    found.least(DERIVED)
    found.push_all(children(node), TESTED[lane])
    found.push(node.this, VALUE[lane])


def _decode(found: Found, node: Node, lane: int) -> None:
    """``DECODE(value, search, result, search, result, default)``."""
    found.least(DERIVED)
    subject, *rest = nodes(node.args.get("expressions"))
    found.push(subject, TESTED[lane])
    pairs = len(rest) // 2 * 2
    found.push_all(rest[0:pairs:2], TESTED[lane])
    found.push_all(rest[1:pairs:2], VALUE[lane])
    found.push_all(rest[pairs:], VALUE[lane])


def _choose(found: Found, node: Node, lane: int) -> None:
    found.least(DERIVED)
    found.push(node.this, TESTED[lane])
    found.push_all(nodes(node.args.get("expressions")), VALUE[lane])


def _scalar(found: Found, node: Node, lane: int) -> None:
    """A query as a value: what its rows depend on holds for the column it feeds."""
    relation = found.walk.subquery(node, found.scope)
    for column in relation.columns(found.walk.bits):
        found.take(column, lane)
    add(found.lanes, relation.rows, lane)
    found.issues |= relation.issues


def _member(found: Found, node: Node, lane: int) -> None:
    """The right side of IN, ANY, ALL: its columns and rows decide membership."""
    relation = found.walk.subquery(node, found.scope)
    for column in relation.columns(found.walk.bits):
        found.take(column, FILTERED[lane])
    add(found.lanes, relation.rows, FILTERED[lane])
    found.issues |= relation.issues


def _in(found: Found, node: Node, lane: int) -> None:
    found.least(DERIVED)
    found.push(node.this, VALUE[lane])
    query = node.args.get("query")
    if query is not None:
        _member(found, query, lane)
    for key in ("expressions", "unnest", "field"):
        for item in nodes(node.args.get(key)):
            if isinstance(item, exp.Query):
                _member(found, item, lane)
            else:
                found.push(item, VALUE[lane])


def _exists(found: Found, node: Node, lane: int) -> None:
    """Only whether there are rows matters, not what stands in them."""
    found.least(DERIVED)
    if not isinstance(node.this, exp.Query):
        _generic(found, node, lane)
        return
    relation = found.walk.subquery(node.this, found.scope)
    add(found.lanes, relation.rows, FILTERED[lane])
    found.issues |= relation.issues
    found.made(lane)


def _any(found: Found, node: Node, lane: int) -> None:
    found.least(DERIVED)
    inner = bare(node.this) if isinstance(node.this, exp.Expression) else None
    if isinstance(inner, exp.Query):
        _member(found, inner, lane)
    else:
        found.push(inner, VALUE[lane])


def _function(found: Found, node: Node, lane: int) -> None:
    """A function by its name: sqlglot knows many as classes, and engines have more."""
    name = function_name(node)
    arguments = list(children(node))
    if name in found.walk.masking or name in kinds.MASKING:
        found.least(DERIVED)
        found.push_all(arguments, MASKED[lane])
    elif name in kinds.SYSTEM:
        found.least(DERIVED)
        found.made(lane)
        found.push_all(arguments, VALUE[lane])
    elif isinstance(node, _AGGREGATES) or name in kinds.AGGREGATES or name in kinds.COUNTS:
        _aggregate(found, node, lane)
    elif name in kinds.VALUE_BY_NAMES:
        _value_by(found, node, lane)
    elif name in ("multiif", "iif"):
        _choices(found, arguments, lane)
    else:
        found.least(DERIVED)
        if isinstance(node, exp.Anonymous):
            found.opaque |= {node.name}
        found.push_all(arguments, VALUE[lane])


def _choices(found: Found, arguments: list[Node], lane: int) -> None:
    found.least(DERIVED)
    pairs = len(arguments) // 2 * 2 if len(arguments) % 2 else len(arguments)
    found.push_all(arguments[0:pairs:2], TESTED[lane])
    found.push_all([*arguments[1:pairs:2], *arguments[pairs:]], VALUE[lane])


def _aggregate(found: Found, node: Node, lane: int) -> None:
    found.least(AGGREGATE)
    found.made(lane)
    name = function_name(node)
    inner = AGGREGATED[lane]
    if isinstance(node, (exp.Count, exp.CountIf, exp.ApproxDistinct)) or name in kinds.COUNTS:
        inner = COUNTED[lane]
    if isinstance(node, kinds.VALUE_BY) or name in kinds.VALUE_BY_NAMES:
        _value_by(found, node, lane)
        return
    arguments = list(children(node))
    if isinstance(node, exp.CombinedAggFunc) and name.endswith("if") and len(arguments) > 1:
        # ClickHouse: the last argument says which rows are aggregated.
        found.push(arguments.pop(), TESTED[lane])
        if name[:-2] in kinds.COUNTS:
            inner = COUNTED[lane]
    for argument in arguments:
        if isinstance(argument, exp.Order):
            _ordered(found, argument, inner, lane)
        elif isinstance(argument, exp.HavingMax):
            found.push(argument.this, inner)
            found.push(arg(argument, "expression"), TESTED[lane])
        else:
            found.push(argument, inner)


def _ordered(found: Found, order: Node, inner: int, lane: int) -> None:
    """``agg(value ORDER BY key)``: the key chooses the place of a value."""
    found.push(order.this if isinstance(order.this, exp.Expression) else None, inner)
    found.push_all(nodes(order.args.get("expressions")), TESTED[lane])


def _value_by(found: Found, node: Node, lane: int) -> None:
    found.least(AGGREGATE)
    found.made(lane)
    value, *ordering = children(node)
    found.push(value, AGGREGATED[lane])
    found.push_all(ordering, TESTED[lane])


def _within_group(found: Found, node: Node, lane: int) -> None:
    """The order is what a percentile is taken of, and the place of a value in a list."""
    found.push(node.this, lane)
    order = nodes(arg(node, "expression"))
    listing = isinstance(node.this, exp.GroupConcat) or function_name(node.this) in (
        "listagg",
        "stringagg",
        "arrayagg",
    )
    for item in order:
        found.push_all(children(item), TESTED[lane] if listing else AGGREGATED[lane])


def _filter(found: Found, node: Node, lane: int) -> None:
    """``agg(...) FILTER (WHERE ...)``."""
    found.push(node.this, lane)
    found.push(arg(node, "expression"), TESTED[lane])


def _window(found: Found, node: Node, lane: int) -> None:
    spec: Node | None = node
    name = node.args.get("alias")
    keep = str(node.args.get("over") or "").upper() == "KEEP"
    function = node.this
    while isinstance(function, (exp.IgnoreNulls, exp.RespectNulls)):
        function = function.this
    if isinstance(function, kinds.WINDOW_ONLY) or function_name(function) in kinds.WINDOW_NAMES:
        found.least(DERIVED)
        found.made(lane)
        if isinstance(function, kinds.RANKING):
            found.push_all(children(function), WINDOWED[lane])
        else:
            found.push_all(children(function), VALUE[lane])
    else:
        found.push(function, lane if keep else VALUE[lane])
        found.least(DERIVED)
        found.made(lane)
    inner = TESTED[lane] if keep else WINDOWED[lane]
    for _ in range(8):
        if spec is None:
            break
        found.push_all(nodes(spec.args.get("partition_by")), inner)
        for order in nodes(spec.args.get("order")):
            found.push_all(nodes(order.args.get("expressions")), inner)
        # OVER w, or a window that is defined upon another.
        following = spec.args.get("alias") or (spec.this if spec is not node else None)
        if keep or not isinstance(following, exp.Identifier):
            break
        spec = found.scope.windows.get(following.name.lower())
        if spec is None and name is not None:
            found.miss(f"window {following.name}: not defined")


def _lambda(found: Found, node: Node, lane: int) -> None:
    """The parameters are no columns: sqlglot has made identifiers of them."""
    found.push(node.this, VALUE[lane])


def _pseudo(found: Found, node: Node, lane: int) -> None:
    found.least(DERIVED)
    found.made(lane)


_HANDLERS: Final[dict[type, Handler]] = {
    exp.Column: _column,
    exp.Alias: _alias,
    exp.Aliases: _alias,
    exp.Dot: _dot,
    exp.Mul: _product,
    exp.Case: _case,
    exp.If: _if,
    exp.Coalesce: _coalesce,
    exp.Nullif: _null_if,
    exp.Nvl2: _if,
    exp.In: _in,
    exp.Exists: _exists,
    exp.Any: _any,
    exp.All: _any,
    exp.Subquery: _scalar,
    exp.Query: _scalar,
    exp.Func: _function,
    # Operators that sqlglot has as functions too.
    exp.And: _generic,
    exp.Or: _generic,
    exp.Xor: _generic,
    exp.Cast: _generic,
    exp.TryCast: _generic,
    exp.WithinGroup: _within_group,
    exp.Filter: _filter,
    exp.Window: _window,
    exp.Lambda: _lambda,
    **dict.fromkeys(_TRANSPARENT, _transparent),
    **dict.fromkeys(_SILENT, _silent),
}
for _name, _function_of in (
    ("DecodeCase", _decode),
    ("Choose", _choose),
    ("Pseudocolumn", _pseudo),
    ("NextValueFor", _pseudo),
):
    if hasattr(exp, _name):
        _HANDLERS[getattr(exp, _name)] = _function_of

_known: dict[type, Handler] = {}


def _handler(kind: type) -> Handler:
    found = _known.get(kind)
    if found is None:
        found = next((_HANDLERS[base] for base in kind.__mro__ if base in _HANDLERS), _generic)
        _known[kind] = found
    return found
