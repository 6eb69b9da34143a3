"""The command line: ``spark-lineage COMMAND``.

Each command is a module of its own with a function ``command``; ``COMMANDS``
names it. Only the module of the command that was asked for is imported, and it
imports what is heavy when it runs, so that ``--help`` is quick.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import typer

# Command → (module, group of the help page). The order is that of the help page.
COMMANDS: dict[str, tuple[str, str]] = {
    "explain": ("spark_lineage.cli.explain", "Ask"),
    "impact": ("spark_lineage.cli.impact", "Ask"),
    "graph": ("spark_lineage.cli.graph", "Ask"),
    "search": ("spark_lineage.cli.search", "Ask"),
    "diff": ("spark_lineage.cli.diff", "Ask"),
    "tags": ("spark_lineage.cli.tags", "Ask"),
    "runs": ("spark_lineage.cli.runs", "Ask"),
    "seen": ("spark_lineage.cli.seen", "Ask"),
    "schema-change": ("spark_lineage.cli.schema_change", "Ask"),
    "check": ("spark_lineage.cli.check", "Ask"),
    "health": ("spark_lineage.cli.health", "Mend"),
    "queue": ("spark_lineage.cli.queue", "Mend"),
    "overrides": ("spark_lineage.cli.overrides", "Mend"),
    "audit": ("spark_lineage.cli.audit", "Mend"),
    "collector": ("spark_lineage.cli.collector", "Serve"),
    "demo": ("spark_lineage.cli.demo", "Serve"),
    "quarantine": ("spark_lineage.cli.quarantine", "Keep"),
    "export": ("spark_lineage.cli.export", "Keep"),
    "import": ("spark_lineage.cli.import_", "Keep"),
    "prune": ("spark_lineage.cli.prune", "Keep"),
    "token": ("spark_lineage.cli.token", "Keep"),
    "submit-args": ("spark_lineage.cli.submit_args", "Turn on"),
    "doctor": ("spark_lineage.cli.doctor", "Turn on"),
    "jar": ("spark_lineage.cli.jar", "Turn on"),
    "replay": ("spark_lineage.cli.replay", "Deliver"),
}

EXIT_WRONG = 2
EXIT_UNREACHABLE = 3


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit with its code.

    0 is success, 2 a wrong call or an unknown name, 3 a collector that does not
    answer.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    from spark_lineage.errors import SparkLineageError

    app = build([given[0]] if given and given[0] in COMMANDS else COMMANDS)
    try:
        app(given, prog_name="spark-lineage")
    except SparkLineageError as error:
        from spark_lineage.cli.console import fail

        sys.exit(fail(error))


def build(names: Iterable[str]) -> typer.Typer:
    """The application with these commands."""
    import typer

    app = typer.Typer(
        help="Column-level lineage, told by Apache Spark itself.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        epilog="Settings: spark.lineage.* in Spark's configuration or SPARK_LINEAGE_*.",
        # A shell's completion would import all commands at each key.
        add_completion=False,
    )

    @app.callback(invoke_without_command=True)
    def root(
        version: bool = typer.Option(False, "--version", "-V", help="Show the version and exit."),
    ) -> None:
        if version:
            from spark_lineage.version import __version__

            typer.echo(f"spark-lineage {__version__}")
            raise typer.Exit

    for name in names:
        module, group = COMMANDS[name]
        function = importlib.import_module(module).command
        app.command(name, rich_help_panel=group)(function)
    return app
