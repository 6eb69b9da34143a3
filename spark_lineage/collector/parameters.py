"""Parameters that many routes have."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated

from fastapi import Query, Request
from fastapi.exceptions import RequestValidationError

from spark_lineage.collector import times
from spark_lineage.errors import ConfigError

MOST_DEPTH = 200
MOST_COLUMNS = 100_000

Name = Annotated[str, Query(min_length=1, description="whole, or a suffix that is unique")]
Namespace = Annotated[str | None, Query(description="only in this namespace")]
Depth = Annotated[int, Query(ge=1, le=MOST_DEPTH, description="hops from column to column")]
Limit = Annotated[int, Query(ge=1, le=MOST_COLUMNS, description="the most columns")]
Follow = Annotated[
    str, Query(pattern="^(all|direct)$", description="all edges, or those of values only")
]
Most = Annotated[int, Query(ge=1, le=1_000, description="the most rows")]
Kinds = Annotated[Sequence[str], Query(description="only edges of these kinds")]
View = Annotated[
    str | None, Query(min_length=1, max_length=500, description="only ways through this view")
]
Fold = Annotated[
    str | None,
    Query(max_length=500, description="names to fold away; the collector's --temp by default"),
]
When = Annotated[str | None, Query(description="a time, ISO 8601")]


def folding(request: Request, text: str | None) -> re.Pattern[str] | None:
    """What to fold away: as asked, else the collector's own patterns, else nothing.

    Raises ``ConfigError`` for what is no regular expression, or one that may take long.
    """
    if text is not None:
        _check_cost(text)
    found: re.Pattern[str] | None = request.app.state.temp if text is None else pattern(text)
    return found


# How often each may stand in a pattern that a request brings.
_MOST = {"*": 2, "?": 3, "(": 3, "|": 20}
_PLAIN = (
    "a regular expression with at most two of * + {, three ?, three groups and 20 |, none"
    " repeated after a group, without look-around and back-references"
)
# An escape, a set of letters, a group that is repeated, what begins a group, and the rest.
_TOKEN = re.compile(
    r"\\(?P<escaped>.)|\[\^?\]?(?:\\.|[^\]\\])*\]|(?P<repeated>\)[*+{?])"
    r"|(?P<special>\(\?)(?P<plain>:|i\))?|(?P<sign>[*+{?(|])|.",
    re.DOTALL,
)


def _check_cost(text: str) -> None:
    """Refuse what takes more than some hundred times the cube of a name's length.

    Anyone may send it, and Python's matcher, which cannot be stopped, tries all
    ways of what is repeated, optional or alternative.
    """
    counts = dict.fromkeys(_MOST, 0)
    for token in _TOKEN.finditer(text):
        special = token["special"] is not None and token["plain"] is None
        back = token["escaped"] is not None and token["escaped"] in "123456789"
        sign = token["sign"] or ("(" if token["plain"] == ":" else "")
        if sign:
            counts["*" if sign in "+{" else sign] += 1
        over = any(counts[one] > most for one, most in _MOST.items())
        if special or back or over or token["repeated"] is not None:
            raise ConfigError("fold", text, _PLAIN)


def pattern(text: str, key: str = "fold") -> re.Pattern[str] | None:
    """A regular expression; None for an empty one."""
    try:
        return re.compile(text) if text else None
    except (re.error, RecursionError, OverflowError) as error:
        raise ConfigError(key, text, f"a regular expression ({error})") from None


def moment(text: str | None) -> int | None:
    """A time of a request in microseconds; what is none is the request's fault."""
    if text is None:
        return None
    try:
        # A plus in a URL is a space.
        return times.parse(text.replace(" ", "+") if text[-6:-5] == " " else text)
    except (ValueError, OverflowError) as error:
        raise RequestValidationError(
            [{"loc": ("query", "time"), "msg": str(error), "type": "value_error"}]
        ) from None
