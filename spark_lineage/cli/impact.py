"""``spark-lineage impact``: what breaks if a column changes."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from spark_lineage.cli.explain import Json, Namespace, Url
from spark_lineage.config import DEFAULT_URL


def command(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME[.COLUMN]",
            help="A column, or a table for all of it; any unique end of the name will do.",
            show_default=False,
        ),
    ],
    url: Url = DEFAULT_URL,
    namespace: Namespace = None,
    depth: Annotated[int, typer.Option(min=1, max=200, help="The most hops downstream.")] = 20,
    values: Annotated[
        bool,
        typer.Option("--values", help="Only where the value flows, no filters, joins or sorts."),
    ] = False,
    as_json: Json = False,
    form: Annotated[
        Literal["table", "csv", "json", "markdown"],
        typer.Option("--format", help="How to print it."),
    ] = "table",
    as_of: Annotated[
        str | None, typer.Option(help="As it was at this time (ISO 8601).", show_default=False)
    ] = None,
) -> None:
    """What depends on a column: columns, tables and jobs downstream."""
    from spark_lineage.cli.client import Client
    from spark_lineage.cli.console import console

    client = Client(url)
    found = client.ask("/api/v1/resolve", name=name, namespace=namespace)
    answer = client.ask(
        "/api/v1/columns/impact",
        dataset=found["dataset"],
        namespace=found["namespace"],
        column=found["column"],
        depth=depth,
        follow="direct" if values else "all",
        as_of=as_of,
    )
    if form in ("csv", "markdown"):
        from spark_lineage.cli import sheets

        typer.echo(sheets.impact(answer, form), nl=False)
        return
    if as_json or form == "json":
        import json

        typer.echo(json.dumps(answer, indent=2, ensure_ascii=False))
        return
    from spark_lineage.cli import render

    render.impact(console(), answer)
