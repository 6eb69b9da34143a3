"""What a record tells of whether a command did what its plan says.

A plan with IF EXISTS, or with the save mode Ignore, is the same whether anything
was there or not. What was done is told by the session catalog's own events
(``tableChanges``) and by the metrics of the write.
"""

from __future__ import annotations

from typing import Any

from spark_lineage.plan.node import Record

CREATED = "CreateTableEvent"
DROPPED = "DropTableEvent"

#: What a file write sets once it has committed; a write of no rows sets the time at least.
_COMMITTED = ("numFiles", "numParts", "numOutputRows", "jobCommitTime")


def ended(record: Record) -> bool:
    """Whether the record is of an execution that ended well."""
    return record.phase == "END" and record.execution.get("outcome") == "SUCCESS"


def failed(record: Record) -> bool:
    """Whether the record is of an execution that failed."""
    return record.execution.get("outcome") == "FAILURE"


def changed(record: Record, event: str, database: str, table: str) -> bool | None:
    """Whether the session catalog did this to the table; None if nobody knows (yet)."""
    told = record.execution.get("tableChanges")
    if not ended(record) or not isinstance(told, list):
        return None
    wanted = (event, database.lower(), table.lower())
    return any(wanted == _words(change) for change in told)


def _words(change: dict[str, Any]) -> tuple[str, str, str]:
    return (
        str(change.get("event")),
        str(change.get("database")).lower(),
        str(change.get("name")).lower(),
    )


def committed(record: Record) -> bool | None:
    """Whether a write of files was done at all; None if nobody knows (yet)."""
    if not ended(record) or not record.writes:
        return None
    return any(
        int((write.get("metrics") or {}).get(metric) or 0) > 0
        for write in record.writes
        for metric in _COMMITTED
    )
