"""``spark-lineage import``: OpenLineage NDJSON into a database, without a service."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from spark_lineage.cli.store import Db, opened

_LINES = 200


def command(
    files: Annotated[
        list[Path] | None,
        typer.Argument(help="Files of one event a line; without any: standard input."),
    ] = None,
    db: Db = None,
) -> None:
    """Take events from files, as `export` and file transports write them.

    Exit code 1 where some are malformed; they are in quarantine then.
    """
    collector = opened(db)
    taken = failed = 0
    try:
        for lines in _some(files or []):
            answer = collector.take_batch(b"\n".join(lines), lines=True)
            taken += answer["summary"]["successful"]
            failed += answer["summary"]["failed"]
            for one in answer["failed_events"]:
                typer.echo(one["reason"], err=True)
    finally:
        collector.close()
    typer.echo(f"{taken} events taken, {failed} not")
    if failed:
        raise typer.Exit(1)


def _some(files: list[Path]) -> Iterator[list[bytes]]:
    some: list[bytes] = []
    for line in _lines(files):
        if line.strip():
            some.append(line.strip())
        if len(some) == _LINES:
            yield some
            some = []
    if some:
        yield some


def _lines(files: list[Path]) -> Iterator[bytes]:
    if not files:
        yield from sys.stdin.buffer
    for path in files:
        with path.open("rb") as stream:
            yield from stream
