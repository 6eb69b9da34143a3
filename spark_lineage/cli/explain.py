"""``spark-lineage explain``: where a column comes from and how it is made."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from spark_lineage.cli import options
from spark_lineage.config import DEFAULT_URL


def command(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME[.COLUMN]",
            help="A column, or a table for all its columns; any unique end of the name will do.",
            show_default=False,
        ),
    ],
    url: options.Url = DEFAULT_URL,
    namespace: options.Namespace = None,
    depth: options.Depth = 20,
    limit: options.Limit = 5_000,
    everything: Annotated[
        bool,
        typer.Option("--all", help="Also follow what only filters, joins, sorts or chooses."),
    ] = False,
    kind: options.Kind = None,
    unmasked: options.Unmasked = False,
    via: options.Via = None,
    fold: options.Fold = None,
    as_of: options.AsOf = None,
    as_json: options.Json = False,
    form: options.Format = "table",
) -> None:
    """Where a column comes from, and how it is computed at each step."""
    from spark_lineage.cli.client import Client

    client = Client(url)
    form = "json" if as_json else form
    found = client.ask("/api/v1/resolve", name=name, namespace=namespace)
    which = {"dataset": found["dataset"], "namespace": found["namespace"], "as_of": as_of}
    if found["column"] is None:
        answer = client.ask("/api/v1/datasets/explain", **which)
    else:
        answer = client.ask(
            "/api/v1/columns/explain",
            **which,
            column=found["column"],
            depth=depth,
            limit=limit,
            follow="all" if everything or form == "json" else "direct",
            kind=kind,
            unmasked=unmasked,
            via=via,
            fold=fold,
        )
    if form == "table":
        from spark_lineage.cli import render
        from spark_lineage.cli.console import console

        (render.dataset if found["column"] is None else render.column)(console(), answer)
    elif found["column"] is None:
        options.print_rows(_COLUMNS, _columns(answer), form, answer)
    else:
        options.print_rows(_SOURCES, _sources(answer), form, answer, [options.cut(answer)])


_SOURCES = ("distance", "namespace", "dataset", "column", "kinds", "root")
_COLUMNS = ("column", "type", "made", "expression", "from", "job")


def _sources(answer: dict[str, Any]) -> list[tuple[Any, ...]]:
    return [
        (
            one["distance"], one["namespace"], one["dataset"], one["column"],
            options.kinds_of(one["kinds"]), "yes" if one["root"] else "",
        )
        for one in answer["sources"]
    ]  # fmt: skip


def _columns(answer: dict[str, Any]) -> list[tuple[Any, ...]]:
    return [
        (
            one["column"], one["data_type"], step.get("type"), step.get("expression"),
            " ".join(options.column_of(source) for source in step.get("direct", ())),
            (step.get("job") or {}).get("name"),
        )
        for one in answer["columns"]
        for step in one["steps"] or [{}]
    ]  # fmt: skip
