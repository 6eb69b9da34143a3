"""Names of jobs: the same from run to run, never the same for different queries."""

from __future__ import annotations

import hashlib
import re
from collections import OrderedDict
from typing import Any

from spark_lineage.lineage.model import Lineage

NAME_LIMIT = 200
MAX_NAMES = 10_000

# Commands whose job is told by what they write; another command's name says what it does.
WRITES = frozenset({
    "AppendData", "CreateDataSourceTableAsSelectCommand", "CreateHiveTableAsSelectCommand",
    "CreateTableAsSelect", "InsertIntoDataSourceCommand", "InsertIntoDataSourceDirCommand",
    "InsertIntoHadoopFsRelationCommand", "InsertIntoHiveDirCommand", "InsertIntoHiveTable",
    "InsertIntoStatement", "OptimizedCreateHiveTableAsSelectCommand", "OverwriteByExpression",
    "OverwritePartitionsDynamic", "ReplaceTableAsSelect", "SaveIntoDataSourceCommand",
    "WriteToDataSourceV2",
})  # fmt: skip


class JobNames:
    """The names of one application's jobs.

    A job that writes is named by the application and its output. Where an
    application writes one output by several different queries, the second and
    further ones, in the order of their first run, have a number. A read is
    named by a hash of its query.
    """

    def __init__(self) -> None:
        self._queries: OrderedDict[str, list[str]] = OrderedDict()

    def name(self, application: str, record: dict[str, Any], lineage: Lineage | None) -> str:
        """The name of the job of this record, whose lineage is as given."""
        outputs = sorted(
            output.dataset.name.rstrip("/").rsplit("/", 1)[-1]
            for output in (lineage.outputs if lineage else ())
            if output.dataset is not None
        )
        query = plan_hash(record)
        if not outputs:
            return f"{application}.query.{query}"
        what = "+".join(outputs)
        command = root_class(record)
        if command and command not in WRITES:
            what = f"{_words(command)}.{what}"
        base = f"{application}.{_clean(what)}"
        known = self._queries.setdefault(base, [])
        if query not in known:
            known.append(query)
            while len(self._queries) > MAX_NAMES:
                self._queries.popitem(last=False)
        number = known.index(query) + 1
        return base if number == 1 else f"{base}#{number}"


def root_class(record: dict[str, Any]) -> str | None:
    """The Spark class of the analyzed plan's root, None without a plan."""
    analyzed = (record.get("plans") or {}).get("analyzed")
    if analyzed is None:
        return None
    return str(record["shapes"][record["nodes"][analyzed][0]][0])


def plan_hash(record: dict[str, Any]) -> str:
    """A short hash of the query: its text, else its analyzed plan without ids."""
    execution = record["execution"]
    digest = hashlib.sha256()
    sql = execution.get("sql")
    analyzed = (record.get("plans") or {}).get("analyzed")
    if sql:
        digest.update(" ".join(sql.split()).encode())
    elif analyzed is not None:
        strings, shapes = record["strings"], record["shapes"]
        for row in record["nodes"][: analyzed + 1]:
            simple, _, kind, fields = shapes[row[0]]
            digest.update(simple.encode())
            if kind != "E":
                continue
            for field in ("name", "value"):
                if field in fields:
                    text = row[2 + fields.index(field)]
                    if type(text) is int and text < 0:
                        digest.update(strings[-1 - text].encode())
    else:
        digest.update(str(execution.get("description")).encode())
    return digest.hexdigest()[:12]


def _words(name: str) -> str:
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.removesuffix("Command"))
    return words.lower()


def _clean(text: str) -> str:
    return re.sub(r"\s+", "_", text.strip())[:NAME_LIMIT]
