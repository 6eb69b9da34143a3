"""``spark-lineage health``: how good the lineage is, per job or over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import typer

from spark_lineage.cli import options
from spark_lineage.config import DEFAULT_URL

_JOBS = (
    "runs", "failures", "outputs", "coverage", "partial", "unavailable", "unexplained_columns",
    "unknown_nodes", "dropped", "agent_failures", "failed_checks", "conflicts", "stale_edges",
)  # fmt: skip
_POINTS = (
    "from", "runs", "failures", "outputs", "coverage", "partial", "unavailable",
    "unexplained_columns", "unknown_nodes", "dropped", "agent_failures", "quarantined",
    "failed_checks", "conflicts", "stale_edges",
)  # fmt: skip
# Of these 0 is no good news, or none at all.
_ALWAYS = frozenset({"from", "runs", "outputs", "coverage"})


def command(
    since: options.Since = None,
    until: options.Until = None,
    trend: Annotated[
        Literal["hour", "day", "week"] | None,
        typer.Option(help="Over time, in such steps.", show_default=False),
    ] = None,
    job: Annotated[
        str | None, typer.Option(help="With --trend: of this job alone.", show_default=False)
    ] = None,
    url: options.Url = DEFAULT_URL,
    namespace: options.Namespace = None,
    as_json: options.Json = False,
    form: options.Format = "table",
) -> None:
    """Coverage, failures, losses and failed checks; of the last thirty days by default."""
    from spark_lineage.cli.client import Client

    client = Client(url)
    form = "json" if as_json else form
    if trend is not None:
        answer = client.ask(
            "/api/v1/health/trend", since=since, until=until, step=trend, job=job,
            namespace=namespace,
        )  # fmt: skip
        keys, note = _telling(_POINTS, answer["points"], form)
        rows = [[one.get(key) for key in keys] for one in answer["points"]]
        options.print_rows([_word(key) for key in keys], rows, form, answer, [note])
        return
    answer = client.ask("/api/v1/health", since=since, until=until)
    jobs = [one for one in answer["jobs"] if namespace in (None, one["job"]["namespace"])]
    keys, note = _telling(_JOBS, jobs, form)
    rows = [[one["job"]["name"], *(_cell(one[key]) for key in keys)] for one in jobs]
    totals = {k: v for k, v in answer.items() if isinstance(v, (int, float)) and k != "truncated"}
    notes = [note, ", ".join(f"{_word(key)} {value}" for key, value in totals.items())]
    options.print_rows(["job", *map(_word, keys)], rows, form, answer, notes)


def _telling(
    keys: Sequence[str], rows: list[dict[str, Any]], form: options.Form
) -> tuple[list[str], str]:
    """The keys but of faults that there are none of, and a note of those: a screen is narrow."""
    if form != "table" or not rows:
        return list(keys), ""
    kept = [key for key in keys if key in _ALWAYS or any(row.get(key) for row in rows)]
    quiet = [_word(key) for key in keys if key not in kept]
    return kept, f"0 everywhere: {', '.join(quiet)}" if quiet else ""


def _word(key: str) -> str:
    return key.replace("_", " ")


def _cell(value: Any) -> Any:
    if isinstance(value, dict):
        return " ".join(f"{key}={count}" for key, count in value.items())
    return value
