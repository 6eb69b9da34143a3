"""Random expressions: values, tests, aggregates and windows over the columns of a step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from hypothesis import strategies as st

T = TypeVar("T")
Columns = Sequence[tuple[str, str]]

#: A key and a number of each table, for subqueries.
_SUBQUERIES = (("t1", "k", "v"), ("t2", "k", "x"), ("t3", "m", "y"))


class Words:
    """Draws texts of expressions; columns are those of the input, which is called ``q``."""

    def __init__(self, draw: Any) -> None:
        self.draw = draw

    def one_of(self, items: Sequence[T]) -> T:
        found: T = self.draw(st.sampled_from(items))
        return found

    def some(self, items: Sequence[T], least: int, most: int) -> list[T]:
        """Some of the items, each at most once, in their order."""
        count = self.number_of(least, min(most, len(items)))
        chosen = self.draw(st.permutations(range(len(items))))[:count]
        return [items[index] for index in sorted(chosen)]

    def number_of(self, least: int, most: int) -> int:
        found: int = self.draw(st.integers(least, most))
        return found

    def chance(self, one_in: int) -> bool:
        return self.number_of(1, one_in) == one_in

    # -- values ------------------------------------------------------------

    def leaf(self, columns: Columns, kind: str, alias: str = "q.") -> str:
        """A column of the kind, or a literal where there is none."""
        names = [name for name, of in columns if of == kind]
        if names:
            return alias + self.one_of(names)
        return self.literal(kind)

    def literal(self, kind: str) -> str:
        return str(self.number_of(0, 4)) if kind == "int" else f"'{self.one_of('abc')}'"

    def value(self, columns: Columns, kind: str, depth: int, alias: str = "q.") -> str:
        """A value of the kind."""
        if depth == 0 or self.chance(3):
            return self.leaf(columns, kind, alias)

        def inner(of: str = kind) -> str:
            return self.value(columns, of, depth - 1, alias)

        forms = ["case", "coalesce", "if", "nullif", "nvl2", "greatest", "ordered"]
        forms += ["add", "modulo", "length", "scalar"] if kind == "int" else ["concat", "upper"]
        form = self.one_of(forms)
        if form == "scalar":
            # Only where the input is called q can the subquery be correlated to it.
            return self.scalar(columns, alias) if alias == "q." else inner()
        if form in ("case", "if"):
            test = self.test(columns, depth - 1, alias)
            if form == "if":
                return f"if({test}, {inner()}, {inner()})"
            return f"CASE WHEN {test} THEN {inner()} ELSE {inner()} END"
        if form == "ordered":
            of = self.one_of(["int", "str"])
            return f"CASE {inner(of)} WHEN {self.literal(of)} THEN {inner()} ELSE {inner()} END"
        if form == "nvl2":
            return f"nvl2({inner(self.one_of(['int', 'str']))}, {inner()}, {inner()})"
        written = {
            "coalesce": "coalesce({0}, {1})",
            "nullif": "nullif({0}, {1})",
            "greatest": "greatest({0}, {1})",
            "add": "({0} + {1})",
            "concat": "concat({0}, {1})",
        }
        if form in written:
            return written[form].format(inner(), inner())
        if form == "modulo":
            return f"({inner()} % 3)"
        return f"length({inner('str')})" if form == "length" else f"upper({inner()})"

    def scalar(self, columns: Columns, alias: str) -> str:
        """A scalar subquery, which may be correlated to the input."""
        table, key, number = self.one_of(_SUBQUERIES)
        function = self.one_of(["max", "sum", "count"])
        where = ""
        if self.chance(2):
            where = f" WHERE u.{key} = {self.leaf(columns, 'int', alias)}"
        return f"(SELECT {function}(u.{number}) FROM {{{table}}} u{where})"

    # -- tests -------------------------------------------------------------

    def test(self, columns: Columns, depth: int, alias: str = "q.") -> str:
        """A condition. Subqueries stand only at its top: Spark takes few of them deeper."""
        if depth >= 2 and alias == "q." and self.chance(4):
            return self.subquery_test(columns)
        if depth >= 1 and self.chance(4):
            left, right = self.test(columns, 0, alias), self.test(columns, 0, alias)
            return self.one_of(["({0} AND {1})", "({0} OR {1})", "NOT ({0} OR {1})"]).format(
                left, right
            )
        kind = self.one_of(["int", "str"])
        value = self.leaf(columns, kind, alias)
        forms = ["{0} = {1}", "{0} < {1}", "{0} <=> {1}", "{0} IS NULL", "{0} IN ({1}, {2})"]
        other = self.leaf(columns, kind, alias) if self.chance(3) else self.literal(kind)
        return self.one_of(forms).format(value, other, self.literal(kind))

    def subquery_test(self, columns: Columns) -> str:
        table, key, number = self.one_of(_SUBQUERIES)
        value = self.leaf(columns, "int")
        word = self.one_of(["", "NOT "])
        more = f" AND u.{number} > {self.literal('int')}" if self.chance(2) else ""
        return self.one_of(
            [
                f"{word}EXISTS (SELECT 1 FROM {{{table}}} u WHERE u.{key} = {value}{more})",
                f"{value} {word}IN (SELECT u.{key} FROM {{{table}}} u WHERE true{more})",
                f"{value} < (SELECT max(u.{number}) FROM {{{table}}} u)",
            ]
        )

    def match(self, left: Columns, right: Columns) -> str:
        """A join condition between ``q`` and ``r``."""
        kind = self.one_of(["int", "str"])
        found = f"{self.leaf(left, kind, 'q.')} = {self.leaf(right, kind, 'r.')}"
        if self.chance(3):
            found += f" AND {self.leaf(left, 'int', 'q.')} <= {self.leaf(right, 'int', 'r.')}"
        return found

    # -- aggregates and windows --------------------------------------------

    def aggregate(self, columns: Columns, alias: str = "q.") -> tuple[str, str]:
        """An aggregate, and its kind."""
        number = self.value(columns, "int", 1 if alias == "q." else 0, alias)
        if "SELECT" in number:
            number = self.leaf(columns, "int", alias)
        text = self.leaf(columns, "str", alias)
        test = self.test(columns, 0, alias)
        forms = (
            (f"sum({number})", "int"),
            (f"max({number})", "int"),
            (f"min({text})", "str"),
            (f"count({text})", "int"),
            ("count(*)", "int"),
            (f"count(DISTINCT {number})", "int"),
            (f"sum(DISTINCT {number})", "int"),
            (f"sum({number}) FILTER (WHERE {test})", "int"),
            (f"max_by({number}, struct({text}, {number}))", "int"),
            (f"count_if({test})", "int"),
            (f"array_join(sort_array(collect_set({text})), '')", "str"),
        )
        return self.one_of(forms)

    def windowed(self, columns: Columns) -> tuple[str, str]:
        """A window function, and its kind; rows that tie are equal in all columns."""
        everything = ", ".join(f"q.{name}" for name, _ in columns)
        kind = self.one_of(["int", "str"])
        by = f"PARTITION BY {self.leaf(columns, kind)} " if self.chance(2) else ""
        number = self.leaf(columns, "int")
        text = self.leaf(columns, "str")
        some_order = self.leaf(columns, self.one_of(["int", "str"]))
        frame = "ROWS BETWEEN 1 PRECEDING AND CURRENT ROW"
        forms = (
            (f"sum({number}) OVER ({by})", "int"),
            (f"rank() OVER ({by}ORDER BY {some_order})", "int"),
            (f"dense_rank() OVER ({by}ORDER BY {some_order} DESC)", "int"),
            (f"sum({number}) OVER ({by}ORDER BY {some_order})", "int"),
            (f"row_number() OVER ({by}ORDER BY {everything})", "int"),
            (f"lag({text}) OVER ({by}ORDER BY {everything})", "str"),
            (f"lead({number}, 1, 0) OVER ({by}ORDER BY {everything})", "int"),
            (f"first_value({text}) OVER ({by}ORDER BY {everything})", "str"),
            (f"max({number}) OVER ({by}ORDER BY {everything} {frame})", "int"),
            (f"ntile(2) OVER ({by}ORDER BY {everything})", "int"),
        )
        return self.one_of(forms)
