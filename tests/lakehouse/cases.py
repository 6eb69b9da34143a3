"""Cases of other tools' users that need these formats, where their file lies beside the project."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

FILE = Path(__file__).parents[3] / "shared" / "cases" / "edges.jsonl"
#: What a case tells in words of its tables, as statements.
_TOLD = re.compile(r"(\w+)\((\w+ LONG, \w+ LONG)\)")


#: A stream has no statement of its own; those of streams are tested with streams.
_STREAMS = frozenset({"DH-10"})
#: Delta 3.3 refuses to replace a table on the last Spark 3.5 ("does not support truncate").
_FAILS_ON = {"SP-22": "3.5"}


def load(form: str, version: str) -> list[dict[str, Any]]:
    """The cases for ``delta`` or ``iceberg`` on this Spark; none where their file is not there."""
    if not FILE.exists():
        return []
    found = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]
    return [
        case
        for case in found
        if _form(case) == form
        and case["id"] not in _STREAMS
        and _FAILS_ON.get(case["id"]) != version
    ]


def _form(case: dict[str, Any]) -> str | None:
    needs = set(case["needs"])
    if "merge" in needs and not needs & {"delta", "iceberg"}:
        # A V2 table that takes row-level commands is one of Iceberg's here.
        return "delta" if case["setup"].startswith("Delta") else "iceberg"
    return next((form for form in ("delta", "iceberg") if form in needs), None)


def steps(cases: list[dict[str, Any]], form: str) -> list[dict[str, Any]]:
    """Two steps a case: its tables in a database of its own, and its statement."""
    found = []
    for case in cases:
        database = "c_" + re.sub(r"\W", "_", case["id"].lower())
        home = "ice." if form == "iceberg" and "merge" in case["needs"] else ""
        setup = [f"CREATE NAMESPACE IF NOT EXISTS {home}{database}", f"USE {home}{database}"]
        setup += _statements(case, cases, form)
        step: dict[str, Any] = {"name": f"case {case['id']}"}
        code = case["code"].replace("{tmp}", "{folder}").replace("/lake/seen", "{folder}/seen")
        if case["lang"] == "sql":
            step["sql"] = [code]
        else:
            step["py"] = _python(code)
        found += [{"name": f"tables of {case['id']}", "sql": setup, "setup": True}, step]
    found.append({"name": "back", "sql": ["USE spark_catalog.default"], "setup": True})
    return found


def _python(code: str) -> str:
    return re.sub(r'"([^"]*)\{folder\}([^"]*)"', r'"\1" + folder + "\2"', code)


def _statements(case: dict[str, Any], cases: list[dict[str, Any]], form: str) -> list[str]:
    setup = case["setup"]
    if setup.startswith("same as"):
        setup = next(c["setup"] for c in cases if c["id"] == "OL-" + setup.split()[2])
    if "CREATE" in setup or not setup:
        statements = [part.strip() for part in setup.split(";") if part.strip()]
        names = re.findall(r"CREATE TABLE ((?:ice|dv2)\.\S+)", setup)
        return [f"DROP TABLE IF EXISTS {name}" for name in names] + statements
    mode = "merge-on-read" if "merge-on-read" in case["setup"] else "copy-on-write"
    more = f" TBLPROPERTIES ('write.merge.mode' = '{mode}')" if form == "iceberg" else ""
    found = [
        f"CREATE TABLE {name} ({columns}) USING {form}{more}"
        for name, columns in _TOLD.findall(setup.replace("Delta path /lake/seen (", "seen0("))
    ]
    if "/lake/seen" in setup:
        found.append("CREATE TABLE delta.`{folder}/seen` (ev LONG, last_ts LONG) USING delta")
    view = re.search(r"temp view (\w+) = (.*)", setup)
    if view:
        found.append(f"CREATE OR REPLACE TEMP VIEW {view[1]} AS {view[2]}")
    return found


def last(name: str) -> str:
    """A data set's last part: the table, the folder."""
    return re.split(r"[.:/]", name)[-1]


def expected(rows: list[list[str]]) -> set[str]:
    """Edges of a case, with the last part of each data set."""
    return {f"{column} {kind} {_source(source)}" for column, kind, source in rows}


def _source(source: str) -> str:
    table, _, field = source.rpartition(".")
    return f"{last(table)}.{field}"


def shortened(edges: set[str]) -> set[str]:
    """Edges of an event, with the last part of each data set."""
    found = set()
    for edge in edges:
        column, kind, source = edge.split(" ", 2)
        found.add(f"{column} {kind} {_source(source)}")
    return found
