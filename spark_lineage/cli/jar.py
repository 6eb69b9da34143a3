"""``spark-lineage jar``: where the bridge is."""

from __future__ import annotations

import typer


def command() -> None:
    """Print the path of the bridge's jar."""
    from spark_lineage.agent import jar

    typer.echo(str(jar.path()))
