"""The graph alone: sorted, by names, free of times of arrival and of internal ids."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Select, select, union_all
from sqlalchemy.sql.expression import FromClause

from spark_lineage.collector import lifecycle
from spark_lineage.collector.model import canonical
from spark_lineage.collector.store import schema
from spark_lineage.collector.store.rows import BEGINNING
from spark_lineage.collector.times import show

_d, _c, _j, _r = schema.datasets, schema.columns, schema.jobs, schema.runs


def graph(connection: Connection) -> dict[str, list[dict[str, Any]]]:
    """All that is derived from the events; two stores of one set of events give equal dumps."""
    return {
        "datasets": _rows(connection, _datasets()),
        "names": _rows(connection, _names()),
        "dropped": _rows(connection, _dropped()),
        "columns": _rows(connection, _columns()),
        "jobs": _rows(connection, select(_j.c.namespace, _j.c.name)),
        "runs": _rows(connection, _runs()),
        "facets": _rows(connection, _facets()),
        "inputs": _rows(connection, _inputs()),
        "job_edges": _rows(connection, _job_edges()),
        "job_io": _rows(connection, _job_io()),
        "job_versions": _rows(connection, _job_versions()),
        "schemas": _rows(connection, _schemas()),
        "stated": _rows(connection, _stated_facets()),
        "losses": _rows(connection, _losses()),
        "definitions": _rows(connection, _definitions()),
        "edges": _rows(connection, _edges()),
    }


def _rows(connection: Connection, query: Select[Any]) -> list[dict[str, Any]]:
    found = []
    for row in connection.execute(query).mappings():
        times = (
            "started",
            "first",
            "last",
            "ended",
            "time",
            "first_seen",
            "last_seen",
            "closed",
            "since",
        )
        found.append({key: _time(value) if key in times else value for key, value in row.items()})
    return sorted(found, key=canonical)


def _time(value: int | None) -> str | None:
    return None if value == BEGINNING else show(value)


def _datasets() -> Select[Any]:
    return select(_d.c.namespace, _d.c.name, _d.c.ended).where(~_d.c.ghost)


def _names() -> Select[Any]:
    name, meaning = schema.names, schema.meanings
    return (
        select(
            name.c.namespace.label("as_namespace"),
            name.c.name.label("as_name"),
            name.c.lifecycle,
            meaning.c.since,
            _d.c.namespace,
            _d.c.name,
            _d.c.ended,
        )
        .select_from(meaning)
        .join(name, name.c.id == meaning.c.name_id)
        .join(_d, _d.c.id == meaning.c.dataset_id)
        .where(~_d.c.ghost)
    )


def _dropped() -> Select[Any]:
    gone = lifecycle.standing().subquery()
    query = select(_d.c.namespace, _d.c.name, _d.c.ended, gone.c.time)
    return query.join(gone, gone.c.output_id == _d.c.id).distinct()


def _columns() -> Select[Any]:
    query = select(
        _d.c.namespace, _d.c.name, _d.c.ended, _c.c.path, _c.c.whole, _c.c.type, _c.c.position
    )
    return query.join(_d, _d.c.id == _c.c.dataset_id)


def _runs() -> Select[Any]:
    return select(
        _r.c.run_id,
        _r.c.kind,
        _j.c.namespace,
        _j.c.name,
        _r.c.state,
        _r.c.started,
        _r.c.first,
        _r.c.last,
        _r.c.ended,
        _r.c.unexplained,
    ).join(_j, _j.c.id == _r.c.job_id)


def _facets() -> Select[Any]:
    facet = schema.run_facets
    return select(_r.c.run_id, facet.c.name, facet.c.body).join(_r, _r.c.id == facet.c.run_id)


def _inputs() -> Select[Any]:
    table = schema.run_inputs
    name = schema.names
    query = select(_r.c.run_id, name.c.namespace, name.c.name).select_from(table)
    return query.join(_r, _r.c.id == table.c.run_id).join(name, name.c.id == table.c.name_id)


def _job_edges() -> Select[Any]:
    table, source = schema.job_edges, _j.alias("source")
    return (
        select(
            source.c.namespace.label("from_namespace"),
            source.c.name.label("from_name"),
            _j.c.namespace,
            _j.c.name,
            table.c.first_seen,
            table.c.last_seen,
        )
        .select_from(table)
        .join(_j, _j.c.id == table.c.job_id)
        .join(source, source.c.id == table.c.from_id)
    )


def _job_io() -> Select[Any]:
    table, name = schema.job_io, schema.names
    return (
        select(
            _j.c.namespace.label("job_namespace"),
            _j.c.name.label("job_name"),
            table.c.output,
            name.c.namespace,
            name.c.name,
            table.c.first_seen,
            table.c.last_seen,
        )
        .select_from(table)
        .join(_j, _j.c.id == table.c.job_id)
        .join(name, name.c.id == table.c.name_id)
    )


def _job_versions() -> Select[Any]:
    table = schema.job_versions
    return select(
        _j.c.namespace,
        _j.c.name,
        table.c.hash,
        table.c.source,
        table.c.first_seen,
        table.c.last_seen,
    ).join(_j, _j.c.id == table.c.job_id)


def _schemas() -> Select[Any]:
    table, name = schema.schema_versions, schema.names
    return select(
        name.c.namespace, name.c.name, table.c.hash, table.c.output, table.c.first, table.c.order
    ).join(name, name.c.id == table.c.name_id)


def _stated_facets() -> Select[Any]:
    """Facets of jobs and of data sets, each of the name under which it was stated."""
    table, name = schema.facets, schema.names
    of_jobs = select(
        table.c.kind, _j.c.namespace, _j.c.name, table.c.name.label("facet"), table.c.body
    ).join(_j, (_j.c.id == table.c.owner) & (table.c.kind == "JOB"))
    of_names = select(
        table.c.kind, name.c.namespace, name.c.name, table.c.name.label("facet"), table.c.body
    ).join(name, (name.c.id == table.c.owner) & (table.c.kind == "DATASET"))
    return select(union_all(of_jobs, of_names).subquery())


def _losses() -> Select[Any]:
    table = schema.losses
    return select(table.c.application, table.c.reason, table.c.count.label("most"))


def _definitions() -> Select[Any]:
    table = schema.definitions
    query = select(
        _j.c.namespace.label("job_namespace"),
        _j.c.name.label("job_name"),
        _d.c.namespace,
        _d.c.name,
        table.c.hash,
        table.c.columns_known,
        table.c.availability,
        table.c.detail,
        table.c.first_seen,
        table.c.last_seen,
        table.c.closed,
    ).select_from(table)
    return query.join(_j, _j.c.id == table.c.job_id).join(_d, _d.c.id == table.c.output_id)


def _edges() -> Select[Any]:
    table = schema.edges
    out, source = _c.alias("out"), _c.alias("source")
    from_dataset = _d.alias("from_dataset")
    joined: FromClause = (
        table.join(_j, _j.c.id == table.c.job_id)
        .join(_d, _d.c.id == table.c.output_id)
        .join(out, out.c.id == table.c.out_id)
        .join(source, source.c.id == table.c.in_id)
        .join(from_dataset, from_dataset.c.id == source.c.dataset_id)
    )
    return select(
        _j.c.namespace.label("job_namespace"),
        _j.c.name.label("job_name"),
        _d.c.namespace.label("output_namespace"),
        _d.c.name.label("output_name"),
        out.c.path.label("column"),
        out.c.whole.label("whole_result"),
        from_dataset.c.namespace,
        from_dataset.c.name,
        source.c.path.label("field"),
        source.c.whole.label("whole_dataset"),
        table.c.kind,
        table.c.masking,
        table.c.closed,
    ).select_from(joined)
