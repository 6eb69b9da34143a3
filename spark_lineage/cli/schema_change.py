"""``spark-lineage schema-change``: what a proposed schema of a table would break."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from spark_lineage.cli import options
from spark_lineage.config import DEFAULT_URL
from spark_lineage.errors import ConfigError

_HEAD = ("column", "change", "from", "to", "breaking", "hits", "jobs")
EXIT_BREAKING = 1


def command(
    name: options.Table,
    fields: Annotated[
        list[str], typer.Argument(metavar="COLUMN:TYPE…", help="All columns that it is to have.")
    ],
    url: options.Url = DEFAULT_URL,
    namespace: options.Namespace = None,
    depth: options.Depth = 20,
    as_json: options.Json = False,
    form: options.Format = "table",
) -> None:
    """Columns that would go, be renamed or narrowed, and who reads them; exit code 1 if any."""
    from spark_lineage.cli.client import Client

    proposed = []
    for text in fields:
        column, _, kind = text.partition(":")
        if not column:
            raise ConfigError("COLUMN:TYPE", text, "a column's name, a colon and its type")
        proposed.append({"name": column, "type": kind or None})
    content = {"dataset": name, "namespace": namespace, "fields": proposed, "depth": depth}
    answer = Client(url).tell("/api/v1/schema-change", content)
    readers = " ".join(one["job"]["name"] for one in answer["star_readers"])
    notes = [
        "" if answer["changes"] or answer["added"] else "nothing changes",
        f"added: {' '.join(answer['added'])}" if answer["added"] else "",
        f"read it by *: {readers}" if readers else "",
    ]
    rows = [row(one) for one in answer["changes"]]
    options.print_rows(_HEAD, rows, "json" if as_json else form, answer, notes)
    if answer["breaking"]:
        raise typer.Exit(EXIT_BREAKING)


def row(one: dict[str, Any]) -> tuple[Any, ...]:
    """One change of a column, as a row."""
    return (
        one["column"],
        one["change"] + (f" to {one['renamed_to']}" if one["renamed_to"] else ""),
        one["from"],
        one["to"],
        "yes" if one["breaking"] else "",
        " ".join(options.column_of(hit) for hit in one["columns"]),
        " ".join(hit["job"]["name"] for hit in one["jobs"]),
    )
