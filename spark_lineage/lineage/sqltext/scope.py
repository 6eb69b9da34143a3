"""What a name may stand for at one place of a query: relations, columns, enclosing queries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from spark_lineage.lineage.column import BARE, NOTHING, Column
from spark_lineage.lineage.lanes import IDENTITY, Lanes
from spark_lineage.lineage.sqltext.model import Edge, Name
from spark_lineage.lineage.sqltext.tree import Node

#: The path that stands for all columns of a table, until they are known by name.
ALL: Final = "*"


class Bits:
    """Numbers the sources of one text: each (table, path of a field) is one bit."""

    def __init__(self) -> None:
        self.tables: list[Name] = []
        self._index: dict[Name, int] = {}
        self._keys: list[tuple[int, tuple[str, ...]]] = []
        self._bits: dict[tuple[int, tuple[str, ...]], int] = {}

    def table(self, name: Name) -> int:
        """The number of a table."""
        if name not in self._index:
            self._index[name] = len(self.tables)
            self.tables.append(name)
        return self._index[name]

    def bit(self, table: int, path: tuple[str, ...]) -> int:
        """The bit of a field."""
        key = (table, path)
        if key not in self._bits:
            self._bits[key] = 1 << len(self._keys)
            self._keys.append(key)
        return self._bits[key]

    def each(self, bits: int) -> Iterable[tuple[int, tuple[str, ...]]]:
        """The fields of a set."""
        while bits:
            bit = bits & -bits
            bits ^= bit
            yield self._keys[bit.bit_length() - 1]

    def edges(self, lanes: Lanes) -> tuple[Edge, ...]:
        """Lanes in terms that mean the same elsewhere."""
        return tuple((lane, *key) for lane, bits in lanes.items() for key in self.each(bits))

    def deeper(self, bits: int, name: str) -> int:
        """The same fields, one field deeper."""
        found = 0
        for table, path in self.each(bits):
            found |= self.bit(table, (*path, name))
        return found


class Named:
    """A column whose name is known (None: it has none)."""

    __slots__ = ("column", "name")

    def __init__(self, name: str | None, column: Column) -> None:
        self.name = name
        self.column = column


class Open:
    """Columns of a table of which only those that the text names are known."""

    __slots__ = ("hidden", "issue", "table")

    def __init__(
        self, table: int, hidden: frozenset[str] = frozenset(), issue: str | None = None
    ) -> None:
        self.table = table
        #: Columns that a star leaves out or replaces; lower case.
        self.hidden = hidden
        self.issue = issue

    def column(self, name: str, bits: Bits) -> Column:
        """The column of this name, taken to be there."""
        issues = frozenset({self.issue}) if self.issue else NOTHING
        return Column({IDENTITY: bits.bit(self.table, (name,))}, BARE, issues=issues)

    def all(self, bits: Bits) -> Column:
        """All columns of the table."""
        return Column({IDENTITY: bits.bit(self.table, (ALL,))}, BARE)


class Anything:
    """Columns of which only the origin is known, such as a table function's."""

    __slots__ = ("made",)

    def __init__(self, made: Column) -> None:
        self.made = made


Item = Named | Open | Anything


