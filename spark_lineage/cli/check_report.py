"""The result of ``check`` as Markdown for a pull request."""

from __future__ import annotations

from typing import Any

from spark_lineage.cli import sheets

Answer = dict[str, Any]
MOST_NAMED = 10
_HEAD = ("column", "change", "sources", "downstream")


def markdown(answer: Answer, failed: list[Answer]) -> str:
    """All statements, the verdict first."""
    statements = answer["statements"]
    changed = sum(bool(one["columns"]) for one in statements)
    verdict = "passed" if not failed else f"failed ({len(failed)} of {len(statements)} statements)"
    lines = [
        f"## Lineage check: {verdict}",
        "",
        f"{len(statements)} statements write data, {changed} of them otherwise than recorded;"
        f" fails on: {answer['fail_on']}.",
        "",
    ]
    for one in statements:
        lines += _statement(one)
    return "\n".join(lines).rstrip()


def _statement(one: Answer) -> list[str]:
    place = f"`{one['file']}` line {one['line']}"
    if one["error"]:
        return [f"### {place}: cannot be analysed", "", f"> {one['error']}", ""]
    lines = [f"### {place}: `{one['target']['dataset']}`", ""]
    if one["job"] is None:
        return [*lines, "Nothing is recorded of it yet.", ""]
    if not one["columns"]:
        return [*lines, f"The same as what `{one['job']}` recorded.", ""]
    rows = [(_name(c), _change(c), _sources(c), _hits(c)) for c in one["columns"]]
    told = f"Against what `{one['job']}` recorded:"
    return [*lines, told, "", *sheets.markdown(_HEAD, rows), ""]


def _name(column: Answer) -> str:
    return column["column"] or "(rows)"


def _change(column: Answer) -> str:
    kind = column["type"]
    text = str(column["state"])
    if kind["change"]:
        text += f"; {kind['change']} from {kind['before']} to {kind['after']}"
    said = column["expression"]
    if said["before"] != said["after"] and said["before"] and said["after"]:
        text += f"; `{said['before']}` became `{said['after']}`"
    return ("**breaking** " if column["breaking"] else "") + text


def _sources(column: Answer) -> str:
    told = [*(f"+ {_source(one)}" for one in column["added"]),
            *(f"- {_source(one)}" for one in column["removed"])]  # fmt: skip
    return ", ".join(_some(told))


def _source(one: Answer) -> str:
    return f"{one['type']}{'*' if one['masking'] else ''} {one['dataset']}.{one['column']}"


def _hits(column: Answer) -> str:
    names = [f"{one['dataset']}.{one['column']}" for one in column["hits"]]
    people = sorted({owner for one in column["hits"] for owner in one["owners"]})
    text = ", ".join(_some(names))
    return f"{text} (owners: {', '.join(people)})" if people else text


def _some(names: list[str]) -> list[str]:
    more = len(names) - MOST_NAMED
    return [*names[:MOST_NAMED], *([f"{more} more"] if more > 0 else [])]
