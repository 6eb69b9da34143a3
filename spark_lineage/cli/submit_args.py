"""``spark-lineage submit-args``: the options that turn lineage on."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

PLUGIN = "io.sparklineage.LineagePlugin"


def arguments(url: str | None = None, python: str | None = None) -> list[str]:
    """The options that turn lineage on in spark-submit, spark-sql, pyspark and the servers.

    ``url`` is the collector's address, ``python`` the Python of the sidecar.
    """
    from spark_lineage.agent import jar

    settings = {"spark.plugins": PLUGIN}
    if python:
        settings["spark.lineage.python"] = python
    if url:
        settings["spark.lineage.transport.type"] = "http"
        settings["spark.lineage.transport.url"] = url
    options = ["--jars", str(jar.path())]
    for key, value in settings.items():
        options += ["--conf", f"{key}={value}"]
    return options


def command(
    url: Annotated[str | None, typer.Option(help="The collector's address.")] = None,
    python: Annotated[
        str, typer.Option(help="The Python of the agent on the driver's machine.")
    ] = sys.executable,
) -> None:
    """Print the options for spark-submit: spark-submit $(spark-lineage submit-args) job.py."""
    from spark_lineage import config

    if url is not None:
        config.load({}, {}, {"transport_url": url})
    options = arguments(url, python)
    if any(any(c.isspace() for c in option) for option in options):
        typer.echo(
            "warning: a path contains a space, which $(...) splits; copy the options by hand",
            err=True,
        )
    typer.echo(" ".join(options))
