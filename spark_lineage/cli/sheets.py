"""Rows as CSV and Markdown, for a spreadsheet or a pull request."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence


def comma_separated(rows: Sequence[Sequence[str]]) -> str:
    """Rows as CSV, the head among them."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for row in rows:
        # A spreadsheet takes these as the begin of a formula.
        writer.writerow(["'" + cell if cell[:1] in ("=", "+", "@", "-") else cell for cell in row])
    return out.getvalue()


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a Markdown table."""
    return [
        "| " + " | ".join(head) + " |",
        "|" + "---|" * len(head),
        *("| " + " | ".join(map(cell, row)) + " |" for row in rows),
    ]


def cell(text: str) -> str:
    """A text that stays in its cell."""
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ")
