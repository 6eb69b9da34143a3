"""``spark-lineage overrides``: edges that people add, remove or confirm."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import typer

from spark_lineage.cli import options
from spark_lineage.config import DEFAULT_URL
from spark_lineage.errors import ConfigError

_HEAD = ("number", "action", "target", "type", "source", "by", "time", "reason", "undone by")


def command(
    action: Annotated[
        Literal["list", "add", "remove", "confirm", "undo"], typer.Argument(help="What to do.")
    ] = "list",
    target: Annotated[
        str | None,
        typer.Argument(
            metavar="[TABLE.COLUMN | NUMBER]", help="The edge's end; for undo its number."
        ),
    ] = None,
    source: Annotated[
        str | None, typer.Argument(metavar="[TABLE.COLUMN]", help="Where the edge comes from.")
    ] = None,
    kind: Annotated[
        str, typer.Option("--type", help="IDENTITY, AGGREGATION, FILTER, …")
    ] = "DIRECT",
    masking: Annotated[bool, typer.Option("--masking", help="The edge masks the value.")] = False,
    reason: Annotated[str | None, typer.Option(help="Why.", show_default=False)] = None,
    by: options.By = None,
    everything: Annotated[
        bool, typer.Option("--all", help="With list: those undone, too.")
    ] = False,
    url: options.Url = DEFAULT_URL,
    namespace: options.Namespace = None,
    as_json: options.Json = False,
    form: options.Format = "table",
) -> None:
    """Mend the graph by hand; what is said here is kept over new events until it is undone."""
    from spark_lineage.cli.client import Client

    client = Client(url)
    form = "json" if as_json else form
    if action == "list":
        answer = client.ask("/api/v1/overrides", everything=everything)
        _print(answer["overrides"], form, answer)
    elif action == "undo":
        if target is None or not target.isdigit():
            raise ConfigError("undo", target, "the number of an override")
        answer = client.tell(f"/api/v1/overrides/{target}/undo", {"by": options.user(by)})
        _print([answer], form, answer)
    else:
        if not target or not source or not reason:
            raise ConfigError(action, target, "two ends TABLE.COLUMN, and --reason")
        ends = [client.ask("/api/v1/resolve", name=end, namespace=namespace)
                for end in (target, source)]  # fmt: skip
        said = {
            "action": action.upper(), **ends[0], "source": ends[1], "type": kind.upper(),
            "masking": masking, "by": options.user(by), "reason": reason,
        }  # fmt: skip
        answer = client.tell("/api/v1/overrides", said)
        _print([answer], form, answer)


def _print(rows: list[dict[str, Any]], form: options.Form, answer: Any) -> None:
    told = [
        (
            one["number"], one["action"], options.column_of(one), one["type"],
            options.column_of(one["source"]), one["by"], one["time"], one["reason"],
            one["undone_by"],
        )
        for one in rows
    ]  # fmt: skip
    options.print_rows(_HEAD, told, form, answer, ["" if told else "nothing is overridden"])
