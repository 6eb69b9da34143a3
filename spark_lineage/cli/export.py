"""``spark-lineage export``: the raw events as OpenLineage NDJSON, or the graph alone."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from spark_lineage.cli.store import Db, opened


def command(
    db: Db = None,
    graph: Annotated[
        bool,
        typer.Option(
            "--graph",
            help="The graph alone: sorted, free of intake times and internal ids.",
        ),
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="With --graph: JSON, which is the only form.")
    ] = False,
) -> None:
    """Print all raw events, one a line, by their times; `import` takes them.

    With --graph what is derived from them: two stores of the same events print
    the same bytes.
    """
    del as_json
    collector = opened(db)
    try:
        if graph:
            typer.echo(json.dumps(collector.graph(), indent=1, sort_keys=True, ensure_ascii=False))
            return
        from spark_lineage.collector import maintenance

        for body in maintenance.export(collector.database):
            typer.echo(body)
    finally:
        collector.close()
