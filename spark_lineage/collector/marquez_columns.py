"""Column lineage in Marquez's shapes: of the columns of some data sets, and graphs of columns."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from sqlalchemy import Connection, select

from spark_lineage.collector import graph, kinds
from spark_lineage.collector.graph import Bounds, Edge, Node
from spark_lineage.collector.store import schema
from spark_lineage.collector.store.rows import among

Answer = dict[str, Any]
MOST_COLUMNS = 5_000
_MOST_OF_PAGE = 100_000
# What is known of data sets only makes no columns: Marquez has none of it.
_KINDS = frozenset(kinds.ALL) - frozenset(kinds.TABLE_LEVEL)


def of_datasets(connection: Connection, datasets: Iterable[int]) -> dict[int, list[Answer]]:
    """For each data set that has any, its columns with what each is made of directly."""
    c = schema.columns
    query = select(c.c.id).where(among(connection, c.c.dataset_id, datasets), ~c.c.whole)
    starts = list(connection.scalars(query.order_by(c.c.position, c.c.path)))
    drawn = _Drawn(connection, starts, Bounds(1, _MOST_OF_PAGE, kinds=_KINDS), downstream=False)
    found: dict[int, list[Answer]] = defaultdict(list)
    for one in starts:
        inputs = drawn.inputs(one) if one in drawn.fields else []
        if inputs:
            told = [{key: item[key] for key in item if key != "datasetVersion"} for item in inputs]
            first = {key: told[0][key] for key in told[0] if key.startswith("transformation")}
            node = drawn.fields[one]
            found[node.dataset_id].append({"name": node.path, "inputFields": told, **first})
    return found


def lineage(connection: Connection, starts: list[int], depth: int, downstream: bool) -> Answer:
    """Columns up (and down) of some, as Marquez draws them; bounded.

    An edge's ``origin`` is the node that has it, among ``inEdges`` too: so Marquez's own
    server tells it, and so its web page reads it.
    """
    drawn = _Drawn(
        connection, starts, Bounds(max(1, depth), MOST_COLUMNS, kinds=_KINDS), downstream
    )
    return {
        "graph": [
            {
                "id": label,
                "type": "DATASET_FIELD",
                "data": {
                    **_field(node),
                    "fieldType": node.type,
                    "transformationDescription": None,
                    "transformationType": None,
                    "inputFields": drawn.inputs(one),
                },
                "inEdges": drawn.edges(label, drawn.sources[one]),
                "outEdges": drawn.edges(label, drawn.targets[one]),
            }
            for label, one, node in sorted(
                (_label(node), one, node) for one, node in drawn.fields.items()
            )
        ],
        "truncated": drawn.left_out > 0,
        "left_out": drawn.left_out,
    }


class _Drawn:
    """The columns that walks reach, and of each two that touch the edge that says most."""

    def __init__(
        self, connection: Connection, starts: list[int], bounds: Bounds, downstream: bool
    ) -> None:
        walks = [(graph.upstream(connection, starts, bounds), True)]
        if downstream:
            walks.append((graph.downstream(connection, starts, bounds), False))
        nodes: dict[int, Node] = {}
        self.sources: dict[int, dict[int, Edge]] = defaultdict(dict)
        self.targets: dict[int, dict[int, Edge]] = defaultdict(dict)
        self.left_out = sum(walk.left_out for walk, _ in walks)
        for walk, up in walks:
            nodes.update(walk.nodes)
            for near, steps in walk.steps.items():
                for far, edge in steps:
                    if far in walk.nodes:
                        self._add(*((far, near) if up else (near, far)), edge)
        self.fields = {one: node for one, node in nodes.items() if node.path is not None}
        self._texts = _texts(connection, {
            edge.id for some in self.sources.values() for edge in some.values()
        })  # fmt: skip

    def _add(self, source: int, target: int, edge: Edge) -> None:
        known = self.sources[target].get(source)
        if known is None or _rank(edge) < _rank(known):
            self.sources[target][source] = self.targets[source][target] = edge

    def inputs(self, one: int) -> list[Answer]:
        """What a column is made of directly."""
        told = [
            (_label(self.fields[source]), self.fields[source], edge)
            for source, edge in self.sources[one].items()
            if source in self.fields
        ]
        return [
            {
                **_field(node),
                "transformationDescription": self._texts.get(edge.id),
                "transformationType": edge.kind,
            }
            for _, node, edge in sorted(told)
        ]

    def edges(self, label: str, ends: Iterable[int]) -> list[Answer]:
        """The edges of a node to others, as its own."""
        every = sorted(_label(self.fields[one]) for one in ends if one in self.fields)
        return [{"origin": label, "destination": end} for end in every]


def _rank(edge: Edge) -> tuple[bool, int, str]:
    """The lower the more it says: values before what decides them, the strongest first."""
    return not kinds.is_direct(edge.kind), -kinds.VALUE.get(edge.kind, 0), edge.kind


def _texts(connection: Connection, edges: set[int]) -> dict[int, str]:
    """What the newest open definitions say of edges in words."""
    links, d = schema.definition_edges, schema.definitions
    query = (
        select(links.c.edge_id, links.c.description)
        .join(d, d.c.id == links.c.definition_id)
        .where(among(connection, links.c.edge_id, edges))
        .where(links.c.description.is_not(None), d.c.closed.is_(None))
        .order_by(d.c.last_seen, d.c.hash)
    )
    return {row[0]: row[1] for row in connection.execute(query)} if edges else {}


def _label(node: Node) -> str:
    return f"datasetField:{node.namespace}:{node.dataset}:{node.path}"


def _field(node: Node) -> Answer:
    return {
        "namespace": node.namespace,
        "dataset": node.dataset,
        "datasetVersion": None,
        "field": node.path,
    }
