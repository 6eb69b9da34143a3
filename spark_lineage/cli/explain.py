"""``spark-lineage explain``: where a column comes from and how it is made."""

from __future__ import annotations

from typing import Annotated

import typer

from spark_lineage.config import DEFAULT_URL

Url = Annotated[
    str,
    typer.Option(help="The collector's address.", envvar="SPARK_LINEAGE_TRANSPORT_URL"),
]
Namespace = Annotated[
    str | None,
    typer.Option(help="Only names in this namespace.", show_default=False),
]
Json = Annotated[bool, typer.Option("--json", help="The collector's answer as JSON.")]


def command(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME[.COLUMN]",
            help="A column, or a table for all its columns; any unique end of the name will do.",
            show_default=False,
        ),
    ],
    url: Url = DEFAULT_URL,
    namespace: Namespace = None,
    depth: Annotated[int, typer.Option(min=1, max=200, help="The most hops upstream.")] = 20,
    everything: Annotated[
        bool,
        typer.Option("--all", help="Also follow what only filters, joins, sorts or chooses."),
    ] = False,
    as_json: Json = False,
) -> None:
    """Where a column comes from, and how it is computed at each step."""
    from spark_lineage.cli.client import Client
    from spark_lineage.cli.console import console

    client = Client(url)
    found = client.ask("/api/v1/resolve", name=name, namespace=namespace)
    which = {"dataset": found["dataset"], "namespace": found["namespace"]}
    if found["column"] is None:
        answer = client.ask("/api/v1/datasets/explain", **which)
    else:
        follow = "all" if everything or as_json else "direct"
        answer = client.ask(
            "/api/v1/columns/explain",
            **which,
            column=found["column"],
            depth=depth,
            follow=follow,
        )
    if as_json:
        import json

        typer.echo(json.dumps(answer, indent=2, ensure_ascii=False))
        return
    from spark_lineage.cli import render

    out = console()
    if found["column"] is None:
        render.dataset(out, answer)
    else:
        render.column(out, answer)