class Relation:
    """What stands in FROM, or the result of a query."""

    __slots__ = ("in_star", "issues", "items", "names", "rows")

    def __init__(
        self,
        items: list[Item],
        rows: Lanes | None = None,
        names: tuple[str, ...] = (),
        issues: frozenset[str] = NOTHING,
    ) -> None:
        self.items = items
        self.rows: Lanes = rows or {}
        #: Its alias, or the parts of its name; lower case.
        self.names = names
        self.issues = issues
        #: False for the right side of a semi join: its columns are not of the result.
        self.in_star = True

    def called(self, names: tuple[str, ...], columns: Sequence[str] = ()) -> Relation:
        """The same under an alias, with other column names where the alias gives them."""
        items = self.items
        if columns:
            if any(not isinstance(item, Named) for item in items):
                items = self._renamed(columns)
            else:
                named = [item.column for item in items if isinstance(item, Named)]
                told = list(columns) + [
                    item.name or "" for item in items[len(columns) :] if isinstance(item, Named)
                ]
                items = [Named(n or None, c) for n, c in zip(told, named, strict=False)]
        return Relation(items, self.rows, names, self.issues)

    def _renamed(self, columns: Sequence[str]) -> list[Item]:
        if len(self.items) == 1 and isinstance(self.items[0], Anything):
            return [Named(name, self.items[0].made) for name in columns]
        issue = "an alias renames columns whose names are not known"
        return [Named(name, Column({}, BARE, issues=frozenset({issue}))) for name in columns]

    def find(self, name: str, bits: Bits) -> Column | str | None:
        """The column of a name; a text: why it is not known; None: there is none."""
        named = [i.column for i in self.items if isinstance(i, Named) and i.name == name]
        if not named:
            low = name.lower()
            named = [
                i.column
                for i in self.items
                if isinstance(i, Named) and (i.name or "").lower() == low
            ]
        if named:
            return named[0]
        loose = [
            i
            for i in self.items
            if isinstance(i, Anything) or (isinstance(i, Open) and name.lower() not in i.hidden)
        ]
        if len(loose) > 1:
            return f"column {name}: of which table is not known"
        if not loose:
            return None
        item = loose[0]
        return item.column(name, bits) if isinstance(item, Open) else item.made

    def has_named(self, name: str) -> bool:
        """Whether a column of this name is surely there."""
        low = name.lower()
        return any(isinstance(i, Named) and (i.name or "").lower() == low for i in self.items)

    @property
    def is_closed(self) -> bool:
        """Whether all columns are known by name."""
        return all(isinstance(item, Named) for item in self.items)

    def columns(self, bits: Bits) -> list[Column]:
        """All columns; those of an open table as one."""
        found = []
        for item in self.items:
            if isinstance(item, Open):
                found.append(item.all(bits))
            else:
                found.append(item.column if isinstance(item, Named) else item.made)
        return found


class Scope:
    """The relations of one SELECT, within those of the queries around it."""

    def __init__(self, parent: Scope | None = None) -> None:
        self.parent = parent
        self.relations: list[Relation] = []
        #: What USING and NATURAL made one column of two; lower case.
        self.merged: dict[str, Column] = {}
        #: Items of SELECT by alias, lower case; looked at where the clause may refer to them.
        self.aliases: dict[str, Column] = {}
        self.windows: dict[str, Node] = {}

    def relation(self, names: tuple[str, ...]) -> Relation | None:
        """The relation of this alias or name, here or around."""
        scope: Scope | None = self
        while scope is not None:
            for relation in scope.relations:
                if relation.names[-len(names) :] == names:
                    return relation
            scope = scope.parent
        return None

    def column(self, name: str, bits: Bits) -> Column | str:
        """What a name without a table stands for; a text says why it is not known."""
        scope: Scope | None = self
        while scope is not None:
            found = scope._own(name, bits)
            if found is not None:
                return found
            scope = scope.parent
        return f"column {name}: no table has it"

    def _own(self, name: str, bits: Bits) -> Column | str | None:
        merged = self.merged.get(name.lower())
        if merged is not None:
            return merged
        sure = [relation for relation in self.relations if relation.has_named(name)]
        if len(sure) > 1:
            return f"column {name}: more than one relation has it"
        if sure:
            return sure[0].find(name, bits)
        loose = [found for r in self.relations if (found := r.find(name, bits)) is not None]
        if len(loose) > 1:
            return f"column {name}: of which table is not known"
        if loose and self.parent is not None and self.parent.surely(name):
            return f"column {name}: of the query around it or not is not known"
        return loose[0] if loose else None

    def surely(self, name: str) -> bool:
        """Whether a relation here or around is known to have this column."""
        scope: Scope | None = self
        while scope is not None:
            if any(relation.has_named(name) for relation in scope.relations):
                return True
            scope = scope.parent
        return False
