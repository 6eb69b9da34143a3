"""Expressions that choose: a branch gives a value, a test decides which."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from spark_lineage.lineage.column import BARE, DERIVED
from spark_lineage.lineage.gather import Gather
from spark_lineage.lineage.handlers import expression
from spark_lineage.lineage.lanes import TESTED, VALUE

if TYPE_CHECKING:
    from spark_lineage.lineage.fold import Fold


class Choice(NamedTuple):
    """What a choosing expression is made of: tests with their lanes, and values in one lane."""

    tests: list[tuple[int, int]]
    values: list[int]
    lane: int
    type: int


def branches(fold: Fold, row: list[Any], lane: int) -> Choice | None:
    """The tests and the values of an expression that chooses; None for any other."""
    name = fold.shapes[row[0]].name
    children: list[int] = row[1] or []
    tested = TESTED[lane]
    if name == "CaseWhen":
        # Children are test, value, test, value, ... and perhaps the ELSE value.
        pairs = len(children) // 2 * 2
        tests, values = children[0:pairs:2], [*children[1:pairs:2], *children[pairs:]]
    elif name == "If":
        if fold.is_true(children[0]):
            # A wrapper that Spark adds in UPDATE: it is its first value.
            return Choice([], [children[1]], lane, BARE)
        tests, values = children[:1], children[1:]
    elif name == "NullIfResult":
        # Spark 4.3's ``if(test, NULL, value)`` of NULLIF.
        tests, values = children[:1], children[1:]
    elif name in ("Coalesce", "NaNvl"):
        # Each argument is a value, and a test of whether a later one is taken.
        tests, values = children, children
    else:
        return None
    return Choice([(test, tested) for test in tests], values, VALUE[lane], DERIVED)


@expression("CaseWhen", "Coalesce", "If", "NaNvl", "NullIfResult")
def choose(gather: Gather, row: list[Any], lane: int) -> int:
    """Branches are values; what decides between them is a test."""
    choice = branches(gather.fold, row, lane)
    assert choice is not None
    for test, tested in choice.tests:
        gather.push(test, tested)
    gather.push_all(choice.values, choice.lane)
    return choice.type
