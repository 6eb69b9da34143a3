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

from spark_lineage.lineage.datasets.subset import either
from spark_lineage.lineage.model import (
    Availability,
    Dataset,
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
    """Merge the lineages of one action; the first is the action's own (its root's).

    Where only nested executions can tell whether an output was written, it was
    if there are any. An action that wrote none of its outputs read nothing for
    them either.
    """
    own = [output.dataset for output in lineages[0].outputs if output.dataset is not None]
    if any(dataset.facts.get("maintenance") for dataset in own):
        # What compaction reads and writes inside is the table itself, in other files.
        lineages = lineages[:1]
    merged = lineages[0] if len(lineages) == 1 else _merged(lineages)
    outputs = tuple(
        replace(output, written=len(lineages) > 1) if output.written is None else output
        for output in merged.outputs
    )
    idle = bool(outputs) and not any(output.written for output in outputs)
    return replace(merged, outputs=outputs, inputs=() if idle else merged.inputs)


def _merged(lineages: Sequence[Lineage]) -> Lineage:
    inputs: dict[tuple[str, str], Input] = {}
    unknown: Counter[str] = Counter()
    explained: Counter[str] = Counter()
    unexplained: dict[Unexplained, None] = {}
    outputs = _outputs(lineages)
    told = _fields_told(outputs)
    rewritten = {pair for output in lineages[0].outputs for pair in _identities(output)}
    # What an inner execution reads by its path is what the action reads as a table.
    paths = {
        (namespace, name): (item.dataset.namespace, item.dataset.name)
        for item in lineages[0].inputs
        for namespace, name, _ in item.dataset.symlinks
    }
    for at, lineage in enumerate(lineages):
        for item in lineage.inputs:
            key = (item.dataset.namespace, item.dataset.name)
            known = inputs.get(key)
            if at and known is None and key in paths:
                table = inputs[paths[key]]
                inputs[paths[key]] = replace(table, read=table.read or item.read)
                continue
            inputs[key] = item if known is None else _read_by_both(known, item)
        # An inner execution repeats its outer's nodes: the larger count, not the sum.
        for counts, total in ((lineage.unknown_nodes, unknown), (lineage.explained, explained)):
            for name, count in counts.items():
                total[name] = max(total[name], count)
        for field in lineage.unexplained:
            if at and (field.namespace, field.name, field.field.lower()) in told:
                continue
            if at and (field.namespace, field.name) in rewritten:
                # A row that the action changes is read as a whole.
                explained["CARRIED_OVER"] += 1
                continue
            unexplained[field] = None
    return Lineage(
        inputs=tuple(inputs[key] for key in sorted(inputs)),
        outputs=tuple(outputs),
        unknown_nodes=dict(unknown),
        unexplained=tuple(unexplained),
        explained=dict(explained),
    )


def _fields_told(outputs: Iterable[Output]) -> set[tuple[str, str, str]]:
    """The columns that an action's edges start from: what its inner executions read for them."""
    return {
        (source.namespace, source.name, source.field.partition(".")[0].lower())
        for output in outputs
        for sources in (
            output.indirect,
            *(side for column in output.columns for side in (column.direct, column.indirect)),
        )
        for source in sources
    }


def _read_by_both(one: Input, other: Input) -> Input:
    """One input of two executions, with the part that those which scanned it read of it."""
    both = (one, other) if one.read or not other.read else (other, one)
    told = [item for item in both if item.dataset.facts.get("scanned")] or list(both)
    facts = {key: fact for key, fact in told[0].dataset.facts.items() if key != "subset"}
    part = either([item.dataset.facts.get("subset") for item in told])
    if part is not None:
        facts["subset"] = part
    table = _same_version(replace(told[0].dataset, facts=facts), one.dataset, other.dataset)
    return replace(both[0], dataset=table)


def _same_version(dataset: Dataset, *tellers: Dataset) -> Dataset:
    """The data set, in the one version that all those know who know any."""
    told = [each.facts["version"] for each in tellers if "version" in each.facts]
    facts = {key: fact for key, fact in dataset.facts.items() if key != "version"}
    if told and all(version == told[0] for version in told):
        facts["version"] = told[0]
    return replace(dataset, facts=facts)


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
    merged = _located(merged)
    # The rows that an inner execution collects are no result where the action writes.
    return merged or ([result] if result else [])


def _located(outputs: list[Output]) -> list[Output]:
    """Outputs of an action, where a table that it makes lies where its write went to.

    The plan of a CREATE TABLE AS without a LOCATION does not tell the table's place: the
    database has it. Only the execution inside does, by a path that ends in the table's name.
    """
    if len(outputs) != 2:
        return outputs
    table, place = outputs
    made, found = table.dataset, place.dataset
    if made is None or found is None or not made.facts.get("guessed") or found.symlinks:
        return outputs
    ends = made.name.replace("/", ".").rsplit(".", 1)[-1]
    if found.name.rsplit("/", 1)[-1].lower() != ends.lower():
        return outputs
    if made.facts["guessed"] == "path":
        tables = [link for link in made.symlinks if link[2] == "TABLE"]
        links = tables or [(made.namespace, made.name, "TABLE")]
        made = replace(made, namespace=found.namespace, name=found.name, symlinks=tuple(links))
    else:
        others = [link for link in made.symlinks if link[2] != "LOCATION"]
        links = [(found.namespace, found.name, "LOCATION"), *others]
        made = replace(made, symlinks=tuple(links))
    return [_both(replace(table, dataset=made), place)]


def _identities(output: Output) -> set[tuple[str, str]]:
    if output.dataset is None:
        return set()
    own = {(output.dataset.namespace, output.dataset.name)}
    return own | {(namespace, name) for namespace, name, _ in output.dataset.symlinks}


def _same(one: Output, other: Output) -> bool:
    return not _identities(one).isdisjoint(_identities(other))


def _both(outer: Output, inner: Output) -> Output:
    written = True if inner.written else outer.written
    tellers = [each.dataset for each in (outer, inner) if each.dataset is not None]
    if (
        inner.dataset == outer.dataset
        and outer.dataset is not None
        and inner.dataset is not None
        and inner.dataset.symlinks
        and (outer.dataset.facts.get("guessed") or not outer.dataset.symlinks)
    ):
        # Once the table is made, the catalog tells where it really is.
        outer = replace(outer, dataset=inner.dataset)
    if outer.dataset is not None:
        outer = replace(outer, dataset=_same_version(outer.dataset, *tellers))
    return replace(_columns_of_both(outer, inner), written=written)


def _columns_of_both(outer: Output, inner: Output) -> Output:
    if outer.dataset is not None and outer.dataset.facts.get("rowLevel"):
        # What it sets is told; inside whole rows are written, most of them as they were.
        return outer
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
