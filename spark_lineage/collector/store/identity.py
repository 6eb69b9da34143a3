"""Which names are one data set: settled again, for a family of names, when a link is new.

A name means a data set from one time to another. A RENAME at a time makes the
new name mean, from then on, what the old one meant until then; a symlink and a
namespace alias make two names mean one. All of it is derived from what was
stated and when, so that links which arrive late give the same as early ones.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, NamedTuple

from sqlalchemy import Connection, delete, insert, or_, select, update

from spark_lineage.collector.store import definitions, schema, versions
from spark_lineage.collector.store.family import Facts, read
from spark_lineage.collector.store.names import BEGINNING, Names
from spark_lineage.collector.store.rows import chunks

_claims, _defs, _edges = schema.claims, schema.definitions, schema.edges
_columns, _datasets, _meanings = schema.columns, schema.datasets, schema.meanings
# A name from a time on, until its next one begins.
Span = tuple[int, int]


class Wanted(NamedTuple):
    """A data set as it should be: the names that mean it, and how it is shown."""

    spans: list[Span]
    shown: int
    ended: int | None
    ghost: bool


def settle(connection: Connection, names: Names, seeds: Iterable[int]) -> set[int]:
    """Settle what the families of these names mean, and derive again what that changes.

    Gives the data sets whose columns were derived.
    """
    facts = read(connection, set(seeds))
    before: dict[Span, int] = {}
    for some in chunks(facts.names):
        query = select(_meanings).where(_meanings.c.name_id.in_(some))
        before.update(
            ((row.name_id, row.since), row.dataset_id) for row in connection.execute(query)
        )
    after: dict[Span, int] = {}
    taken: set[int] = set()
    for wanted in _wanted(facts):
        olds = sorted({before[span] for span in wanted.spans if span in before} - taken)
        dataset = _keep(connection, facts, wanted, olds[0] if olds else None)
        taken.add(dataset)
        after.update(dict.fromkeys(wanted.spans, dataset))
    if before == after:
        return set()
    changed = {
        name
        for name in facts.names
        if [item for item in sorted(before.items()) if item[0][0] == name]
        != [item for item in sorted(after.items()) if item[0][0] == name]
    }
    involved = {d for s, d in (*before.items(), *after.items()) if s[0] in changed}
    runs = _torn_down(connection, changed, involved)
    for some in chunks(facts.names):
        connection.execute(delete(_meanings).where(_meanings.c.name_id.in_(some)))
    connection.execute(
        insert(_meanings),
        [{"name_id": n, "since": since, "dataset_id": d} for (n, since), d in after.items()],
    )
    gone = set(before.values()) - set(after.values())
    for some in chunks(sorted(gone)):
        connection.execute(delete(_datasets).where(_datasets.c.id.in_(some)))
    names.forget_meanings()
    for dataset in sorted(involved - gone):
        versions.derive(connection, names, dataset)
    definitions.settle(connection, names, runs)
    return involved - gone


def _keep(connection: Connection, facts: Facts, wanted: Wanted, old: int | None) -> int:
    """The row of a data set, made or brought up to date."""
    name = facts.names[wanted.shown]
    row = {
        "namespace": name.namespace,
        "name": name.name,
        "ended": wanted.ended,
        "ghost": wanted.ghost,
    }
    if old is None:
        made = connection.execute(insert(_datasets).returning(_datasets.c.id), row)
        return int(made.scalar_one())
    connection.execute(update(_datasets).where(_datasets.c.id == old).values(**row))
    return old


def _torn_down(connection: Connection, changed: set[int], involved: set[int]) -> set[int]:
    """Delete what was derived for these data sets; gives the runs to derive it from again."""
    runs: set[int] = set()
    torn: set[int] = set()
    for some in chunks(sorted(changed)):
        inputs, parts = schema.run_inputs, schema.part_names
        said = select(parts.c.part_id).where(parts.c.name_id.in_(some))
        runs.update(
            connection.scalars(
                select(_claims.c.run_id).where(
                    or_(_claims.c.name_id.in_(some), _claims.c.part_id.in_(said))
                )
            )
        )
        runs.update(
            connection.scalars(select(inputs.c.run_id).where(inputs.c.name_id.in_(some)).distinct())
        )
    for some in chunks(sorted(involved)):
        torn.update(connection.scalars(select(_defs.c.id).where(_defs.c.output_id.in_(some))))
        of_them = select(_columns.c.id).where(_columns.c.dataset_id.in_(some))
        links = schema.definition_edges
        for end in (_edges.c.in_id, _edges.c.out_id):
            query = (
                select(links.c.definition_id)
                .join(_edges, _edges.c.id == links.c.edge_id)
                .where(end.in_(of_them))
                .distinct()
            )
            torn.update(connection.scalars(query))
    blank = {"definition_id": None, "job_id": None, "output_id": None, "time": None}
    for some in chunks(sorted(torn)):
        where = _claims.c.definition_id.in_(some)
        runs.update(connection.scalars(select(_claims.c.run_id).where(where)))
        connection.execute(update(_claims).where(where).values(**blank))
        definitions.forget(connection, some)
    for some in chunks(sorted(involved)):
        connection.execute(delete(_columns).where(_columns.c.dataset_id.in_(some)))
    return runs


def _wanted(facts: Facts) -> list[Wanted]:
    """The data sets that a family's statements make of its names."""
    cuts = {name: sorted({BEGINNING, *facts.cuts(name)}) for name in facts.names}

    def span(name: int, time: int, before: bool = False) -> Span:
        fits = [since for since in cuts[name] if since < time or (not before and since == time)]
        return name, fits[-1] if fits else BEGINNING

    groups = _Groups()
    for name, sinces in cuts.items():
        for since in sinces:
            groups.join((name, since), (name, since))
    for rename in facts.renames:
        groups.join(span(rename.source, rename.time, before=True), span(rename.to, rename.time))
    for link in facts.links:
        for time in (link.first, link.last):
            groups.join(span(link.name, time), span(link.to, time))
    for name, known in facts.names.items():
        if known.alias is not None:
            for since in {*cuts[name], *cuts[known.alias]}:
                groups.join(span(name, since), span(known.alias, since))
    used = {name: facts.times(name) for name in facts.names}
    found = []
    for spans in groups.all():
        found.append(_shown(facts, spans, cuts, used))
    return sorted(found)


