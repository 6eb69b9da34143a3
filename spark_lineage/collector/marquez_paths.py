"""Paths below ``/namespaces/`` of Marquez's API: what they name, with slashes encoded or not.

Names are to be percent-encoded, and one that is has no slash of its own. Where a client or
a proxy sends slashes as they are, each way to read the path is tried, and the one whose
names are known is it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

from fastapi import Request
from sqlalchemy import Connection

from spark_lineage.collector import marquez
from spark_lineage.errors import NotFoundError

# What may follow a name; None stands for any text.
_TAILS: dict[str, tuple[tuple[str | None, ...], ...]] = {
    "datasets": (
        (), ("versions",), ("versions", None), ("tags", None), ("fields", None, "tags", None),
    ),
    "jobs": ((), ("runs",), ("versions",), ("versions", None), ("tags", None)),
}  # fmt: skip
# A path may have the words of the grammar any number of times; so many of them are tried.
_MOST_READINGS = 16
_LONGEST_TAIL = max(len(tail) for tails in _TAILS.values() for tail in tails)


class Target(NamedTuple):
    """What a path names: a namespace, one of its lists, or a data set or job with what follows."""

    namespace: str
    kind: str = ""
    name: str = ""
    tail: tuple[str, ...] = ()
    # The row of the data set or job.
    id: int = 0

    @property
    def form(self) -> tuple[str, ...]:
        """The words of the tail: ``("fields", "tags")``."""
        return self.tail[::2]


def parts(request: Request, after: str) -> list[str]:
    """The parts of a path, each decoded, as it was sent: a framework decodes before it parts."""
    raw = request.scope.get("raw_path") or request.scope["path"].encode()
    text: bytes = raw.partition(b"?")[0].partition(f"/{after}/".encode())[2]
    return [unquote_to_bytes(part).decode("utf-8", "replace") for part in text.split(b"/")]


def target(connection: Connection, given: list[str]) -> Target:
    """What the parts name. Raises ``NotFoundError``."""
    readings = list(islice(_readings(given), _MOST_READINGS))
    for one in readings:
        if not one.name:
            if one.kind == "jobs" or marquez.namespace(connection, one.namespace) is not None:
                return one
            continue
        find = marquez.find_dataset if one.kind == "datasets" else marquez.find_job
        found = find(connection, one.namespace, one.name)
        if found is not None:
            return one._replace(id=found)
    if not readings:
        raise NotFoundError(f"there is nothing at {'/'.join(given)!r}")
    raise _unknown(readings[0])


def _unknown(one: Target) -> NotFoundError:
    if not one.name:
        return NotFoundError(f"no namespace {one.namespace!r} is known")
    kind = "data set" if one.kind == "datasets" else "job"
    return NotFoundError(f"no {kind} {one.name!r} is known in {one.namespace!r}")


def _readings(given: list[str]) -> Iterator[Target]:
    """Each way to read the parts; first that of a path which is encoded as it should be."""
    while given and given[-1] == "":
        given = given[:-1]
    for place, word in enumerate(given):
        if word in _TAILS and place:
            namespace, rest = "/".join(given[:place]), given[place + 1 :]
            if not rest:
                yield Target(namespace, word)
            # The shorter the name, the more is read as the grammar has it.
            for length in range(max(1, len(rest) - _LONGEST_TAIL), len(rest) + 1):
                tail = tuple(rest[length:])
                if any(_fits(tail, form) for form in _TAILS[word]):
                    yield Target(namespace, word, "/".join(rest[:length]), tail)
    if given:
        yield Target("/".join(given))


def _fits(tail: tuple[str, ...], form: tuple[str | None, ...]) -> bool:
    return len(tail) == len(form) and all(
        want in (None, part) for part, want in zip(tail, form, strict=True)
    )
