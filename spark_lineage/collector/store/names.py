"""The names that an event uses: found, made, and what each means at a time."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, exists

from spark_lineage.collector.model import digest, identity_digest
from spark_lineage.collector.store import rows, schema

Identity = tuple[str, str]
BEGINNING = rows.BEGINNING
_COLUMN = (
    "id", "digest", "dataset_id", "whole", "path", "root", "type", "position", "stated",
)  # fmt: skip
_UNSTATED = (None, None)
NOTHING: Mapping[Any, Any] = MappingProxyType({})


def meant_at(time: ColumnElement[int]) -> ColumnElement[bool]:
    """A condition on a row of ``meanings``: it says what its name meant at that time."""
    meanings, later = schema.meanings, schema.meanings.alias("later")
    other = exists().where(
        later.c.name_id == meanings.c.name_id,
        later.c.since > meanings.c.since,
        later.c.since <= time,
    )
    return and_(meanings.c.since <= time, ~other)


def root_of(path: str) -> str:
    """The top-level column of a path such as ``address.city``."""
    return path.partition(".")[0] if "." in path else path


class Names:
    """The ids of the names, and of the data sets that they mean, for one transaction.

    ``seeds`` are names that came with a namespace alias: what they mean must be
    settled (see ``identity``) before it is asked. With ``together`` new names mean
    data sets that are made by :meth:`save`, so that those of a whole transaction are
    made at once, when it is known which of them are one; until then such a data set has
    a number below zero.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        # The ids of those that were asked for.
        self.known: dict[Identity, int] = {}
        self._meanings: dict[int, list[tuple[int, int]]] = {}
        self._aliases: list[tuple[re.Pattern[str], str]] | None = None
        self._used: set[int] = set()
        # Columns that are known, and data sets of which all are.
        self._columns: dict[tuple[int, str | None], int] = {}
        self._whole: set[int] = set()
        # Data sets that have none yet, made with all that is stated of them in sight.
        self.without_columns: set[int] = set()
        self.seeds: set[int] = set()
        self.together = False
        # New names whose data sets are not made yet: what each means.
        self.fresh: dict[int, int] = {}
        # How data sets that are not made yet are shown: namespace, name, whether a ghost.
        self.shown: dict[int, tuple[str, str, bool]] = {}

    def preload(self, identities: Iterable[Identity]) -> dict[Identity, int]:
        """Read at once what is known of many names; gives the ids of those that there are."""
        by_key = {identity_digest(*one): one for one in identities if one not in self.known}
        query = "SELECT digest, id, used FROM names WHERE digest "
        for key, number, used in rows.fetched(self._connection, query, by_key):
            self.known[by_key[key]] = number
            if used:
                self._used.add(number)
        self.meanings(self.known.values())
        return self.known

    def make(self, used: set[Identity], linked: set[Identity]) -> None:
        """Make those of many names that are not there (all were preloaded), and note their use."""
        missing = (used | linked).difference(self.known)
        self._make({identity_digest(*one): one for one in sorted(missing)}, used)
        self.use(used)

    def identities(self, names: Iterable[int]) -> dict[int, Identity]:
        """Namespace and name of each of these."""
        every = set(names)
        known = {number: one for one, number in self.known.items() if number in every}
        query = "SELECT id, namespace, name FROM names WHERE id "
        for number, *one in rows.fetched(self._connection, query, every.difference(known)):
            known[number] = (one[0], one[1])
        return known

    def ids(self, identities: Iterable[Identity]) -> dict[Identity, int]:
        """The ids of names, made where new: a new one means a data set of its own."""
        wanted = [one for one in identities if one not in self.known]
        if wanted:
            by_key = {identity_digest(*one): one for one in wanted}
            found = rows.find(self._connection, schema.names, by_key)
            self.known.update((by_key[key], number) for key, number in found.items())
            self._make({key: one for key, one in by_key.items() if key not in found}, set())
        return self.known

    def _make(self, missing: dict[str, Identity], used: set[Identity]) -> None:
        if not missing:
            return
        new = {
            key: {"namespace": one[0], "name": one[1], "used": one in used}
            for key, one in missing.items()
        }
        for key, number in rows.make(self._connection, schema.names, new).items():
            namespace, name = one = missing[key]
            self.known[one] = number
            self._meanings[number] = [(BEGINNING, -number)]
            self.fresh[number] = -number
            self.shown[-number] = (namespace, name, False)
            if one in used:
                self._used.add(number)
        if not self.together:
            self.save()
        aliased = {one: (self.alias(one[0]), one[1]) for one in missing.values()}
        targets = {one: to for one, to in aliased.items() if to != one}
        ids = self.ids(targets.values())
        links = [(ids[to], ids[one]) for one, to in targets.items()]
        rows.change(self._connection, schema.names, ("alias_id",), ("id",), links)
        self.seeds.update(name for _, name in links)

    def save(self) -> None:
        """Make the data sets that new names mean."""
        wanted = sorted({dataset for dataset in self.fresh.values() if dataset < 0}, reverse=True)
        numbers = rows.new_ids(self._connection, schema.datasets, len(wanted))
        made = dict(zip(wanted, numbers, strict=True))
        new = []
        for key, number in made.items():
            namespace, name, ghost = self.shown[key]
            new.append((number, namespace, name, ghost))
        columns = ("id", "namespace", "name", "ghost")
        rows.put(self._connection, schema.datasets, columns, new)
        meant = [
            (name, BEGINNING, made.get(dataset, dataset)) for name, dataset in self.fresh.items()
        ]
        rows.put(self._connection, schema.meanings, ("name_id", "since", "dataset_id"), meant)
        self._meanings.update((name, [(BEGINNING, dataset)]) for name, _, dataset in meant)
        self._whole.update(numbers)
        if self.together:
            self.without_columns.update(numbers)
        self.fresh.clear()
        self.shown.clear()

    def use(self, identities: Iterable[Identity]) -> None:
        """Note that names are used, not only linked to: that may change how one is shown."""
        ids, used = self.ids(identities), self._used
        wanted = {ids[one] for one in identities if ids[one] not in used}
        if not wanted:
            return
        self._used |= wanted
        # Those that came in this transaction are told as used from the first.
        query = "SELECT id FROM names WHERE used = FALSE AND id "
        fresh = [row[0] for row in rows.fetched(self._connection, query, wanted)]
        rows.change(
            self._connection, schema.names, ("used",), ("id",), [(True, one) for one in fresh]
        )
        self.seeds.update(self._linked(fresh))

    def _linked(self, fresh: list[int]) -> set[int]:
        """Those of new names that something joins to others."""
        several = """
            SELECT own.name_id FROM meanings own
            JOIN meanings other ON other.dataset_id = own.dataset_id
            AND other.name_id <> own.name_id WHERE own.name_id """
        ghosts = """
            SELECT m.name_id FROM meanings m JOIN datasets d ON d.id = m.dataset_id
            WHERE d.ghost = TRUE AND m.name_id """
        return {
            row[0]
            for query in (several, ghosts)
            for row in rows.fetched(self._connection, query, fresh)
        }

    def alias(self, namespace: str) -> str:
        """The namespace that this one stands for by the first alias that fits all of it."""
        if self._aliases is None:
            query = "SELECT pattern, target FROM aliases ORDER BY pattern"
            self._aliases = [
                (re.compile(pattern), target)
                for pattern, target in rows.read(self._connection, query)
            ]
        for pattern, target in self._aliases:
            match = pattern.fullmatch(namespace)
            if match:
                return match.expand(target)
        return namespace

    def dataset(self, name: int, time: int) -> int:
        """The data set that a name means at a time."""
        return self._at(name, time)[1]

    def dataset_since(self, name: int, time: int) -> int:
        """Since when it means the data set that it means at a time."""
        return self._at(name, time)[0]

    def of(self, name: int) -> list[tuple[int, int]]:
        """All that one name means: since when, and which data set, the oldest first."""
        found = self._meanings.get(name)
        return self.meanings([name])[name] if found is None else found

    def _at(self, name: int, time: int) -> tuple[int, int]:
        meanings = self.of(name)
        if len(meanings) == 1:
            return meanings[0]
        return meanings[max(bisect_right(meanings, (time, 1 << 62)) - 1, 0)]

    def meanings(self, names: Iterable[int]) -> dict[int, list[tuple[int, int]]]:
        """All that names mean: since when, and which data set, the oldest first."""
        wanted = [one for one in names if one not in self._meanings]
        query = "SELECT name_id, since, dataset_id FROM meanings WHERE name_id "
        for name, since, dataset in sorted(rows.fetched(self._connection, query, wanted)):
            self._meanings.setdefault(name, []).append((since, dataset))
        return self._meanings

    def forget_meanings(self) -> None:
        """Read them anew: they were settled."""
        self._meanings.clear()
        self.forget_columns()

    def forget_columns(self) -> None:
        """Read them anew: some may be gone."""
        self._columns.clear()
        self._whole.clear()
        self.without_columns.clear()

    def columns(
        self,
        wanted: Iterable[tuple[int, str | None]],
        stated: Mapping[tuple[int, str | None], tuple[str | None, int | None]] = NOTHING,
    ) -> dict[tuple[int, str | None], int]:
        """The ids of columns by data set and path (None: the whole data set), made where new.

        New ones get the type and the position that is ``stated`` of them.
        """
        known = self._columns
        missing = [one for one in dict.fromkeys(wanted) if one not in known]
        # By its root, which is in an index with the data set; nested ones may come along.
        places = {(one[0], root_of(one[1] or "")) for one in missing if one[0] not in self._whole}
        query = """
            SELECT c.dataset_id, c.path, c.whole, c.id FROM pairs
            CROSS JOIN columns c WHERE c.dataset_id = pairs.a AND c.root = pairs.b"""
        for dataset, path, whole, number in rows.fetched_pairs(self._connection, query, places):
            known[dataset, None if whole else path] = number
        new = [one for one in missing if one not in known]
        known.update(
            zip(new, rows.new_ids(self._connection, schema.columns, len(new)), strict=True)
        )
        self.without_columns.difference_update(dataset for dataset, _ in new)
        told = [
            (
                known[one], _column_digest(*one), one[0], one[1] is None, one[1] or "",
                root_of(one[1] or ""), *stated.get(one, _UNSTATED), one in stated,
            )
            for one in new
        ]  # fmt: skip
        rows.put(self._connection, schema.columns, _COLUMN, told)
        return known


def _column_digest(dataset: int, path: str | None) -> str:
    """The digest of a column; None is the whole data set, which no path can be.

    Those of one data set are neighbours in an index, which so has far fewer pages to
    change. (Stores have columns with digests of an older form: none is found by it.)
    """
    told = _short_digest(path) if path is None or len(path) < 200 else digest(path)[:20]
    return f"{dataset:012x}:{told}"


@lru_cache(maxsize=16_384)
def _short_digest(path: str | None) -> str:
    """Of which few are asked again and again, and none is long."""
    return digest(path)[:20]
