"""The questions, answered as plain data (docs/collector.md shows each answer)."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, func, select

from spark_lineage.collector import graph, kinds, lifecycle, overrides, owned, via
from spark_lineage.collector.graph import Bounds, Node, Walk
from spark_lineage.collector.resolve import Column, Dataset
from spark_lineage.collector.steps import Steps
from spark_lineage.collector.store import schema
from spark_lineage.collector.store.names import meant_at
from spark_lineage.collector.store.rows import among, fetched
from spark_lineage.collector.times import show

Answer = dict[str, Any]


def explain_column(
    connection: Connection,
    column: Column,
    bounds: Bounds,
    view: str | None = None,
    fold: re.Pattern[str] | None = None,
) -> Answer:
    """Where a column comes from and how it is made, step by step upstream.

    With ``view`` only by ways through that view. Data sets whose names ``fold``
    fits are no ``sources``; among the ``nodes`` they stand, since they are steps.
    """
    if column.id is None:
        raise ValueError("a column is needed")
    walk = via.only(connection, graph.upstream(connection, [column.id], bounds), view)
    ordered = _ordered(walk)
    numbers = {node.id: number for number, node in enumerate(ordered)}
    steps = Steps(connection, ordered, numbers, bounds.as_of)
    acts = graph.composed(walk, [column.id], up=True)
    gone = _gone(connection, walk, bounds)
    folded = _folded(walk, fold, [column.id])
    marks = overrides.Marks(connection)
    return {
        "column": column.to_dict(),
        **_bounds(bounds, walk),
        "folded": len({walk.nodes[one].dataset_id for one in folded}),
        "nodes": [
            {
                "node": numbers[node.id],
                **node.to_dict(),
                "data_type": node.type,
                "distance": walk.distance[node.id],
                "dropped": gone.get(node.dataset_id),
                "folded": node.id in folded,
                "steps": _marked(marks, node.to_dict(), steps.of_column(node)),
            }
            for node in ordered
        ],
        "sources": [
            {
                **node.to_dict(),
                "node": numbers[node.id],
                "distance": walk.distance[node.id],
                **_kinds(acts[node.id]),
                "root": not walk.steps.get(node.id) and node.id not in walk.cut,
            }
            for node in ordered
            if node.id != column.id and node.id not in folded
        ],
    }


def explain_dataset(connection: Connection, dataset: Dataset, as_of: int | None = None) -> Answer:
    """How each column of a data set is made, and what decides its rows; one step back."""
    ids = graph.dataset_columns(connection, dataset.id)
    nodes = graph.nodes(connection, ids)
    steps = Steps(connection, nodes, {}, as_of)
    marks = overrides.Marks(connection)
    columns = []
    for node in sorted(nodes, key=_place):
        made = steps.of_column(node) if node.path is not None else []
        made = _marked(marks, node.to_dict(), made)
        if node.path is not None and (node.position is not None or made):
            columns.append(
                {
                    "column": node.path,
                    "data_type": node.type,
                    "steps": [
                        {key: value for key, value in step.items() if key not in _OF_RESULT}
                        for step in made
                    ],
                }
            )
    return {
        "dataset": dataset.to_dict(),
        "symlinks": _names(connection, dataset),
        "columns": columns,
        "schema": _schema(connection, dataset),
        "results": _marked(
            marks, {**dataset.to_dict(), "column": None}, steps.of_result(dataset.id)
        ),
    }


def _schema(connection: Connection, dataset: Dataset) -> list[Answer]:
    """The columns that the newest schema states, nested ones by path, in its order."""
    c = schema.columns
    query = select(c.c.path, c.c.type).where(
        c.c.dataset_id == dataset.id, c.c.position.is_not(None), ~c.c.whole
    )
    rows = connection.execute(query.order_by(c.c.position, c.c.path))
    return [{"column": row.path, "data_type": row.type} for row in rows]


_OF_RESULT = ("rows", "datasets", "result_availability", "issues")


def impact(
    connection: Connection,
    column: Column,
    bounds: Bounds,
    view: str | None = None,
    fold: re.Pattern[str] | None = None,
) -> Answer:
    """What depends on a column (or on all of a data set): columns, data sets and jobs.

    With ``view`` only by ways through that view; data sets whose names ``fold``
    fits are left out, and what is beyond them is told as through what is before.
    """
    if column.id is None:
        starts = graph.dataset_columns(connection, column.dataset.id)
    else:
        starts = [column.id]
    walk = via.only(connection, graph.downstream(connection, starts, bounds), view)
    acts = graph.composed(walk, starts, up=False)
    through = _first_steps(walk)
    folded = _folded(walk, fold, starts)
    reached = [n for n in _ordered(walk) if n.id not in starts and n.id not in folded]
    marks = overrides.Marks(connection)
    owners = owned.of_datasets(connection, {node.dataset_id for node in reached})
    gone = _gone(connection, walk, bounds)
    jobs = _jobs(connection, {edge.job_id for _, edge in through.values()} | _all_jobs(walk))
    return {
        "column": column.to_dict(),
        **_bounds(bounds, walk),
        "folded": len({walk.nodes[one].dataset_id for one in folded}),
        "columns": [
            {
                **node.to_dict(),
                "data_type": node.type,
                "distance": walk.distance[node.id],
                **_kinds(acts[node.id]),
                "through": _before(walk, through, folded, node.id).to_dict(),
                "job": jobs[through[node.id][1].job_id]["job"],
                "owners": owners.get(node.dataset_id, []),
                "override": _mark(marks, through[node.id][1]),
            }
            for node in reached
            if node.path is not None
        ],
        "datasets": _datasets(walk, reached, acts, owners, gone),
        "jobs": _used_jobs(walk, jobs, folded),
        "readers": _readers(
            connection, {node.dataset_id for one, node in walk.nodes.items() if one not in folded}
        ),
    }


def _folded(walk: Walk, fold: re.Pattern[str] | None, starts: list[int]) -> set[int]:
    if fold is None:
        return set()
    return {one for one, n in walk.nodes.items() if one not in starts and fold.search(n.dataset)}


def _before(
    walk: Walk, through: dict[int, tuple[int, graph.Edge]], folded: set[int], one: int
) -> Node:
    """The nearest column before one that is not folded away."""
    at = through[one][0]
    while at in folded:
        at = through[at][0]
    return walk.nodes[at]


def _marked(marks: overrides.Marks, node: Answer, steps: list[Answer]) -> list[Answer]:
    """The steps of a column, each source with what a person said of it."""
    for step in steps:
        for key in ("direct", "indirect", "rows"):
            if key in step:
                step[key] = [
                    {**source, "override": marks.of_source(node, source, key == "rows")}
                    for source in step[key]
                ]
    return steps


def _mark(marks: overrides.Marks, edge: graph.Edge) -> Answer | None:
    return marks.of_edge(edge.out_id, edge.in_id, edge.kind)


def _gone(connection: Connection, walk: Walk, bounds: Bounds) -> dict[int, str | None]:
    """When the data sets reached were dropped, those that are gone."""
    reached = {node.dataset_id for node in walk.nodes.values()}
    found = lifecycle.dropped(connection, reached, bounds.as_of)
    return {one: show(time) for one, time in found.items()}


def _ordered(walk: Walk) -> list[Node]:
    return sorted(walk.nodes.values(), key=lambda node: (walk.distance[node.id], *_place(node)))


def _place(node: Node) -> tuple[Any, ...]:
    position = 1 << 31 if node.position is None else node.position
    return (node.dataset, node.namespace, position, node.path or "")


def _bounds(bounds: Bounds, walk: Walk) -> Answer:
    return {
        "depth": bounds.depth,
        "limit": bounds.limit,
        "follow": "direct" if bounds.values_only else "all",
        "as_of": show(bounds.as_of),
        "truncated": walk.left_out > 0,
        "left_out": walk.left_out,
    }


def _kinds(acts: Iterable[graph.Kind]) -> Answer:
    direct, told = _kinds_of(frozenset(acts))
    return {"direct": direct, "kinds": [dict(one) for one in told]}


@lru_cache(maxsize=1_024)
def _kinds_of(acts: frozenset[graph.Kind]) -> tuple[bool, list[Answer]]:
    ordered = sorted(acts, key=lambda act: (kinds.ALL.index(act[0]), act[1]))
    direct = any(kinds.is_direct(kind) for kind, _ in ordered)
    return direct, [{"type": kind, "masking": masking} for kind, masking in ordered]


def _first_steps(walk: Walk) -> dict[int, tuple[int, graph.Edge]]:
    """For each node one step by which it was reached, from the nearest, the same each time."""
    found: dict[int, tuple[int, graph.Edge]] = {}
    nearest = sorted(walk.steps, key=lambda node: (walk.distance[node], *_place(walk.nodes[node])))
    for near in nearest:
        steps = sorted(walk.steps[near], key=lambda step: (step[0], kinds.ALL.index(step[1].kind)))
        for far, edge in steps:
            found.setdefault(far, (near, edge))
    return found


def _all_jobs(walk: Walk) -> set[int]:
    return {edge.job_id for steps in walk.steps.values() for _, edge in steps}


def _datasets(
    walk: Walk,
    reached: list[Node],
    acts: dict[int, set[graph.Kind]],
    owners: dict[int, list[str]],
    gone: dict[int, str | None],
) -> list[Answer]:
    by_dataset: dict[int, list[Node]] = defaultdict(list)
    for node in reached:
        by_dataset[node.dataset_id].append(node)
    found = []
    for nodes in by_dataset.values():
        direct = [n for n in nodes if any(kinds.is_direct(kind) for kind, _ in acts[n.id])]
        found.append(
            {
                "namespace": nodes[0].namespace,
                "dataset": nodes[0].dataset,
                "distance": min(walk.distance[node.id] for node in nodes),
                "columns": sum(node.path is not None for node in nodes),
                "direct_columns": len(direct),
                "owners": owners.get(nodes[0].dataset_id, []),
                "dropped": gone.get(nodes[0].dataset_id),
                **_kinds(set().union(*(acts[node.id] for node in nodes))),
            }
        )
    return sorted(found, key=lambda one: (one["distance"], one["dataset"], one["namespace"]))


_LAST_RUNS = """
    SELECT j.id, r.run_id, r.state, r.started, r.ended
    FROM jobs j JOIN runs r ON r.id = (
        SELECT x.id FROM runs x WHERE x.job_id = j.id AND x.kind = 'RUN'
        ORDER BY x.last DESC, x.run_id DESC LIMIT 1
    )
    WHERE j.id """


def _jobs(connection: Connection, ids: set[int]) -> dict[int, Answer]:
    found: dict[int, Answer] = {}
    query = "SELECT id, namespace, name FROM jobs WHERE id "
    for number, namespace, name in fetched(connection, query, ids):
        job = {"namespace": namespace, "name": name} if name else None
        found[number] = {"job": job, "last_run": None, "owners": []}
    for number, people in owned.of_jobs(connection, ids).items():
        found[number]["owners"] = people
    for job_id, run_id, state, started, ended in fetched(connection, _LAST_RUNS, found):
        found[job_id]["last_run"] = {
            "id": run_id,
            "state": state,
            "started": show(started),
            "ended": show(ended),
        }
    return found


def _used_jobs(walk: Walk, jobs: dict[int, Answer], folded: set[int]) -> list[Answer]:
    """The jobs on the way, but those that write only what is folded away."""
    distance: dict[int, int] = {}
    writes: dict[int, set[tuple[str, str]]] = defaultdict(set)
    for near, steps in walk.steps.items():
        for far, edge in steps:
            if far in folded:
                continue
            hops = walk.distance[near] + 1
            distance[edge.job_id] = min(hops, distance.get(edge.job_id, hops))
            node = walk.nodes.get(far)
            if node is not None:
                writes[edge.job_id].add((node.namespace, node.dataset))
    found = [
        {
            **jobs[job],
            "distance": distance[job],
            "writes": [{"namespace": n, "dataset": d} for n, d in sorted(writes[job])],
        }
        for job in distance
        if jobs[job]["job"] is not None
    ]
    return sorted(
        found, key=lambda one: (one["distance"], one["job"]["name"], one["job"]["namespace"])
    )


def _readers(connection: Connection, datasets: set[int]) -> list[Answer]:
    """Jobs that read one of the data sets and have never written any."""
    jobs, runs, inputs = schema.jobs, schema.runs, schema.run_inputs
    meanings = schema.meanings
    d = schema.datasets
    writers = select(schema.definitions.c.job_id)
    query = (
        select(jobs.c.namespace, jobs.c.name, d.c.namespace, d.c.name)
        .select_from(inputs)
        .join(runs, runs.c.id == inputs.c.run_id)
        .join(jobs, jobs.c.id == runs.c.job_id)
        .join(meanings, meanings.c.name_id == inputs.c.name_id)
        .join(d, d.c.id == meanings.c.dataset_id)
        .where(among(connection, d.c.id, datasets), jobs.c.id.not_in(writers))
        .where(meant_at(runs.c.last))
        .distinct()
    )
    found = {tuple(row) for row in connection.execute(query)}
    return [
        {
            "job": {"namespace": job_namespace, "name": job_name},
            "reads": {"namespace": namespace, "dataset": name},
        }
        for job_namespace, job_name, namespace, name in sorted(found)
    ]


def _names(connection: Connection, dataset: Dataset) -> list[Answer]:
    """The other names of a data set, with the type that a symlink gave them."""
    n, m, link = schema.names, schema.meanings, schema.symlinks
    query = (
        select(n.c.namespace, n.c.name, func.max(link.c.type).label("type"))
        .join(m, m.c.name_id == n.c.id)
        .outerjoin(link, link.c.to_id == n.c.id)
        .where(m.c.dataset_id == dataset.id)
        .group_by(n.c.namespace, n.c.name)
    )
    found = [dict(row) for row in connection.execute(query).mappings()]
    others = [one for one in found if (one["namespace"], one["name"]) != dataset.identity]
    return sorted(others, key=lambda one: (one["namespace"], one["name"]))
