"""What is made of one record: its lineage and the hashes of its query."""

from __future__ import annotations

import hashlib
import re
import time
from dataclasses import dataclass, field
from typing import Any

from spark_lineage.agent.actions import Actions
from spark_lineage.agent.filters import is_query
from spark_lineage.agent.guard import Failures
from spark_lineage.agent.names import root_class
from spark_lineage.lineage.datasets.lakehouse import maintained
from spark_lineage.lineage.derive import derive
from spark_lineage.lineage.fallback import datasets_only
from spark_lineage.lineage.fingerprint import plan_hash, sql_hash
from spark_lineage.lineage.memory import Memory
from spark_lineage.lineage.model import Lineage
from spark_lineage.lineage.options import LineageOptions
from spark_lineage.openlineage.literals import mask_sql
from spark_lineage.plan.decode import decode
from spark_lineage.plan.node import Record

#: A rewrite has a job group for each group of files.
_LATER = re.compile(r"file group (?!1/)\d+/")


@dataclass
class Derived:
    """The lineage of a record, None without a plan; what went wrong; times in milliseconds."""

    lineage: Lineage | None = None
    issues: list[str] = field(default_factory=list)
    times: dict[str, float] = field(default_factory=dict)
    decoded: Record | None = None
    plan_hash: str | None = None
    sql_hash: str | None = None


class Deriver:
    """Derives lineage; what fails is counted and told as an issue, never raised."""

    def __init__(self, options: LineageOptions, failures: Failures) -> None:
        self._options = options
        self._failures = failures

    def derive(self, record: dict[str, Any], memory: Memory) -> Derived:
        """All of a record: column lineage, else data sets, else what failed."""
        plans = record.get("plans") or {}
        truncated = (record.get("bridge") or {}).get("truncated")
        made = Derived(issues=[f"plan cut by the bridge: {truncated}"] if truncated else [])
        if plans.get("analyzed") is None and plans.get("optimized") is None:
            return made
        began = time.perf_counter()
        try:
            made.decoded = decode(record)
            read = time.perf_counter()
            made.lineage = derive(made.decoded, self._options, memory)
        except Exception as error:
            self._failures.add("deriving lineage", error)
            problem = f"column lineage failed: {type(error).__name__}: {error}"
            made.lineage = self._datasets_only(record, problem)
            made.issues.append(problem)
        else:
            done = time.perf_counter()
            made.times = {
                "decodeMillis": round((read - began) * 1000, 3),
                "deriveMillis": round((done - read) * 1000, 3),
            }
        return made

    def outline(self, record: dict[str, Any], memory: Memory) -> Lineage | None:
        """The data sets of a record, without columns where the plan may be a large one."""
        if root_class(record) is None:
            return None
        outline = self._datasets_only(record, "not computed")
        named = outline is not None and any(output.dataset for output in outline.outputs)
        if named or is_query(record):
            return outline
        # A command that does not write a query's rows: small, and known to the rules only.
        return self.derive(record, memory).lineage

    def identify(self, record: dict[str, Any], made: Derived, known: str | None = None) -> Derived:
        """Add the hashes of the query; ``known`` is its plan's, where its start has told it."""
        sql = record["execution"].get("sql")
        if sql:
            made.sql_hash = sql_hash(sql if self._options.literals else mask_sql(sql))
        made.plan_hash = known
        try:
            if known is None and root_class(record) is not None:
                made.decoded = made.decoded or decode(record)
                made.plan_hash = plan_hash(made.decoded, self._options)
        except Exception as error:
            self._failures.add("hashing a plan", error)
        return made

    def _datasets_only(self, record: dict[str, Any], problem: str) -> Lineage | None:
        try:
            return datasets_only(decode(record), self._options, problem)
        except Exception as error:
            self._failures.add("deriving data sets", error)
            return None


def maintenance_of(record: dict[str, Any], made: Derived, actions: Actions) -> str | None:
    """Make a record's lineage that of the maintenance it is a part of; the job's hash.

    From Spark 4.0 on ``CALL`` runs a procedure while the statement is analysed: what shows of
    it are Iceberg's own executions, by job groups. The first that shows the table is told.
    None for any other: it is no run.
    """
    found = maintained(record, made.lineage)
    group = record["execution"].get("jobGroup")
    if found is None or not group or not actions.is_first(group):
        return None
    if _LATER.search(record["execution"].get("description") or ""):
        return None
    made.lineage = found
    # The number behind the group's name is another each time.
    kind, table = re.sub(r"-\d+$", "", group), found.outputs[0].dataset
    told = f"{kind} {table.namespace} {table.name}" if table else kind
    return hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()
