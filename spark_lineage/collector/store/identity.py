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

from sqlalchemy import Connection, delete, or_, select, update

from spark_lineage.collector.store import definitions, rows, schema, versions
from spark_lineage.collector.store.family import Facts, read
from spark_lineage.collector.store.names import BEGINNING, Names
from spark_lineage.collector.store.rows import chunks

_claims, _defs, _edges = schema.claims, schema.definitions, schema.edges
_columns, _datasets, _meanings = schema.columns, schema.datasets, schema.meanings
_DATASET = ("namespace", "name", "ended", "ghost")
# Data sets that are to be made beside those of new names are numbered down from here.
_MORE = -(1 << 62)
# A name from a time on, until its next one begins.
Span = tuple[int, int]


class Wanted(NamedTuple):
    """A data set as it should be: the names that mean it, and how it is shown."""

    spans: list[Span]
    shown: int
    ended: int | None
    ghost: bool


class Settled(NamedTuple):
    """What became of names that were settled."""

    # Whether a name that there was before means something else now.
    changed: bool = False
    # Data sets whose columns were derived anew, and runs whose lineage is to be.
    derived: frozenset[int] = frozenset()
    runs: frozenset[int] = frozenset()


def settle(connection: Connection, names: Names, seeds: Iterable[int]) -> Settled:
    """Settle what the families of these names mean, and take down what that changes.

    Columns are derived again; whoever asked has the runs' lineage derived again
    (``definitions.settle``).
    """
    facts = read(connection, set(seeds))
    every = _wanted(facts)
    before, after = _assigned(names, facts, every)
    if all(name in names.fresh and since == BEGINNING for name, since in _changed(before, after)):
        # Nothing is derived yet of what came in this transaction.
        _bring(connection, names, facts, every, after)
        names.fresh.update((name, after[name, BEGINNING]) for name, _ in _changed(before, after))
        names.save()
        return Settled()
    names.save()
    before, after = _assigned(names, facts, every)
    _bring(connection, names, facts, every, after)
    return _moved_over(connection, names, before, _made(connection, facts, every, after))


def _changed(before: dict[Span, int], after: dict[Span, int]) -> set[Span]:
    return {span for span in (*before, *after) if before.get(span) != after.get(span)}


def _assigned(
    names: Names, facts: Facts, every: list[Wanted]
) -> tuple[dict[Span, int], dict[Span, int]]:
    """Which data set each name meant at each time, and which it is to mean.

    Below zero are data sets that are not made yet.
    """
    meanings = names.meanings(facts.names)
    before = {(name, since): one for name in facts.names for since, one in meanings[name]}
    after: dict[Span, int] = {}
    taken: set[int] = set()
    for number, wanted in enumerate(every):
        olds = {before[span] for span in wanted.spans if span in before} - taken
        # The eldest that there is; else one of those that are to be made, or one more.
        dataset = min(olds, key=lambda one: (one < 0, abs(one)), default=_MORE - number)
        taken.add(dataset)
        after.update(dict.fromkeys(wanted.spans, dataset))
    return before, after


def _bring(
    connection: Connection, names: Names, facts: Facts, every: list[Wanted], after: dict[Span, int]
) -> None:
    """Bring the rows of data sets up to date, also of those that are made with their names."""
    wanted = {after[one.spans[0]]: _row(facts, one) for one in every}
    query = "SELECT id, namespace, name, ended, ghost FROM datasets WHERE id "
    there = [dataset for dataset in wanted if dataset > 0]
    known = {
        number: (*row, bool(ghost))
        for number, *row, ghost in rows.fetched(connection, query, there)
    }
    changed = [(*wanted[one], one) for one in there if known[one] != wanted[one]]
    rows.change(connection, _datasets, _DATASET, ("id",), changed)
    for dataset, (namespace, name, _, ghost) in wanted.items():
        if dataset in names.shown:
            names.shown[dataset] = (namespace, name, ghost)


def _made(
    connection: Connection, facts: Facts, every: list[Wanted], after: dict[Span, int]
) -> dict[Span, int]:
    """What names are to mean, where all data sets are made."""
    new = {after[one.spans[0]]: _row(facts, one) for one in every if after[one.spans[0]] < 0}
    numbers = dict(zip(new, rows.new_ids(connection, _datasets, len(new)), strict=True))
    made = [(numbers[key], *row) for key, row in new.items()]
    rows.put(connection, _datasets, ("id", *_DATASET), made)
    return {span: numbers.get(dataset, dataset) for span, dataset in after.items()}


def _row(facts: Facts, wanted: Wanted) -> tuple[str, str, int | None, bool]:
    name = facts.names[wanted.shown]
    return name.namespace, name.name, wanted.ended, wanted.ghost


def _moved_over(
    connection: Connection, names: Names, before: dict[Span, int], after: dict[Span, int]
) -> Settled:
    """Give names other meanings; what was derived of the old ones is taken down."""
    changed = {name for name, _ in _changed(before, after)}
    involved = {d for s, d in (*before.items(), *after.items()) if s[0] in changed}
    runs = _torn_down(connection, changed, involved)
    for some in chunks({name for name, _ in (*before, *after)}):
        connection.execute(delete(_meanings).where(_meanings.c.name_id.in_(some)))
    meant = [(name, since, dataset) for (name, since), dataset in after.items()]
    rows.put(connection, _meanings, ("name_id", "since", "dataset_id"), meant)
    gone = set(before.values()) - set(after.values())
    for some in chunks(sorted(gone)):
        connection.execute(delete(_datasets).where(_datasets.c.id.in_(some)))
    names.forget_meanings()
    left = involved - gone
    versions.derive(connection, names, left)
    return Settled(True, frozenset(left), frozenset(runs))


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
            return name in facts.aliased or facts.names[name].used
        later = [cut for cut in cuts[name] if cut > since]
        return any(time >= since and (not later or time < later[0]) for time in times)

    # A name that was given away names the past: a current one is better, a used one best.
    ghost = not any(in_use(span) for span in spans)
    live = [span for span in current if in_use(span) or span[1] in facts.taken(span[0])]
    fit = live or current or spans
    shown = (fit[0] if len(fit) == 1 else max(fit, key=lambda span: facts.rank(*span)))[0]
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
