"""The names that an event uses: found, made, and what each means at a time."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable

from sqlalchemy import Connection, insert, select

from spark_lineage.collector.model import digest, identity_digest
from spark_lineage.collector.store import rows, schema

Identity = tuple[str, str]
BEGINNING = rows.BEGINNING


def root_of(path: str) -> str:
    """The top-level column of a path such as ``address.city``."""
    return path.partition(".")[0]


class Names:
    """The ids of the names, and of the data sets that they mean, for one transaction.

    ``seeds`` are names that came with a namespace alias: what they mean must be
    settled (see ``identity``) before it is asked.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._ids: dict[Identity, int] = {}
        self._meanings: dict[int, list[tuple[int, int]]] = {}
        self._aliases: list[tuple[re.Pattern[str], str]] | None = None
        self._used: set[int] = set()
        self.seeds: set[int] = set()

    def preload(self, identities: Iterable[Identity]) -> dict[Identity, int]:
        """Read at once what is known of many names; gives the ids of those that there are."""
        by_key = {identity_digest(*one): one for one in identities if one not in self._ids}
        query = "SELECT digest, id, used FROM names WHERE digest "
        for key, number, used in rows.fetched(self._connection, query, by_key):
            self._ids[by_key[key]] = number
            if used:
                self._used.add(number)
        self.meanings(self._ids.values())
        return self._ids

    def identities(self, names: Iterable[int]) -> dict[int, Identity]:
        """Namespace and name of each of these."""
        every = set(names)
        known = {number: one for one, number in self._ids.items() if number in every}
        query = "SELECT id, namespace, name FROM names WHERE id "
        for number, *one in rows.fetched(self._connection, query, every.difference(known)):
            known[number] = (one[0], one[1])
        return known

    def ids(self, identities: Iterable[Identity]) -> dict[Identity, int]:
        """The ids of names, made where new: a new one means a data set of its own."""
        wanted = [one for one in identities if one not in self._ids]
        if wanted:
            by_key = {identity_digest(*one): one for one in wanted}
            found = rows.find(self._connection, schema.names, by_key)
            missing = {key: one for key, one in by_key.items() if key not in found}
            if missing:
                found.update(self._make(missing))
            self._ids.update((by_key[key], number) for key, number in found.items())
        return self._ids

    def _make(self, missing: dict[str, Identity]) -> dict[str, int]:
        new = {
            key: {"namespace": one[0], "name": one[1], "used": False}
            for key, one in missing.items()
        }
        made = rows.ids(self._connection, schema.names, new)
        for key, number in made.items():
            namespace, name = missing[key]
            row = {"namespace": namespace, "name": name, "ghost": False}
            table = schema.datasets
            result = self._connection.execute(insert(table).returning(table.c.id), row)
            meaning = {"name_id": number, "since": BEGINNING, "dataset_id": result.scalar_one()}
            self._connection.execute(insert(schema.meanings), meaning)
            target = self.alias(namespace)
            if target != namespace:
                self._link_alias(number, (target, name))
        return made

    def _link_alias(self, number: int, target: Identity) -> None:
        other = self.ids([target])[target]
        table = schema.names
        change = table.update().where(table.c.id == number).values(alias_id=other)
        self._connection.execute(change)
        self.seeds.add(number)

    def use(self, identities: Iterable[Identity]) -> None:
        """Note that names are used, not only linked to: that may change how one is shown."""
        ids, table, used = self.ids(identities), schema.names, self._used
        wanted = {ids[one] for one in identities if ids[one] not in used}
        if not wanted:
            return
        self._used |= wanted
        for some in rows.chunks(wanted):
            query = select(table.c.id).where(table.c.id.in_(some), ~table.c.used)
            fresh = list(self._connection.scalars(query))
            if fresh:
                change = table.update().where(table.c.id.in_(fresh)).values(used=True)
                self._connection.execute(change)
                self.seeds.update(self._linked(fresh))

    def _linked(self, fresh: list[int]) -> set[int]:
        """Those of new names that something joins to others."""
        found: set[int] = set()
        several = schema.meanings.alias("several")
        query = (
            select(schema.meanings.c.name_id)
            .join(several, several.c.dataset_id == schema.meanings.c.dataset_id)
            .where(
                schema.meanings.c.name_id.in_(fresh), several.c.name_id != schema.meanings.c.name_id
            )
        )
        found.update(self._connection.scalars(query))
        ghosts = (
            select(schema.meanings.c.name_id)
            .join(schema.datasets, schema.datasets.c.id == schema.meanings.c.dataset_id)
            .where(schema.meanings.c.name_id.in_(fresh), schema.datasets.c.ghost)
        )
        found.update(self._connection.scalars(ghosts))
        return found

    def alias(self, namespace: str) -> str:
        """The namespace that this one stands for by the first alias that fits all of it."""
        if self._aliases is None:
            table = schema.aliases
            query = select(table.c.pattern, table.c.target).order_by(table.c.pattern)
            self._aliases = [
                (re.compile(row.pattern), row.target) for row in self._connection.execute(query)
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

    def columns(
        self, wanted: Iterable[tuple[int, str | None]]
    ) -> dict[tuple[int, str | None], int]:
        """The ids of columns by data set and path (None: the whole data set), made where new."""
        by_key = {column_digest(*one): one for one in wanted}
        new = {
            key: {
                "dataset_id": dataset,
                "whole": path is None,
                "path": path or "",
                "root": root_of(path or ""),
                "stated": False,
            }
            for key, (dataset, path) in by_key.items()
        }
        found = rows.ids(self._connection, schema.columns, new)
        return {by_key[key]: number for key, number in found.items()}


def column_digest(dataset: int, path: str | None) -> str:
    """The digest of a column; None is the whole data set, which no path can be."""
    return digest(str(dataset), path)
