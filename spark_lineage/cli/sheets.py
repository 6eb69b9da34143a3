"""Answers as CSV and Markdown, for a spreadsheet or a pull request."""

from __future__ import annotations

import csv
import io
from typing import Any

_HEAD = ("distance", "namespace", "dataset", "column", "type", "kinds", "job", "owners")


def impact(answer: dict[str, Any], form: str) -> str:
    """The columns and readers that an answer of ``impact`` tells of, a row each."""
    rows = [
        (
            str(one["distance"]),
            one["namespace"],
            one["dataset"],
            one["column"],
            one["data_type"] or "",
            " ".join(kind["type"] + ("*" if kind["masking"] else "") for kind in one["kinds"]),
            one["job"]["name"] if one["job"] else "",
            " ".join(one["owners"]),
        )
        for one in answer["columns"]
    ]
    if form == "csv":
        return _csv([_HEAD, *rows])
    name = answer["column"]["dataset"]
    if answer["column"]["column"] is not None:
        name += "." + answer["column"]["column"]
    lines = [f"**{_cell(name)}**: {len(rows)} columns in {len(answer['datasets'])} tables, "
             f"{len(answer['jobs'])} jobs", ""]  # fmt: skip
    if rows:
        lines += ["| " + " | ".join(_HEAD) + " |", "|" + "---|" * len(_HEAD)]
        lines += ["| " + " | ".join(map(_cell, row)) + " |" for row in rows]
    if answer["truncated"]:
        lines += ["", f"Cut: at least {answer['left_out']} columns more."]
    return "\n".join(lines) + "\n"


def _csv(rows: list[tuple[str, ...]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for row in rows:
        # A spreadsheet takes these as the begin of a formula.
        writer.writerow(["'" + cell if cell[:1] in ("=", "+", "@", "-") else cell for cell in row])
    return out.getvalue()


def _cell(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ")
