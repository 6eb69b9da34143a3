"""``spark-lineage audit``: draw edges for people to judge, keep their verdicts."""

from __future__ import annotations

import getpass
import json
from typing import Annotated, Literal

import typer

from spark_lineage.cli.store import Db, opened
from spark_lineage.errors import NotFoundError


def command(
    sample: Annotated[
        int | None, typer.Option(help="Draw so many edges.", min=1, show_default=False)
    ] = None,
    seed: Annotated[int | None, typer.Option(help="For the same draw again.", min=0)] = None,
    judge: Annotated[
        int | None, typer.Option(help="The number of a drawn edge.", min=1, show_default=False)
    ] = None,
    verdict: Annotated[
        Literal["CORRECT", "WRONG", "UNSURE"], typer.Option(help="With --judge: what you found.")
    ] = "CORRECT",
    reason: Annotated[str, typer.Option(help="With --judge: why.")] = "",
    by: Annotated[str | None, typer.Option(help="Who; the login name by default.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
    db: Db = None,
) -> None:
    """Draw edges (--sample 200), judge them (--judge N), and report the accuracy so far."""
    collector = opened(db)
    try:
        from spark_lineage.collector import operations

        if sample is not None:
            found = collector.change(operations.draw, sample, seed)
        elif judge is not None:
            who = by or getpass.getuser()
            judged = collector.change(operations.judge, judge, verdict, who, reason)
            if judged is None:
                raise NotFoundError(f"no edge {judge} was drawn")
            found = judged
        else:
            found = collector.ask(operations.sample_of, None)
    finally:
        collector.close()
    if as_json:
        typer.echo(json.dumps(found, indent=2, ensure_ascii=False))
        return
    for edge in found["edges"] if judge is None else ():
        source = edge["source"]
        typer.echo(
            f"{edge['number']}\t{edge['dataset']}.{edge['column'] or '*'} < {edge['type']} "
            f"{source['dataset']}.{source['column']}\tby {edge['job']['name']}"
            f"\t{edge['verdict'] or '-'}"
        )
    if found["judged"]:
        low, high = found["interval"]
        typer.echo(
            f"{found['correct']} of {found['judged']} judged edges are correct: "
            f"{found['accuracy']:.1%}, 95 % interval {low:.1%} to {high:.1%}"
        )
    else:
        typer.echo(f"{len(found['edges'])} edges drawn, none judged")
