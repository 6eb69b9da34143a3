"""What stands in FROM: tables, queries, table functions, and how they are joined."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from spark_lineage.lineage.column import DERIVED, Column, Origin, merge
from spark_lineage.lineage.lanes import FILTER, IDENTITY, JOIN, TRANSFORMATION, Lanes, add, union
from spark_lineage.lineage.sqltext.model import Name
from spark_lineage.lineage.sqltext.scope import Anything, Item, Named, Open, Relation, Scope
from spark_lineage.lineage.sqltext.tree import Node, arg, is_query, nodes

if TYPE_CHECKING:
    from spark_lineage.lineage.sqltext.query import Walk

_TEXT = 200


class Sources:
    """Adds relations to a scope, and their conditions to the rows of a result."""

    def __init__(self, walk: Walk) -> None:
        self.walk = walk
        #: Whether texts show literals.
        self.literals = True
        #: Tables that were filled by statements before (``prepareQuery``), lower case.
        self.made: dict[str, Relation] = {}

    def add(self, node: Node, scope: Scope, result: Relation) -> None:
        """Add what a node of FROM stands for."""
        before = len(scope.relations)
        while isinstance(node, exp.Final):
            node = node.this
        if isinstance(node, exp.Table):
            self._table(node, scope, result)
        elif isinstance(node, exp.Subquery):
            self._subquery(node, scope, result)
        elif isinstance(node, exp.Lateral):
            self._lateral(node, scope, result)
        elif isinstance(node, exp.Values):
            self._add(self.values(node, scope), node, scope, result)
        elif is_query(node):
            self._add(self.walk.subquery(node, scope), node, scope, result)
        else:
            self._function(node, node, scope, result)
        for join in nodes(node.args.get("joins")):
            self.join(join, scope, result)
        for lateral in nodes(node.args.get("laterals")):
            self.add(lateral, scope, result)
        for pivot in nodes(node.args.get("pivots")):
            word = "UNPIVOT" if pivot.args.get("unpivot") else "PIVOT"
            issue = frozenset({f"{word} is not followed"})
            alias = pivot.args.get("alias")
            names = (self.walk.name(alias.this).lower(),) if alias and alias.this else ()
            relation = Relation([Anything(Column({}, DERIVED, issues=issue))], {}, names, issue)
            result.issues |= issue
            scope.relations[before:] = [relation]

    def _add(self, relation: Relation, node: Node, scope: Scope, result: Relation) -> None:
        """Add a relation under the alias of its node."""
        result.rows = union(result.rows, relation.rows)
        result.issues |= relation.issues
        scope.relations.append(relation.called(*self._alias(node, relation.names)))

    def _alias(self, node: Node, names: tuple[str, ...]) -> tuple[tuple[str, ...], list[str]]:
        alias = node.args.get("alias")
        if not isinstance(alias, exp.TableAlias):
            return names, []
        columns = []
        for column in nodes(alias.args.get("columns")):
            identifier = column.this if isinstance(column, exp.ColumnDef) else column
            columns.append(self.walk.name(identifier))
        if isinstance(alias.this, exp.Identifier):
            names = (self.walk.name(alias.this).lower(),)
        return names, columns

    # -- tables -----------------------------------------------------------

    def _table(self, node: Node, scope: Scope, result: Relation) -> None:
        if not isinstance(node.this, exp.Identifier):
            if isinstance(node.this, exp.Dot):
                self._dotted(node, scope, result)
            else:
                self._function(node.this, node, scope, result)
            return
        parts = [part for part in node.parts if isinstance(part, exp.Identifier)]
        names = tuple(self.walk.name(part).lower() for part in parts)
        if len(names) == 1:
            cte = self.walk.ctes.get(names[0])
            if cte is not None:
                relation = self.walk.with_.relation(cte)
                self._add(relation, node, scope, result)
                return
            made = self.made.get(names[0])
            if made is not None:
                self._add(made.called(names), node, scope, result)
                return
        elif scope.relation(names[:1]) is not None and not node.args.get("only"):
            column = scope.relation(names[:1])
            field = column.find(self.walk.name(parts[1]), self.walk.bits) if column else None
            if isinstance(field, Column):
                # BigQuery: FROM t, t.array
                self._made(field, node, scope, result)
                return
        name: Name = tuple((self.walk.name(part), True) for part in parts)
        if node.args.get("catalog") and not node.db:
            # SQL Server: database..table
            name = (name[0], ("", True), *name[1:])
        table = self.walk.bits.table(name)
        self._add(Relation([Open(table)], {}, names), node, scope, result)

    def _dotted(self, node: Node, scope: Scope, result: Relation) -> None:
        """A name of more than three parts, or a function of a package."""
        last = arg(node.this, "expression")
        if isinstance(last, exp.Func):
            self._function(last, node, scope, result)
            return
        parts = list(node.this.find_all(exp.Identifier))
        ordered = [part.name for part in (*node.parts[:-1],)] if node.args.get("db") else []
        text = [*ordered, *(part.name for part in parts)]
        table = self.walk.bits.table(tuple((part, True) for part in text))
        names = tuple(part.lower() for part in text)
        self._add(Relation([Open(table)], {}, names), node, scope, result)

    def _subquery(self, node: Node, scope: Scope, result: Relation) -> None:
        inner = node.this
        if isinstance(inner, (exp.Table, exp.Subquery)) and not node.args.get("alias"):
            # Parentheses around a join: its relations keep their names.
            self.add(inner, scope, result)
            return
        # Without LATERAL it sees the queries around, not the relations beside it.
        outer = scope.parent
        if isinstance(inner, exp.Table):
            inside = Scope(outer)
            own = Relation([])
            self.add(inner, inside, own)
            own.items = [item for each in inside.relations for item in each.items]
            self._add(own, node, scope, result)
            return
        self._add(self.walk.subquery(_plain(node), outer), node, scope, result)

    def _lateral(self, node: Node, scope: Scope, result: Relation) -> None:
        inner = node.this
        if isinstance(inner, exp.Subquery):
            self._add(self.walk.query(inner.this, scope), node, scope, result)
        elif is_query(inner):
            self._add(self.walk.query(inner, scope), node, scope, result)
        else:
            self._function(inner, node, scope, result)

    def values(self, node: Node, scope: Scope) -> Relation:
        """VALUES: a column for each place, made of all rows."""
        rows = [
            nodes(row.args.get("expressions")) if isinstance(row, exp.Tuple) else [row]
            for row in nodes(node.args.get("expressions"))
        ]
        width = min((len(row) for row in rows), default=0)
        items: list[Item] = []
        for place in range(width):
            found = [self.walk.gather([row[place]], IDENTITY, scope).column() for row in rows]
            items.append(Named(f"column{place + 1}", merge(found)))
        relation = Relation(items)
        return relation.called(*self._alias(node, ()))

    # -- what makes rows --------------------------------------------------

    def _function(self, function: Node, node: Node, scope: Scope, result: Relation) -> None:
        """A table function, UNNEST, FLATTEN: rows and values are made of its arguments."""
        found = self.walk.gather([function], TRANSFORMATION, scope)
        found.least(DERIVED)
        column = found.column()
        column.origin = self.text(function)
        result.issues |= found.issues
        self._made(column, node, scope, result)
        if node.args.get("offset"):
            offset = node.args["offset"]
            name = self.walk.name(offset) if isinstance(offset, exp.Identifier) else "offset"
            scope.relations[-1].items.append(Named(name, Column({}, DERIVED, system=True)))

    def _made(self, column: Column, node: Node, scope: Scope, result: Relation) -> None:
        decides: Lanes = {}
        add(decides, column.lanes, FILTER)
        result.rows = union(result.rows, decides)
        lanes: Lanes = {}
        add(lanes, column.lanes, TRANSFORMATION)
        made = Column(lanes, DERIVED, column.origin, column.system or not lanes, column.opaque,
                      column.issues)  # fmt: skip
        names, columns = self._alias(node, ())
        items: list[Item] = [Named(name, made) for name in columns] or [Anything(made)]
        if names and not columns:
            items = [Anything(made)]
        scope.relations.append(Relation(items, {}, names))

    # -- joins ------------------------------------------------------------

    def join(self, node: Node, scope: Scope, result: Relation) -> None:
        """Add the right side of a join, and its condition to the rows."""
        before = list(scope.relations)
        self.add(node.this, scope, result)
        added = scope.relations[len(before) :]
        kind = str(node.args.get("kind") or "").upper()
        side = str(node.args.get("side") or "").upper()
        if kind in ("SEMI", "ANTI") or side in ("SEMI", "ANTI"):
            for relation in added:
                relation.in_star = False
        if str(node.args.get("method") or "").upper() == "NATURAL":
            self._natural(before, added, side, scope, result)
        for using in nodes(node.args.get("using")):
            identifier = using.this if isinstance(using, exp.Column) else using
            self._using(self.walk.name(identifier), before, added, side, scope, result)
        conditions = [*nodes(node.args.get("on")), *nodes(node.args.get("match_condition"))]
        self.walk.depend(result, conditions, JOIN, scope)

    def _natural(
        self,
        before: list[Relation],
        added: list[Relation],
        side: str,
        scope: Scope,
        result: Relation,
    ) -> None:
        if any(not relation.is_closed for relation in (*before, *added)):
            result.issues |= {"NATURAL JOIN of tables whose columns are not known"}
            return
        right = [i.name for r in added for i in r.items if isinstance(i, Named) and i.name]
        for name in right:
            if any(relation.has_named(name) for relation in before):
                self._using(name, before, added, side, scope, result)

    def _using(
        self,
        name: str,
        before: list[Relation],
        added: list[Relation],
        side: str,
        scope: Scope,
        result: Relation,
    ) -> None:
        """One column of two: the side's that is always there; of a full join, either's."""
        sides: list[Column] = []
        for relations in (before, added):
            inner = Scope()
            inner.relations = relations
            inner.merged = scope.merged if relations is before else {}
            found = inner.column(name, self.walk.bits)
            if isinstance(found, str):
                result.issues |= {found}
                found = Column({}, DERIVED, issues=frozenset({found}))
            sides.append(found)
        rows: Lanes = {}
        for column in sides:
            add(rows, column.lanes, JOIN)
        result.rows = union(result.rows, rows)
        if side == "FULL":
            made = merge(sides)
            lanes: Lanes = {}
            add(lanes, made.lanes, TRANSFORMATION)
            made = Column(lanes, DERIVED, Origin(f"coalesce({name}, {name})"), issues=made.issues)
        else:
            made = sides[1] if side == "RIGHT" else sides[0]
        scope.merged[name.lower()] = made

    # -- texts ------------------------------------------------------------

    def text(self, node: Node) -> Origin | None:
        """How an expression stands in the text; short."""
        try:
            shown = node
            if not self.literals:
                shown = node.copy().transform(
                    lambda n: exp.Placeholder() if isinstance(n, exp.Literal) else n
                )
            text = shown.sql(dialect=self.walk.dialect or None, comments=False)
        except Exception:
            # To write SQL is a nicety: it must not cost the lineage.
            return None
        return Origin(text if len(text) <= _TEXT else text[: _TEXT - 1] + "…")


def _plain(node: Node) -> Node:
    """A query without the parentheses around it, if they hold nothing else."""
    modified = any(node.args.get(key) for key in ("order", "limit", "offset", "with", "with_"))
    inner: Node = node.this
    return node if modified else inner
