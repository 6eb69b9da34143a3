"""Kinds of edges and how they compose along a path.

The nine kinds are OpenLineage's subtypes. Four more are needed for what
producers leave unsaid: ``DIRECT`` and ``INDIRECT`` where only the type is
known, ``DATASET`` where an output has no column lineage at all (so that any
input column may be in any output column), and ``INPUT``, a bare record that a
run which has column lineage also read that data set.
"""

from __future__ import annotations

from functools import lru_cache

VALUE = {"IDENTITY": 0, "DIRECT": 1, "TRANSFORMATION": 2, "AGGREGATION": 3}
ROWS = ("JOIN", "FILTER", "GROUP_BY", "SORT")
CHOOSING = ("WINDOW", "CONDITIONAL")
INDIRECT = (*ROWS, *CHOOSING, "INDIRECT")
DATASET = "DATASET"
INPUT = "INPUT"
TABLE_LEVEL = (DATASET, INPUT)
ALL = (*VALUE, *INDIRECT, DATASET, INPUT)


def is_direct(kind: str) -> bool:
    """Whether this kind gives a value."""
    return kind in VALUE


@lru_cache(maxsize=1_024)
def compose(so_far: tuple[str, bool], step: tuple[str, bool]) -> tuple[str, bool]:
    """One (kind, masking) of two that follow each other, the source's side first.

    The table of DESIGN.md: of two values the stronger, the outermost indirect
    kind wins, an indirect kind stays what it is along later values. Masking is
    or-ed along value steps up to the step that uses the value. What passes a
    table without column lineage is known of no better than that.
    """
    kind, masked = so_far
    next_kind, next_masked = step
    if DATASET in (kind, next_kind):
        return DATASET, False
    if kind in VALUE:
        stronger = next_kind if VALUE.get(next_kind, 99) >= VALUE[kind] else kind
        return stronger, masked or next_masked
    if next_kind in VALUE:
        return kind, masked
    return next_kind, masked


def own_type(direct: list[str]) -> str | None:
    """A column's type from its direct kinds, where the producer gave none."""
    if "AGGREGATION" in direct:
        return "AGGREGATION"
    if not direct or "DIRECT" in direct:
        return None
    return "TRANSFORMATION" if "TRANSFORMATION" in direct else "IDENTITY"


def of_transformation(transformation: dict[str, object]) -> str:
    """The kind of one ``transformations`` entry of columnLineage 1-1-0 and later."""
    told, subtype = transformation.get("type"), transformation.get("subtype")
    # Longer than any word they are none.
    return _of_words(str(told or "")[:32], str(subtype or "")[:32])


@lru_cache(maxsize=1_024)
def _of_words(told: str, subtype: str) -> str:
    subtype = subtype.upper()
    if told.upper() == "INDIRECT":
        return subtype if subtype in INDIRECT else "INDIRECT"
    if subtype in VALUE:
        return subtype
    if subtype in INDIRECT and not told:
        return subtype
    return "DIRECT"


def of_field(transformation_type: object) -> tuple[str, bool]:
    """Kind and masking of a field's deprecated ``transformationType``."""
    word = str(transformation_type or "").upper()
    if word == "MASKED":
        return "TRANSFORMATION", True
    return (word if word in VALUE else "DIRECT"), False
