"""``spark-lineage diff``: which edges came and went between two times."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from spark_lineage.cli import options
from spark_lineage.config import DEFAULT_URL

_HEAD = ("change", "target", "type", "source", "job")


def command(
    since: Annotated[str, typer.Option(help="The earlier time (ISO 8601).")],
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Only edges into this table.")
    ] = None,
    until: options.Until = None,
    url: options.Url = DEFAULT_URL,
    namespace: options.Namespace = None,
    as_json: options.Json = False,
    form: options.Format = "table",
) -> None:
    """The edges that were open at one of two times only."""
    from spark_lineage.cli.client import Client

    answer = Client(url).ask(
        "/api/v1/diff", since=since, until=until, dataset=name, namespace=namespace
    )
    rows = [*_rows("added", answer["added"]), *_rows("removed", answer["removed"])]
    notes = ["" if rows else "nothing changed", options.cut(answer)]
    options.print_rows(_HEAD, rows, "json" if as_json else form, answer, notes)


def _rows(change: str, edges: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [
        (
            change,
            options.column_of(edge),
            edge["type"] + ("*" if edge["masking"] else ""),
            options.column_of(edge["source"]),
            (edge["job"] or {}).get("name"),
        )
        for edge in edges
    ]
