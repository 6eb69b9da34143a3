"""The hash of a query: the same for the same query, other for another one."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from spark_lineage.lineage.fingerprint import plan_hash, sql_hash
from spark_lineage.lineage.options import LineageOptions
from spark_lineage.plan.decode import decode
from tests.plan import builder
from tests.plan.builder import Builder

Make = Callable[[Builder], int]


def _hash(make: Make, first_id: int = 0) -> str:
    build = Builder()
    for _ in range(first_id):
        build.new_id()
    found = plan_hash(decode(build.record(make(build))), LineageOptions())
    assert found is not None
    return found


def _literal(build: Builder, value: str, kind: str = "string") -> int:
    shape = build.shape("Literal", "E", ["value", "dataType"])
    return build.row([shape, 0, build.string(value), build.string(f'"{kind}"')])


def _filtered(
    value: str = "x", kind: str = "string", columns: str = "a b", name: str = "x", table: str = "t"
) -> Make:
    """``SELECT b AS name FROM table WHERE a = value``."""

    def make(build: Builder) -> int:
        source, attributes = build.table(table, columns.split())
        named = dict(zip(columns.split(), attributes, strict=True))
        test = build.expression("EqualTo", [named["a"], _literal(build, value, kind)])
        kept = build.plan("Filter", [source], -1, test, source)
        item, made = build.alias(named["b"], name)
        return build.project(kept, [item], [made])

    return make


def _crossed(side: int) -> Make:
    """``SELECT one.a`` or ``SELECT two.a FROM t one CROSS JOIN t two``."""

    def make(build: Builder) -> int:
        left, one = build.table("t", ["a"])
        right, two = build.table("t", ["a"])
        join = build.plan("Join", [left, right], one + two, left, right, None, None, None)
        return build.project(join, [[one, two][side][0]], [[one, two][side][0]])

    return make


def _second(which: int) -> Make:
    """The first or the second of two columns of one name."""

    def make(build: Builder) -> int:
        source, (a, b) = build.table("t", ["a", "b"])
        first, one = build.alias(a, "x")
        second, two = build.alias(b, "x")
        below = build.project(source, [first, second], [one, two])
        return build.project(below, [[one, two][which]], [[one, two][which]])

    return make


def _aliased(*names: str) -> Make:
    def make(build: Builder) -> int:
        plan, (a,) = build.table("t", ["a"])
        shape = build.shape("SubqueryAlias", "P", ["identifier", "child"])
        for name in names:
            identifier = {"c": build.string("AliasIdentifier"), "name": build.string(name)}
            plan = build.row([shape, [plan], -1, identifier, plan])
        return build.project(plan, [a], [a])

    return make


def _rand(seed: str, chosen: bool) -> Make:
    def make(build: Builder) -> int:
        source, (a,) = build.table("t", ["a"])
        seed_row = _literal(build, seed, "long")
        rand = build.row(
            [build.shape("Rand", "E", ["child", "hideSeed"]), [seed_row], seed_row, chosen]
        )
        item, made = build.alias(build.add(a, rand), "r")
        return build.project(source, [item], [made])

    return make


def _cte(number: int, twice: bool = False) -> Make:
    def make(build: Builder) -> int:
        table, base = build.table("t", ["a"])
        made = build.plan("CTERelationDef", [table], base, table, {"#": number})
        other = build.plan("CTERelationDef", [table], base, table, {"#": number + 1})
        out = [build.attribute("a")]
        wanted = number + 1 if twice else number
        ref = build.plan("CTERelationRef", [], out, {"#": wanted}, True, out)
        return build.plan("WithCTE", [made, other, ref], out, ref, [made, other])

    return make


def _batch(
    number: int, source: str = "files", columns: str = "a b", sums: str = "b", place: str = "ck"
) -> Make:
    """A batch of ``SELECT sum(b) FROM stream``, with new rows of its source or without any."""

    def make(build: Builder) -> int:
        if source == "scan":
            shape = build.shape(
                "StreamingDataSourceV2ScanRelation", "P", ["startOffset", "endOffset"]
            )
            made = [build.attribute(name) for name in columns.split()]
            end = build.row([build.shape("LongOffset", "O", ["offset"]), number])
            plan = build.row([shape, 0, made, None, end])
        elif source == "nothing":
            made = [build.attribute(name) for name in columns.split()]
            plan = build.plan("LocalRelation", [], made, made, [], True)
        else:
            relation, read = build.table(source, columns.split())
            build.rows[relation][-1] = True
            named = [build.alias(*pair) for pair in zip(read, columns.split(), strict=True)]
            made = [attribute for _, attribute in named]
            plan = build.project(relation, [item for item, _ in named], made)
        total = build.expression("Sum", [made[columns.split().index(sums)]])
        item, result = build.alias(total, "s")
        query = build.project(plan, [item], [result])
        shape = build.shape(
            "WriteToMicroBatchDataSourceV1", "P", ["query", "writeOptions", "batchId"]
        )
        options = {"map": [[build.string("checkpointLocation"), build.string(place)]]}
        return build.row([shape, [query], [], query, options, number])

    return make


def _variable(value: str, name: str = "x") -> Make:
    """``SELECT a + x FROM t`` with a session variable ``x`` of this value."""

    def make(build: Builder) -> int:
        source, (a,) = build.table("t", ["a"])
        defined = build.row(
            [build.shape("VariableDefinition", "O", ["currentValue"]), _literal(build, value)]
        )
        shape = build.shape("VariableReference", "E", ["originalNameParts", "varDef"])
        variable = build.row([shape, 0, [build.string(name)], defined])
        item, made = build.alias(build.add(a, variable), "r")
        return build.project(source, [item], [made])

    return make


SAME = {
    "other expression ids": (_filtered(), lambda build: _filtered()(build)),
    "a column more in the source": (_filtered(columns="a b"), _filtered(columns="c a d b e")),
    "another day": (_filtered("2026-01-01"), _filtered("2026-12-31")),
    "another time": (_filtered("at 2026-01-01T00:00:00Z"), _filtered("at 2026-01-02 10:30:00")),
    "a day without dashes": (_filtered("20260101"), _filtered("20251231")),
    "a date": (_filtered("2026-01-01", "date"), _filtered("1999-1-1", "date")),
    "a UUID": (
        _filtered("/tmp/01890a5d-ac96-774b-bcce-b302099a8057"),
        _filtered("/tmp/018c2f1e-0000-7000-8000-000000000001"),
    ),
    "a UUID without dashes": (
        _filtered("_pyspark_91c2f7fac8044921afae77ee083f67f1"),
        _filtered("_pyspark_6e1559c855224ce1923f7192fac18e8a"),
    ),
    "the name of a model's stage": (
        _filtered("model/stages/0_StringIndexer_9b0c08c15693/metadata"),
        _filtered("model/stages/0_StringIndexer_886fbf4daf2d/metadata"),
    ),
    "a frame of pandas on Spark": (
        _filtered("pandas_on_spark_140023475917904"),
        _filtered("pandas_on_spark_139846180"),
    ),
    "the value of a variable": (_variable("1"), _variable("2")),
    "a column named by a variable": (
        _filtered(name="(id + variablereference(system.session.x=1))"),
        _filtered(name="(id + variablereference(system.session.x=2))"),
    ),
    "another batch of a stream": (_batch(0), _batch(1)),
    "another batch of a scan": (_batch(0, "scan"), _batch(1, "scan")),
    "a batch of the state alone": (_batch(0), _batch(1, "nothing")),
    "a batch of a scan's state alone": (_batch(0, "nothing"), _batch(7, "scan")),
    "an alias of a relation": (_aliased(), _aliased("x", "y")),
    "a seed that Spark chose": (_rand("1", True), _rand("2", True)),
    "another number of a CTE": (_cte(3), _cte(17)),
}
OTHER = {
    "another literal": (_filtered("paid"), _filtered("open")),
    "another type of literal": (_filtered("1"), _filtered("1", "integer")),
    "another table": (_filtered(), _filtered(table="u")),
    "another name of the result": (_filtered(), _filtered(name="y")),
    "the other side of a self-join": (_crossed(0), _crossed(1)),
    "the other of two columns of one name": (_second(0), _second(1)),
    "a seed of the query": (_rand("1", False), _rand("2", False)),
    "another CTE": (_cte(3), _cte(3, twice=True)),
    "another variable": (_variable("1"), _variable("1", "y")),
    "another column of a stream": (_batch(0), _batch(0, sums="a")),
    "another stream": (_batch(0, columns="a b c"), _batch(0, place="other")),
    "thirteen digits": (_filtered("at_1234567890123"), _filtered("at_1234567890124")),
    "eight digits that are no day": (_filtered("20261301"), _filtered("20261302")),
}


@pytest.mark.parametrize("case", SAME)
def test_the_same_query(case: str) -> None:
    one, other = SAME[case]
    assert _hash(one) == _hash(other, first_id=1_000)


@pytest.mark.parametrize("case", OTHER)
def test_another_query(case: str) -> None:
    one, other = OTHER[case]
    assert _hash(one) != _hash(other)


def test_no_literal_counts_where_none_may_leave_the_machine() -> None:
    def masked(make: Make) -> str | None:
        build = Builder()
        return plan_hash(decode(build.record(make(build))), LineageOptions(literals=False))

    assert masked(_filtered("paid")) == masked(_filtered("open"))
    assert masked(_filtered("paid")) != masked(_filtered("paid", table="u"))


def test_all_cases_differ_from_each_other() -> None:
    hashes = {_hash(make) for pair in OTHER.values() for make in pair}
    # The plain query stands in two of the pairs.
    assert len(hashes) == 2 * len(OTHER) - 1


def test_a_plan_may_be_deep_and_shared() -> None:
    deep, shared = builder.nested(20_000), builder.doubling(200)
    for record in (deep, shared):
        assert plan_hash(decode(record), LineageOptions())


def test_a_statements_text() -> None:
    assert sql_hash("SELECT  1\n FROM t") == sql_hash("SELECT 1 FROM t")
    assert sql_hash("SELECT '2026-01-01'") == sql_hash("SELECT '2026-01-02'")
    assert sql_hash("SELECT 1") != sql_hash("SELECT 2")


def test_without_a_plan_there_is_no_hash() -> None:
    assert plan_hash(decode(Builder().record(None)), LineageOptions()) is None
