"""What could not be used: each body once, with its faults and what became of it."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

from sqlalchemy import Connection, insert, select, update

from spark_lineage.collector import masking, times
from spark_lineage.collector.model import canonical
from spark_lineage.collector.shapes import Fault
from spark_lineage.collector.store import schema

# An event may be large without end; what is quarantined is cut, not lost sight of.
MOST_BYTES = 4 << 20
_table = schema.quarantine
# A fault of ours may be mended and the body replayed; a state beside these is a person's.
OPEN, REPLAYED = "OPEN", "REPLAYED"


def put(connection: Connection, body: bytes, faults: list[Fault]) -> int:
    """Put a body aside without its secrets; gives its number, the same for a repeat."""
    body = masking.raw(body)
    key = sha256(body).hexdigest()
    found = connection.scalar(select(_table.c.id).where(_table.c.hash == key))
    if found is not None:
        again = {"times": _table.c.times + 1, "faults": _shown(faults), "state": OPEN}
        connection.execute(update(_table).where(_table.c.id == found).values(**again))
        return int(found)
    row = {
        "hash": key,
        "received": times.now(),
        "times": 1,
        "state": OPEN,
        "faults": _shown(faults),
        "body": body[:MOST_BYTES],
    }
    made = connection.execute(insert(_table).returning(_table.c.id), row)
    return int(made.scalar_one())


def rows(connection: Connection, limit: int, state: str | None = OPEN) -> list[dict[str, Any]]:
    """The newest ones of a state (None: of any), each with its faults and its body's begin."""
    query = select(_table).order_by(_table.c.id.desc()).limit(limit)
    if state is not None:
        query = query.where(_table.c.state == state)
    return [to_dict(row, most=10_000) for row in connection.execute(query)]


def one(connection: Connection, number: int) -> Any | None:
    """A row by its number."""
    return connection.execute(select(_table).where(_table.c.id == number)).first()


def settle(
    connection: Connection,
    number: int,
    state: str,
    faults: list[Fault] | None = None,
    who: str = "",
    why: str = "",
) -> None:
    """Note what became of one."""
    said: dict[str, Any] = {"state": state, "by": who, "reason": why, "settled": times.now()}
    if faults is not None:
        said["faults"] = _shown(faults)
    connection.execute(update(_table).where(_table.c.id == number).values(**said))


def to_dict(row: Any, most: int | None = None) -> dict[str, Any]:
    """As answers have it."""
    return {
        "number": row.id,
        "received": times.show(row.received),
        "times": row.times,
        "state": row.state,
        "by": row.by,
        "reason": row.reason,
        "faults": json.loads(row.faults),
        "body": bytes(row.body[:most]).decode("utf-8", "replace"),
    }


def _shown(faults: list[Fault]) -> str:
    return canonical([fault.to_dict() for fault in faults])
