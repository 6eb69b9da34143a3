"""Only what passes a view: agents tell for each column which views were seen through."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any

from sqlalchemy import Connection, and_, select

from spark_lineage.collector.graph import Edge, Walk
from spark_lineage.collector.store import schema
from spark_lineage.collector.store.rows import chunks

_links, _defs, _told, _e = (
    schema.definition_edges, schema.definitions, schema.definition_columns, schema.edges,
)  # fmt: skip


def only(connection: Connection, walk: Walk, view: str | None) -> Walk:
    """The part of a walk that lies on ways through a view.

    ``view`` is its name or a unique end of it; None leaves the walk as it is.
    What is reached without passing the view is left out, and so is what is
    beyond it by another way.
    """
    if view is None:
        return walk
    every = {edge.id for steps in walk.steps.values() for _, edge in steps}
    through = _edges(connection, every, view)
    return _part(walk, through)


def _edges(connection: Connection, edges: set[int], view: str) -> set[int]:
    """Those of the edges whose output column, or whose rows, are read through the view."""
    found: set[int] = set()
    known: dict[str, bool] = {}

    def fits(detail: str | None) -> bool:
        if not detail:
            return False
        if detail not in known:
            names = json.loads(detail).get("via") or ()
            known[detail] = any(_is(view, name) for name in names)
        return known[detail]

    for some in chunks(sorted(edges)):
        query = (
            select(_links.c.edge_id, _defs.c.detail, _told.c.detail.label("of_column"))
            .join(_e, _e.c.id == _links.c.edge_id)
            .join(_defs, _defs.c.id == _links.c.definition_id)
            .outerjoin(
                _told,
                and_(
                    _told.c.definition_id == _links.c.definition_id,
                    _told.c.column_id == _e.c.out_id,
                ),
            )
            .where(_links.c.edge_id.in_(some))
        )
        for row in connection.execute(query):
            # What an output as a whole is read through says nothing of one of its columns,
            # where they are told.
            if fits(row.detail if row.of_column is None else row.of_column):
                found.add(row.edge_id)
    return found


def _is(view: str, name: str) -> bool:
    one, other = view.replace("`", "").lower(), str(name).replace("`", "").lower()
    return one == other or other.endswith("." + one)


def _part(walk: Walk, through: set[int]) -> Walk:
    back: dict[int, set[int]] = defaultdict(set)
    passed: set[int] = set()
    before: set[int] = set()
    for near, steps in walk.steps.items():
        for far, edge in steps:
            back[far].add(near)
            if edge.id in through:
                passed.add(far)
                before.add(near)
    _spread(passed, lambda one: (far for far, _ in walk.steps.get(one, ())))
    _spread(before, lambda one: back[one])
    starts = {node for node, hops in walk.distance.items() if hops == 0}
    kept = passed | before | starts

    def leads(near: int, far: int, edge: Edge) -> bool:
        return edge.id in through or near in passed or far in before

    part = Walk(left_out=walk.left_out)
    part.nodes = {one: node for one, node in walk.nodes.items() if one in kept}
    part.distance = {one: hops for one, hops in walk.distance.items() if one in kept}
    part.cut = walk.cut & kept
    for near, steps in walk.steps.items():
        if near in part.nodes:
            some = [(far, edge) for far, edge in steps if leads(near, far, edge)]
            if some:
                part.steps[near] = some
    return part


def _spread(found: set[int], following: Any) -> None:
    stack = list(found)
    while stack:
        for one in following(stack.pop()):
            if one not in found:
                found.add(one)
                stack.append(one)
