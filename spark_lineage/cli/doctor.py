"""``spark-lineage doctor``: what is wrong on this machine, and what to do."""

from __future__ import annotations

from typing import Annotated, Optional

import typer


def command(
    conf: Annotated[
        Optional[list[str]],  # noqa: UP045 - evaluated by typer on Python 3.10
        typer.Option("--conf", metavar="KEY=VALUE", help="A setting, as for spark-submit."),
    ] = None,
) -> None:
    """Check Java, Spark, the jar, Python, the settings, the collector and the spool."""
    from spark_lineage.agent.doctor import examine

    settings = {}
    for pair in conf or []:
        key, separator, value = pair.partition("=")
        if not separator:
            raise typer.BadParameter(f"{pair!r} is not KEY=VALUE", param_hint="--conf")
        settings[key.strip()] = value
    wrong = 0
    for finding in examine(conf=settings):
        mark = {True: "ok", False: "WRONG", None: "-"}[finding.ok]
        typer.echo(f"{mark:6}{finding.what:10} {finding.found}")
        if finding.ok is False:
            wrong += 1
            typer.echo(f"{'':17}{finding.remedy}")
    if wrong:
        raise typer.Exit(1)
