"""What people say by Marquez's API: tags, what a tag means, and what is to be shown no more."""

from __future__ import annotations

from typing import Any, NamedTuple

from sqlalchemy import Connection, Table, delete, insert, select

from spark_lineage.collector import marquez_times, owned, times
from spark_lineage.collector.store import schema

_names, _meanings, _hidden = schema.names, schema.meanings, schema.hidden
_BY = "API"


class Hidden(NamedTuple):
    """Data sets and jobs that are shown no more: ids."""

    datasets: frozenset[int]
    jobs: frozenset[int]


def hidden(connection: Connection) -> Hidden:
    """What was deleted and was not spoken of since."""
    rows = connection.execute(select(_hidden.c.kind, _hidden.c.owner, _hidden.c.time)).all()
    jobs = {row.owner: row.time for row in rows if row.kind == "JOB"}
    names = {row.owner: row.time for row in rows if row.kind == "DATASET"}
    datasets = {dataset: names[name] for name, dataset in _meant(connection, names).items()}
    return Hidden(
        _unspoken(marquez_times.of_datasets(connection, datasets), datasets),
        _unspoken(marquez_times.of_jobs(connection, jobs), jobs),
    )


def _unspoken(spans: dict[int, marquez_times.Span], since: dict[int, int]) -> frozenset[int]:
    return frozenset(
        one for one, time in since.items() if one not in spans or spans[one].last <= time
    )


def _meant(connection: Connection, names: dict[int, int]) -> dict[int, int]:
    """What names mean now."""
    query = select(_meanings.c.name_id, _meanings.c.dataset_id)
    query = query.where(_meanings.c.name_id.in_(list(names))).order_by(_meanings.c.since)
    return {row[0]: row[1] for row in connection.execute(query)} if names else {}


def hide(connection: Connection, datasets: list[int], jobs: list[int]) -> None:
    """Show these no more until an event of a later time than all that is known names them."""
    present = times.now()
    spans = marquez_times.of_datasets(connection, datasets)
    job_spans = marquez_times.of_jobs(connection, jobs)
    rows = []
    for one in datasets:
        time = max(present, spans[one].last if one in spans else present)
        query = select(_meanings.c.name_id).where(_meanings.c.dataset_id == one)
        rows += [("DATASET", name, time) for name in connection.scalars(query)]
    for one in jobs:
        time = max(present, job_spans[one].last if one in job_spans else present)
        rows.append(("JOB", one, time))
    for kind, owner, time in rows:
        row = {"kind": kind, "owner": owner, "by": _BY, "time": time}
        _put(connection, _hidden, ("kind", "owner"), row)


def tag_dataset(
    connection: Connection, dataset: int, name: int, field: str, key: str, removed: bool
) -> None:
    """Set or take away a tag of a data set, or of one of its fields, by one of its names."""
    table = schema.tags
    names = select(_meanings.c.name_id).where(_meanings.c.dataset_id == dataset)
    place = (table.c.field == field, table.c.key == key)
    connection.execute(delete(table).where(table.c.name_id.in_(names), *place))
    row = {"name_id": name, "field": field, "key": key, "value": "", "removed": removed}
    _say(connection, table, ("name_id", "field", "key"), row)


def tag_job(connection: Connection, job: int, key: str, removed: bool) -> None:
    """Set or take away a tag of a job."""
    row = {"job_id": job, "key": key, "removed": removed}
    _say(connection, schema.job_tags, ("job_id", "key"), row)


def _say(connection: Connection, table: Table, keys: tuple[str, ...], row: dict[str, Any]) -> None:
    _put(connection, table, keys, {**row, "by": _BY, "time": times.now()})


def _put(connection: Connection, table: Table, keys: tuple[str, ...], row: dict[str, Any]) -> None:
    connection.execute(delete(table).where(*(table.c[key] == row[key] for key in keys)))
    connection.execute(insert(table), row)


def describe(connection: Connection, key: str, description: str | None) -> None:
    """Say what a tag means; there is such a tag from then on."""
    row = {"key": key, "description": description, "time": times.now()}
    _put(connection, schema.tag_texts, ("key",), row)


def tags(connection: Connection, namespaces: tuple[str, ...]) -> list[dict[str, Any]]:
    """All tags by their keys with what they mean, those of some namespaces alone or of all."""
    datasets, jobs = select(schema.datasets.c.id), select(schema.jobs.c.id)
    if namespaces:
        datasets = datasets.where(schema.datasets.c.namespace.in_(namespaces))
        jobs = jobs.where(schema.jobs.c.namespace.in_(namespaces))
    texts = schema.tag_texts
    said = {row.key: row.description for row in connection.execute(select(texts))}
    found = set() if namespaces else set(said)
    for some in owned.tags(connection, connection.scalars(datasets)).values():
        found.update(tag["key"] for tag in some)
    for keys in owned.job_tags(connection, connection.scalars(jobs)).values():
        found.update(keys)
    # One that was taken away from the last that had it can be set again.
    for table, of, of_id in (
        (schema.tags, _names, schema.tags.c.name_id),
        (schema.job_tags, schema.jobs, schema.job_tags.c.job_id),
    ):
        query = select(table.c.key).join(of, of.c.id == of_id).distinct()
        if namespaces:
            query = query.where(of.c.namespace.in_(namespaces))
        found.update(connection.scalars(query))
    return [{"name": key, "description": said.get(key)} for key in sorted(found)]
