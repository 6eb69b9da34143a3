"""``spark-lineage check``: does this change of SQL break anything?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from spark_lineage.cli import options
from spark_lineage.config import DEFAULT_URL
from spark_lineage.errors import ConfigError, NotFoundError

Answer = dict[str, Any]
EXIT_FAILED = 1


def command(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE…",
            help="Files of SQL, such as `git diff --name-only` lists; others are left out.",
        ),
    ],
    url: options.Url = DEFAULT_URL,
    namespace: options.Namespace = None,
    job: Annotated[
        str | None,
        typer.Option(help="Compare with what this job recorded.", show_default=False),
    ] = None,
    fail_on: Annotated[
        Literal["removed", "hit", "changed", "never"],
        typer.Option(
            help="When to exit with 1: a column is gone or narrowed; only where something reads"
            " it; any edge, expression or type changed; never."
        ),
    ] = "removed",
    conf: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="A setting of the local Spark session."),
    ] = None,
    depth: options.Depth = 20,
    as_json: options.Json = False,
    form: Annotated[
        Literal["markdown", "json"], typer.Option("--format", help="How to print it.")
    ] = "markdown",
) -> None:
    """Compare the lineage of changed SQL with what is recorded, for a pull request.

    Each statement is analysed by Spark over empty tables that have the schemas
    the collector knows. A statement that cannot be analysed fails the check.
    """
    from spark_lineage.cli import sandbox
    from spark_lineage.cli.client import Client

    settings = dict(_pair(text) for text in conf or ())
    found = _scripts(files)
    client = Client(url)
    # Asked before Spark is started, which takes longer.
    client.ask("/healthz")
    check = _Check(client, namespace, job, depth)
    told: list[Answer] = []
    if found:
        with sandbox.session(settings) as spark:
            for path, statements in found:
                told += check.script(spark, path, statements)
    failed = [one for one in told if _fails(one, fail_on)]
    answer = {"fail_on": fail_on, "failed": bool(failed), "statements": told}
    if as_json or form == "json":
        options.print_json(answer)
    else:
        from spark_lineage.cli import check_report

        typer.echo(check_report.markdown(answer, failed))
    if failed:
        raise typer.Exit(EXIT_FAILED)


def _pair(text: str) -> tuple[str, str]:
    key, separator, value = text.partition("=")
    if not separator:
        raise ConfigError("--conf", text, "KEY=VALUE")
    return key.strip(), value


def _scripts(files: list[str]) -> list[tuple[str, list[tuple[int, str]]]]:
    from spark_lineage.collector.sqltext import statements

    found = []
    for name in files:
        path = Path(name)
        # A list of changes names what was deleted, too.
        if path.suffix.lower() in (".sql", ".hql") and path.is_file():
            found.append((name, statements(path.read_text(encoding="utf-8-sig"))))
    return found


class _Check:
    """Statements against one collector."""

    def __init__(self, client: Any, namespace: str | None, job: str | None, depth: int) -> None:
        self._client = client
        self._namespace = namespace
        self._job = job
        self._depth = depth
        self._known: dict[str, Answer | None] = {}

    def script(self, spark: Any, path: str, statements: list[tuple[int, str]]) -> list[Answer]:
        """What each statement of one file changes."""
        from spark_lineage.cli.sandbox import Sandbox, UnanalysedError

        box = Sandbox(spark, self.lookup)
        found: list[Answer] = []
        for line, text in statements:
            head: Answer = {"file": path, "line": line, "statement": text}
            try:
                told = box.tell(text)
            except UnanalysedError as error:
                found.append({**head, "target": None, "error": str(error), "columns": []})
                continue
            for output in told.lineage.outputs:
                # A plain SELECT writes nothing, and a DDL statement says nothing of data.
                if output.dataset is not None and output.columns:
                    found.append({**head, "error": None, **self._target(output, told.names)})
        return found

    def lookup(self, name: str) -> Answer | None:
        """What the collector knows of a table; None where it knows none."""
        if name not in self._known:
            try:
                self._known[name] = self._client.ask(
                    "/api/v1/datasets/explain", dataset=name, namespace=self._namespace
                )
            except NotFoundError as error:
                if getattr(error, "ambiguous", False):
                    raise
                self._known[name] = None
        return self._known[name]

    def _target(self, output: Any, names: dict[str, Answer]) -> Answer:
        from spark_lineage.cli import compare

        def shown(local: str) -> str:
            known = names.get(local)
            return str(known["dataset"]) if known else local

        answer = self.lookup(output.dataset.name)
        columns, rows = compare.of_statement(output, shown)
        edges: set[tuple[str | None, compare.Edge]] = {(None, edge) for edge in rows}
        edges.update((name, edge) for name, some in columns.items() for edge in some)
        record = None if answer is None else compare.recorded(answer, edges, self._job)
        if answer is None or record is None:
            return {"target": {"dataset": output.dataset.name}, "job": None, "columns": [],
                    "availability": output.availability.value}  # fmt: skip
        found = compare.compare(output, record, shown)
        for one in found:
            if one.name is not None and one.state in (compare.REMOVED, compare.CHANGED):
                one.hits = self._hits(answer["dataset"], one.name)
        return {
            "target": answer["dataset"],
            "job": record["job"],
            "columns": [one.to_dict() for one in found if one.state != compare.SAME],
            "availability": output.availability.value,
        }

    def _hits(self, target: Answer, column: str) -> list[Answer]:
        told = self._client.ask(
            "/api/v1/columns/impact", **target, column=column, depth=self._depth
        )
        keys = ("namespace", "dataset", "column", "distance", "owners")
        return [{key: one[key] for key in keys} for one in told["columns"]]


def _fails(one: Answer, policy: str) -> bool:
    if policy == "never":
        return False
    if one["error"]:
        return True
    columns = one["columns"]
    if policy == "changed":
        return bool(columns)
    broken = [column for column in columns if column["breaking"]]
    if policy == "hit":
        return any(column["hits"] for column in broken)
    return bool(broken)
