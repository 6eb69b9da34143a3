"""``spark-lineage collector``: serve until Ctrl-C."""

from __future__ import annotations

from typing import Annotated

import typer

from spark_lineage.errors import CollectorError

_EXTRA = ("fastapi", "sqlalchemy", "starlette", "uvicorn")


def command(
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(help="The port; 0 takes any that is free.", min=0, max=65535)
    ] = 8765,
    db: Annotated[
        str | None,
        typer.Option(
            help="The database: a file, sqlite:///… or postgresql://…"
            "  [default: ~/.spark_lineage/collector.db]",
            show_default=False,
        ),
    ] = None,
    any_port: Annotated[
        bool, typer.Option("--any-port", help="Where the port is taken, take another.")
    ] = False,
) -> None:
    """Receive lineage events and answer questions, until Ctrl-C.

    Any OpenLineage producer can send to it: POST /api/v1/lineage.
    """
    try:
        from spark_lineage.collector import server
    except ImportError as error:
        if (error.name or "").partition(".")[0] in _EXTRA:
            raise CollectorError(
                f"the collector needs {error.name}: pip install 'spark-lineage[collector]'"
            ) from None
        raise

    def announce(address: str) -> None:
        asked = f":{port}"
        if port and not address.endswith(asked):
            typer.echo(f"port {port} is taken; another is used", err=True)
        # Read by programs that start the collector: one line, flushed.
        print(f"listening on {address}", flush=True)

    server.serve(db or server.default_db(), host, port, any_port, announce)
