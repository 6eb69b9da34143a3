"""The queries of WITH: walked once, when they are read; recursive ones to a fixed point."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlglot import exp

from spark_lineage.lineage.sqltext import kinds
from spark_lineage.lineage.sqltext.scope import Relation, Scope
from spark_lineage.lineage.sqltext.tree import Node, nodes

if TYPE_CHECKING:
    from spark_lineage.lineage.sqltext.query import Walk

#: Queries in queries deeper than this are not followed.
MAX_DEPTH: Final = 40
#: How often a recursive query is walked at most.
_MAX_ROUNDS: Final = 16


class TooMuchError(Exception):
    """A bound of the walk was reached."""


class Cte:
    """A query of WITH: walked when it is first referred to."""

    def __init__(self, node: Node, known: dict[str, Cte], parent: Scope | None) -> None:
        self.node = node
        self.known = known
        self.parent = parent
        self.relation: Relation | None = None


class With:
    """Reads the WITH clauses of one walk."""

    def __init__(self, walk: Walk) -> None:
        self.walk = walk

    def read(self, node: Node, parent: Scope | None) -> dict[str, Cte]:
        """The queries of a WITH clause, beside those that are known there; none is walked yet."""
        known = dict(self.walk.ctes)
        recursive = bool(node.args.get("recursive")) or self.walk.dialect in kinds.SILENT_RECURSION
        for cte in nodes(node.args.get("expressions")):
            name = self.walk.name(cte.args["alias"].this).lower() if cte.args.get("alias") else ""
            made = Cte(cte, dict(known), parent)
            if recursive and _refers(cte.this, name):
                made.known[name] = made
            known[name] = made
        return known

    def walk_used(self, node: Node, with_: Node) -> None:
        """Walk the queries of WITH that are read, in their order: a chain of them is no depth."""
        made = nodes(with_.args.get("expressions"))
        inside = {id(table) for cte in made for table in cte.find_all(exp.Table)}
        used = {t.name.lower() for t in node.find_all(exp.Table) if id(t) not in inside}
        wanted = []
        for cte in reversed(made):
            name = self.walk.name(cte.args["alias"].this).lower() if cte.args.get("alias") else ""
            if name in used:
                wanted.append(name)
                used |= {table.name.lower() for table in cte.find_all(exp.Table)}
        for name in reversed(wanted):
            self.relation(self.walk.ctes[name])

    def relation(self, cte: Cte) -> Relation:
        """The result of a query of WITH; recursive ones to a fixed point."""
        if cte.relation is not None:
            return cte.relation
        self.walk.depth += 1
        if self.walk.depth > MAX_DEPTH:
            raise TooMuchError(f"the query holds queries more than {MAX_DEPTH} deep")
        before, self.walk.ctes = self.walk.ctes, cte.known
        try:
            if cte in cte.known.values():
                found = self._recursive(cte)
            else:
                found = self._called(cte, self.walk.query(cte.node.this, cte.parent))
        finally:
            self.walk.ctes = before
            self.walk.depth -= 1
        cte.relation = found
        return found

    def _called(self, cte: Cte, relation: Relation) -> Relation:
        alias = cte.node.args["alias"]
        columns = [self.walk.name(column) for column in nodes(alias.args.get("columns"))]
        return relation.called((self.walk.name(alias.this).lower(),), columns)

    def _recursive(self, cte: Cte) -> Relation:
        body = cte.node.this
        while isinstance(body, exp.Subquery):
            body = body.this
        anchor = body
        while isinstance(anchor, exp.SetOperation):
            anchor = anchor.this
        cte.relation = self._called(cte, self.walk.query(anchor, cte.parent))
        kept = self.walk.subqueries
        before: object = None
        try:
            for _ in range(_MAX_ROUNDS):
                # What is inside sees another state of the columns in each round.
                self.walk.subqueries = dict(kept)
                found = self._called(cte, self.walk.query(cte.node.this, cte.parent))
                cte.relation = found
                after = (
                    sorted(found.rows.items()),
                    [(sorted(c.lanes.items()), c.type) for c in found.columns(self.walk.bits)],
                )
                if after == before:
                    return found
                before = after
        finally:
            self.walk.subqueries = kept
        found.issues |= {f"a recursive query did not settle in {_MAX_ROUNDS} rounds"}
        return found


def _refers(node: Node, name: str) -> bool:
    """Whether a query reads a relation of this name."""
    return any(table.name.lower() == name and not table.db for table in node.find_all(exp.Table))
