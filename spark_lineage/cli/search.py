"""``spark-lineage search``: tables, columns and jobs by any part of a name."""

from __future__ import annotations

from typing import Annotated

import typer

from spark_lineage.cli import options
from spark_lineage.config import DEFAULT_URL


def command(
    text: Annotated[str, typer.Argument(help="Any part of a name.")],
    url: options.Url = DEFAULT_URL,
    limit: options.Rows = 50,
    as_json: options.Json = False,
    form: options.Format = "table",
) -> None:
    """Find tables, columns and jobs; the best fit first."""
    from spark_lineage.cli.client import Client

    answer = Client(url).ask("/api/v1/find", q=text, limit=limit)
    rows = [
        (one["type"], one["namespace"], one["name"], one["column"]) for one in answer["results"]
    ]
    notes = ["" if rows else f"nothing has {text!r} in its name", options.cut(answer)]
    head = ("what", "namespace", "name", "column")
    options.print_rows(head, rows, "json" if as_json else form, answer, notes)
