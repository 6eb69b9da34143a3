"""Random programs over three small tables, each written as SQL and as DataFrame calls.

A program is a list of steps, each over earlier ones, so that one program can be
told in several ways: as a chain of common table expressions, as nested
subqueries, as temporary views, and as DataFrames. All expressions are
deterministic, also where rows tie: what orders rows orders by all columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from tests.lineage.oracle.words import Words

TABLES: Mapping[str, tuple[tuple[str, str], ...]] = {
    "t1": (("id", "int"), ("k", "int"), ("v", "int"), ("g", "str")),
    "t2": (("k", "int"), ("x", "int"), ("s", "str")),
    "t3": (("m", "int"), ("y", "int"), ("h", "str")),
}
Columns = tuple[tuple[str, str], ...]
_MOST_COLUMNS = 5


@dataclass(frozen=True)
class Step:
    """One step over ``{earlier}`` steps or tables: as SQL, as Python source, with its columns."""

    name: str
    sql: str
    frame: str
    columns: Columns


@dataclass(frozen=True)
class Program:
    """Steps in order; the last one is the result."""

    steps: tuple[Step, ...]

    @property
    def last(self) -> Step:
        return self.steps[-1]

    def as_ctes(self, tables: Mapping[str, str]) -> str:
        """One query, each step a common table expression."""
        names = {step.name: step.name for step in self.steps}
        *definitions, last = [(s.name, s.sql.format_map({**names, **tables})) for s in self.steps]
        chain = ",\n".join(f"{name} AS ({sql})" for name, sql in definitions)
        return f"WITH {chain}\n{last[1]}" if chain else last[1]

    def as_subqueries(self, tables: Mapping[str, str]) -> str:
        """One query, each step a subquery where it is used."""
        told = dict(tables)
        for step in self.steps:
            told[step.name] = f"({step.sql.format_map(told)})"
        return told[self.last.name][1:-1]

    def as_views(self, tables: Mapping[str, str], prefix: str = "view_") -> tuple[list[str], str]:
        """Statements that create a temporary view for each step, and the query of the last."""
        names = {step.name: prefix + step.name for step in self.steps}
        statements = [
            f"CREATE OR REPLACE TEMPORARY VIEW {names[step.name]} AS "
            + step.sql.format_map({**names, **tables})
            for step in self.steps
        ]
        return statements, f"SELECT * FROM {names[self.last.name]}"

    def as_source(self, tables: Mapping[str, str]) -> str:
        """Python source that leaves the result in ``out``."""
        names = {step.name: step.name for step in self.steps}
        lines = [f"{s.name} = {s.frame.format_map({**names, **tables})}" for s in self.steps]
        return "\n".join([*lines, f"out = {self.last.name}"])

    def as_frame(self, spark: Any, tables: Mapping[str, str]) -> Any:
        """The DataFrame."""
        from pyspark.sql import functions

        scope: dict[str, Any] = {"spark": spark, "F": functions}
        exec(compile(self.as_source(tables), "program", "exec"), scope)
        return scope["out"]

    def __repr__(self) -> str:
        tables = {name: name for name in TABLES}
        return f"\n-- as SQL\n{self.as_ctes(tables)}\n-- as Python\n{self.as_source(tables)}\n"


class _Writer(Words):
    """Draws steps; keeps what is written so far."""

    def __init__(self, draw: Any) -> None:
        super().__init__(draw)
        self.steps: list[Step] = []
        self.names = 0

    def fresh(self) -> str:
        self.names += 1
        return f"c{self.names}"

    def add(self, sql: str, frame: str, columns: Columns) -> Step:
        step = Step(f"s{len(self.steps)}", sql, frame, columns)
        self.steps.append(step)
        return step

    def base(self) -> Step:
        table = self.one_of(list(TABLES))
        named = [(name, self.fresh(), kind) for name, kind in TABLES[table]]
        items = [f"q.{name} AS {new}" for name, new, _ in named]
        return self.add(
            f"SELECT {', '.join(items)} FROM {{{table}}} q",
            f'spark.table("{{{table}}}").alias("q").selectExpr({texts(items)})',
            tuple((new, kind) for _, new, kind in named),
        )

    def other(self) -> Step:
        """A second input: an earlier step, or a table."""
        if len(self.steps) > 1 and self.chance(3):
            return self.one_of(self.steps[:-1])
        return self.base()

    def renamed(self, step: Step, alias: str, most: int) -> tuple[list[str], Columns]:
        """Some of a step's columns under fresh names: the select list, and the new columns."""
        chosen = self.some(step.columns, 1, most)
        named = [(name, self.fresh(), kind) for name, kind in chosen]
        items = [f"{alias}.{name} AS {new}" for name, new, _ in named]
        return items, tuple((new, kind) for _, new, kind in named)

    # -- the steps ---------------------------------------------------------

    def select(self, step: Step, items: list[str], columns: Columns) -> None:
        self.add(
            f"SELECT {', '.join(items)} FROM {{{step.name}}} q",
            f'{{{step.name}}}.alias("q").selectExpr({texts(items)})',
            columns,
        )

    def filter(self, step: Step) -> None:
        test = self.test(step.columns, 2)
        self.add(
            f"SELECT * FROM {{{step.name}}} q WHERE {test}",
            f'{{{step.name}}}.alias("q").filter("{test}")',
            step.columns,
        )

    def project(self, step: Step) -> None:
        items, columns = [], []
        for _ in range(self.number_of(1, 3)):
            kind = self.one_of(["int", "str"])
            name = self.fresh()
            items.append(f"{self.value(step.columns, kind, 2)} AS {name}")
            columns.append((name, kind))
        self.select(step, items, tuple(columns))

    def extend(self, step: Step) -> None:
        kind, name = self.one_of(["int", "str"]), self.fresh()
        item = f"{self.value(step.columns, kind, 2)} AS {name}"
        self.select(step, ["q.*", item], (*step.columns, (name, kind)))

    def window(self, step: Step) -> None:
        name = self.fresh()
        item, kind = self.windowed(step.columns)
        self.select(step, ["q.*", f"{item} AS {name}"], (*step.columns, (name, kind)))

    def explode(self, step: Step) -> None:
        name, kind = self.fresh(), self.one_of(["int", "str"])
        values = [self.value(step.columns, kind, 1) for _ in range(self.number_of(1, 2))]
        generator = self.one_of(["explode", "explode_outer"])
        item = f"{generator}(array({', '.join(values)})) AS {name}"
        self.select(step, ["q.*", item], (*step.columns, (name, kind)))

    def group(self, step: Step) -> None:
        keys = [
            (self.value(step.columns, kind, self.number_of(0, 1)), self.fresh(), kind)
            for kind in [self.one_of(["int", "str"]) for _ in range(self.number_of(0, 2))]
        ]
        # A literal key would be read as a position.
        keys = [key for key in keys if "q." in key[0] and "SELECT" not in key[0]]
        made = []
        for _ in range(self.number_of(1, 2)):
            text, kind = self.aggregate(step.columns)
            made.append((text, self.fresh(), kind))
        columns = tuple((name, kind) for _, name, kind in [*keys, *made])
        items = ", ".join(f"{text} AS {name}" for text, name, _ in [*keys, *made])
        sql = f"SELECT {items} FROM {{{step.name}}} q"
        if keys:
            sql += " GROUP BY " + ", ".join(text for text, _, _ in keys)
        grouped = ", ".join(f'F.expr("{text}").alias("{name}")' for text, name, _ in keys)
        aggregates = ", ".join(f'F.expr("{text}").alias("{name}")' for text, name, _ in made)
        frame = f'{{{step.name}}}.alias("q").groupBy({grouped}).agg({aggregates})'
        if self.chance(3):
            _, name, kind = made[0]
            test = f"{name} > " + ("1" if kind == "int" else "'a'")
            sql += f" HAVING {test}"
            frame += f'.filter("{test}")'
        self.add(sql, frame, columns)

    def rollup(self, step: Step) -> None:
        items, columns = self.renamed(step, "q", 3)
        keys = ", ".join(name for name, _ in columns[:2])
        listed = texts([name for name, _ in columns[:2]])
        inner = tuple((f"i.{name}", kind) for name, kind in columns)
        text, kind = self.aggregate(inner, alias="")
        level, made = self.fresh(), self.fresh()
        shape = self.one_of(["rollup", "cube"])
        self.add(
            f"SELECT {keys}, grouping_id() AS {level}, {text} AS {made} FROM"
            f" (SELECT {', '.join(items)} FROM {{{step.name}}} q) i GROUP BY {shape}({keys})",
            f'{{{step.name}}}.alias("q").selectExpr({texts(items)}).alias("i")'
            f'.{shape}({listed}).agg(F.expr("grouping_id()").alias("{level}"),'
            f' F.expr("{text}").alias("{made}"))',
            (*columns[:2], (level, "int"), (made, kind)),
        )

    def join(self, step: Step) -> None:
        right = self.other()
        how = self.one_of(["inner", "left", "right", "full", "left semi", "left anti", "cross"])
        items, columns = self.renamed(step, "q", 3)
        if how not in ("left semi", "left anti"):
            more, others = self.renamed(right, "r", 2)
            items, columns = items + more, columns + others
        condition = "" if how == "cross" else self.match(step.columns, right.columns)
        on = f" ON {condition}" if condition else ""
        call = f'crossJoin({{{right.name}}}.alias("r"))'
        if condition:
            kind = how.replace(" ", "_")
            call = f'join({{{right.name}}}.alias("r"), F.expr("{condition}"), "{kind}")'
        self.add(
            f"SELECT {', '.join(items)} FROM {{{step.name}}} q"
            f" {how.upper()} JOIN {{{right.name}}} r{on}",
            f'{{{step.name}}}.alias("q").{call}.selectExpr({texts(items)})',
            columns,
        )

    def combine(self, step: Step) -> None:
        right = self.other()
        kinds = [kind for _, kind in self.some(step.columns, 1, 3)]
        left_items, right_items, columns = [], [], []
        for kind in kinds:
            name = self.fresh()
            left_items.append(f"{self.value(step.columns, kind, 1)} AS {name}")
            right_items.append(f"{self.value(right.columns, kind, 1)} AS {name}")
            columns.append((name, kind))
        word, call = self.one_of(_SET_OPERATIONS)
        self.add(
            f"SELECT {', '.join(left_items)} FROM {{{step.name}}} q {word}"
            f" SELECT {', '.join(right_items)} FROM {{{right.name}}} q",
            f'{{{step.name}}}.alias("q").selectExpr({texts(left_items)})'
            f'.{call[0]}({{{right.name}}}.alias("q").selectExpr({texts(right_items)})){call[1]}',
            tuple(columns),
        )

    def distinct(self, step: Step) -> None:
        items, columns = self.renamed(step, "q", 3)
        self.add(
            f"SELECT DISTINCT {', '.join(items)} FROM {{{step.name}}} q",
            f'{{{step.name}}}.alias("q").selectExpr({texts(items)}).distinct()',
            columns,
        )

    def top(self, step: Step) -> None:
        names = [name for name, _ in step.columns]
        rows = self.number_of(1, 4)
        self.add(
            f"SELECT * FROM {{{step.name}}} q ORDER BY {', '.join(names)} LIMIT {rows}",
            f"{{{step.name}}}.orderBy({texts(names)}).limit({rows})",
            step.columns,
        )

    def unpivot(self, step: Step) -> None:
        kind = self.one_of(["int", "str"])
        values = [self.value(step.columns, kind, 1) for _ in range(2)]
        kept, columns = self.renamed(step, "q", 2)
        first, second, name, value = (self.fresh() for _ in range(4))
        items = [*kept, f"{values[0]} AS {first}", f"{values[1]} AS {second}"]
        listed = ", ".join(f'"{column}"' for column, _ in columns)
        self.add(
            f"SELECT * FROM (SELECT {', '.join(items)} FROM {{{step.name}}} q)"
            f" UNPIVOT INCLUDE NULLS ({value} FOR {name} IN ({first}, {second}))",
            f'{{{step.name}}}.alias("q").selectExpr({texts(items)})'
            f'.unpivot([{listed}], ["{first}", "{second}"], "{name}", "{value}")',
            (*columns, (name, "str"), (value, kind)),
        )

    def pivot(self, step: Step) -> None:
        key, by, value, one, two = (self.fresh() for _ in range(5))
        items = [
            f"{self.value(step.columns, 'int', 1)} AS {key}",
            f"{self.value(step.columns, 'str', 1)} AS {by}",
            f"{self.value(step.columns, 'int', 1)} AS {value}",
        ]
        function = self.one_of(["sum", "max", "count"])
        self.add(
            f"SELECT * FROM (SELECT {', '.join(items)} FROM {{{step.name}}} q)"
            f" PIVOT ({function}({value}) FOR {by} IN ('a' AS {one}, 'b' AS {two}))",
            f'{{{step.name}}}.alias("q").selectExpr({texts(items)}).groupBy("{key}")'
            f'.pivot("{by}", ["a", "b"]).agg(F.expr("{function}({value})"))'
            f'.toDF("{key}", "{one}", "{two}")',
            ((key, "int"), (one, "int"), (two, "int")),
        )

    def narrow(self, step: Step) -> Step:
        """Fewer columns, where steps have piled them up."""
        if len(step.columns) <= _MOST_COLUMNS:
            return step
        items, columns = self.renamed(step, "q", _MOST_COLUMNS)
        self.select(step, items, columns)
        return self.steps[-1]


_SET_OPERATIONS = (
    ("UNION ALL", ("union", "")),
    ("UNION", ("union", ".distinct()")),
    ("INTERSECT", ("intersect", "")),
    ("INTERSECT ALL", ("intersectAll", "")),
    ("EXCEPT", ("subtract", "")),
    ("EXCEPT ALL", ("exceptAll", "")),
)
STEPS = (
    *("filter", "project", "extend", "window", "group", "join"),
    *("combine", "distinct", "top", "explode", "rollup", "unpivot", "pivot"),
)


def texts(items: list[str]) -> str:
    """The items as Python string literals; they have no double quote in them."""
    return ", ".join(f'"{item}"' for item in items)


@st.composite
def programs(draw: Any, kind: str | None = None, before: int = 2, after: int = 2) -> Program:
    """Programs over the tables with a step of this kind, and up to so many before and after it."""
    writer = _Writer(draw)
    writer.base()
    any_steps = st.sampled_from(STEPS)
    names = [
        *draw(st.lists(any_steps, max_size=before)),
        kind or draw(any_steps),
        *draw(st.lists(any_steps, max_size=after)),
    ]
    for name in names:
        getattr(writer, name)(writer.narrow(writer.steps[-1]))
    return Program(tuple(writer.steps))
