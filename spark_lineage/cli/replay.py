"""``spark-lineage replay``: deliver what earlier applications left on this machine."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Annotated

import typer


def command(
    files: Annotated[
        list[Path] | None,
        typer.Argument(help="Record files; default: all in the spool directory."),
    ] = None,
    url: Annotated[str | None, typer.Option(help="The collector's address.")] = None,
    spool: Annotated[Path | None, typer.Option(help="The spool directory.")] = None,
    timeout: Annotated[float, typer.Option(help="Seconds to try for.")] = 60.0,
    refused: Annotated[
        bool, typer.Option(help="Also send again what a collector had refused.")
    ] = False,
    keep: Annotated[bool, typer.Option(help="Keep record files after they are delivered.")] = False,
) -> None:
    """Turn records that had no agent into events, and deliver what waits in the spool."""
    from spark_lineage import config
    from spark_lineage.agent.replay import replay as run

    logging.basicConfig(format="spark_lineage: %(message)s")
    options = {"transport_url": url, "spool_dir": str(spool) if spool else None}
    if url is not None:
        options["transport_type"] = "http"
    done = run(config.load(options=options), files, timeout, keep, refused)
    for problem in done.problems:
        typer.echo(problem, err=True)
    typer.echo(
        f"{done.records} records of {done.files} files made {done.events} events; "
        f"{done.delivered} events delivered, {done.pending} waiting, {done.refused} refused"
    )
    if done.problems or done.pending or done.refused:
        raise typer.Exit(1)
