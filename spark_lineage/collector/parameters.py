"""Parameters that many routes have."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query
from fastapi.exceptions import RequestValidationError

from spark_lineage.collector import times

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
When = Annotated[str | None, Query(description="a time, ISO 8601")]


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
