"""``spark-lineage prune``: raw events go, the graph stays."""

from __future__ import annotations

from typing import Annotated

import typer

from spark_lineage.cli.store import Db, opened


def command(
    days: Annotated[float, typer.Option(help="Keep raw events of so many days.", min=0)] = 90.0,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be deleted.")
    ] = False,
    db: Db = None,
) -> None:
    """Delete raw events received longer ago than --days; the graph and the runs stay."""
    collector = opened(db)
    try:
        from spark_lineage.collector import maintenance

        done = maintenance.prune(collector.database, days, dry_run)
    finally:
        collector.close()
    word = "would be deleted" if dry_run else "deleted"
    typer.echo(
        f"{done['events']} events and {done['quarantine']} settled quarantine entries "
        f"received before {done['before']} {word}"
    )
