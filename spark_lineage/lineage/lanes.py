"""How kinds compose along a path, as small integers.

A *lane* is a kind with a masking flag, as one integer: ``kind * 2 + masking``.
Going from the source outward, ``COMPOSE[next][so_far]`` is the lane after one
more step; since the walk over an expression goes inward, from the root, the
same table tells the lane of a child from the lane of its parent.

Sources are bits of an integer, so that a set of sources is an integer and a
union is one ``|``; *lanes* of a column map each lane that occurs to its set.
"""

from __future__ import annotations

from typing import Final

from spark_lineage.lineage.model import Kind

KINDS: Final = (
    Kind.IDENTITY,
    Kind.TRANSFORMATION,
    Kind.AGGREGATION,
    Kind.JOIN,
    Kind.FILTER,
    Kind.GROUP_BY,
    Kind.SORT,
    Kind.WINDOW,
    Kind.CONDITIONAL,
)

MASK: Final = 1
IDENTITY: Final = 0
TRANSFORMATION: Final = 2
AGGREGATION: Final = 4
JOIN: Final = 6
FILTER: Final = 8
GROUP_BY: Final = 10
SORT: Final = 12
WINDOW: Final = 14
CONDITIONAL: Final = 16
COUNT: Final = 18
FIRST_INDIRECT: Final = JOIN

Lanes = dict[int, int]
"""Lane to set of sources; never changed once a column or a state holds it."""


def _compose(so_far: int, step: int) -> int:
    """DESIGN.md section 3, "Composition along a path"."""
    masking = (so_far | step) & MASK
    so_far &= ~MASK
    step &= ~MASK
    if step >= FIRST_INDIRECT:
        kind = step
    elif so_far >= FIRST_INDIRECT:
        kind = so_far
    else:
        kind = max(so_far, step)
    return kind | masking


#: ``COMPOSE[step][so_far]``.
COMPOSE: Final = tuple(
    tuple(_compose(so_far, step) for so_far in range(COUNT)) for step in range(COUNT)
)


def _inward(step: int) -> tuple[int, ...]:
    return tuple(COMPOSE[context][step] for context in range(COUNT))


#: The lane of a child whose parent stands in the lane used as index.
VALUE: Final = _inward(TRANSFORMATION)
MASKED: Final = _inward(TRANSFORMATION | MASK)
AGGREGATED: Final = _inward(AGGREGATION)
COUNTED: Final = _inward(AGGREGATION | MASK)
TESTED: Final = _inward(CONDITIONAL)
WINDOWED: Final = _inward(WINDOW)
FILTERED: Final = _inward(FILTER)


def add(into: Lanes, lanes: Lanes, context: int) -> None:
    """Or ``lanes``, seen from ``context``, into ``into`` (which is changed)."""
    row = COMPOSE[context]
    for lane, bits in lanes.items():
        there = row[lane]
        into[there] = into.get(there, 0) | bits


def union(left: Lanes, right: Lanes) -> Lanes:
    """Both sets; the very same object if one adds nothing."""
    if left is right or not right:
        return left
    if not left:
        return right
    merged = dict(left)
    for lane, bits in right.items():
        merged[lane] = merged.get(lane, 0) | bits
    return left if merged == left else merged


def kind_of(lane: int) -> Kind:
    """The kind of a lane."""
    return KINDS[lane >> 1]
