"""Options that many commands have, and how an answer is printed in each form."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Literal

import typer

Answer = dict[str, Any]
# Texts up to this length are not broken in a table on a screen.
_WHOLE = 16
Form = Literal["table", "csv", "json", "markdown"]

Url = Annotated[
    str,
    typer.Option(help="The collector's address.", envvar="SPARK_LINEAGE_TRANSPORT_URL"),
]
Namespace = Annotated[
    str | None,
    typer.Option(help="Only names in this namespace.", show_default=False),
]
Json = Annotated[bool, typer.Option("--json", help="The same as --format json.")]
Format = Annotated[Form, typer.Option("--format", help="How to print it.")]
Place = Annotated[
    str,
    typer.Argument(
        metavar="NAME[.COLUMN]",
        help="A column, or a table for all of it; any unique end of the name will do.",
        show_default=False,
    ),
]
Table = Annotated[
    str,
    typer.Argument(metavar="NAME", help="A table; any unique end of its name will do."),
]
Depth = Annotated[int, typer.Option(min=1, max=200, help="The most hops.")]
Limit = Annotated[int, typer.Option(min=1, max=100_000, help="The most columns.")]
Rows = Annotated[int, typer.Option(min=1, max=1_000, help="The most rows.")]
Values = Annotated[
    bool,
    typer.Option("--values", help="Only where the value flows, no filters, joins or sorts."),
]
Kind = Annotated[
    list[str] | None, typer.Option(help="Only edges of this kind; may be given again.")
]
Unmasked = Annotated[bool, typer.Option("--unmasked", help="Not along what masks the value.")]
Via = Annotated[str | None, typer.Option(help="Only ways through this view.", show_default=False)]
Fold = Annotated[
    str | None,
    typer.Option(
        help="Fold away tables whose names fit this regular expression.", show_default=False
    ),
]
AsOf = Annotated[
    str | None, typer.Option(help="As it was at this time (ISO 8601).", show_default=False)
]
Since = Annotated[str | None, typer.Option(help="From this time (ISO 8601).", show_default=False)]
Until = Annotated[
    str | None, typer.Option(help="To this time (ISO 8601); now by default.", show_default=False)
]
By = Annotated[str | None, typer.Option(help="Who; the login name by default.", show_default=False)]


def print_json(answer: Any) -> None:
    """An answer as the collector gave it."""
    typer.echo(json.dumps(answer, indent=2, ensure_ascii=False))


def print_rows(
    head: Sequence[str],
    rows: Iterable[Sequence[Any]],
    form: Form,
    answer: Any,
    notes: Iterable[str] = (),
) -> None:
    """Rows of an answer in one of the forms; ``notes`` stand below where people read."""
    told = [["" if cell is None else str(cell) for cell in row] for row in rows]
    below = [note for note in notes if note]
    if form == "json":
        print_json(answer)
        return
    from spark_lineage.cli import sheets

    if form == "csv":
        typer.echo(sheets.comma_separated([head, *told]), nl=False)
    elif form == "markdown":
        lines = sheets.markdown(head, told) if told else []
        typer.echo("\n".join([*lines, *([""] if lines and below else []), *below]))
    else:
        _table(head, told, below)


def _table(head: Sequence[str], rows: list[list[str]], notes: list[str]) -> None:
    from rich import box
    from rich.table import Table as Grid
    from rich.text import Text

    from spark_lineage.cli.console import console

    out = console()
    if rows:
        grid = Grid(box=box.SIMPLE_HEAD, pad_edge=False)
        for name, *cells in zip(head, *rows, strict=True):
            # What is narrow stays whole, so that only long texts are broken.
            longest = max(max(map(len, name.split())), *map(len, cells))
            grid.add_column(name, overflow="fold", min_width=min(longest, _WHOLE))
        for row in rows:
            grid.add_row(*(Text(cell) for cell in row))
        out.print(grid)
    for note in notes:
        out.print(Text(note), soft_wrap=True)


def cut(answer: Answer) -> str:
    """What to say of an answer that is not all."""
    if not answer.get("truncated"):
        return ""
    return f"Cut: at least {answer.get('left_out', 1)} more."


def column_of(end: Answer) -> str:
    """``table.column``, or the table where it is all of it."""
    column = end.get("column")
    return str(end["dataset"]) if column is None else f"{end['dataset']}.{column}"


def kinds_of(kinds: Iterable[Answer]) -> str:
    """Kinds in words; a star is for masking."""
    return " ".join(kind["type"] + ("*" if kind["masking"] else "") for kind in kinds)


def user(by: str | None) -> str:
    """Who does it."""
    if by:
        return by
    import getpass

    return getpass.getuser()
