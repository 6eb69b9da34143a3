"""The texts of events as they are kept: long parts that many have stand there as references.

A job and its data sets say the same in each of its runs, and that is most of an
event's text: each such part is one row of ``pieces``, however many events have it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlalchemy import Connection, delete

from spark_lineage.collector.model import REFERENCE
from spark_lineage.collector.store import rows, schema

DAY = 86_400_000_000
_SIGN = REFERENCE.decode()


def keep(connection: Connection, pieces: dict[bytes, bytes], received: int) -> None:
    """Keep the parts that are not there yet; note of the others that they are in use."""
    keys = {key.decode(): key for key in pieces}
    known = dict(rows.fetched(connection, "SELECT hash, seen FROM pieces WHERE hash ", keys))
    new = [
        (hash_, received, pieces[key].decode()) for hash_, key in keys.items() if hash_ not in known
    ]
    rows.put(connection, schema.pieces, ("hash", "seen", "body"), new, rows.IGNORE)
    old = [(received, hash_) for hash_, seen in known.items() if seen < received - DAY]
    rows.change(connection, schema.pieces, ("seen",), ("hash",), old)


def whole(connection: Connection, bodies: Iterable[str]) -> list[str]:
    """The texts without references."""
    split = [body.split(_SIGN) for body in bodies]
    keys = {key for parts in split for key in parts[1::2]}
    query = "SELECT hash, body FROM pieces WHERE hash "
    found = dict(rows.fetched(connection, query, keys))
    return ["".join(_filled(parts, found)) for parts in split]


def _filled(parts: list[str], found: dict[str, str]) -> Sequence[str]:
    if len(parts) > 1:
        parts[1::2] = [found[key] for key in parts[1::2]]
    return parts


def forget(connection: Connection, before: int) -> int:
    """Delete parts that no event received since ``before`` has; how many they were.

    ``seen`` may be a day behind, and an event of now may be about to refer to a
    part: those of the last two days stay.
    """
    table = schema.pieces
    return connection.execute(delete(table).where(table.c.seen < before - 2 * DAY)).rowcount
