"""Marquez's lineage answers: node ids of its form, and graphs of nodes with their edges."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator
from typing import Any

from sqlalchemy import Connection, select

from spark_lineage.collector import graph, kinds, marquez
from spark_lineage.collector.graph import Bounds
from spark_lineage.collector.store import schema

Answer = dict[str, Any]
MOST_JOBS = 1_000


def find(connection: Connection, node_id: str) -> tuple[str, int, str | None] | None:
    """What a node id names: its kind, the row, and for a field its path.

    Marquez does not escape: where a name has a colon, each way to part it is
    tried, and the one that is known is it.
    """
    kind, _, rest = node_id.partition(":")
    if kind in ("dataset", "datasetField"):
        # What stands after the last # may be a version; a name may have one, too.
        for text in dict.fromkeys((rest, rest.rpartition("#")[0])):
            for namespace, name in _parts(text):
                found = marquez.find_dataset(connection, namespace, name)
                if kind == "dataset" and found is not None:
                    return kind, found, None
                for table, field in _parts(name) if kind == "datasetField" else ():
                    found = marquez.find_dataset(connection, namespace, table)
                    if found is not None and _column(connection, found, field) is not None:
                        return kind, found, field
    if kind == "job":
        for text in dict.fromkeys((rest, rest.rpartition("#")[0])):
            for namespace, name in _parts(text):
                job = marquez.find_job(connection, namespace, name)
                if job is not None:
                    return kind, job, None
    return None


def _parts(text: str) -> Iterator[tuple[str, str]]:
    for place, letter in enumerate(text):
        if letter == ":":
            yield text[:place], text[place + 1 :]


def _column(connection: Connection, dataset: int, path: str) -> int | None:
    c = schema.columns
    query = select(c.c.id).where(c.c.dataset_id == dataset, ~c.c.whole, c.c.path == path)
    return connection.scalar(query)


def lineage(connection: Connection, kind: str, one: int, depth: int) -> Answer:
    """Data sets and jobs around one of them, both ways, ``depth`` steps; bounded."""
    ends: dict[str, tuple[set[str], set[str]]] = defaultdict(lambda: (set(), set()))
    data: dict[str, tuple[str, int]] = {}
    frontier = {(kind, one)}
    seen = set(frontier)
    for _ in range(depth + 1):
        following: set[tuple[str, int]] = set()
        for what, number in sorted(frontier):
            label = _label(connection, what, number)
            data[label] = (what, number)
            for before, after in _edges(connection, what, number):
                source, target = (_label(connection, *end) for end in (before, after))
                ends[source][1].add(target)
                ends[target][0].add(source)
                following.update((before, after))
        frontier = following - seen if len(seen) < MOST_JOBS else set()
        seen |= frontier
    return {
        "graph": [
            {
                "id": label,
                "type": "JOB" if what == "job" else "DATASET",
                "data": _data(connection, what, number),
                "inEdges": _links(((end, label) for end in ends[label][0]), data),
                "outEdges": _links(((label, end) for end in ends[label][1]), data),
            }
            for label, (what, number) in sorted(data.items())
        ]
    }  # fmt: skip


def _links(pairs: Iterable[tuple[str, str]], known: Container[str] | None = None) -> list[Answer]:
    """Edges as Marquez has them; with ``known`` only those with both ends in it."""
    return [
        {"origin": origin, "destination": target}
        for origin, target in sorted(pairs)
        if known is None or (origin in known and target in known)
    ]


_End = tuple[str, int]


def _edges(connection: Connection, what: str, number: int) -> list[tuple[_End, _End]]:
    if what == "job":
        ins, outs = marquez.io_of(connection, number)
        return [
            *((("dataset", one), ("job", number)) for one in ins),
            *((("job", number), ("dataset", one)) for one in outs),
        ]
    defs, e, c = schema.definitions, schema.edges, schema.columns
    r, inputs, meanings = schema.runs, schema.run_inputs, schema.meanings
    writers = select(defs.c.job_id).where(defs.c.output_id == number, defs.c.closed.is_(None))
    readers = select(e.c.job_id).join(c, c.c.id == e.c.in_id)
    readers = readers.where(c.c.dataset_id == number, e.c.closed.is_(None))
    bare = (
        select(r.c.job_id)
        .join(inputs, inputs.c.run_id == r.c.id)
        .join(meanings, meanings.c.name_id == inputs.c.name_id)
        .where(meanings.c.dataset_id == number)
    )
    read_by = set(connection.scalars(readers.distinct())).union(connection.scalars(bare.distinct()))
    return [
        *((("job", job), ("dataset", number)) for job in set(connection.scalars(writers))),
        *((("dataset", number), ("job", job)) for job in read_by),
    ]


def _label(connection: Connection, what: str, number: int) -> str:
    table = schema.jobs if what == "job" else schema.datasets
    query = select(table.c.namespace, table.c.name).where(table.c.id == number)
    row = connection.execute(query).one()
    return f"{what}:{row.namespace}:{row.name}"


def _data(connection: Connection, what: str, number: int) -> Answer:
    return (marquez.job if what == "job" else marquez.dataset)(connection, number)


def column_lineage(
    connection: Connection, starts: list[int], depth: int, downstream: bool
) -> Answer:
    """Columns up (and down) of some, as Marquez draws them; bounded."""
    bounds = Bounds(depth, 5_000)
    walks = [(graph.upstream(connection, starts, bounds), True)]
    if downstream:
        walks.append((graph.downstream(connection, starts, bounds), False))
    nodes: dict[int, graph.Node] = {}
    sources: dict[int, dict[int, graph.Edge]] = defaultdict(dict)
    targets: dict[int, set[int]] = defaultdict(set)
    for walk, up in walks:
        nodes.update(walk.nodes)
        for near, steps in walk.steps.items():
            for far, edge in steps:
                if far in walk.nodes and edge.kind not in kinds.TABLE_LEVEL:
                    source, target = (far, near) if up else (near, far)
                    sources[target].setdefault(source, edge)
                    targets[source].add(target)
    fields = {one: node for one, node in nodes.items() if node.path is not None}

    def label(one: int) -> str:
        node = fields[one]
        return f"datasetField:{node.namespace}:{node.dataset}:{node.path}"

    return {
        "graph": [
            {
                "id": label(one),
                "type": "DATASET_FIELD",
                "data": {
                    **_field(node),
                    "fieldType": node.type,
                    "transformationDescription": None,
                    "transformationType": None,
                    "inputFields": [
                        {
                            **_field(fields[source]),
                            "transformationDescription": None,
                            "transformationType": edge.kind,
                        }
                        for source, edge in sorted(sources[one].items())
                        if source in fields
                    ],
                },
                "inEdges": _links((label(s), label(one)) for s in sources[one] if s in fields),
                "outEdges": _links((label(one), label(t)) for t in targets[one] if t in fields),
            }
            for one, node in sorted(fields.items(), key=lambda item: label(item[0]))
        ]
    }  # fmt: skip


def _field(node: graph.Node) -> Answer:
    return {
        "namespace": node.namespace,
        "dataset": node.dataset,
        "datasetVersion": None,
        "field": node.path,
    }
