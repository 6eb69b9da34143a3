"""Names of jobs: the same from run to run, never the same for different queries."""

from __future__ import annotations

import hashlib
import re
from collections import OrderedDict
from typing import Any

from spark_lineage.agent.verbs import verb_of
from spark_lineage.lineage.model import Dataset, Lineage

NAME_LIMIT = 200
MAX_NAMES = 10_000
MAX_QUERIES = 1_000


class JobNames:
    """The names of one application's jobs.

    A job that writes is named by the application and its output. Where an
    application writes one output by several different queries, the second and
    further ones, in the order of their first run, have a number. A command that
    writes no rows has its verb before what it changes. A read is named by a hash
    of its query (:mod:`spark_lineage.lineage.fingerprint`).
    """

    def __init__(self) -> None:
        self._queries: OrderedDict[str, dict[str, int]] = OrderedDict()

    def __len__(self) -> int:
        """How many queries are known by number."""
        return sum(len(known) for known in self._queries.values())

    def name(
        self, application: str, record: dict[str, Any], lineage: Lineage | None, query: str
    ) -> str:
        """The name of the job of this record, whose lineage and query hash are as given."""
        outputs = sorted(
            _called(output.dataset)
            for output in (lineage.outputs if lineage else ())
            if output.dataset is not None
        )
        verb = verb_of(record) or _maintenance(lineage)
        if not outputs:
            return f"{application}.{verb or 'query'}.{query}"
        what = "+".join(outputs)
        if verb:
            what = f"{verb}.{what}"
        base = f"{application}.{_clean(what)}"
        known = self._queries.setdefault(base, {})
        while len(self._queries) > MAX_NAMES:
            self._queries.popitem(last=False)
        number = known.get(query)
        if number is None:
            if len(known) >= MAX_QUERIES:
                return f"{base}#{query}"
            number = known[query] = len(known) + 1
        return base if number == 1 else f"{base}#{number}"


def _called(dataset: Dataset) -> str:
    """A table's whole name, the last part of a path."""
    name = dataset.name.rstrip("/")
    if dataset.namespace.startswith("arn:aws:glue:"):
        return name.removeprefix("table/").replace("/", ".")
    return name.rsplit("/", 1)[-1]


def _maintenance(lineage: Lineage | None) -> str | None:
    """The verb of maintenance that no command of a plan tells of."""
    told = lineage.outputs if lineage else ()
    of_itself = any(each.dataset and each.dataset.facts.get("maintenance") for each in told)
    return "call" if of_itself else None


def root_class(record: dict[str, Any]) -> str | None:
    """The Spark class of the analyzed plan's root, None without a plan."""
    analyzed = (record.get("plans") or {}).get("analyzed")
    if analyzed is None:
        return None
    return str(record["shapes"][record["nodes"][analyzed][0]][0])


def query_hash(record: dict[str, Any], plan: str | None, sql: str | None) -> str:
    """A short hash of the query: of its normalised plan, else its text, else its description."""
    if plan or sql:
        return (plan or sql or "")[:12]
    told = str(record["execution"].get("description"))
    return hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def _clean(text: str) -> str:
    return re.sub(r"\s+", "_", text.strip())[:NAME_LIMIT]
