"""Several lineages of one action as one.

One user action may be several executions in Spark (a CREATE TABLE AS is two),
each of which tells of the same output. Their lineages are merged: outputs are
matched by identity, also by a symlink, since the inner execution of a table's
write may know the path only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from spark_lineage.lineage.model import (
    Availability,
    Input,
    Lineage,
    Origin,
    Output,
    OutputColumn,
    Source,
    Unexplained,
)

WITHOUT_COLUMNS = "a contribution to this output has no column lineage"


def merge(lineages: Sequence[Lineage]) -> Lineage:
    """Merge the lineages of one action; the first is the action's own (its root's)."""
    if len(lineages) == 1:
        return lineages[0]
    outputs = _outputs(lineages)
    inputs: dict[tuple[str, str], Input] = {}
    unknown: Counter[str] = Counter()
    explained: Counter[str] = Counter()
    unexplained: dict[Unexplained, None] = {}
    for lineage in lineages:
        for item in lineage.inputs:
            key = (item.dataset.namespace, item.dataset.name)
            known = inputs.get(key)
            if known is None or (item.read and not known.read):
                inputs[key] = item
        # An inner execution repeats its outer's nodes: the larger count, not the sum.
        for counts, total in ((lineage.unknown_nodes, unknown), (lineage.explained, explained)):
            for name, count in counts.items():
                total[name] = max(total[name], count)
        unexplained.update(dict.fromkeys(lineage.unexplained))
    return Lineage(
        inputs=tuple(inputs[key] for key in sorted(inputs)),
        outputs=tuple(outputs),
        unknown_nodes=dict(unknown),
        unexplained=tuple(unexplained),
        explained=dict(explained),
    )


def _outputs(lineages: Iterable[Lineage]) -> list[Output]:
    merged: list[Output] = []
    result: Output | None = None
    for lineage in lineages:
        for output in lineage.outputs:
            if output.dataset is None:
                result = result or output
                continue
            place = next((i for i, other in enumerate(merged) if _same(other, output)), None)
            if place is None:
                merged.append(output)
            else:
                merged[place] = _both(merged[place], output)
    # The rows that an inner execution collects are no result where the action writes.
    return merged or ([result] if result else [])


def _identities(output: Output) -> set[tuple[str, str]]:
    if output.dataset is None:
        return set()
    own = {(output.dataset.namespace, output.dataset.name)}
    return own | {(namespace, name) for namespace, name, _ in output.dataset.symlinks}


def _same(one: Output, other: Output) -> bool:
    return not _identities(one).isdisjoint(_identities(other))


def _both(outer: Output, inner: Output) -> Output:
    if not inner.columns or not outer.columns:
        known = outer if outer.columns else inner
        if not known.columns:
            return replace(outer, issues=_unique(outer.issues + inner.issues))
        if Availability.AVAILABLE in (outer.availability, inner.availability) and not (
            outer.issues or inner.issues
        ):
            return replace(outer, columns=known.columns, indirect=known.indirect)
        return replace(
            outer,
            columns=known.columns,
            indirect=known.indirect,
            availability=Availability.PARTIAL,
            issues=_unique((*outer.issues, *inner.issues, WITHOUT_COLUMNS)),
        )
    others = {column.name: column for column in inner.columns}
    columns = [
        _column(column, others.pop(column.name)) if column.name in others else column
        for column in outer.columns
    ]
    return replace(
        outer,
        columns=(*columns, *others.values()),
        indirect=_sources(outer.indirect, inner.indirect),
        availability=_worse(outer.availability, inner.availability),
        issues=_unique(outer.issues + inner.issues),
        lifecycle=outer.lifecycle or inner.lifecycle,
    )


_STRENGTH = {"IDENTITY": 0, "TRANSFORMATION": 1, "AGGREGATION": 2}
_ORIGINS = (Origin.INPUT_FIELDS, Origin.SYSTEM, Origin.CONSTANT)


def _column(one: OutputColumn, other: OutputColumn) -> OutputColumn:
    return replace(
        one,
        type=max(one.type, other.type, key=lambda kind: _STRENGTH[kind.value]),
        origin=min(one.origin, other.origin, key=_ORIGINS.index),
        direct=_sources(one.direct, other.direct),
        indirect=_sources(one.indirect, other.indirect),
        expression=one.expression or other.expression,
        availability=_worse(one.availability, other.availability),
        opaque=_unique(one.opaque + other.opaque),
    )


def _sources(one: tuple[Source, ...], other: tuple[Source, ...]) -> tuple[Source, ...]:
    return one if one == other else tuple(sorted({*one, *other}))


_BADNESS = (Availability.AVAILABLE, Availability.PARTIAL, Availability.UNAVAILABLE)


def _worse(one: Availability, other: Availability) -> Availability:
    return max(one, other, key=_BADNESS.index)


def _unique(texts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))