def _shown(
    facts: Facts, spans: list[Span], cuts: dict[int, list[int]], used: dict[int, list[int] | None]
) -> Wanted:
    current = [span for span in spans if span[1] == cuts[span[0]][-1]]
    ends = [
        cuts[name][cuts[name].index(since) + 1]
        for name, since in spans
        if since != cuts[name][-1]
    ]  # fmt: skip

    def in_use(span: Span) -> bool:
        name, since = span
        times = used[name]
        if times is None:
            aliased = any(other.alias == name and other.used for other in facts.names.values())
            return aliased or facts.names[name].used
        later = [cut for cut in cuts[name] if cut > since]
        return any(time >= since and (not later or time < later[0]) for time in times)

    # A name that was given away names the past: a current one is better, a used one best.
    ghost = not any(in_use(span) for span in spans)
    live = [span for span in current if in_use(span) or span[1] in facts.taken(span[0])]
    shown = max(live or current or spans, key=lambda span: facts.rank(span[0], span[1]))[0]
    ended = None if live or (current and not ends) else max(ends, default=None)
    return Wanted(sorted(spans), shown, ended, ghost and not live)


class _Groups:
    """Spans that are one data set, by union and find."""

    def __init__(self) -> None:
        self._parent: dict[Span, Span] = {}

    def _root(self, span: Span) -> Span:
        self._parent.setdefault(span, span)
        while self._parent[span] != span:
            self._parent[span] = self._parent[self._parent[span]]
            span = self._parent[span]
        return span

    def join(self, one: Span, other: Span) -> None:
        roots = sorted((self._root(one), self._root(other)))
        self._parent[roots[1]] = roots[0]

    def all(self) -> list[list[Span]]:
        found: dict[Span, list[Span]] = defaultdict(list)
        for span in sorted(self._parent):
            found[self._root(span)].append(span)
        return list(found.values())


def moved(
    connection: Connection, names: Names, run: int, times: Iterable[int], replaced: set[int]
) -> set[int]:
    """The names of a run to settle again, since it says of other times what they mean.

    Only names that have meant several data sets: those that the run says
    something of at several of their times, or at one of which nothing was said
    before; and those in parts that were ``replaced``, of which it says no more.
    """
    several = _meanings.c.since > BEGINNING
    if connection.scalar(select(_meanings.c.name_id).where(several).limit(1)) is None:
        return set()
    parts = schema.part_names
    found: set[int] = set()
    for table in (_claims, schema.run_inputs):
        query = select(table.c.name_id).join(_meanings, _meanings.c.name_id == table.c.name_id)
        found.update(connection.scalars(query.where(table.c.run_id == run, several)))
    sources = select(parts.c.name_id).join(_meanings, _meanings.c.name_id == parts.c.name_id)
    claimed = sources.join(_claims, _claims.c.part_id == parts.c.part_id)
    found.update(connection.scalars(claimed.where(_claims.c.run_id == run, several)))
    no_more = set(connection.scalars(sources.where(parts.c.part_id.in_(replaced), several)))
    every = list(times)
    return no_more | {
        name
        for name in found
        if len({names.dataset(name, time) for time in every}) > 1
        or any(_is_ghost(connection, names.dataset(name, time)) for time in every)
    }


def _is_ghost(connection: Connection, dataset: int) -> bool:
    query: Any = select(_datasets.c.ghost).where(_datasets.c.id == dataset)
    return bool(connection.scalar(query))
