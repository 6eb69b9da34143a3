"""``spark-lineage quarantine``: what could not be used, and another try."""

from __future__ import annotations

import json
from typing import Annotated, Literal

import typer

from spark_lineage.cli.store import Db, opened
from spark_lineage.errors import ConfigError


def command(
    action: Annotated[
        Literal["list", "show", "replay"],
        typer.Argument(help="list all, show one, or replay one (or all that are open)."),
    ],
    number: Annotated[
        int | None, typer.Argument(help="The number that list shows.", show_default=False)
    ] = None,
    db: Db = None,
) -> None:
    """Look at events that were malformed, and take them again."""
    collector = opened(db)
    try:
        if action == "show":
            if number is None:
                raise ConfigError("NUMBER", number, "a number that list shows")
            typer.echo(json.dumps(collector.quarantined(number), indent=2, ensure_ascii=False))
        elif action == "list":
            for one in collector.quarantine(1_000):
                _line(one)
        else:
            open_ones = [one["number"] for one in collector.quarantine(1_000_000)]
            left = 0
            for which in open_ones if number is None else [number]:
                done = collector.replay(which)
                _line(done)
                left += done["state"] == "OPEN"
            if left:
                raise typer.Exit(1)
    finally:
        collector.close()


def _line(one: dict[str, object]) -> None:
    faults = one["faults"]
    first = faults[0] if isinstance(faults, list) and faults else {"path": "", "message": ""}
    more = f" (+{len(faults) - 1})" if isinstance(faults, list) and len(faults) > 1 else ""
    typer.echo(
        f"{one['number']}\t{one['state']}\t{one['received']}\t{one['times']}x\t"
        f"{first['path']} {first['message']}{more}"
    )
