"""``spark-lineage collector``: serve until Ctrl-C."""

from __future__ import annotations

from typing import Annotated

import typer

from spark_lineage.cli.store import Db, missing

_LOOPBACK = ("127.0.0.1", "::1", "localhost")


def command(
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(help="The port; 0 takes any that is free.", min=0, max=65535)
    ] = 8765,
    db: Db = None,
    any_port: Annotated[
        bool, typer.Option("--any-port", help="Where the port is taken, take another.")
    ] = False,
    anyone: Annotated[
        bool,
        typer.Option("--open", help="Listen elsewhere than on loopback without any token."),
    ] = False,
    rate_limit: Annotated[
        float, typer.Option(help="The most requests a second of one client; 0: any number.", min=0)
    ] = 0.0,
    query_timeout: Annotated[
        float, typer.Option(help="The most seconds that a question may take.", min=0.001)
    ] = 30.0,
    alarm: Annotated[
        list[str] | None,
        typer.Option(help="A threshold such as 'coverage<0.9'; may be given again."),
    ] = None,
    webhook: Annotated[
        str | None,
        typer.Option(help="Where alarms and schema changes are posted to.", show_default=False),
    ] = None,
    kafka: Annotated[
        str | None,
        typer.Option(
            metavar="BROKERS/TOPIC",
            help="Also read events from this Kafka topic.",
            envvar="SPARK_LINEAGE_COLLECTOR_KAFKA",
            show_default=False,
        ),
    ] = None,
    kafka_config: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="A file of JSON with further settings of librdkafka.",
            envvar="SPARK_LINEAGE_COLLECTOR_KAFKA_CONFIG",
            show_default=False,
        ),
    ] = None,
    temp: Annotated[
        list[str] | None,
        typer.Option(
            help="Fold away tables whose names fit this regular expression; may be given again."
        ),
    ] = None,
    access_log: Annotated[
        bool, typer.Option("--access-log", help="A line of JSON on stderr for each request.")
    ] = False,
) -> None:
    """Receive lineage events and answer questions, until Ctrl-C.

    Any OpenLineage producer can send to it: POST /api/v1/lineage.
    """
    try:
        from spark_lineage.collector import kafka as topics
        from spark_lineage.collector import server
        from spark_lineage.collector.app import Settings
    except ImportError as error:
        raise missing(error) from None

    def announce(address: str) -> None:
        asked = f":{port}"
        if port and not address.endswith(asked):
            typer.echo(f"port {port} is taken; another is used", err=True)
        # Read by programs that start the collector: one line, flushed.
        print(f"listening on {address}", flush=True)

    if access_log:
        import logging

        from spark_lineage.collector.guard import access

        access.addHandler(logging.StreamHandler())
        access.setLevel(logging.INFO)
    settings = Settings(
        rate=rate_limit,
        query_seconds=query_timeout,
        alarms=tuple(alarm or ()),
        webhook=webhook,
        anonymous=anyone or host in _LOOPBACK,
        kafka=topics.source(kafka, kafka_config) if kafka else None,
        temp=tuple(temp or ()),
    )
    server.serve(db or server.default_db(), host, port, any_port, announce, settings)
