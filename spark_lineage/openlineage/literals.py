"""Events without literals, for ``spark.lineage.sql=normalized`` and ``off``.

A literal may be personal data. What names something (tables, columns, paths,
functions) stays: without it there is no lineage. What quotes a statement or a
value is masked or left out.
"""

from __future__ import annotations

import re
from typing import Any

MASK = "?"

_TOKEN = re.compile(
    r"""
      (?P<gap>--[^\n]*|/\*(?!\+).*?(?:\*/|\Z))
    | (?P<literal>
        \b[rR](?:'[^']*(?:'|\Z)|"[^"]*(?:"|\Z))
      | (?:\b[xX])?'(?:[^'\\]|\\.|'')*(?:'|\Z)
      | (?:\b[xX])?"(?:[^"\\]|\\.|"")*(?:"|\Z)
      | \$(?P<tag>\w*)\$.*?(?:\$(?P=tag)\$|\Z)
      | (?<![\w.$])(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?(?:[lLsSyYfFdD]|[bB][dD])?\b
      )
    | (?P<kept>`(?:[^`]|``)*(?:`|\Z)|\w+)
    """,
    re.DOTALL | re.VERBOSE,
)
# "collect at /a/job.py:12", "save at NativeMethodAccessorImpl.java:0"
_CALL_SITE = re.compile(r"[\w$.<>]+ at [^'\"\n]{1,512}:\d+")
# "[DIVIDE_BY_ZERO] ..." and "[CAST_INVALID_INPUT.SUB] ..."
_CONDITION = re.compile(r"^([\w.$]+)(?::\s*(\[[A-Z0-9_.]+\]))?")
_FRAME = re.compile(r"\s*(?:at |File \"|\.\.\. \d+ more)")
_CAUSE = re.compile(r"\s*(?:Caused by: |Suppressed: )?[\w.$]+(?=:|$)")


def mask_sql(text: str) -> str:
    """The statement with ``?`` for each literal, without comments (hints stay).

    Double quotes are taken for a string, as Spark does by default.
    """

    def shown(match: re.Match[str]) -> str:
        if match["gap"] is not None:
            return " "
        return MASK if match["literal"] is not None else match[0]

    return _TOKEN.sub(shown, text)


def mask_error(message: str) -> str:
    """What kind of error it was: its class and Spark's error condition, no more."""
    match = _CONDITION.match(message)
    if not match:
        return "error"
    return f"{match[1]}: {match[2]}" if match[2] else match[1]


def mask_stack(stack: str) -> str:
    """The frames of a stack and the classes of its causes, without their messages."""
    lines = []
    for line in stack.splitlines():
        if _FRAME.match(line):
            lines.append(line)
        elif line.lstrip().startswith(("Caused by: ", "Suppressed: ")) and (
            cause := _CAUSE.match(line)
        ):
            lines.append(cause[0])
    return "\n".join(lines)


def without_literals(event: dict[str, Any], sql: str) -> dict[str, Any]:
    """The event (changed in place) as ``sql`` (``normalized`` or ``off``) wants it.

    Expressions are made without literals by the engine; here are masked or left
    out: the statement, the call site where it is one, errors, issues, and the
    subsets of data sets, whose conditions are values.
    """
    job, run = event["job"].get("facets") or {}, event["run"].get("facets") or {}
    if "sql" in job:
        if sql == "off":
            del job["sql"]
        else:
            job["sql"]["query"] = mask_sql(job["sql"]["query"])
    error = run.get("errorMessage")
    if error:
        error["message"] = mask_error(error["message"])
        if error.get("stackTrace"):
            error["stackTrace"] = mask_stack(error["stackTrace"])
    context = run.get("sparkLineage_context") or {}
    site = context.get("callSite")
    if isinstance(site, str) and not _CALL_SITE.fullmatch(site):
        if sql == "off":
            del context["callSite"]
        else:
            context["callSite"] = mask_sql(site)
    quality = run.get("sparkLineage_quality") or {}
    for told in (quality, *(quality.get("outputs") or ())):
        if told.get("issues"):
            told["issues"] = [mask_sql(issue) for issue in told["issues"]]
    for side, facets in (("inputs", "inputFacets"), ("outputs", "outputFacets")):
        for dataset in event.get(side) or ():
            (dataset.get(facets) or {}).pop("subset", None)
    return event
