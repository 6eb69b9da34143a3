"""Data sets, columns and other names of an event: found, made, and what is said of them."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import Connection, select, update

from spark_lineage.collector.model import DatasetFacts, Event, digest
from spark_lineage.collector.store import rows, schema, versions
from spark_lineage.collector.store.rows import ids

Identity = tuple[str, str]


def root_of(path: str) -> str:
    """The top-level column of a path such as ``address.city``."""
    return path.partition(".")[0]


class Names:
    """The ids of the data sets and columns that one event (or definition) names."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._datasets: dict[Identity, int] = {}

    def dataset(self, facts: DatasetFacts) -> int:
        """The id of a data set that was learned."""
        return self._datasets[facts.namespace, facts.name]

    def datasets(self, identities: Iterable[Identity]) -> dict[Identity, int]:
        """The ids of data sets, made where new."""
        wanted = {one for one in identities if one not in self._datasets}
        if wanted:
            by_key = {digest(*one): one for one in wanted}
            new = {key: {"namespace": one[0], "name": one[1]} for key, one in by_key.items()}
            for key, number in ids(self._connection, schema.datasets, new).items():
                self._datasets[by_key[key]] = number
        return self._datasets

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
            }
            for key, (dataset, path) in by_key.items()
        }
        found = ids(self._connection, schema.columns, new)
        return {by_key[key]: number for key, number in found.items()}

    def learn(self, event: Event) -> None:
        """Note every data set and column that the event names, and what it says of them.

        Also those of statements that a newer one has replaced: which names are
        known must not depend on what arrived first.
        """
        every = [*event.inputs, *event.outputs]
        identities = {(facts.namespace, facts.name) for facts in every}
        for facts in event.outputs:
            edges = facts.columns.edges if facts.columns else ()
            identities.update((edge.namespace, edge.name) for edge in edges)
        self.datasets(identities)
        self._learn_columns(event)
        self._learn_symlinks(every)
        for facts in every:
            self._learn_schema(event, facts)
            self._learn_lifecycle(event, facts)

    def _learn_columns(self, event: Event) -> None:
        wanted: set[tuple[int, str | None]] = set()
        for facts in event.outputs:
            output = self.dataset(facts)
            wanted.add((output, None))
            if facts.columns:
                wanted.update((output, column.name) for column in facts.columns.columns)
                wanted.update(
                    (self._datasets[edge.namespace, edge.name], edge.field)
                    for edge in facts.columns.edges
                )
        wanted.update((self.dataset(facts), None) for facts in event.inputs)
        self.columns(wanted)

    def _learn_symlinks(self, every: list[DatasetFacts]) -> None:
        links = {
            digest(str(self.dataset(facts)), *link): {
                "dataset_id": self.dataset(facts),
                "namespace": link[0],
                "name": link[1],
                "type": link[2],
            }
            for facts in every
            for link in facts.symlinks
            if link[:2] != (facts.namespace, facts.name)
        }
        rows.insert_new(
            self._connection,
            schema.symlinks,
            [{"digest": key, **link} for key, link in links.items()],
        )

    def _learn_schema(self, event: Event, facts: DatasetFacts) -> None:
        if facts.schema is not None:
            dataset = self.dataset(facts)
            self.columns((dataset, field.path) for field in facts.schema)
            order = event.schema_order
            versions.learn(self._connection, dataset, facts.schema, facts.output, order)

    def _learn_lifecycle(self, event: Event, facts: DatasetFacts) -> None:
        if not facts.output:
            return
        table = schema.datasets
        where = table.c.id == self.dataset(facts)
        known = self._connection.scalar(select(table.c.lifecycle_order).where(where))
        if known is None or known < event.schema_order:
            said = {"lifecycle": facts.lifecycle, "lifecycle_order": event.schema_order}
            self._connection.execute(update(table).where(where).values(**said))


def column_digest(dataset: int, path: str | None) -> str:
    """The digest of a column; None is the whole data set, which no path can be."""
    return digest(str(dataset), path)
