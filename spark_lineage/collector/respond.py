"""Large answers as they go out: written at once, without a look at each value."""

from __future__ import annotations

from typing import Any

import orjson
from starlette.responses import Response

# For the routes that give one: what their document says of it.
ANSWER: Any = dict[str, Any]


def answer(content: dict[str, Any]) -> Response:
    """An answer of plain data, which may have thousands of columns."""
    return Response(orjson.dumps(content), media_type="application/json")
