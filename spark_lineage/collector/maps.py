"""One graph of columns, data sets and jobs around one of them."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Any

from sqlalchemy import Connection, select

from spark_lineage.collector import graph, lifecycle, overrides, via
from spark_lineage.collector.graph import Bounds, Edge, Node, Walk
from spark_lineage.collector.resolve import Column
from spark_lineage.collector.store import schema
from spark_lineage.collector.store.rows import chunks
from spark_lineage.collector.times import show

Answer = dict[str, Any]
_Pair = tuple[int, int, str, bool]


def around(
    connection: Connection,
    start: Column,
    bounds: Bounds,
    direction: str,
    fold: re.Pattern[str] | None,
    view: str | None = None,
) -> Answer:
    """What is up, down or both ways of a column or data set, at all three levels.

    ``fold`` is a regular expression: data sets whose names it fits are left out
    and what they stood between is joined. With ``view`` only ways through that
    view. Edges go from source to target.
    """
    whole = start.id is None
    starts = graph.dataset_columns(connection, start.dataset.id) if whole else [start.id or 0]
    walks: list[tuple[Walk, bool]] = []
    if direction in ("up", "both"):
        walk = graph.upstream(connection, starts, bounds)
        walks.append((via.only(connection, walk, view), True))
    if direction in ("down", "both"):
        walks.append(
            (via.only(connection, graph.downstream(connection, starts, bounds), view), False)
        )
    nodes: dict[int, Node] = {}
    distance: dict[int, int] = {}
    edges: dict[tuple[int, int, str, bool], set[int]] = defaultdict(set)
    marks = overrides.Marks(connection)
    said: dict[_Pair, Answer] = {}
    written: dict[int, set[int]] = defaultdict(set)
    read: dict[int, set[int]] = defaultdict(set)
    for walk, up in walks:
        nodes.update(walk.nodes)
        for node, hops in walk.distance.items():
            distance.setdefault(node, -hops if up else hops)
        for near, steps in walk.steps.items():
            for far, edge in steps:
                if far not in walk.nodes:
                    continue
                source, target = (far, near) if up else (near, far)
                _add(edges, source, target, edge)
                mark = marks.of_edge(edge.out_id, edge.in_id, edge.kind)
                if mark is not None:
                    said[source, target, edge.kind, edge.masking == 1] = mark
                written[edge.job_id].add(walk.nodes[target].dataset_id)
                read[edge.job_id].add(walk.nodes[source].dataset_id)
    folded = {
        one for one, node in nodes.items()
        if fold and fold.search(node.dataset) and one not in starts
    }  # fmt: skip
    joined = _joined(edges, folded)
    kept = {one: node for one, node in nodes.items() if one not in folded}
    gone = {nodes[one].dataset_id for one in folded}
    dropped = lifecycle.dropped(connection, {n.dataset_id for n in kept.values()}, bounds.as_of)
    return {
        "start": start.to_dict(),
        "direction": direction,
        "depth": bounds.depth,
        "limit": bounds.limit,
        "truncated": any(walk.left_out for walk, _ in walks),
        "left_out": sum(walk.left_out for walk, _ in walks),
        "folded": len(gone),
        "columns": [
            {"id": one, **node.to_dict(), "data_type": node.type, "distance": distance[one]}
            for one, node in sorted(kept.items(), key=lambda item: (distance[item[0]], item[0]))
        ],
        "column_edges": [
            {
                "source": s,
                "target": t,
                "type": kind,
                "masking": masking,
                "jobs": sorted(jobs),
                "override": said.get((s, t, kind, masking)),
            }
            for (s, t, kind, masking), jobs in sorted(joined.items())
        ],
        "datasets": _datasets(kept, dropped),
        "jobs": _jobs(connection, written, read, gone),
    }


def _add(edges: dict[_Pair, set[int]], source: int, target: int, edge: Edge) -> None:
    edges[source, target, edge.kind, edge.masking == 1].add(edge.job_id)


def _joined(edges: dict[_Pair, set[int]], folded: set[int]) -> dict[_Pair, set[int]]:
    """The edges without the folded nodes: what led into one leads on to where it led."""
    from spark_lineage.collector.kinds import compose

    if not folded:
        return edges
    out: dict[int, list[tuple[_Pair, set[int]]]] = defaultdict(list)
    for pair, jobs in edges.items():
        out[pair[0]].append((pair, jobs))
    found: dict[_Pair, set[int]] = defaultdict(set)
    for (source, target, kind, masking), jobs in edges.items():
        if source in folded:
            continue
        seen: set[tuple[int, str, bool]] = set()
        stack = [(target, (kind, masking), frozenset(jobs))]
        while stack:
            at, so_far, by = stack.pop()
            if at not in folded:
                found[source, at, so_far[0], so_far[1]] |= by
                continue
            for (_, further, next_kind, next_masking), others in out[at]:
                state = compose(so_far, (next_kind, next_masking))
                if (further, *state) not in seen:
                    seen.add((further, *state))
                    stack.append((further, state, by | others))
    return found


def _datasets(kept: dict[int, Node], dropped: dict[int, int]) -> list[Answer]:
    found: dict[int, Answer] = {}
    for node in kept.values():
        one = found.setdefault(
            node.dataset_id,
            {
                "id": node.dataset_id,
                "namespace": node.namespace,
                "dataset": node.dataset,
                "columns": 0,
                "dropped": show(dropped.get(node.dataset_id)),
            },
        )
        one["columns"] += node.path is not None
    return [found[one] for one in sorted(found)]


def _jobs(
    connection: Connection,
    written: dict[int, set[int]],
    read: dict[int, set[int]],
    gone: set[int],
) -> list[Answer]:
    table = schema.jobs
    found = []
    for some in chunks(sorted(written)):
        query = select(table.c.id, table.c.namespace, table.c.name).where(table.c.id.in_(some))
        for row in connection.execute(query.order_by(table.c.id)):
            found.append(
                {
                    "id": row.id,
                    "namespace": row.namespace,
                    "name": row.name,
                    "reads": sorted(read[row.id] - gone),
                    "writes": sorted(written[row.id] - gone),
                }
            )
    return found
