"""``spark-lineage seen``: which writes a read of a table saw."""

from __future__ import annotations

from typing import Annotated

import typer

from spark_lineage.cli import options
from spark_lineage.config import DEFAULT_URL


def command(
    name: options.Table,
    at: Annotated[
        str | None, typer.Option(help="When it was read (ISO 8601); now by default.")
    ] = None,
    url: options.Url = DEFAULT_URL,
    namespace: options.Namespace = None,
    as_json: options.Json = False,
    form: options.Format = "table",
) -> None:
    """The last overwrite of a table before a time, and the appends since."""
    from spark_lineage.cli.client import Client

    answer = Client(url).ask("/api/v1/datasets/seen", dataset=name, namespace=namespace, at=at)
    rows = [
        (one["time"], one["change"] or "write", (one["job"] or {}).get("name"), one["run"])
        for one in answer["writes"]
    ]
    notes = ["" if answer["complete"] else "no overwrite is known before these",
             options.cut(answer)]  # fmt: skip
    head = ("time", "change", "job", "run")
    options.print_rows(head, rows, "json" if as_json else form, answer, notes)
