"""``spark-lineage impact``: what breaks if a column changes."""

from __future__ import annotations

from typing import Any

import typer

from spark_lineage.cli import options
from spark_lineage.config import DEFAULT_URL

_HEAD = ("distance", "namespace", "dataset", "column", "type", "kinds", "job", "owners")


def command(
    name: options.Place,
    url: options.Url = DEFAULT_URL,
    namespace: options.Namespace = None,
    depth: options.Depth = 20,
    limit: options.Limit = 5_000,
    values: options.Values = False,
    kind: options.Kind = None,
    unmasked: options.Unmasked = False,
    via: options.Via = None,
    fold: options.Fold = None,
    as_of: options.AsOf = None,
    as_json: options.Json = False,
    form: options.Format = "table",
) -> None:
    """What depends on a column: columns, tables and jobs downstream."""
    from spark_lineage.cli.client import Client

    client = Client(url)
    found = client.ask("/api/v1/resolve", name=name, namespace=namespace)
    answer = client.ask(
        "/api/v1/columns/impact",
        dataset=found["dataset"],
        namespace=found["namespace"],
        column=found["column"],
        depth=depth,
        limit=limit,
        follow="direct" if values else "all",
        kind=kind,
        unmasked=unmasked,
        via=via,
        fold=fold,
        as_of=as_of,
    )
    form = "json" if as_json else form
    if form == "table":
        from spark_lineage.cli import render
        from spark_lineage.cli.console import console

        render.impact(console(), answer)
        return
    rows = [row(one) for one in answer["columns"]]
    if form == "markdown":
        typer.echo(title(answer) + "\n")
    options.print_rows(_HEAD, rows, form, answer, [options.cut(answer)])


def row(one: dict[str, Any]) -> tuple[Any, ...]:
    """A column that is hit, as a row."""
    return (
        one["distance"],
        one["namespace"],
        one["dataset"],
        one["column"],
        one["data_type"],
        options.kinds_of(one["kinds"]),
        one["job"]["name"] if one["job"] else None,
        " ".join(one["owners"]),
    )


def title(answer: dict[str, Any]) -> str:
    """How much is hit, in one line."""
    from spark_lineage.cli.sheets import cell

    name = cell(options.column_of(answer["column"]))
    return (
        f"**{name}**: {len(answer['columns'])} columns in {len(answer['datasets'])} tables, "
        f"{len(answer['jobs'])} jobs"
    )
