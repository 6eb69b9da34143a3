"""From what a person types to the one data set or column that is meant.

A name may be whole, a suffix that is unique (``orders``, ``db.orders``), a name
that a symlink gives, or a namespace and name together; case counts only where
two differ by nothing else.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, func, or_, select

from spark_lineage.collector.store import schema
from spark_lineage.errors import NotFoundError

MOST_NEAR = 8
MOST_CANDIDATES = 50
_BOUNDARIES = "./:#"


@dataclass(frozen=True)
class Dataset:
    """A data set that was found."""

    id: int
    namespace: str
    name: str

    @property
    def identity(self) -> tuple[str, str]:
        """Namespace and name."""
        return self.namespace, self.name

    def to_dict(self) -> dict[str, Any]:
        """As answers name it."""
        return {"namespace": self.namespace, "dataset": self.name}


@dataclass(frozen=True)
class Column:
    """A column that was found; ``id`` and ``path`` are None for the data set as a whole."""

    dataset: Dataset
    id: int | None = None
    path: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """As answers name it."""
        return {**self.dataset.to_dict(), "column": self.path}


class UnknownNameError(NotFoundError):
    """Nothing has that name; ``near`` are names like it."""

    def __init__(self, message: str, near: list[dict[str, Any]]) -> None:
        super().__init__(message)
        self.near = near


class AmbiguousNameError(NotFoundError):
    """More than one thing has that name: ``near`` are they."""

    def __init__(self, name: str, near: list[dict[str, Any]]) -> None:
        super().__init__(f"{name!r} is ambiguous")
        self.near = near


def column_or_dataset(connection: Connection, text: str, namespace: str | None = None) -> Column:
    """Find ``NAME.COLUMN`` or ``NAME``.

    Raises :class:`UnknownNameError` or :class:`AmbiguousNameError`.
    """
    text = text.strip()
    found: list[Column] = []
    datasets: list[Dataset] = []
    for place in (index for index, letter in enumerate(text) if letter == "."):
        left, right = text[:place], _bare(text[place + 1 :])
        candidates = _datasets(connection, left, namespace) if left and right else []
        datasets.extend(candidates)
        for dataset in candidates:
            hit = _column(connection, dataset, right)
            if hit is not None and hit not in found:
                found.append(hit)
    whole = [Column(dataset) for dataset in _datasets(connection, text, namespace)]
    # A column of a table and a table of that very name: the whole name is the plainer reading.
    exact = [column for column in whole if column.dataset.name == _bare(text)]
    for choice in (exact, [*found, *whole]):
        if len(choice) == 1:
            return choice[0]
        if choice:
            raise AmbiguousNameError(text, [one.to_dict() for one in choice[:MOST_CANDIDATES]])
    raise _unknown(connection, text, datasets, namespace)


def dataset(connection: Connection, name: str, namespace: str | None = None) -> Dataset:
    """Find a data set. Raises :class:`UnknownNameError` or :class:`AmbiguousNameError`."""
    found = _datasets(connection, name.strip(), namespace)
    if len(found) == 1:
        return found[0]
    if found:
        raise AmbiguousNameError(name, [one.to_dict() for one in found[:MOST_CANDIDATES]])
    raise _unknown(connection, name, [], namespace)


def column(
    connection: Connection, name: str, path: str | None, namespace: str | None = None
) -> Column:
    """Find a column of a data set, or with ``path`` None all of it; raises as :func:`dataset`."""
    of = dataset(connection, name, namespace)
    if path is None:
        return Column(of)
    found = _column(connection, of, path)
    if found is None:
        raise _unknown(connection, path, [of], namespace)
    return found


def job(connection: Connection, name: str, namespace: str | None = None) -> int:
    """The row of a job by its whole name, or an end of it that is unique; raises as above."""
    j = schema.jobs
    query = select(j.c.id, j.c.namespace, j.c.name).where(
        j.c.name.like("%" + _escaped(name), escape="\\"), j.c.name != ""
    )
    if namespace is not None:
        query = query.where(j.c.namespace == namespace)
    rows = connection.execute(query.order_by(j.c.namespace, j.c.name)).all()
    found = [row for row in rows if row.name == name] or [
        row for row in rows if row.name[: -len(name)][-1:] in _BOUNDARIES
    ]
    near = [{"namespace": row.namespace, "dataset": row.name} for row in found or rows]
    if len(found) == 1:
        return int(found[0].id)
    if found:
        raise AmbiguousNameError(name, near[:MOST_CANDIDATES])
    raise UnknownNameError(f"no job {name!r} is known", near[:MOST_NEAR])


def named_job(connection: Connection, number: int) -> dict[str, Any]:
    """A job's row as answers name it."""
    j = schema.jobs
    row = connection.execute(select(j.c.namespace, j.c.name).where(j.c.id == number)).one()
    return {"namespace": row.namespace, "name": row.name}


