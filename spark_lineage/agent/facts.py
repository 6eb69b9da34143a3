"""What a record says of its run, apart from lineage: names, context, quality, statistics."""

from __future__ import annotations

import re
from typing import Any

from spark_lineage.lineage.model import Lineage
from spark_lineage.openlineage.run import RunError
from spark_lineage.version import __version__

ERROR_MESSAGE_LIMIT = 4_000


def application_context(app: dict[str, Any]) -> dict[str, Any]:
    """The context of an application's run."""
    context = {
        "applicationId": app.get("id"),
        "user": app.get("user"),
        "master": app.get("master"),
        "deployMode": app.get("deployMode"),
        "attemptId": app.get("attemptId"),
    }
    return {key: value for key, value in context.items() if value not in (None, "")}


def execution_context(record: dict[str, Any], action: str) -> dict[str, Any]:
    """The context of one run: who, from where, in which session, of which action."""
    execution, app = record["execution"], record["app"]
    session = record.get("session") or {}
    start, end = execution.get("startTime"), execution.get("endTime")
    context = {
        "applicationId": app.get("id"),
        "user": session.get("user") or app.get("user"),
        "clientAddress": session.get("clientAddress"),
        "sessionId": execution.get("sessionId") or session.get("id"),
        "catalog": session.get("catalog"),
        "database": session.get("database"),
        "callSite": execution.get("description"),
        "action": execution.get("name"),
        "queryId": str(execution["id"]),
        "actionId": action,
        "durationMillis": end - start if start is not None and end is not None else None,
        "catalogs": _catalogs(session.get("conf") or {}),
        "stars": execution.get("stars"),
        "jobTags": execution.get("jobTags"),
    }
    return {key: value for key, value in context.items() if value not in (None, "", [], {})}


# The bridge has masked the values of most of these; whatever their value, they are not told.
_SECRET = re.compile(
    r"secret|passw|passphrase|pwd|token|credential|signature|authoriz|bearer|cookie|jaas|\bsas\b"
    r"|(?:access|api|account|private|shared|encryption)[._-]?key|\(redacted\)",
    re.IGNORECASE,
)


def _catalogs(conf: dict[str, str]) -> dict[str, dict[str, str]]:
    """The properties of the configured catalogs that are no secrets, and hold none."""
    catalogs: dict[str, dict[str, str]] = {}
    for key, value in conf.items():
        match = re.fullmatch(r"spark\.sql\.catalog\.([^.]+)(?:\.(.+))?", key)
        if match and not _SECRET.search(match[2] or "") and not _SECRET.search(value):
            catalogs.setdefault(match[1], {})[match[2] or "class"] = value
    return catalogs


def quality(
    record: dict[str, Any],
    lineage: Lineage | None,
    issues: list[str],
    times: dict[str, float],
    losses: dict[str, int],
    filtered: dict[str, int] | None = None,
) -> dict[str, Any]:
    """What the agent could tell of this run, and what it could not.

    ``filtered``: runs that the event filter left out so far, by the list that did.
    """
    bridge = record.get("bridge") or {}
    dropped = {**(bridge.get("dropped") or {}), **losses}
    told: dict[str, Any] = {
        "agentVersion": __version__,
        "bridgeVersion": bridge.get("version"),
        "dropped": {reason: count for reason, count in dropped.items() if count},
        "filtered": filtered or None,
        "issues": issues,
        "times": {**times, "captureMillis": round((bridge.get("captureNanos") or 0) / 1e6, 3)},
    }
    if lineage is not None:
        told |= {
            "outputs": [
                {
                    "namespace": output.dataset.namespace,
                    "name": output.dataset.name,
                    "availability": output.availability.value,
                    "issues": list(output.issues),
                }
                for output in lineage.outputs
                if output.dataset is not None and output.written
            ],
            "unknownNodes": lineage.unknown_nodes,
            "unexplained": [column.to_dict() for column in lineage.unexplained],
            "explained": lineage.explained,
            "inputsNotRead": [
                {"namespace": item.dataset.namespace, "name": item.dataset.name}
                for item in lineage.inputs
                if not item.read
            ],
        }
    return {key: value for key, value in told.items() if value is not None}


def error_of(execution: dict[str, Any]) -> RunError:
    """The error of a failed execution, as the bridge redacted it."""
    error = execution.get("error") or {}
    name, message = error.get("class") or "unknown error", error.get("message")
    text = f"{name}: {message}" if message else name
    return RunError(text[:ERROR_MESSAGE_LIMIT], error.get("stack"))


# Spark's words for what somebody cancelled: by 4.x's error condition, or 3.x's message; a query
# that a server's client interrupted; also where another exception is around it. Only Spark's own
# exceptions say so: a message of the job's may read the same.
_CANCELLED = re.compile(
    r"(?:[\w.$]+(?:Exception|Error): )*org\.apache\.spark\.[\w.$]*Exception: "
    r"(?:\[(?:SPARK_JOB_CANCELLED|OPERATION_CANCELED)\b|Job \d+ cancelled\b)"
)
_INTERRUPTED = frozenset(
    {
        "java.lang.InterruptedException",
        "java.nio.channels.ClosedByInterruptException",
        "java.util.concurrent.CancellationException",
    }
)


def is_cancelled(execution: dict[str, Any]) -> bool:
    """Whether a failed execution was cancelled: a job, stage, group or tag of it, or its thread."""
    error = execution.get("error") or {}
    name, message = error.get("class") or "", error.get("message") or ""
    if name in _INTERRUPTED:
        return True
    causes = re.findall(r"^Caused by: (.*)$", error.get("stack") or "", re.MULTILINE)
    return any(_CANCELLED.match(told) for told in (f"{name}: {message}", *causes))


def job_kind(lineage: Lineage | None) -> str:
    """OpenLineage's jobType of an action: COMMAND where it writes, else QUERY."""
    writes = lineage is not None and any(output.dataset for output in lineage.outputs)
    return "COMMAND" if writes else "QUERY"


def is_look_at_result(record: dict[str, Any]) -> bool:
    """Whether an execution only gives the rows of a command (``spark.sql("INSERT").collect()``)."""
    optimized = (record.get("plans") or {}).get("optimized")
    if optimized is None or record["execution"].get("mode") != "ALL":
        return False
    return bool(record["shapes"][record["nodes"][optimized][0]][0] == "CommandResult")


def is_inference(record: dict[str, Any]) -> bool:
    """Whether an execution is Spark's own look into files for their columns (``read.csv``).

    It reads them as text, with an option that no user gives (``DataSource.GLOB_PATHS_KEY``), and
    prepares what the user has asked for. A stream of files has the option too, below its sink.
    """
    analyzed = (record.get("plans") or {}).get("analyzed")
    if analyzed is None or not _LOOKED_INTO.intersection(record["strings"]):
        return False
    return not str(record["shapes"][record["nodes"][analyzed][0]][0]).startswith("WriteTo")


_LOOKED_INTO = frozenset({"__globPaths__", "__globpaths__"})
