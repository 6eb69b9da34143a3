"""Which runs are told at all: allow- and deny-lists of statement kinds, data sets and jobs.

A pattern (``*`` and ``?``) meets the whole of a name. A statement's kind is the
Spark class of its plan's root, simple (``DropTableCommand``) or full. A run
names a data set if it reads or writes it: its name, or ``namespace/name``, or
those of a symlink. A job's pattern may meet the job's name or the application's. With a deny-list a
run is left out if anything in it is met; with an allow-list if nothing is.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable
from fnmatch import translate
from typing import Any, Final

from spark_lineage.agent.names import root_class
from spark_lineage.config import Settings
from spark_lineage.lineage.model import Lineage
from spark_lineage.openlineage.run import Run

#: Roots of plans that only read, which have nothing to name but their leaves.
_QUERIES: Final = frozenset(
    {
        "Aggregate", "CollectMetrics", "Deduplicate", "DeserializeToObject", "Distinct", "Except",
        "Expand", "Filter", "Generate", "GlobalLimit", "HiveTableRelation", "Intersect", "Join",
        "LocalLimit", "LocalRelation", "LogicalRDD", "LogicalRelation", "MapElements",
        "MapPartitions", "Offset", "OneRowRelation", "Pivot", "Project", "Range", "Repartition",
        "RepartitionByExpression", "ReturnAnswer", "Sample", "SerializeFromObject", "Sort",
        "SubqueryAlias", "Tail", "Union", "Unpivot", "View", "Window", "WithCTE",
        "DataSourceV2Relation",
    }
)  # fmt: skip


def is_query(record: dict[str, Any]) -> bool:
    """Whether a record's plan is a query: no command at its root."""
    return root_class(record) in _QUERIES


class Patterns:
    """One allow-list and one deny-list of the same kind of name."""

    def __init__(self, allow: Iterable[str], deny: Iterable[str]) -> None:
        self._allow = _compiled(allow)
        self._deny = _compiled(deny)
        self.only = self._allow is not None
        """Whether there is an allow-list."""
        self.there = self.only or self._deny is not None

    def denies(self, names: Iterable[str]) -> bool:
        """Whether the deny-list meets one of these names."""
        return self._deny is not None and any(self._deny.fullmatch(name) for name in names)

    def refuses(self, names: Iterable[str]) -> bool:
        """Whether what has these names is left out."""
        names = list(names)
        if self.denies(names):
            return True
        allow = self._allow
        return allow is not None and not any(allow.fullmatch(name) for name in names)


def _compiled(patterns: Iterable[str]) -> re.Pattern[str] | None:
    found = [f"(?:{translate(pattern)})" for pattern in patterns]
    return re.compile("|".join(found)) if found else None


class EventFilter:
    """The filter of one agent. Gives the reason why a run is left out, or None."""

    def __init__(self, settings: Settings) -> None:
        self.statements = Patterns(
            settings.filter_statements_allow, settings.filter_statements_deny
        )
        self.datasets = Patterns(settings.filter_datasets_allow, settings.filter_datasets_deny)
        self.jobs = Patterns(settings.filter_jobs_allow, settings.filter_jobs_deny)

    def of_statement(self, record: dict[str, Any]) -> str | None:
        """By the plan's root alone: nothing is decoded for it.

        What has no plan has no kind and no data set: allow-lists of those leave it out.
        """
        analyzed = (record.get("plans") or {}).get("analyzed")
        if analyzed is None:
            if self.statements.only:
                return "statements"
            return "datasets" if self.datasets.only else None
        simple, full = record["shapes"][record["nodes"][analyzed][0]][:2]
        return "statements" if self.statements.refuses((simple, full)) else None

    def of_datasets(self, lineage: Lineage | None) -> str | None:
        """By what a run reads and writes."""
        if lineage is None:
            return "datasets" if self.datasets.only else None
        found = [item.dataset for item in lineage.inputs]
        found += [output.dataset for output in lineage.outputs if output.dataset]
        links = [link[:2] for one in found for link in one.symlinks]
        names = []
        for namespace, name in [*((one.namespace, one.name) for one in found), *links]:
            names += [name, f"{namespace}/{name}"]
        return "datasets" if self.datasets.refuses(names) else None

    def of_job(self, application: str, job: str) -> str | None:
        """By the job's name and its application's."""
        return "jobs" if self.jobs.refuses((application, job)) else None


def is_told(run: Run, settings: Settings) -> bool:
    """Whether a run that writes nothing is told: it may be off, or one of a share.

    By its id, so that START and end agree.
    """
    share = settings.read_only_actions_sample * (1 << 32)
    return settings.read_only_actions and zlib.crc32(run.run_id.encode()) < share
