"""``spark-lineage runs``: the runs of jobs, or one run's record."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from spark_lineage.cli import options
from spark_lineage.config import DEFAULT_URL

_HEAD = ("run", "job", "state", "started", "ended", "seconds")


def command(
    job: Annotated[
        str | None, typer.Argument(metavar="[JOB]", help="Only of this job.", show_default=False)
    ] = None,
    run: Annotated[
        str | None, typer.Option(help="One run's record: what it read, wrote and said.")
    ] = None,
    url: options.Url = DEFAULT_URL,
    namespace: options.Namespace = None,
    limit: options.Rows = 100,
    as_json: options.Json = False,
    form: options.Format = "table",
) -> None:
    """Runs, the newest first, with states and durations."""
    from spark_lineage.cli.client import Client

    client = Client(url)
    form = "json" if as_json else form
    if run is not None:
        record(client.ask("/api/v1/runs/audit", run=run), form)
        return
    answer = client.ask("/api/v1/runs", namespace=namespace, job=job, limit=limit)
    rows = [
        (one["id"], one["job"]["name"], one["state"], one["started"], one["ended"],
         None if one["duration_ms"] is None else one["duration_ms"] / 1000)
        for one in answer["runs"]
    ]  # fmt: skip
    options.print_rows(_HEAD, rows, form, answer, ["" if rows else "no run is known"])


def record(answer: dict[str, Any], form: options.Form) -> None:
    """One run."""
    rows = [
        *(("read", one["namespace"], one["dataset"], None, "", _statistics(one))
          for one in answer["inputs"]),
        *(("wrote", one["namespace"], one["dataset"], one["availability"],
           "; ".join(one["issues"]), _statistics(one)) for one in answer["outputs"]),
    ]  # fmt: skip
    seconds = "" if answer["duration_ms"] is None else f" in {answer['duration_ms'] / 1000:g} s"
    notes = [
        f"run {answer['run']} of {answer['job']['name']}: {answer['state']}{seconds}",
        f"by {answer['user']}" if answer["user"] else "",
        *(f"{one['type'] or 'event'} at {one['time']}" for one in answer["events"]),
    ]
    head = ("what", "namespace", "dataset", "availability", "issues", "rows")
    options.print_rows(head, rows, form, answer, notes)


def _statistics(one: dict[str, Any]) -> Any:
    for key in ("outputStatistics", "inputStatistics"):
        if key in one["facets"]:
            return one["facets"][key].get("rowCount")
    return None
