"""The composition table of DESIGN.md, and masking along value steps."""

from __future__ import annotations

import pytest

from spark_lineage.lineage import lanes
from spark_lineage.lineage.model import Kind

VALUES = (Kind.IDENTITY, Kind.TRANSFORMATION, Kind.AGGREGATION)
INDIRECT = tuple(kind for kind in Kind if not kind.direct)


def compose(so_far: Kind, step: Kind) -> Kind:
    at, by = lanes.KINDS.index(so_far) * 2, lanes.KINDS.index(step) * 2
    return lanes.kind_of(lanes.COMPOSE[by][at])


@pytest.mark.parametrize("so_far", VALUES)
@pytest.mark.parametrize("step", VALUES)
def test_of_two_values_the_stronger_stays(so_far: Kind, step: Kind) -> None:
    assert compose(so_far, step) is VALUES[max(VALUES.index(so_far), VALUES.index(step))]


@pytest.mark.parametrize("so_far", list(Kind))
@pytest.mark.parametrize("step", INDIRECT)
def test_the_outermost_indirect_kind_wins(so_far: Kind, step: Kind) -> None:
    assert compose(so_far, step) is step


@pytest.mark.parametrize("so_far", INDIRECT)
@pytest.mark.parametrize("step", VALUES)
def test_an_indirect_source_stays_what_it_is_through_values(so_far: Kind, step: Kind) -> None:
    assert compose(so_far, step) is so_far


def test_composition_is_associative() -> None:
    for a in range(lanes.COUNT):
        for b in range(lanes.COUNT):
            for c in range(lanes.COUNT):
                inner_first = lanes.COMPOSE[c][lanes.COMPOSE[b][a]]
                outer_first = lanes.COMPOSE[lanes.COMPOSE[c][b]][a]
                assert inner_first == outer_first


def test_masking_is_kept_by_every_later_step() -> None:
    for step in range(lanes.COUNT):
        for so_far in range(lanes.COUNT):
            masked = bool((step | so_far) & lanes.MASK)
            assert bool(lanes.COMPOSE[step][so_far] & lanes.MASK) is masked


def test_union_gives_the_same_object_if_nothing_is_new() -> None:
    left = {lanes.FILTER: 7}
    assert lanes.union(left, {lanes.FILTER: 3}) is left
    assert lanes.union(left, {}) is left
    assert lanes.union(left, {lanes.JOIN: 1}) == {lanes.FILTER: 7, lanes.JOIN: 1}
    assert left == {lanes.FILTER: 7}
