"""Walks over the column graph: breadth first, level by level, each column once.

The cost is that of the edges reached, not of the paths: a cycle or a diamond
adds nothing. What a walk leaves out for its bounds is counted.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sqlalchemy import Connection, or_, select

from spark_lineage.collector import kinds, overrides
from spark_lineage.collector.history import History
from spark_lineage.collector.store import schema
from spark_lineage.collector.store.rows import among, chunks, fetched

_c, _d, _def = schema.columns, schema.datasets, schema.definitions
Kind = tuple[str, bool]


class Node(NamedTuple):
    """A column, or with ``path`` None a data set as a whole."""

    id: int
    dataset_id: int
    namespace: str
    dataset: str
    path: str | None
    type: str | None
    position: int | None

    def to_dict(self) -> dict[str, Any]:
        """As answers name it."""
        return {"namespace": self.namespace, "dataset": self.dataset, "column": self.path}


class Edge(NamedTuple):
    """One open edge, as the database's driver gives it: ``masking`` may be 0 or 1."""

    id: int
    job_id: int
    output_id: int
    out_id: int
    in_id: int
    kind: str
    masking: bool | int


@dataclass
class Walk:
    """What was reached: nodes with their distance, and each step between two of them.

    A step goes from the nearer node to the farther one and keeps the edge that
    makes it; an edge of a whole result makes a step for each column. ``cut``
    are the nodes at which the walk stopped though it goes on there.
    """

    nodes: dict[int, Node] = field(default_factory=dict)
    distance: dict[int, int] = field(default_factory=dict)
    steps: dict[int, list[tuple[int, Edge]]] = field(default_factory=lambda: defaultdict(list))
    left_out: int = 0
    cut: set[int] = field(default_factory=set)


@dataclass(frozen=True)
class Bounds:
    """How far a walk goes, along what, and as of when."""

    depth: int = 20
    limit: int = 5_000
    values_only: bool = False
    # Not along steps that mask the value.
    unmasked: bool = False
    # Only edges of these kinds; empty: all.
    kinds: frozenset[str] = frozenset()
    # As it was at this time, in microseconds; None: as it is.
    as_of: int | None = None


def upstream(connection: Connection, starts: Iterable[int], bounds: Bounds) -> Walk:
    """All that the columns ``starts`` are made of."""
    return _Walker(connection, bounds, up=True).walk(starts)


def downstream(connection: Connection, starts: Iterable[int], bounds: Bounds) -> Walk:
    """All that depends on the columns ``starts``."""
    return _Walker(connection, bounds, up=False).walk(starts)


def composed(walk: Walk, starts: Iterable[int], up: bool) -> dict[int, set[Kind]]:
    """For each node reached, how it acts on ``starts`` (or they on it), over all paths."""
    found: dict[int, set[Kind]] = defaultdict(set)
    queue: deque[tuple[int, Kind | None]] = deque((start, None) for start in starts)
    while queue:
        node, so_far = queue.popleft()
        for other, edge in walk.steps.get(node, ()):
            step = (edge.kind, edge.masking == 1)
            if so_far is None:
                kind = kinds.compose(("IDENTITY", False), step)
            else:
                kind = kinds.compose(step, so_far) if up else kinds.compose(so_far, step)
            if kind not in found[other]:
                found[other].add(kind)
                queue.append((other, kind))
    return found


class _Dataset(NamedTuple):
    """What a walk needs to know of a data set: the row that stands for all of it (-1: none)."""

    namespace: str
    name: str
    whole: int
    # Whether it has columns in columns.
    nested: bool


# Rows as they are read, thousands a question: an edge's as an `Edge`, a column's as
# (dataset, path, whole, type, position).
_Row = tuple[Any, ...]
_DATASETS = """
    SELECT d.id, d.namespace, d.name,
           (SELECT w.id FROM columns w WHERE w.dataset_id = d.id AND w.whole = TRUE),
           EXISTS (SELECT 1 FROM columns n WHERE n.dataset_id = d.id AND n.path <> n.root)
    FROM datasets d WHERE d.id """
_COLUMNS = "SELECT dataset_id, path, whole, type, position, id FROM columns WHERE id "
_KIN = """
    SELECT c.id, c.path, o.id, o.path
    FROM columns c
    JOIN columns o ON o.dataset_id = c.dataset_id AND o.root = c.root AND o.id <> c.id
    WHERE NOT c.whole AND NOT o.whole AND c.id """
