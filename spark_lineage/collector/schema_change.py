"""What a change of a data set's schema hits: proposed by a person, or seen in an event."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, func, select

from spark_lineage.collector import answers, schema_diff
from spark_lineage.collector.graph import Bounds
from spark_lineage.collector.resolve import Column, Dataset
from spark_lineage.collector.schema_diff import Change, Field
from spark_lineage.collector.store import schema
from spark_lineage.collector.store.names import meant_at
from spark_lineage.collector.times import show

Answer = dict[str, Any]
_c, _j, _r, _meanings = schema.columns, schema.jobs, schema.runs, schema.meanings


def proposed(
    connection: Connection, dataset: Dataset, fields: Sequence[Field], bounds: Bounds
) -> Answer:
    """What a proposed schema of a data set would break, against what is known of it now."""
    query = select(_c.c.path, _c.c.root, _c.c.type, _c.c.stated).where(
        _c.c.dataset_id == dataset.id, ~_c.c.whole
    )
    rows = connection.execute(query.order_by(_c.c.position, _c.c.path)).all()
    # Where no schema is known, what lineage tells of top-level columns must do.
    stated = [r for r in rows if r.stated] or [r for r in rows if r.path == r.root]
    known = [Field(row.path, row.type) for row in stated]
    # A proposal that names top-level columns only says nothing of what is in them.
    if not any("." in one.path for one in fields):
        top = {one.path for one in fields}
        known = [one for one in known if "." not in one.path or one.path in top]
    return hit(connection, dataset, schema_diff.compare(known, fields), bounds)


def hit(
    connection: Connection, dataset: Dataset, changes: Sequence[Change], bounds: Bounds
) -> Answer:
    """What some changes of a data set hit.

    Of each change what is downstream of the column; and the jobs that read the
    data set by ``*``, which any change of its columns hits.
    """
    told = []
    for one in changes:
        if one.change == schema_diff.ADDED:
            continue
        column_id = connection.scalar(
            select(_c.c.id).where(
                _c.c.dataset_id == dataset.id, ~_c.c.whole, _c.c.path == one.column
            )
        )
        found: Answer = {"columns": [], "datasets": [], "jobs": [], "readers": [],
                         "truncated": False, "left_out": 0}  # fmt: skip
        if column_id is not None:
            found = answers.impact(connection, Column(dataset, column_id, one.column), bounds)
        told.append(
            {
                "column": one.column,
                "change": one.change,
                "from": one.before,
                "to": one.after,
                "renamed_to": one.renamed_to,
                "breaking": one.breaking and bool(found["columns"] or found["jobs"]),
                **{key: found[key]
                   for key in ("columns", "datasets", "jobs", "truncated", "left_out")},
            }
        )  # fmt: skip
    return {
        "dataset": dataset.to_dict(),
        "breaking": any(one["breaking"] for one in told),
        "changes": told,
        "added": sorted(one.column for one in changes if one.change == schema_diff.ADDED),
        "star_readers": star_readers(connection, dataset) if changes else [],
    }


def star_readers(connection: Connection, dataset: Dataset) -> list[Answer]:
    """Jobs whose query had a star in it and that read the data set."""
    inputs, facets = schema.run_inputs, schema.run_facets
    query = (
        select(_j.c.namespace, _j.c.name, func.max(_r.c.last).label("last"))
        .select_from(inputs)
        .join(_meanings, _meanings.c.name_id == inputs.c.name_id)
        .join(_r, _r.c.id == inputs.c.run_id)
        .join(_j, _j.c.id == _r.c.job_id)
        .join(facets, (facets.c.run_id == _r.c.id) & (facets.c.name == "sparkLineage_context"))
        .where(_meanings.c.dataset_id == dataset.id, facets.c.body.like('%"stars":true%'))
        .where(meant_at(_r.c.last))
        .group_by(_j.c.namespace, _j.c.name)
        .order_by(_j.c.namespace, _j.c.name)
    )
    return [
        {"job": {"namespace": row.namespace, "name": row.name}, "last_run": show(row.last)}
        for row in connection.execute(query)
    ]
