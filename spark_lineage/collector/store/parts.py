"""The column lineage of outputs as events stated it: equal ones are one row."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from sqlalchemy import Connection

from spark_lineage.collector.model import ColumnPart
from spark_lineage.collector.store import rows, schema
from spark_lineage.collector.store.names import Identity


class Gist(NamedTuple):
    """What must be known of a part to find the definition that it makes."""

    sources: frozenset[Identity] = frozenset()
    # Stated of this output alone: what else the run read did not feed it.
    inputs: tuple[Identity, ...] | None = None
    edges: bool = False
    columns: bool = False
    whole: bool = True


# By the part's hash, of which it is made: true for ever and in each database.
_gists: dict[str, Gist] = {}
_MOST_GISTS = 10_000


def _gist(key: str, part: ColumnPart) -> Gist:
    known = _gists.get(key)
    if known is None:
        if len(_gists) > _MOST_GISTS:
            _gists.clear()
        known = _gists[key] = Gist(
            part.sources,
            None if part.inputs is None else tuple(sorted(part.inputs)),
            bool(part.edges),
            bool(part.columns),
            # What is known only in part says nothing of the rest.
            part.availability in (None, "AVAILABLE"),
        )
    return known


class Parts:
    """The parts that the events of a transaction state, and those that are asked for."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._ids: dict[str, int] = {}
        # Those that were stated in this transaction, by their hashes.
        self._stated: dict[str, ColumnPart] = {}
        self._new: list[tuple[int, str, str]] = []
        self._links: list[tuple[int, int]] = []
        self._free: deque[int] = deque()

    def read(self, parts: dict[str, ColumnPart]) -> None:
        """Have what is known of these ready: all that will be added."""
        self._stated.update(parts)
        query = "SELECT hash, id FROM parts WHERE hash "
        self._ids.update((row[0], row[1]) for row in rows.fetched(self._connection, query, parts))
        missing = len(parts.keys() - self._ids.keys())
        self._free.extend(rows.new_ids(self._connection, schema.parts, missing))

    def add(self, part: ColumnPart, names: dict[Identity, int]) -> int:
        """The id of a part, noted where it is new; ``names`` has those of its sources."""
        number = self._ids.get(part.hash)
        if number is None:
            number = self._ids[part.hash] = self._free.popleft()
            self._new.append((number, part.hash, part.body))
            self._links.extend((number, one) for one in sorted(names[n] for n in part.sources))
        return number

    def flush(self) -> None:
        """Write the new ones."""
        rows.put(self._connection, schema.parts, ("id", "hash", "body"), self._new)
        columns = ("part_id", "name_id")
        rows.put(self._connection, schema.part_names, columns, self._links, rows.IGNORE)
        self._new, self._links = [], []

    def gists(self, wanted: dict[str, int]) -> dict[str, Gist]:
        """What must be known of parts, by hash; given with their ids. Only after a flush."""
        found: dict[str, Gist] = {}
        unknown: dict[str, int] = {}
        for key, number in wanted.items():
            known = _gist(key, self._stated[key]) if key in self._stated else _gists.get(key)
            if known is None:
                unknown[key] = number
            else:
                found[key] = known
        found.update((key, _gist(key, part)) for key, part in self.whole(unknown).items())
        return found

    def whole(self, wanted: dict[str, int]) -> dict[str, ColumnPart]:
        """Parts by hash; given with their ids. Only after a flush."""
        found = {key: self._stated[key] for key in wanted if key in self._stated}
        missing = [number for key, number in wanted.items() if key not in found]
        query = "SELECT hash, body FROM parts WHERE id "
        for key, body in rows.fetched(self._connection, query, missing):
            found[key] = ColumnPart.of_body(body)
        return found