# Faster than a named tuple's own constructor, which would be a third of a walk.
_new = tuple.__new__
# All edges beyond some columns, if they are few: PostgreSQL is asked once, and not at each
# level. `LATERAL` with `OFFSET`: by the index, whatever the planner thinks of the sizes.
_FEW = 200
_BEYOND = """
    WITH RECURSIVE reached(id) AS (
        SELECT unnest(%s::bigint[]) UNION SELECT e.{far} FROM reached r CROSS JOIN LATERAL (
            SELECT {far} FROM edges WHERE {near} = r.id AND closed IS NULL OFFSET 0
        ) e
    )
    SELECT e.* FROM reached r CROSS JOIN LATERAL (
        SELECT id, job_id, output_id, out_id, in_id, kind, masking FROM edges
        WHERE {near} = r.id AND closed IS NULL OFFSET 0
    ) e LIMIT %s"""
_EDGES = "SELECT id, job_id, output_id, out_id, in_id, kind, masking FROM edges WHERE "


class _Walker:
    """One walk. Three statements a level: its cost is that of the edges, not of the questions."""

    def __init__(self, connection: Connection, bounds: Bounds, up: bool) -> None:
        self._connection = connection
        self._bounds = bounds
        self._up = up
        self._walk = Walk()
        self._datasets: dict[int, _Dataset] = {}
        self._column: dict[int, _Row] = {}
        # Which data set a column is of: known of an edge's output before the column is read.
        self._of: dict[int, int] = {}
        self._columns_of: dict[tuple[int, int], list[int]] = {}
        self._told: dict[tuple[int, int], bool] = {}
        self._history = History(connection, bounds.as_of)
        self._removed = overrides.removed(connection)
        # The edges of columns that were read ahead; those of others are read when they are needed.
        self._ahead: dict[int, list[_Row]] = {}
        self._follows_all = not (bounds.unmasked or bounds.kinds or bounds.values_only)

    def walk(self, starts: Iterable[int]) -> Walk:
        walk, starts = self._walk, list(starts)
        if self._history.when is None and self._connection.dialect.name == "postgresql":
            self._read_ahead(starts)
        frontier = self._add(starts, 0)
        for distance in range(1, self._bounds.depth + 1):
            if not frontier:
                break
            frontier = self._level(frontier, distance)
        else:
            walk.left_out += self._unfollowed(frontier)
        column = self._column
        self._read_columns([one for one in walk.distance if one not in column])
        self._learn(column[one][0] for one in walk.distance)
        walk.nodes = {one: self._node(one, *column[one]) for one in walk.distance}
        return walk

    def _node(
        self, number: int, of: int, path: str, whole: bool, kind: str | None, position: int | None,
        _number: int,
    ) -> Node:  # fmt: skip
        known = self._datasets[of]
        path_or_none = None if whole else path
        return _new(Node, (number, of, known[0], known[1], path_or_none, kind, position))

    def _level(self, frontier: list[int], distance: int) -> list[int]:
        walk = self._walk
        distances, all_steps = walk.distance, walk.steps
        reached: dict[int, None] = {}
        for near, ends in self._steps(frontier):
            all_steps[near] += [(far, _new(Edge, row)) for far, row in ends]
            reached.update(dict.fromkeys([far for far, _ in ends]))
        new = [node for node in reached if node not in distances]
        room = max(0, self._bounds.limit - len(distances))
        walk.left_out += len(new) - len(new[:room])
        return self._add(new[:room], distance)

    def _steps(self, frontier: list[int]) -> Iterator[tuple[int, list[tuple[int, _Row]]]]:
        """For each node of the frontier that leads on, each far end and the edge to it."""
        up, follows_all = self._up, self._follows_all
        datasets, of = self._datasets, self._of
        for near, edges in self._edges(frontier):
            if not follows_all:
                edges = [row for row in edges if self._follows(row)]
            if up:
                ends = [(row[4], row) for row in edges]
            else:
                ends = []
                for row in edges:
                    if row[3] != datasets[row[2]].whole or row[5] == kinds.INPUT:
                        of[row[3]] = row[2]
                        ends.append((row[3], row))
                    else:
                        # Downstream a whole result stands for its columns.
                        many = self._columns(row[1], row[2]) or [row[3]]
                        of.update((far, row[2]) for far in many)
                        ends += [(far, row) for far in many]
            if ends:
                yield near, ends

    def _add(self, ids: Iterable[int], distance: int) -> list[int]:
        wanted = list(ids)
        of, distances = self._of, self._walk.distance
        self._read_columns([node for node in wanted if node not in of])
        added = [node for node in dict.fromkeys(wanted) if node in of and node not in distances]
        distances.update(dict.fromkeys(added, distance))
        return added

    def _read_columns(self, ids: Iterable[int]) -> None:
        for row in fetched(self._connection, _COLUMNS, ids):
            self._column[row[5]] = row
            self._of[row[5]] = row[0]

    def _learn(self, datasets: Iterable[int]) -> None:
        unknown = set(datasets).difference(self._datasets)
        for number, namespace, name, whole, nested in fetched(self._connection, _DATASETS, unknown):
            whole = -1 if whole is None else whole
            self._datasets[number] = _Dataset(namespace, name, whole, bool(nested))

    def _edges(self, frontier: list[int]) -> Iterator[tuple[int, list[_Row]]]:
        """The edges that leave each node of the frontier, also those by its kin."""
        of, datasets = self._of, self._datasets
        mine = {of[node] for node in frontier}
        self._learn(mine)
        kin = self._kin([one for one in frontier if datasets[of[one]].nested])
        wholes = {datasets[one].whole for one in mine}
        asked = wholes.union(frontier, *kin.values())
        asked.discard(-1)
        near = 3 if self._up else 4
        by_end: dict[int, list[_Row]] = defaultdict(list)
        rows = self._open(asked)
        for row in rows:
            by_end[row[near]].append(row)
        if not self._up:
            self._learn({row[2] for row in rows})
        wholes &= by_end.keys()
        if not kin and not wholes:
            yield from ((node, by_end[node]) for node in frontier if node in by_end)
            return
        self._judge({(row[1], row[2]) for row in rows if row[5] == kinds.DATASET})
        for node in frontier:
            edges = by_end.get(node, [])
            for relative in kin.get(node, ()):
                edges = edges + by_end.get(relative, [])
            whole = datasets[of[node]].whole
            if node != whole and whole in wholes:
                edges = edges + [row for row in by_end[whole] if self._of_all(row)]
            if edges:
                yield node, edges

    def _of_all(self, row: _Row) -> bool:
        """Whether an edge of the data set as a whole is one of each of its columns, too."""
        if row[5] in kinds.TABLE_LEVEL:
            # Where the job tells of columns, they say which column it is.
            return row[5] == kinds.DATASET and not self._told[row[1], row[2]]
        return self._up

    def _kin(self, frontier: list[int]) -> dict[int, list[int]]:
        """The columns that stand for a node beside itself: what holds it, what it holds."""
        kin: dict[int, list[int]] = defaultdict(list)
        for node, path, relative, its_path in fetched(self._connection, _KIN, frontier):
            if (path + ".").startswith(its_path + ".") or its_path.startswith(path + "."):
                kin[node].append(relative)
        return kin

    def _read_ahead(self, starts: list[int]) -> None:
        """Have all that is beyond the starts ready, if it is little."""
        near, far = ("out_id", "in_id") if self._up else ("in_id", "out_id")
        query, given = _BEYOND.format(near=near, far=far), (starts, _FEW)
        rows = self._connection.exec_driver_sql(query, given).all()
        if len(rows) == _FEW:
            return
        place = 3 if self._up else 4
        ids = {*starts, *(row[end] for row in rows for end in (3, 4))}
        ahead: dict[int, list[_Row]] = {one: [] for one in ids}
        for edge in rows:
            ahead[edge[place]].append(tuple(edge))
        self._read_columns(ids)
        mine = {self._of[one] for one in ids if one in self._of}
        self._learn(mine)
        wholes = {self._datasets[one].whole for one in mine}.difference(ahead) - {-1}
        ahead.update((one, []) for one in wholes)
        for row in fetched(self._connection, _EDGES + f"closed IS NULL AND {near} ", wholes):
            ahead[row[place]].append(row)
        self._ahead = ahead

    def _open(self, ends: set[int]) -> list[_Row]:
        when, ahead = self._history.when, self._ahead
        query = _EDGES + ("closed IS NULL AND " if when is None else "")
        found: list[_Row] = []
        if ahead:
            found = [row for end in ends for row in ahead.get(end, ())]
            ends = {end for end in ends if end not in ahead}
        found += fetched(self._connection, query + ("out_id " if self._up else "in_id "), ends)
        if when is not None:
            found = self._history.open_edges([Edge(*row) for row in found])
        if self._removed:
            found = [row for row in found if (row[3], row[4], row[5]) not in self._removed]
        # The same order on each database, since a bound may cut it.
        found.sort()
        return found

    def _judge(self, between: set[tuple[int, int]]) -> None:
        """Note of which outputs a job tells columns, where an edge between data sets asks it."""
        asked = between.difference(self._told)
        self._told.update(dict.fromkeys(asked, False))
        if self._history.when is not None:
            self._judge_past(asked)
            return
        for some in chunks({output for _, output in asked}):
            query = select(_def.c.job_id, _def.c.output_id).where(
                _def.c.output_id.in_(some), _def.c.columns_known, _def.c.closed.is_(None)
            )
            self._told.update(((row[0], row[1]), True) for row in self._connection.execute(query))

    def _judge_past(self, asked: set[tuple[int, int]]) -> None:
        open_then = self._history.open_definitions({output for _, output in asked})
        for some in chunks(open_then):
            query = select(_def.c.job_id, _def.c.output_id)
            query = query.where(_def.c.id.in_(some), _def.c.columns_known)
            self._told.update(((row[0], row[1]), True) for row in self._connection.execute(query))

    def _columns(self, job: int, output: int) -> list[int]:
        """The columns that a job writes into an output; all that are known if it told none."""
        key = (job, output)
        if key not in self._columns_of:
            stated = schema.definition_columns
            told = (
                select(stated.c.column_id)
                .join(_def, _def.c.id == stated.c.definition_id)
                .where(_def.c.job_id == job, _def.c.output_id == output)
                .distinct()
            )
            if self._history.when is None:
                told = told.where(_def.c.closed.is_(None))
            else:
                told = told.where(_def.c.id.in_(list(self._history.open_definitions([output]))))
            known = select(_c.c.id).where(
                _c.c.dataset_id == output, ~_c.c.whole, _c.c.path == _c.c.root
            )
            self._columns_of[key] = (
                sorted(self._connection.scalars(told))
                or sorted(self._connection.scalars(known.where(_c.c.position.is_not(None))))
                or sorted(self._connection.scalars(known))
            )
        return self._columns_of[key]

    def _unfollowed(self, frontier: list[int]) -> int:
        far: set[int] = set()
        for near, ends in self._steps(frontier) if frontier else ():
            far.update([end for end, _ in ends])
            self._walk.cut.add(near)
        return len(far.difference(self._walk.distance))

    def _follows(self, row: _Row) -> bool:
        bounds, kind = self._bounds, row[5]
        if (bounds.unmasked and row[6]) or (bounds.kinds and kind not in bounds.kinds):
            return False
        of_value = kinds.is_direct(kind) or kind in kinds.TABLE_LEVEL
        return of_value or not bounds.values_only


