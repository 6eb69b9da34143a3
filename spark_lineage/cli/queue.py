"""``spark-lineage queue``: what waits for a person, with what to do."""

from __future__ import annotations

import hashlib
from typing import Annotated, Any, Literal

import typer

from spark_lineage.cli import options
from spark_lineage.config import DEFAULT_URL
from spark_lineage.errors import ConfigError, NotFoundError

_HEAD = ("id", "kind", "what", "message", "to do")


def command(
    action: Annotated[Literal["list", "resolve"], typer.Argument(help="What to do.")] = "list",
    number: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="With resolve: which.", show_default=False)
    ] = None,
    reason: Annotated[
        str | None, typer.Option(help="With resolve: why it is settled.", show_default=False)
    ] = None,
    by: options.By = None,
    url: options.Url = DEFAULT_URL,
    limit: options.Rows = 100,
    as_json: options.Json = False,
    form: options.Format = "table",
) -> None:
    """Quarantined events, failed checks, conflicts and outputs without lineage."""
    from spark_lineage.cli.client import Client

    client = Client(url)
    if action == "list":
        answer = client.ask("/api/v1/queue", limit=limit)
        rows = [
            (_id(one), one["kind"], _what(one["detail"]), one["message"], one["advice"])
            for one in answer["queue"]
        ]
        notes = ["" if rows else "nothing waits"]
        options.print_rows(_HEAD, rows, "json" if as_json else form, answer, notes)
        return
    if not number or not reason:
        raise ConfigError("resolve", number, "an ID of `queue list`, and --reason")
    waiting = client.ask("/api/v1/queue", limit=1_000)["queue"]
    found = [one for one in waiting if _id(one) == number]
    if not found:
        raise NotFoundError(f"nothing with the id {number!r} waits")
    said = {"kind": found[0]["kind"], "key": found[0]["key"], "by": options.user(by)}
    client.tell("/api/v1/queue/resolve", {**said, "reason": reason})
    typer.echo(f"resolved: {found[0]['message']}")


def _id(one: dict[str, Any]) -> str:
    """A short name of an entry, the same as long as it waits."""
    return hashlib.sha256(f"{one['kind']} {one['key']}".encode()).hexdigest()[:10]


def _what(detail: dict[str, Any]) -> str:
    if "dataset" not in detail:
        return f"received {detail.get('received')}"
    return options.column_of(detail)
