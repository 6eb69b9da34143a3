"""What is stated about a family of names: those that links join, directly or not."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from sqlalchemy import Connection, func, or_, select

from spark_lineage.collector.model import time_of
from spark_lineage.collector.store import schema
from spark_lineage.collector.store.rows import chunks

_n, _s, _r, _runs = schema.names, schema.symlinks, schema.renames, schema.runs


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
    """The statements about one family."""

    connection: Connection
    names: dict[int, Name] = field(default_factory=dict)
    links: list[Link] = field(default_factory=list)
    renames: list[Rename] = field(default_factory=list)

    def cuts(self, name: int) -> set[int]:
        """The times at which a name began to mean something else."""
        return {rename.time for rename in self.renames if name in (rename.source, rename.to)} | {
            rename.time
            for rename in self.renames
            for link in self.links
            if link.to == name and link.name == rename.source and self._left_behind(link, rename)
        }

    def _left_behind(self, link: Link, rename: Rename) -> bool:
        """Whether a renamed data set left its other name (a managed table's path) behind."""
        kept = any(
            other.to == link.to and other.name == rename.to and other.last >= rename.time
            for other in self.links
        )
        return link.first < rename.time and not kept

    def taken(self, name: int) -> set[int]:
        """The times at which a rename gave something this name."""
        return {rename.time for rename in self.renames if rename.to == name}

    def rank(self, name: int, since: int) -> tuple[object, ...]:
        """How well a name shows its data set: the greatest is best."""
        known = self.names[name]
        located = any(link.to == name and link.type.upper() == "LOCATION" for link in self.links)
        catalog = any(
            (link.to == name and link.type.upper() == "TABLE")
            or (link.name == name and link.type.upper() == "LOCATION")
            for link in self.links
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
        for link in self.links:
            if name in (link.name, link.to):
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


def read(connection: Connection, seeds: set[int]) -> Facts:
    """All that is stated about the names that links join to ``seeds``."""
    facts = Facts(connection)
    links: set[Link] = set()
    renames: set[Rename] = set()
    fresh = seeds
    while fresh:
        near: set[int] = set()
        for some in chunks(sorted(fresh)):
            query = select(_n.c.id, _n.c.namespace, _n.c.name, _n.c.alias_id, _n.c.used).where(
                or_(_n.c.id.in_(some), _n.c.alias_id.in_(some))
            )
            for row in connection.execute(query):
                if row.id in fresh:
                    facts.names[row.id] = Name(row.namespace, row.name, row.alias_id, row.used)
                near.update(one for one in (row.id, row.alias_id) if one is not None)
            stated = select(_s).where(or_(_s.c.name_id.in_(some), _s.c.to_id.in_(some)))
            for link in connection.execute(stated):
                links.add(Link(link.name_id, link.to_id, link.type, link.first, link.last))
                near.update((link.name_id, link.to_id))
            when = func.coalesce(_runs.c.ended, _runs.c.last).label("time")
            happened = (
                select(when, _r.c.from_id, _r.c.to_id)
                .join(_runs, _runs.c.id == _r.c.run_id)
                .where(
                    or_(_r.c.from_id.in_(some), _r.c.to_id.in_(some)),
                    _runs.c.state.in_(("COMPLETE", "DECLARED")),
                )
            )
            for rename in connection.execute(happened):
                renames.add(Rename(rename.time, rename.from_id, rename.to_id))
                near.update((rename.from_id, rename.to_id))
        fresh = near - set(facts.names)
    facts.links = sorted(links)
    facts.renames = sorted(renames)
    return facts
