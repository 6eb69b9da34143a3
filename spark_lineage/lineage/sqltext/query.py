"""The walk over queries: from FROM to the columns and the rows of the result."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from sqlglot import exp

from spark_lineage.lineage.column import BARE, DERIVED, Column, merge
from spark_lineage.lineage.lanes import FILTER, GROUP_BY, IDENTITY, SORT, Lanes, add, union
from spark_lineage.lineage.sqltext import kinds
from spark_lineage.lineage.sqltext.ctes import MAX_DEPTH, Cte, TooMuchError, With
from spark_lineage.lineage.sqltext.expressions import Found
from spark_lineage.lineage.sqltext.scope import Anything, Bits, Item, Named, Open, Relation, Scope
from spark_lineage.lineage.sqltext.sources import Sources
from spark_lineage.lineage.sqltext.tree import Node, arg, bare, children, function_name, nodes

#: A text whose walk takes more steps than this is not followed to the end.
_MAX_STEPS: Final = 200_000


class Walk:
    """One walk over one text."""

    def __init__(self, dialect: str, fold: str, masking: frozenset[str]) -> None:
        self.dialect = dialect
        self.fold = fold
        self.masking = frozenset(name.lower().replace("_", "") for name in masking)
        self.bits = Bits()
        self.sources = Sources(self)
        self.with_ = With(self)
        self.steps = 0
        self.depth = 0
        #: The queries of WITH that may be referred to at this place, lower case.
        self.ctes: dict[str, Cte] = {}
        self.subqueries: dict[int, Relation] = {}

    def step(self) -> None:
        """Count one step; raises when there were too many."""
        self.steps += 1
        if self.steps > _MAX_STEPS:
            raise TooMuchError(f"the query takes more than {_MAX_STEPS} steps to follow")

    def name(self, identifier: Node) -> str:
        """An identifier as the engine keeps it."""
        text: str = identifier.name
        if identifier.args.get("quoted") or not self.fold:
            return text
        return text.lower() if self.fold == "lower" else text.upper()

    # -- expressions ------------------------------------------------------

    def gather(
        self, found: Iterable[Node], lane: int, scope: Scope, aliases: bool = False
    ) -> Found:
        """Walk expressions in a scope."""
        result = Found(self, scope, aliases)
        result.push_all(found, lane)
        return result.run()

    def depend(
        self, rows: Relation, found: Iterable[Node], lane: int, scope: Scope, aliases: bool = False
    ) -> None:
        """Let the rows of a result depend on expressions."""
        result = self.gather(found, lane, scope, aliases)
        rows.rows = union(rows.rows, result.lanes)
        rows.issues |= result.issues

    # -- queries ----------------------------------------------------------

    def subquery(self, node: Node, scope: Scope | None) -> Relation:
        """A query within an expression or FROM; walked once."""
        known = self.subqueries.get(id(node))
        if known is None:
            known = self.subqueries[id(node)] = self.query(node, scope)
        return known

    def query(self, node: Node, parent: Scope | None) -> Relation:
        """What a query gives. Raises `TooMuchError` at a bound."""
        self.step()
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise TooMuchError(f"the query holds queries more than {MAX_DEPTH} deep")
        before = self.ctes
        try:
            with_ = arg(node, "with")
            if with_ is not None:
                self.ctes = self.with_.read(with_, parent)
                self.with_.walk_used(node, with_)
            return self._query(node, parent)
        finally:
            self.ctes = before
            self.depth -= 1

    def _query(self, node: Node, parent: Scope | None) -> Relation:
        if isinstance(node, exp.SetOperation):
            return self._set_operation(node, parent)
        if isinstance(node, exp.Select):
            return self._select(node, parent)
        if isinstance(node, exp.Values):
            return self.sources.values(node, Scope(parent))
        if isinstance(node, exp.Subquery):
            inner = node.this
            if isinstance(inner, exp.Table) or node.args.get("joins"):
                return self._joined(node, parent)
            relation = self.query(inner, parent)
            return self._modified(node, relation, parent)
        if isinstance(node, exp.Table):
            scope = Scope(parent)
            relation = Relation([])
            self.sources.add(node, scope, relation)
            return Relation(scope.relations[0].items, relation.rows, (), relation.issues)
        issue = f"{type(node).__name__.upper()} is not followed"
        return Relation(
            [Anything(Column({}, DERIVED, issues=frozenset({issue})))], {}, (), frozenset({issue})
        )

    def _joined(self, node: Node, parent: Scope | None) -> Relation:
        """A join in parentheses."""
        scope = Scope(parent)
        relation = Relation([])
        self.sources.add(node, scope, relation)
        relation.items = [i for r in scope.relations if r.in_star for i in r.items]
        return relation

    def _modified(self, node: Node, relation: Relation, parent: Scope | None) -> Relation:
        """ORDER BY and LIMIT behind a set operation or a query in parentheses."""
        order = nodes(node.args.get("order"))
        result = Relation(relation.items, relation.rows, relation.names, relation.issues)
        if order:
            scope = Scope(parent)
            scope.relations.append(Relation(relation.items))
            self._sort(result, node, scope)
        return result

    # -- set operations ---------------------------------------------------

    def _set_operation(self, node: Node, parent: Scope | None) -> Relation:
        chain: list[Node] = [node]
        while True:
            left = chain[-1].this
            plain = isinstance(left, exp.SetOperation) and not any(
                left.args.get(key) for key in ("order", "limit", "offset", "with", "with_")
            )
            if not plain:
                break
            chain.append(left)
        result = self.query(chain[-1].this, parent)
        result = Relation(result.items, result.rows, (), result.issues)
        for operation in reversed(chain):
            right = self.query(arg(operation, "expression"), parent)
            if operation.args.get("by_name"):
                result.issues |= {"a set operation by name is not followed"}
            result = self._both(operation, result, right)
        return self._modified(node, result, parent)

    def _both(self, node: Node, left: Relation, right: Relation) -> Relation:
        rows = union(left.rows, right.rows)
        issues = left.issues | right.issues
        if not isinstance(node, exp.Union):
            members: Lanes = {}
            for side in (left, right):
                for column in side.columns(self.bits):
                    add(members, column.lanes, FILTER)
            return Relation(left.items, union(rows, members), (), issues)
        result = Relation(self._merged(left, right), rows, (), issues)
        if node.args.get("distinct", True):
            self._distinct(result)
        return result

    def _merged(self, left: Relation, right: Relation) -> list[Item]:
        if left.is_closed and right.is_closed:
            if len(left.items) == len(right.items):
                pairs = zip(left.items, right.items, strict=True)
                return [
                    Named(a.name, merge([a.column, b.column]))
                    for a, b in pairs
                    if isinstance(a, Named) and isinstance(b, Named)
                ]
            issue = "a set operation of queries with different numbers of columns"
        else:
            issue = "a branch of a set operation has columns that are not known by position"
        items: list[Item] = []
        for item in left.items:
            if isinstance(item, Open):
                items.append(Open(item.table, item.hidden, issue))
            else:
                column = item.column if isinstance(item, Named) else item.made
                told = Column(
                    column.lanes, column.type, column.origin, column.system, column.opaque,
                    column.issues | {issue},
                )  # fmt: skip
                items.append(Named(item.name, told) if isinstance(item, Named) else Anything(told))
        return items

    def _distinct(self, result: Relation) -> None:
        rows: Lanes = {}
        for column in result.columns(self.bits):
            add(rows, column.lanes, GROUP_BY)
        result.rows = union(result.rows, rows)

    # -- SELECT -----------------------------------------------------------

    def _select(self, node: Node, parent: Scope | None) -> Relation:
        scope = Scope(parent)
        result = Relation([])
        for window in nodes(node.args.get("windows")):
            scope.windows[window.name.lower()] = window
        from_ = arg(node, "from")
        if from_ is not None:
            self.sources.add(from_.this, scope, result)
        for join in nodes(node.args.get("joins")):
            self.sources.join(join, scope, result)
        for lateral in nodes(node.args.get("laterals")):
            self.sources.add(lateral, scope, result)
        for key in ("prewhere", "where"):
            self.depend(result, nodes(node.args.get(key)), FILTER, scope)
        connect = node.args.get("connect")
        if connect is not None:
            found = [connect.args.get("start"), connect.args.get("connect")]
            self.depend(result, [each for each in found if each is not None], FILTER, scope)
        items = nodes(node.args.get("expressions"))
        if node.args.get("operation_modifiers") or node.args.get("kind"):
            result.issues |= {"SELECT AS STRUCT or VALUE is not followed"}
        computed = self._items(items, scope, result)
        self._group(node, items, computed, scope, result)
        for key in ("having", "qualify"):
            for clause in nodes(node.args.get(key)):
                self.depend(result, nodes(clause.this), FILTER, scope, aliases=True)
        distinct = node.args.get("distinct")
        if distinct is not None:
            on = distinct.args.get("on")
            if on is not None:
                self.depend(result, [on], GROUP_BY, scope, aliases=True)
            else:
                self._distinct(result)
        self._sort(result, node, scope, computed)
        limit = node.args.get("limit")
        if limit is not None and nodes(limit.args.get("expressions")):
            # ClickHouse: LIMIT n BY key.
            self.depend(result, nodes(limit.args["expressions"]), GROUP_BY, scope, aliases=True)
        return result

    def _items(self, items: list[Node], scope: Scope, result: Relation) -> list[Column | None]:
        """Add the items of SELECT to the result; gives the column of each, None for a star."""
        computed: list[Column | None] = []
        for item in items:
            if isinstance(bare(item), exp.Star) or (
                isinstance(item, exp.Column) and isinstance(item.this, exp.Star)
            ):
                result.items.extend(self._star(item, scope, result))
                computed.append(None)
                continue
            column = self._item(item, scope)
            computed.append(column)
            plain = bare(item.this if isinstance(item, exp.Aliases) else item)
            if isinstance(plain, exp.Expression) and function_name(plain) in kinds.GENERATORS:
                self.depend(result, children(plain), FILTER, scope)
            if isinstance(item, exp.Aliases):
                result.items.extend(
                    Named(self.name(a), column) for a in nodes(item.args.get("expressions"))
                )
                continue
            name = self._name_of(item)
            result.items.append(Named(name, column))
            if isinstance(item, exp.Alias) and name:
                scope.aliases.setdefault(name.lower(), column)
        return computed

    def _item(self, item: Node, scope: Scope) -> Column:
        found = self.gather([item], IDENTITY, scope)
        column = found.column()
        plain = bare(item)
        if column.type == BARE and isinstance(plain, exp.Column):
            return column
        column.origin = self.sources.text(plain)
        return column

    def _name_of(self, item: Node) -> str | None:
        if isinstance(item, exp.Alias):
            alias = item.args.get("alias")
            return self.name(alias) if isinstance(alias, exp.Identifier) else item.alias or None
        plain = bare(item)
        if isinstance(plain, exp.Column) and isinstance(plain.this, exp.Identifier):
            return self.name(plain.this)
        if isinstance(plain, exp.Dot) and isinstance(arg(plain, "expression"), exp.Identifier):
            return self.name(arg(plain, "expression"))
        return None

    def _star(self, item: Node, scope: Scope, result: Relation) -> list[Item]:
        star = bare(item)
        relations = [relation for relation in scope.relations if relation.in_star]
        merged = dict(scope.merged)
        if isinstance(star, exp.Column):
            parts = tuple(self.name(p).lower() for p in star.parts if isinstance(p, exp.Identifier))
            found = scope.relation(parts)
            relations = [found] if found is not None else []
            merged = {}
            if found is None:
                issue = f"{'.'.join(parts)}.*: no such table in the query"
                result.issues |= {issue}
                return [Anything(Column({}, DERIVED, issues=frozenset({issue})))]
            star = star.this
        left_out = {
            self.name(n.this if isinstance(n, exp.Column) else n).lower()
            for n in nodes(arg(star, "except"))
        }
        replaced: dict[str, Column] = {}
        for each in nodes(arg(star, "replace")):
            replaced[self.name(each.args["alias"]).lower()] = self._item(each, scope)
        renamed = {}
        for each in nodes(arg(star, "rename")):
            old = each.this.this if isinstance(each.this, exp.Column) else each.this
            renamed[self.name(old).lower()] = self.name(each.args["alias"])
        items: list[Item] = [
            Named(name, column) for name, column in merged.items() if name not in left_out
        ]
        for relation in relations:
            for part in relation.items:
                if isinstance(part, Open):
                    hidden = part.hidden | left_out | set(replaced) | set(merged)
                    items.append(Open(part.table, hidden, part.issue))
                elif isinstance(part, Named):
                    low = (part.name or "").lower()
                    if low in left_out or low in merged:
                        continue
                    column = replaced.get(low, part.column)
                    items.append(Named(renamed.get(low, part.name), column))
                else:
                    items.append(part)
        loose = any(not relation.is_closed for relation in relations)
        if loose and (replaced or renamed):
            result.issues |= {"a star with REPLACE or RENAME over columns that are not known"}
            return [Anything(Column({}, DERIVED, issues=frozenset(result.issues)))]
        return items

    def _group(
        self,
        node: Node,
        items: list[Node],
        computed: list[Column | None],
        scope: Scope,
        result: Relation,
    ) -> None:
        group = node.args.get("group")
        if group is None:
            return
        keys: list[Node] = list(nodes(group.args.get("expressions")))
        for key in ("grouping_sets", "rollup", "cube"):
            for each in nodes(group.args.get(key)):
                keys.extend(nodes(each.args.get("expressions")) or [])
        flat: list[Node] = []
        while keys:
            key = keys.pop()
            if isinstance(key, (exp.Rollup, exp.Cube, exp.GroupingSets, exp.Tuple, exp.Paren)):
                keys.extend(nodes(key.args.get("expressions")) or nodes(key.args.get("this")))
            else:
                flat.append(key)
        for key in flat:
            self._by(key, computed, GROUP_BY, scope, result)
        if group.args.get("all") is True:
            for item, column in zip(items, computed, strict=True):
                if column is not None and not item.find(exp.AggFunc):
                    self._rows(result, column, GROUP_BY)

    def _by(
        self, key: Node, computed: list[Column | None], lane: int, scope: Scope, result: Relation
    ) -> None:
        """A key of GROUP BY or ORDER BY: a position, an alias, or an expression."""
        plain = bare(key.this if isinstance(key, exp.Ordered) else key)
        if isinstance(plain, exp.Literal) and not plain.is_string and plain.name.isdigit():
            place = int(plain.name) - 1
            stars = None in computed
            if place < len(computed) and not (stars and None in computed[: place + 1]):
                column = computed[place]
                if column is not None:
                    self._rows(result, column, lane)
            else:
                result.issues |= {f"position {plain.name}: of which column is not known"}
            return
        self.depend(result, [plain], lane, scope, aliases=True)

    def _rows(self, result: Relation, column: Column, lane: int) -> None:
        rows: Lanes = {}
        add(rows, column.lanes, lane)
        result.rows = union(result.rows, rows)
        result.issues |= column.issues

    def _sort(
        self,
        result: Relation,
        node: Node,
        scope: Scope,
        computed: list[Column | None] | None = None,
    ) -> None:
        positions = computed
        if positions is None:
            positions = [i.column if isinstance(i, Named) else None for i in result.items]
        for key in ("order", "sort", "cluster"):
            for clause in nodes(node.args.get(key)):
                for each in nodes(clause.args.get("expressions")):
                    self._by(each, positions, SORT, scope, result)


__all__ = ["TooMuchError", "Walk"]
