"""``spark-lineage graph``: columns, tables and jobs around one of them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import typer

from spark_lineage.cli import options
from spark_lineage.config import DEFAULT_URL

_HEAD = ("source", "target", "type", "masking", "jobs", "by hand")


def command(
    name: options.Place,
    url: options.Url = DEFAULT_URL,
    namespace: options.Namespace = None,
    direction: Annotated[Literal["up", "down", "both"], typer.Option(help="Which way.")] = "both",
    depth: options.Depth = 20,
    limit: options.Limit = 5_000,
    values: options.Values = False,
    kind: options.Kind = None,
    unmasked: options.Unmasked = False,
    via: options.Via = None,
    fold: options.Fold = None,
    as_of: options.AsOf = None,
    as_json: options.Json = False,
    form: options.Format = "table",
) -> None:
    """The edges up and down of a column or a table; as JSON with all three levels."""
    from spark_lineage.cli.client import Client

    client = Client(url)
    found = client.ask("/api/v1/resolve", name=name, namespace=namespace)
    answer = client.ask(
        "/api/v1/lineage/graph",
        dataset=found["dataset"],
        namespace=found["namespace"],
        column=found["column"],
        direction=direction,
        depth=depth,
        limit=limit,
        follow="direct" if values else "all",
        kind=kind,
        unmasked=unmasked,
        via=via,
        fold=fold,
        as_of=as_of,
    )
    form = "json" if as_json else form
    notes = [
        f"{len(answer['columns'])} columns of {len(answer['datasets'])} tables,"
        f" {len(answer['jobs'])} jobs",
        f"{answer['folded']} tables folded away" if answer["folded"] else "",
        options.cut(answer),
    ]
    options.print_rows(_HEAD, _rows(answer), form, answer, notes)


def _rows(answer: dict[str, Any]) -> list[tuple[Any, ...]]:
    names = {one["id"]: options.column_of(one) for one in answer["columns"]}
    jobs = {one["id"]: one["name"] for one in answer["jobs"]}
    return [
        (
            names[edge["source"]],
            names[edge["target"]],
            edge["type"],
            "yes" if edge["masking"] else "",
            " ".join(jobs.get(job, "") for job in edge["jobs"]),
            edge["override"]["action"] if edge["override"] else None,
        )
        for edge in answer["column_edges"]
    ]
