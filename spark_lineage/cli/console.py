"""Output of all commands: a console that is plain where nobody looks, and errors."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

PLAIN_WIDTH = 120
_LEAST_WIDTH = 60


def console(stderr: bool = False) -> Console:
    """A console: colours on a terminal only, and never narrower than lines need."""
    import os

    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    options: dict[str, Any] = {"file": stream, "highlight": False, "emoji": False, "markup": False}
    if not stream.isatty() and "FORCE_COLOR" not in os.environ:
        wanted = os.environ.get("COLUMNS", "")
        width = int(wanted) if wanted.isdigit() else PLAIN_WIDTH
        options.update(color_system=None, force_terminal=False, width=max(width, 100))
    found = Console(**options)
    if found.width < _LEAST_WIDTH:
        found = Console(**{**options, "width": _LEAST_WIDTH})
    return found


def fail(error: Exception) -> int:
    """Show an error, and what to do about it, on standard error; gives the exit code."""
    from spark_lineage import cli
    from spark_lineage.cli.client import UnreachableCollectorError, UnresolvedNameError

    out = console(stderr=True)
    out.print(f"error: {error}", soft_wrap=True, style="bold red")
    if isinstance(error, UnresolvedNameError):
        for line in error.hints():
            out.print(line, soft_wrap=True)
    return cli.EXIT_UNREACHABLE if isinstance(error, UnreachableCollectorError) else cli.EXIT_WRONG