def _bare(text: str) -> str:
    return text.replace("`", "").replace('"', "") if text[:1] in '`"' else text


def _datasets(connection: Connection, text: str, namespace: str | None) -> list[Dataset]:
    """The best reading that anything fits: whole before suffix, case before no case."""
    name = text.replace("`", "")
    # The best of all is found by an index, the others by a look at each name.
    rows = _candidates(connection, name, namespace, schema.names.c.name == name)
    rows = rows or _candidates(connection, name, namespace)
    for fits in (_same, _whole_name, _suffix):
        for fold in (str, str.casefold):
            hits = {
                row.id: Dataset(row.id, row.namespace, row.name)
                for row in rows
                if fits(fold(row.as_namespace), fold(row.as_name), fold(name))
            }
            if hits:
                return list(hits.values())
    return []


def _candidates(
    connection: Connection,
    name: str,
    namespace: str | None,
    fits: ColumnElement[bool] | None = None,
) -> list[Any]:
    d, n, m = schema.datasets, schema.names, schema.meanings
    tail = "%" + _escaped(name)
    # Either the stored name ends as the given one does, or the given one has it as its end.
    ends = or_(
        n.c.name.ilike(tail, escape="\\"),
        func.lower(func.substr(name, func.length(name) - func.length(n.c.name) + 1))
        == func.lower(n.c.name),
    )
    query = (
        select(
            d.c.id, d.c.namespace, d.c.name, d.c.ended, n.c.namespace.label("as_namespace"),
            n.c.name.label("as_name"),
        )
        .select_from(n)
        .join(m, m.c.name_id == n.c.id)
        .join(d, d.c.id == m.c.dataset_id)
        .where(ends if fits is None else fits, ~d.c.ghost)
        .order_by(m.c.since)
    )  # fmt: skip
    if namespace is not None:
        query = query.where(or_(n.c.namespace == namespace, d.c.namespace == namespace))
    # What a name means now, and only where it means nothing any more what it meant last.
    latest: dict[tuple[str, str], Any] = {}
    for row in connection.execute(query):
        key = (row.as_namespace, row.as_name)
        if row.ended is None or key not in latest or latest[key].ended is not None:
            latest[key] = row
    return list(latest.values())


def _same(_namespace: str, name: str, given: str) -> bool:
    return name == given


def _whole_name(namespace: str, name: str, given: str) -> bool:
    if not namespace or not (given.startswith(namespace) and given.endswith(name)):
        return False
    between = given[len(namespace) : len(given) - len(name)]
    return len(namespace) + len(name) <= len(given) and between in ("", ".", "/", ":")


def _suffix(_namespace: str, name: str, given: str) -> bool:
    if not name.endswith(given) or len(name) <= len(given):
        return False
    return name[-len(given) - 1] in _BOUNDARIES or given[:1] in _BOUNDARIES


def _column(connection: Connection, of: Dataset, path: str) -> Column | None:
    c = schema.columns
    query = select(c.c.id, c.c.path).where(c.c.dataset_id == of.id, ~c.c.whole)
    rows = connection.execute(query.where(func.lower(c.c.path) == path.lower())).all()
    for row in rows:
        if row.path == path:
            return Column(of, row.id, row.path)
    return Column(of, rows[0].id, rows[0].path) if len(rows) == 1 else None


def _unknown(
    connection: Connection, text: str, datasets: list[Dataset], namespace: str | None
) -> UnknownNameError:
    if datasets:
        of = datasets[-1]
        c = schema.columns
        query = select(c.c.path).where(c.c.dataset_id == of.id, ~c.c.whole)
        paths = list(connection.scalars(query.order_by(c.c.position, c.c.path)))
        wanted = text.rpartition(".")[2]
        near = difflib.get_close_matches(wanted, paths, MOST_NEAR, 0.4) or paths[:MOST_NEAR]
        message = f"no column {wanted!r} is known in {of.name}"
        return UnknownNameError(message, [{**of.to_dict(), "column": path} for path in near])
    d = schema.datasets
    every = select(d.c.namespace, d.c.name).order_by(d.c.name, d.c.namespace)
    if namespace is not None:
        every = every.where(d.c.namespace == namespace)
    return UnknownNameError(
        f"nothing named {text!r} is known", _near(text, connection.execute(every).all())
    )


def _near(text: str, rows: Any) -> list[dict[str, Any]]:
    """Names whose last parts are like the given one's, with or without a column after it."""
    by_tail: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        tail = row.name.replace("/", ".").rpartition(".")[2].lower()
        by_tail.setdefault(tail, []).append({"namespace": row.namespace, "dataset": row.name})
    parts = [part for part in text.lower().replace("/", ".").split(".")[-2:] if part]
    near: list[dict[str, Any]] = []
    for part in parts:
        for tail in difflib.get_close_matches(part, list(by_tail), MOST_NEAR, 0.6):
            near.extend(one for one in by_tail[tail] if one not in near)
    return near[:MOST_NEAR]


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
