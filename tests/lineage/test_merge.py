"""Several executions of one action as one lineage."""

from __future__ import annotations

from dataclasses import replace

import pytest

from spark_lineage.lineage.merge import merge
from spark_lineage.lineage.model import (
    Dataset,
    Input,
    Kind,
    Lineage,
    Origin,
    Output,
    OutputColumn,
    Source,
    Unexplained,
)

SOURCE, TARGET = Dataset("file", "/s"), Dataset("file", "/t")


def action(field: str | None) -> Lineage:
    """The action's own lineage: ``x`` of the target, from a column of the source."""
    direct = (Source("file", "/s", field, Kind.IDENTITY),) if field else ()
    column = OutputColumn("x", Kind.IDENTITY, Origin.INPUT_FIELDS, None, direct, ())
    return Lineage(inputs=(Input(SOURCE),), outputs=(Output(TARGET, (column,)),))


def inner(name: str, field: str) -> Lineage:
    """What an execution inside reads, to collect it."""
    return Lineage(outputs=(Output(None),), unexplained=(Unexplained("file", name, field),))


def test_what_is_read_inside_for_an_edge_is_explained() -> None:
    found = merge([action("a"), inner("/s", "A")])
    assert found.unexplained == ()


@pytest.mark.parametrize("field", [None, "b"])
def test_what_is_read_inside_for_no_edge_is_not(field: str | None) -> None:
    found = merge([action(field), inner("/s", "a")])
    assert found.unexplained == (Unexplained("file", "/s", "a"),)


def test_rows_of_the_table_that_is_written_are_carried_over() -> None:
    found = merge([action("a"), inner("/t", "y")])
    assert found.unexplained == ()
    assert found.explained == {"CARRIED_OVER": 1}


def test_the_actions_own_fault_stays() -> None:
    own = action("a")
    faulty = Lineage(own.inputs, own.outputs, {}, (Unexplained("file", "/s", "a"),))
    assert merge([faulty, inner("/s", "a")]).unexplained == faulty.unexplained


def test_a_row_level_command_tells_what_it_sets_whatever_is_written_inside() -> None:
    own = action("a")
    told = replace(own.outputs[0], dataset=replace(TARGET, facts={"rowLevel": True}))
    whole = OutputColumn("y", Kind.IDENTITY, Origin.CONSTANT, None, (), ())
    rows = Lineage(outputs=(Output(TARGET, (whole,)),))
    found = merge([replace(own, outputs=(told,)), rows])
    assert [column.name for column in found.outputs[0].columns] == ["x"]
    assert [c.name for c in merge([own, rows]).outputs[0].columns] == ["x", "y"]