def nodes(connection: Connection, ids: Iterable[int]) -> list[Node]:
    """The columns with these ids, in the order of ``ids``."""
    wanted = list(ids)
    query = (
        select(
            _c.c.id, _c.c.dataset_id, _d.c.namespace, _d.c.name, _c.c.path, _c.c.whole,
            _c.c.type, _c.c.position,
        )
        .join(_d, _d.c.id == _c.c.dataset_id)
        .where(among(connection, _c.c.id, wanted))
    )  # fmt: skip
    found = {
        number: Node(number, dataset, namespace, name, None if whole else path, kind, position)
        for number, dataset, namespace, name, path, whole, kind, position in connection.execute(
            query
        )
    }
    return [found[one] for one in wanted if one in found]


def whole_ids(connection: Connection, datasets: Iterable[int]) -> dict[int, int]:
    """For each data set the id of the row that stands for all of it (-1 where it has none)."""
    found = dict.fromkeys(datasets, -1)
    if found:
        query = select(_c.c.dataset_id, _c.c.id)
        query = query.where(among(connection, _c.c.dataset_id, found), _c.c.whole)
        found.update((row[0], row[1]) for row in connection.execute(query))
    return found


def dataset_columns(connection: Connection, dataset: int) -> list[int]:
    """All top-level columns of a data set, and the row that stands for all of it."""
    query = select(_c.c.id).where(
        _c.c.dataset_id == dataset, or_(_c.c.whole, _c.c.path == _c.c.root)
    )
    return sorted(connection.scalars(query.order_by(_c.c.position, _c.c.path)))
