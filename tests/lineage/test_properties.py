"""Random programs: what changes an output is in its lineage; how it is written changes nothing.

The default run is the same each time. For so many others of each kind::

    SPARK_LINEAGE_PROPERTIES=100 pytest tests/lineage/test_properties.py --timeout 0
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, note, settings
from hypothesis import strategies as st

from spark_lineage.lineage import Lineage
from spark_lineage.lineage.model import Availability, Output
from tests.lineage.bench import Bench
from tests.lineage.oracle.marks import COLLECTS
from tests.lineage.oracle.perturb import Laboratory
from tests.lineage.oracle.programs import STEPS, TABLES, Program, programs
from tests.lineage.oracle.truth import result, short

pytestmark = [pytest.mark.timeout(900), *COLLECTS]

MORE = int(os.environ.get("SPARK_LINEAGE_PROPERTIES", "0"))


def profile(examples: int) -> settings:
    return settings(
        max_examples=MORE or examples,
        derandomize=not MORE,
        database=None,
        deadline=None,
        phases=(Phase.explicit, Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
        print_blob=True,
    )


@pytest.fixture(scope="module")
def laboratory(spark: Any) -> Iterator[Laboratory]:
    found = Laboratory(spark)
    yield found
    found.close()


@pytest.mark.parametrize("kind", STEPS)
@profile(5)
@given(data=st.data(), as_frame=st.booleans())
def test_what_changes_an_output_is_named(
    laboratory: Laboratory, kind: str, data: st.DataObject, as_frame: bool
) -> None:
    program = data.draw(programs(kind))

    def build(session: Any, tables: Mapping[str, str]) -> Any:
        if as_frame:
            return program.as_frame(session, tables)
        return session.sql(program.as_ctes(tables))

    lineage = Bench(laboratory.spark).lineage(build(laboratory.spark, laboratory.tables))
    output = complete(lineage)
    named = [
        {short(s) for s in (*column.direct, *column.indirect, *output.indirect)}
        for column in output.columns
    ]
    base = laboratory.run(build)
    read = {item.dataset.name.rsplit(".", 1)[-1] for item in lineage.inputs}
    for table in sorted(read):
        for name, _ in TABLES[table]:
            column = f"{table}.{name}"
            silent = [index for index, sources in enumerate(named) if column not in sources]
            if silent:
                shown = laboratory.changes(build, base, column, silent)
                where = [output.columns[index].name for index in silent]
                note(f"{column} is named by none of {where}")
                assert shown is None, f"{column} changes {where}, which do not name it: {shown}"


@profile(25)
@given(program=programs())
def test_how_it_is_written_changes_nothing(laboratory: Laboratory, program: Program) -> None:
    spark, tables = laboratory.spark, laboratory.tables
    bench = Bench(spark)
    told = edges(bench.lineage(program.as_ctes(tables)))
    assert edges(bench.lineage(program.as_subqueries(tables))) == told, "as subqueries"
    statements, query = program.as_views(tables)
    for statement in statements:
        spark.sql(statement)
    assert edges(bench.lineage(query)) == told, "as views"
    assert edges(bench.lineage(program.as_frame(spark, tables))) == told, "as DataFrames"


def complete(lineage: Lineage) -> Output:
    """The output, of which everything is known."""
    assert lineage.unknown_nodes == {}
    assert lineage.unexplained == ()
    output = result(lineage)
    assert output.availability is Availability.AVAILABLE, output.issues
    return output


def edges(lineage: Lineage) -> object:
    """All of the lineage but views and texts."""
    output = complete(lineage)

    def plain(sources: Any) -> set[tuple[str, str, bool]]:
        return {(short(s), s.kind.value, s.masking) for s in sources}

    columns = [
        (c.name, c.type, c.origin, plain(c.direct), plain(c.indirect)) for c in output.columns
    ]
    return columns, plain(output.indirect), {i.dataset.name for i in lineage.inputs}
