"""Marquez's node ids, and its graphs of jobs and data sets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import unquote

from sqlalchemy import Connection, select

from spark_lineage.collector import marquez, marquez_datasets, marquez_jobs
from spark_lineage.collector.marquez_marks import Hidden
from spark_lineage.collector.store import schema
from spark_lineage.collector.store.rows import among
from spark_lineage.errors import NotFoundError

Answer = dict[str, Any]
# A job or a data set: its kind and its id.
Place = tuple[str, int]
KINDS = ("dataset", "datasetField", "job")
MOST_NODES = 1_000
# A node id may have any number of colons; it is parted at so many of them.
_MOST_COLONS = 40


def find(connection: Connection, node_id: str) -> tuple[str, int, str | None]:
    """What a node id names: its kind, the row, and for a field its path.

    Marquez does not escape: where a name has a colon, each way to part it is
    tried, and the one that is known is it. Raises ``NotFoundError``.
    """
    kind, _, rest = node_id.partition(":")
    if kind not in KINDS:
        allowed = ", ".join(f"{one}:NAMESPACE:NAME" for one in KINDS)
        raise NotFoundError(f"the node {node_id!r} is none of {allowed}[:FIELD]")
    # What stands after the last # may be a version; a name may have one, too. Marquez's page
    # encodes a namespace twice where it links from its list of data sets.
    for text in dict.fromkeys((rest, rest.rpartition("#")[0], unquote(rest))):
        for namespace, name in _parts(text):
            if kind == "job":
                job = marquez.find_job(connection, namespace, name)
                if job is not None:
                    return kind, job, None
                continue
            found = marquez.find_dataset(connection, namespace, name)
            if kind == "dataset" and found is not None:
                return kind, found, None
            for table, field in _parts(name) if kind == "datasetField" else ():
                found = marquez.find_dataset(connection, namespace, table)
                if found is not None and columns(connection, [found], field):
                    return kind, found, field
    raise NotFoundError(f"no node {node_id!r} is known")


def _parts(text: str) -> Iterator[tuple[str, str]]:
    place = -1
    for _ in range(_MOST_COLONS):
        place = text.find(":", place + 1)
        if place < 0:
            return
        yield text[:place], text[place + 1 :]


def columns(connection: Connection, datasets: Iterable[int], path: str | None) -> list[int]:
    """The columns of data sets, or the one of a path."""
    c = schema.columns
    query = select(c.c.id).where(among(connection, c.c.dataset_id, datasets), ~c.c.whole)
    if path is not None:
        query = query.where(c.c.path == path)
    return sorted(connection.scalars(query))


def lineage(connection: Connection, kind: str, one: int, depth: int, hidden: Hidden) -> Answer:
    """Data sets and jobs around one of them, both ways; bounded.

    ``depth`` counts from job to job, as in Marquez: a job at the end of it has its
    data sets, too. Jobs next to a data set that is asked for are one away.
    """
    graph = _Graph(connection, hidden)
    graph.walk((kind, one), 2 * depth + (1 if kind == "job" else 0))
    return graph.answer()


class _Graph:
    def __init__(self, connection: Connection, hidden: Hidden) -> None:
        self._connection = connection
        self._gone = {("dataset", one) for one in hidden.datasets}
        self._gone |= {("job", one) for one in hidden.jobs}
        # Each once, in the order in which they are reached.
        self._places: dict[Place, None] = {}
        self._edges: set[tuple[Place, Place]] = set()
        self._left_out: set[Place] = set()

    def walk(self, start: Place, steps: int) -> None:
        frontier, known = [start], self._places
        known[start] = None
        for step in range(steps + 1):
            if not frontier:
                break
            edges = {edge for edge in self._around(frontier) if self._gone.isdisjoint(edge)}
            self._edges |= edges
            reached = sorted({end for edge in edges for end in edge if end not in known})
            if step == steps:
                # What is next to the last ones; their edges among each other are known now.
                break
            room = max(0, MOST_NODES - len(known))
            self._left_out.update(reached[room:])
            frontier = reached[:room]
            known.update(dict.fromkeys(frontier))

    def _around(self, frontier: list[Place]) -> Iterator[tuple[Place, Place]]:
        for kind, ask in (("job", marquez_jobs.io_of), ("dataset", marquez_jobs.users_of)):
            ids = [one for what, one in frontier if what == kind]
            reads, writes = ask(self._connection, ids) if ids else (set(), set())
            for job, dataset in reads:
                yield ("dataset", dataset), ("job", job)
            for job, dataset in writes:
                yield ("job", job), ("dataset", dataset)

    def answer(self) -> Answer:
        data = self._data()
        label = {
            place: f"{place[0]}:{one['namespace']}:{one['name']}" for place, one in data.items()
        }
        edges = sorted(
            (label[source], label[target])
            for source, target in self._edges
            if source in label and target in label
        )
        told = [{"origin": source, "destination": target} for source, target in edges]
        ends: dict[str, tuple[list[Answer], list[Answer]]] = {
            one: ([], []) for one in label.values()
        }
        for edge in told:
            ends[edge["origin"]][1].append(edge)
            ends[edge["destination"]][0].append(edge)
        # One that lost its last name to another is shown by that still: they are one node.
        ended = marquez_datasets.ended(self._connection, (one for _, one in data))
        shown = {
            label[place]: place
            for place in sorted(data, key=lambda one: (one[0] == "job" or one[1] not in ended, one))
        }
        nodes = [
            {
                "id": text,
                "type": "JOB" if place[0] == "job" else "DATASET",
                "data": data[place],
                "inEdges": ends[text][0],
                "outEdges": ends[text][1],
            }
            for text, place in sorted(shown.items())
        ]
        left = len(self._left_out)
        return {"graph": nodes, "truncated": left > 0, "left_out": left}

    def _data(self) -> dict[Place, Answer]:
        jobs = [one for kind, one in self._places if kind == "job"]
        datasets = [one for kind, one in self._places if kind == "dataset"]
        found = {
            ("job", one): told
            for one, told in zip(
                jobs, marquez_jobs.told(self._connection, jobs, runs=1), strict=True
            )
        }
        for one, told in zip(
            datasets, marquez_datasets.told(self._connection, datasets), strict=True
        ):
            found["dataset", one] = told
        # What no event gave a name of its own: a DatasetEvent's job.
        return {place: told for place, told in found.items() if told["name"]}
