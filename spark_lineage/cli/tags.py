"""``spark-lineage tags``: which columns hold what a tag marks, or which tags a column has."""

from __future__ import annotations

from typing import Annotated

import typer

from spark_lineage.cli import options
from spark_lineage.config import DEFAULT_URL
from spark_lineage.errors import ConfigError


def command(
    tag: Annotated[
        str | None,
        typer.Argument(metavar="[TAG]", help="Where does what it marks flow?", show_default=False),
    ] = None,
    of: Annotated[
        str | None,
        typer.Option(metavar="NAME.COLUMN", help="Which tags reach this column?"),
    ] = None,
    url: options.Url = DEFAULT_URL,
    namespace: options.Namespace = None,
    depth: options.Depth = 50,
    as_of: options.AsOf = None,
    as_json: options.Json = False,
    form: options.Format = "table",
) -> None:
    """Follow a tag along values to where they are masked, or back from a column."""
    from spark_lineage.cli.client import Client

    if (tag is None) == (of is None):
        raise ConfigError("TAG", tag, "a tag, or --of NAME.COLUMN")
    client = Client(url)
    form = "json" if as_json else form
    if tag is not None:
        answer = client.ask("/api/v1/tags/flow", tag=tag, depth=depth, as_of=as_of)
        rows = [
            (one["distance"], one["namespace"], one["dataset"], one["column"],
             "yes" if one["tagged"] else "")
            for one in answer["columns"]
        ]  # fmt: skip
        notes = ["" if rows else f"no column is known to hold {tag}", options.cut(answer)]
        head = ("distance", "namespace", "dataset", "column", "tagged")
        options.print_rows(head, rows, form, answer, notes)
        return
    found = client.ask("/api/v1/resolve", name=of, namespace=namespace)
    if found["column"] is None:
        raise ConfigError("--of", of, "a column")
    answer = client.ask(
        "/api/v1/tags/of",
        dataset=found["dataset"],
        column=found["column"],
        namespace=found["namespace"],
        depth=depth,
    )
    told = [
        (one["key"], one["value"], options.column_of(one["at"]), one["distance"], one["source"])
        for one in answer["tags"]
    ]
    notes = ["" if told else "no tag reaches it", options.cut(answer)]
    options.print_rows(("tag", "value", "set at", "distance", "by"), told, form, answer, notes)
