"""Walks over the column graph: breadth first, level by level, each column once.

The cost is that of the edges reached, not of the paths: a cycle or a diamond
adds nothing. What a walk leaves out for its bounds is counted.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, or_, select

from spark_lineage.collector import kinds, overrides
from spark_lineage.collector.history import History
from spark_lineage.collector.store import schema
from spark_lineage.collector.store.rows import among, chunks

_c, _d, _e, _def = schema.columns, schema.datasets, schema.edges, schema.definitions
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
    """One open edge, as stored."""

    id: int
    job_id: int
    output_id: int
    out_id: int
    in_id: int
    kind: str
    masking: bool


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
            step = (edge.kind, edge.masking)
            if so_far is None:
                kind = kinds.compose(("IDENTITY", False), step)
            else:
                kind = kinds.compose(step, so_far) if up else kinds.compose(so_far, step)
            if kind not in found[other]:
                found[other].add(kind)
                queue.append((other, kind))
    return found


class _Walker:
    def __init__(self, connection: Connection, bounds: Bounds, up: bool) -> None:
        self._connection = connection
        self._bounds = bounds
        self._up = up
        self._near, self._far = (_e.c.out_id, _e.c.in_id) if up else (_e.c.in_id, _e.c.out_id)
        self._walk = Walk()
        self._columns_of: dict[tuple[int, int], list[int]] = {}
        self._told: dict[tuple[int, int], bool] = {}
        self._history = History(connection, bounds.as_of)
        self._removed = overrides.removed(connection)

    def walk(self, starts: Iterable[int]) -> Walk:
        walk = self._walk
        frontier = self._add(starts, 0)
        for distance in range(1, self._bounds.depth + 1):
            if not frontier:
                return walk
            frontier = self._level(frontier, distance)
        walk.left_out += self._unfollowed(frontier)
        return walk

    def _level(self, frontier: list[int], distance: int) -> list[int]:
        walk = self._walk
        reached: dict[int, None] = {}
        for near, edges in self._edges(frontier).items():
            for edge in edges:
                for far in self._ends(edge) if self._follows(edge) else ():
                    walk.steps[near].append((far, edge))
                    reached[far] = None
        new = [node for node in reached if node not in walk.nodes]
        room = max(0, self._bounds.limit - len(walk.nodes))
        walk.left_out += len(new) - len(new[:room])
        return self._add(new[:room], distance)

    def _ends(self, edge: Edge) -> list[int]:
        """The far ends of an edge: downstream a whole result stands for its columns."""
        far = edge.in_id if self._up else edge.out_id
        if self._up or far not in self._wholes or edge.kind == kinds.INPUT:
            return [far]
        return self._columns(edge.job_id, edge.output_id) or [far]

    def _add(self, ids: Iterable[int], distance: int) -> list[int]:
        added = []
        for node in nodes(self._connection, ids):
            if node.id not in self._walk.nodes:
                self._walk.nodes[node.id] = node
                self._walk.distance[node.id] = distance
                added.append(node.id)
        return added

    def _edges(self, frontier: list[int]) -> dict[int, list[Edge]]:
        """The edges that leave each node of the frontier, also those by its kin."""
        walk = self._walk
        kin = self._kin(frontier)
        wholes = whole_ids(self._connection, {walk.nodes[node].dataset_id for node in frontier})
        asked = set(kin).union(wholes.values())
        by_end: dict[int, list[Edge]] = defaultdict(list)
        for edge in self._open([among(self._connection, self._near, asked)]):
            by_end[edge.out_id if self._up else edge.in_id].append(edge)
        targets = {edge.output_id for edges in by_end.values() for edge in edges}
        self._wholes = set(whole_ids(self._connection, targets).values())
        self._judge(edge for edges in by_end.values() for edge in edges)
        found: dict[int, list[Edge]] = defaultdict(list)
        for end, nodes_of in kin.items():
            for node in nodes_of:
                found[node].extend(by_end.get(end, ()))
        for node in frontier:
            whole = wholes[walk.nodes[node].dataset_id]
            found[node].extend(e for e in by_end.get(whole, ()) if self._of_all(e, node, whole))
        return found

    def _of_all(self, edge: Edge, node: int, whole: int) -> bool:
        """Whether an edge of the data set as a whole is one of this node, too."""
        if node == whole:
            return False  # its own already
        if edge.kind in kinds.TABLE_LEVEL:
            # Where the job tells of columns, they say which column it is.
            return edge.kind == kinds.DATASET and not self._told[edge.job_id, edge.output_id]
        return self._up

    def _kin(self, frontier: list[int]) -> dict[int, list[int]]:
        """Each column id that stands for a frontier node: itself, what holds it, what it holds."""
        kin: dict[int, list[int]] = {node: [node] for node in frontier}
        other = _c.alias("other")
        query = (
            select(_c.c.id, _c.c.path, other.c.id, other.c.path)
            .join(
                other,
                (other.c.dataset_id == _c.c.dataset_id)
                & (other.c.root == _c.c.root)
                & (other.c.id != _c.c.id)
                & ~other.c.whole,
            )
            .where(among(self._connection, _c.c.id, frontier), ~_c.c.whole)
        )
        for node, path, relative, its_path in self._connection.execute(query):
            if (path + ".").startswith(its_path + ".") or its_path.startswith(path + "."):
                kin.setdefault(relative, []).append(node)
        return kin

    def _open(self, wheres: Iterable[ColumnElement[bool]]) -> Iterable[Edge]:
        for where in wheres:
            query = select(
                _e.c.id, _e.c.job_id, _e.c.output_id, _e.c.out_id, _e.c.in_id, _e.c.kind,
                _e.c.masking,
            ).where(where)  # fmt: skip
            if self._history.when is None:
                query = query.where(_e.c.closed.is_(None))
            found = [Edge(*row) for row in self._connection.execute(query)]
            if self._history.when is not None:
                found = self._history.open_edges(found)
            yield from (e for e in found if (e.out_id, e.in_id, e.kind) not in self._removed)

    def _judge(self, edges: Iterable[Edge]) -> None:
        """Note of which outputs a job tells columns, where an edge between data sets asks it."""
        asked = {
            (edge.job_id, edge.output_id) for edge in edges if edge.kind == kinds.DATASET
        } - set(self._told)
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
        for near, edges in self._edges(frontier).items() if frontier else ():
            ends = {end for edge in edges if self._follows(edge) for end in self._ends(edge)}
            far.update(ends)
            if ends:
                self._walk.cut.add(near)
        return len(far - set(self._walk.nodes))

    def _follows(self, edge: Edge) -> bool:
        bounds = self._bounds
        if (bounds.unmasked and edge.masking) or (bounds.kinds and edge.kind not in bounds.kinds):
            return False
        of_value = kinds.is_direct(edge.kind) or edge.kind in kinds.TABLE_LEVEL
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
