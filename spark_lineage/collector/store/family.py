"""What is stated about a family of names: those that links join, directly or not."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from sqlalchemy import Connection, func, select

from spark_lineage.collector.model import time_of
from spark_lineage.collector.store import rows, schema

_runs = schema.runs


class Name(NamedTuple):
    """A name, and the one that an alias makes of it."""

    namespace: str
    name: str
    alias: int | None
    used: bool


class Link(NamedTuple):
    """A symlink, and when it was first and last stated."""

    name: int
    to: int
    type: str
    first: int
    last: int


class Rename(NamedTuple):
    """A rename that happened."""

    time: int
    source: int
    to: int


@dataclass
class Facts:
    """The statements about some families of names: many of them in one transaction."""

    connection: Connection
    names: dict[int, Name]
    links: list[Link]
    renames: list[Rename]

    @cached_property
    def _links_to(self) -> dict[int, list[Link]]:
        return _grouped(self.links, lambda link: link.to)

    @cached_property
    def _links_of(self) -> dict[int, list[Link]]:
        return _grouped(self.links, lambda link: link.name)

    @cached_property
    def aliased(self) -> set[int]:
        """The names that an alias makes of names which are used."""
        return {one.alias for one in self.names.values() if one.alias is not None and one.used}

    def cuts(self, name: int) -> set[int]:
        """The times at which a name began to mean something else."""
        if not self.renames:
            return set()
        return {rename.time for rename in self.renames if name in (rename.source, rename.to)} | {
            rename.time
            for rename in self.renames
            for link in self._links_to.get(name, ())
            if link.name == rename.source and self._left_behind(link, rename)
        }

    def _left_behind(self, link: Link, rename: Rename) -> bool:
        """Whether a renamed data set left its other name (a managed table's path) behind."""
        kept = any(
            other.name == rename.to and other.last >= rename.time
            for other in self._links_to[link.to]
        )
        return link.first < rename.time and not kept

    def taken(self, name: int) -> set[int]:
        """The times at which a rename gave something this name."""
        return {rename.time for rename in self.renames if rename.to == name}

    def rank(self, name: int, since: int) -> tuple[object, ...]:
        """How well a name shows its data set: the greatest is best."""
        known, to = self.names[name], self._links_to.get(name, ())
        located = any(link.type.upper() == "LOCATION" for link in to)
        catalog = any(link.type.upper() == "TABLE" for link in to) or any(
            link.type.upper() == "LOCATION" for link in self._links_of.get(name, ())
        )
        spelled = tuple(-ord(letter) for letter in f"{known.namespace}\0{known.name}")
        return (
            known.alias is None,
            since in self.taken(name),
            known.used,
            catalog - located,
            since,
            (*spelled, 1),
        )

    def times(self, name: int) -> list[int] | None:
        """When the name was used; None (at all times) for one that never changed its meaning."""
        if not self.cuts(name):
            return None
        found: set[int] = set(self._source_times(name))
        when = func.coalesce(_runs.c.ended, _runs.c.last)
        for table in (schema.claims, schema.run_inputs):
            query = select(when).join(table, table.c.run_id == _runs.c.id)
            found.update(self.connection.scalars(query.where(table.c.name_id == name).distinct()))
        versions = schema.schema_versions
        stated = select(versions.c.first, versions.c.order).where(versions.c.name_id == name)
        for row in self.connection.execute(stated):
            found.update((row.first, time_of(row.order)))
        for link in (*self._links_of.get(name, ()), *self._links_to.get(name, ())):
            found.update((link.first, link.last))
        return sorted(found)

    def _source_times(self, name: int) -> list[int]:
        parts, claims = schema.part_names, schema.claims
        query = (
            select(func.coalesce(_runs.c.ended, _runs.c.last))
            .join(claims, claims.c.run_id == _runs.c.id)
            .join(parts, parts.c.part_id == claims.c.part_id)
            .where(parts.c.name_id == name)
        )
        return list(self.connection.scalars(query))


def _grouped(links: Iterable[Link], by: Callable[[Link], int]) -> dict[int, list[Link]]:
    found: dict[int, list[Link]] = defaultdict(list)
    for link in links:
        found[by(link)].append(link)
    return found


def read(connection: Connection, seeds: set[int]) -> Facts:
    """All that is stated about the names that links join to ``seeds``."""
    names: dict[int, Name] = {}
    links: set[Link] = set()
    renames: set[Rename] = set()
    fresh = seeds
    while fresh:
        near: set[int] = set()
        for end in ("id", "alias_id"):
            query = f"SELECT id, namespace, name, alias_id, used FROM names WHERE {end} "
            for number, namespace, name, alias, used in rows.fetched(connection, query, fresh):
                if number in fresh:
                    names[number] = Name(namespace, name, alias, bool(used))
                near.update(one for one in (number, alias) if one is not None)
        for end in ("name_id", "to_id"):
            query = f"SELECT name_id, to_id, type, first, last FROM symlinks WHERE {end} "
            links.update(Link(*row) for row in rows.fetched(connection, query, fresh))
        for end in ("from_id", "to_id"):
            query = f"""
                SELECT coalesce(r.ended, r.last), x.from_id, x.to_id
                FROM renames x JOIN runs r ON r.id = x.run_id
                WHERE r.state IN ('COMPLETE', 'DECLARED') AND x.{end} """
            renames.update(Rename(*row) for row in rows.fetched(connection, query, fresh))
        near.update(end for link in links for end in (link.name, link.to))
        near.update(end for rename in renames for end in (rename.source, rename.to))
        fresh = near.difference(names)
    return Facts(connection, names, sorted(links), sorted(renames))
