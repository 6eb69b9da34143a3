"""Rule checks on the open edges: is the source column there, do types fit, do jobs agree.

Each failed check has a key made of names, so that a person's decision on it is
found again whatever the ids become.
"""

from __future__ import annotations

import re
from typing import Any

from sqlalchemy import Connection, and_, exists, func, select

from spark_lineage.collector import kinds, lifecycle
from spark_lineage.collector.model import digest
from spark_lineage.collector.store import schema

Answer = dict[str, Any]
_e, _j = schema.edges, schema.jobs
_out, _in = schema.columns.alias("out"), schema.columns.alias("source")
_to, _from = schema.datasets.alias("target"), schema.datasets.alias("origin")
UNKNOWN, TYPE, CONFLICT = "UNKNOWN_SOURCE_COLUMN", "TYPE", "CONFLICT"

_FAMILIES = (
    ("number", r"(tiny|small|big|medium)?int(eger)?\d*|long|short|byte|double( precision)?|float\d*"
     r"|real|decimal|numeric|number|bignumeric|(u|uint)\d+"),
    ("text", r"string|(var)?char(acter)?( varying)?|n?varchar2?|text|clob|utf8|uuid"),
    ("time", r"date(time)?|timestamp.*|time.*|interval.*"),
    ("boolean", r"bool(ean)?"),
    ("binary", r"binary|varbinary|bytes|bytea|blob"),
    ("nested", r"struct|array|map|row|record|list|json|variant|jsonb|object"),
)  # fmt: skip


def family(kind: str | None) -> str | None:
    """What sort of values a type holds, whatever the engine calls it; None if not known."""
    word = re.split(r"[(<\[]", (kind or "").strip().lower())[0].strip()
    for name, pattern in _FAMILIES:
        if re.fullmatch(pattern, word):
            return name
    return None


def failed(connection: Connection, limit: int) -> list[Answer]:
    """The checks that fail now, at most ``limit`` of each rule."""
    return [
        *_unknown(connection, limit), *_types(connection, limit), *_conflicts(connection, limit)
    ]  # fmt: skip


def _base() -> Any:
    return (
        select(
            _to.c.namespace, _to.c.name.label("dataset"), _out.c.path,
            _out.c.type.label("out_type"), _from.c.namespace.label("from_namespace"),
            _from.c.name.label("from_dataset"), _in.c.path.label("from_path"),
            _in.c.type.label("in_type"), _e.c.kind, _j.c.namespace.label("job_namespace"),
            _j.c.name.label("job_name"),
        )
        .select_from(_e)
        .join(_out, _out.c.id == _e.c.out_id)
        .join(_in, _in.c.id == _e.c.in_id)
        .join(_to, _to.c.id == _out.c.dataset_id)
        .join(_from, _from.c.id == _in.c.dataset_id)
        .join(_j, _j.c.id == _e.c.job_id)
        .where(_e.c.closed.is_(None), ~_in.c.whole, _to.c.id.not_in(lifecycle.gone()))
    )  # fmt: skip


def _unknown(connection: Connection, limit: int) -> list[Answer]:
    """Sources that their data set's schema does not have, where one is known."""
    stated, holder = schema.columns.alias("stated"), schema.columns.alias("holder")
    query = (
        _base()
        .where(
            ~_in.c.stated,
            exists().where(stated.c.dataset_id == _in.c.dataset_id, stated.c.stated),
            # A schema that tells a struct, not what is in it, has its fields all the same.
            ~exists().where(
                and_(
                    holder.c.dataset_id == _in.c.dataset_id,
                    holder.c.stated,
                    holder.c.root == _in.c.root,
                )
            ),
        )
        .order_by(_e.c.id)
        .limit(limit)
    )
    return [
        _shown(UNKNOWN, row, f"{row.from_dataset} has no column {row.from_path}")
        for row in connection.execute(query)
    ]


def _types(connection: Connection, limit: int) -> list[Answer]:
    """Columns that are said to be copied and are of another sort."""
    query = (
        _base()
        .where(_e.c.kind == "IDENTITY", _in.c.type.is_not(None), _out.c.type.is_not(None))
        .where(func.lower(_in.c.type) != func.lower(_out.c.type))
        .order_by(_e.c.id)
        .limit(limit * 20)
    )
    found: list[Answer] = []
    for row in connection.execute(query):
        source, target = family(row.in_type), family(row.out_type)
        if source and target and source != target and len(found) < limit:
            text = f"{row.out_type} from {row.in_type} without a change of it"
            found.append(_shown(TYPE, row, text))
    return found


def _conflicts(connection: Connection, limit: int) -> list[Answer]:
    """Columns whose value several jobs claim to come from different sources."""
    of_value = _e.c.kind.in_(list(kinds.VALUE))
    several = (
        select(_e.c.out_id)
        .where(_e.c.closed.is_(None), of_value)
        .group_by(_e.c.out_id)
        .having(func.count(_e.c.job_id.distinct()) > 1)
        .limit(limit)
    )
    query = _base().add_columns(_e.c.out_id, _e.c.job_id)
    told: dict[int, dict[int, list[Any]]] = {}
    for row in connection.execute(query.where(of_value, _e.c.out_id.in_(several))):
        told.setdefault(row.out_id, {}).setdefault(row.job_id, []).append(row)
    found = []
    for by_job in told.values():
        sources = {
            frozenset((r.from_namespace, r.from_dataset, r.from_path) for r in rows)
            for rows in by_job.values()
        }
        if len(sources) > 1:
            first = min((rows[0] for rows in by_job.values()), key=lambda row: row.job_name)
            names = sorted({rows[0].job_name for rows in by_job.values()})
            text = f"jobs differ on where it comes from: {', '.join(names)}"
            jobs = {(rows[0].job_namespace, rows[0].job_name) for rows in by_job.values()}
            named = [{"namespace": space, "name": name} for space, name in sorted(jobs)]
            found.append({**_shown(CONFLICT, first, text), "jobs": named})
    return found


def _shown(rule: str, row: Any, message: str) -> Answer:
    parts = [rule, row.namespace, row.dataset, row.path]
    if rule != CONFLICT:
        parts += [row.from_namespace, row.from_dataset, row.from_path, row.kind]
    return {
        "key": digest(*parts),
        "rule": rule,
        "message": message,
        "namespace": row.namespace,
        "dataset": row.dataset,
        "column": row.path or None,
        "source": {
            "namespace": row.from_namespace,
            "dataset": row.from_dataset,
            "column": row.from_path,
        },
        "job": {"namespace": row.job_namespace, "name": row.job_name},
    }
