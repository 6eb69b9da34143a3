"""Jobs of RDDs as runs: what a program reads and writes without any query.

An action may run several Spark jobs one after the other (``take`` looks into
more and more partitions, ``toLocalIterator`` fetches one at a time). The first
is the action's run; a further one is told only if it fails. Jobs by which Spark
prepares an action (the sample of ``sortByKey``) are none: the action reads the
same. What fails is always told.
"""

from __future__ import annotations

import re
from collections import Counter, OrderedDict
from dataclasses import dataclass, replace
from typing import Any, Final

from spark_lineage.agent import facts
from spark_lineage.agent.application import Application
from spark_lineage.agent.filters import EventFilter, is_told
from spark_lineage.agent.guard import Failures
from spark_lineage.config import Settings
from spark_lineage.lineage.model import Dataset, Lineage
from spark_lineage.lineage.options import LineageOptions
from spark_lineage.lineage.rdd import rdd_hash, rdd_lineage
from spark_lineage.openlineage.events import EventBuilder
from spark_lineage.openlineage.ids import run_id
from spark_lineage.openlineage.run import ParentRun, Run

MAX_OPEN: Final = 1_000
MAX_ACTIONS: Final = 10_000
GAP_MILLIS: Final = 5_000
"""Between two jobs of one action that share no scope; after that it is another action."""
JOB_KIND: Final = "RDD_JOB"

OUTPUT_UNKNOWN: Final = "the job had ended before it could be looked at: its output is not known"
INPUTS_GUESSED: Final = "the job had ended before it could be looked at: inputs by their names"

Event = dict[str, Any]

_CALL_SITE: Final = re.compile(r"(\S+) at (.*)", re.DOTALL)
#: Frames of a call stack that are none of the program's.
_ENGINE: Final = re.compile(r"(?:org\.apache\.spark|java|javax|jdk|scala|sun|py4j)[./]")
#: Operations that look at their data only to prepare what an action does later.
_PREPARING: Final = frozenset({"createDataFrame", "sortBy", "sortByKey", "toDF", "zipWithIndex"})
#: A look at the first record for its types, by Spark's Python support.
_LOOKS: Final = re.compile(r"(?:take|first) at (?:SerDeUtil|PythonRDD|PythonHadoopUtil)\.scala:\d+")
#: Actions of several jobs without a scope in common: PySpark's, and iterators.
_SEVERAL: Final = re.compile(
    r"(?:takeSample|histogram|toLocalIterator|hasNext|next) at |runJob at PythonRDD\.scala"
)


@dataclass
class _Open:
    """A job whose end has not been seen; without a run if the event filter left it out."""

    run: Run | None
    lineage: Lineage | None
    issues: list[str]


@dataclass
class _Action:
    """The first job of an action, and when its last one started or ended."""

    first: int
    last: int


class RddJobs:
    """Turns records of jobs into events. Not thread-safe: its :class:`Runs` owns it."""

    def __init__(
        self,
        settings: Settings,
        options: LineageOptions,
        builder: EventBuilder,
        event_filter: EventFilter,
        failures: Failures,
        filtered: Counter[str],
    ) -> None:
        self._settings = settings
        self._options = options
        self._builder = builder
        self._filter = event_filter
        self._failures = failures
        self._filtered = filtered
        self._open: OrderedDict[tuple[str, int], _Open] = OrderedDict()
        self._actions: OrderedDict[tuple[str, str], _Action] = OrderedDict()

    def take(
        self, record: dict[str, Any], application: Application, losses: dict[str, int]
    ) -> list[Event]:
        """Take the record of a job's start or end; ``losses`` are told with the event."""
        if record["phase"] == "START":
            return self._start(record, application, losses)
        return self._end(record, application, losses)

    def abort(self, application_id: str, at: int) -> list[Event]:
        """The ends of an application's jobs that are still open."""
        events = []
        for key in [key for key in self._open if key[0] == application_id]:
            job = self._open.pop(key)
            if job.run is not None:
                run = replace(job.run, end_time=at)
                events.append(self._builder.end(run, job.lineage, "ABORT"))
        return events

    def _start(
        self, record: dict[str, Any], application: Application, losses: dict[str, int]
    ) -> list[Event]:
        if self._is_part(record, application):
            return []
        made = self._made(record, application)
        self._open[application.id, int(record["job"]["id"])] = made
        while len(self._open) > MAX_OPEN:
            self._open.popitem(last=False)
        if made.run is None:
            return []
        return [self._builder.start(self._with_quality(record, made, losses), made.lineage)]

    def _end(
        self, record: dict[str, Any], application: Application, losses: dict[str, int]
    ) -> list[Event]:
        job = record["job"]
        failed = job.get("outcome") == "FAILURE"
        known = self._open.pop((application.id, int(job["id"])), None)
        part = self._is_part(record, application)
        if known is None:
            # Its start was not told: it is part of an action, or was dropped.
            if part and not failed:
                return []
            made = self._made(record, application)
        else:
            made = known
        if made.run is None:
            return []
        events = []
        if known is None:
            events.append(
                self._builder.start(self._with_quality(record, made, losses), made.lineage)
            )
        run = replace(made.run, end_time=job.get("endTime"), context=self._context(record))
        state = "COMPLETE"
        if failed:
            state = "ABORT" if facts.is_cancelled(job) else "FAIL"
            run = replace(run, error=facts.error_of(job))
        application.last_failed = state == "FAIL"
        if made.lineage is not None and not _SEVERAL.match(str(job.get("callSite"))):
            run = _measured(run, made.lineage, job.get("metrics") or {}, failed)
        ended = self._with_quality(record, replace(made, run=run), losses)
        events.append(self._builder.end(ended, made.lineage, state))
        return events

    def _is_part(self, record: dict[str, Any], application: Application) -> bool:
        """Whether a job is no run of its own: it belongs to an action that is told already."""
        job = record["job"]
        action = action_of(job)
        if action in _PREPARING or _LOOKS.fullmatch(str(job.get("callSite"))):
            return True
        key = _key_of(record)
        if key is None:
            return False
        number, began = int(job["id"]), int(job.get("startTime") or 0)
        known = self._actions.get((application.id, key))
        if (
            known is not None
            and _SEVERAL.match(str(job.get("callSite")))
            and (application.id, known.first) not in self._open
            and began > known.last + GAP_MILLIS
        ):
            known = None
        if known is None:
            known = self._actions[application.id, key] = _Action(number, began)
            while len(self._actions) > MAX_ACTIONS:
                self._actions.popitem(last=False)
        known.last = max(known.last, began, int(job.get("endTime") or 0))
        return known.first != number

    def _made(self, record: dict[str, Any], application: Application) -> _Open:
        """The run and the lineage of a job, as far as its filters and settings let it."""
        job = record["job"]
        lineage, issues = None, []
        if not job.get("seen"):
            issues = [OUTPUT_UNKNOWN if action_of(job).startswith("saveAs") else INPUTS_GUESSED]
        if truncated := (record.get("bridge") or {}).get("truncated"):
            issues.append(f"cut by the bridge: {truncated}")
        try:
            lineage = rdd_lineage(record, self._options)
        except Exception as error:
            self._failures.add("deriving the data sets of a job", error)
            issues.append(f"data sets failed: {type(error).__name__}: {error}")
        run = self._run(record, application, lineage)
        reason = self._reason(job, application, run, lineage)
        if reason is not None:
            self._filtered[reason] += 1
        reads_only = lineage is not None and not lineage.outputs and OUTPUT_UNKNOWN not in issues
        if reads_only and reason is None and not is_told(run, self._settings):
            reason = "readOnlyActions"
            self._filtered[reason] += 1
        if reason is not None:
            return _Open(None, lineage, issues)
        return _Open(run, lineage, issues)

    def _reason(
        self, job: dict[str, Any], application: Application, run: Run, lineage: Lineage | None
    ) -> str | None:
        """The list of the event filter that leaves the job out: its statement is ``RDD``."""
        if self._filter.statements.refuses(("RDD", action_of(job))):
            return "statements"
        if self._filter.datasets.there and (told := self._filter.of_datasets(lineage)):
            return told
        return self._filter.of_job(application.name, run.job_name)

    def _run(
        self, record: dict[str, Any], application: Application, lineage: Lineage | None
    ) -> Run:
        job, app_run = record["job"], application.run
        action = action_of(job)
        digest = rdd_hash(action, list(job.get("operations") or ()), lineage)
        query = digest[:12]
        name = f"{app_run.job_name}.{action}.{query}"
        if lineage is not None and lineage.outputs:
            name = application.names.name(app_run.job_name, record, lineage, query)
        parent = ParentRun(app_run.run_id, app_run.job_namespace, app_run.job_name)
        return Run(
            run_id=run_id(application.id_base, application.id, f"job {job['id']}"),
            job_namespace=self._settings.namespace,
            job_name=name,
            job_kind=JOB_KIND,
            start_time=int(job.get("startTime") or app_run.start_time),
            parent=parent,
            root=app_run.root or app_run.parent or parent,
            spark_version=app_run.spark_version,
            context=self._context(record),
            plan_hash=digest,
            declared=app_run.declared,
        )

    @staticmethod
    def _context(record: dict[str, Any]) -> dict[str, Any]:
        job, app = record["job"], record["app"]
        start, end = job.get("startTime"), job.get("endTime")
        context = {
            "applicationId": app.get("id"),
            "user": app.get("user"),
            "callSite": job.get("description") or call_site_of(job),
            "action": action_of(job),
            "actionId": f"{app.get('id')}:job {job['id']}",
            "durationMillis": end - start if start is not None and end is not None else None,
            "jobTags": [tag for tag in (job.get("tags") or "").split(",") if tag],
        }
        return {key: value for key, value in context.items() if value not in (None, "", [])}

    def _with_quality(self, record: dict[str, Any], made: _Open, losses: dict[str, int]) -> Run:
        assert made.run is not None
        quality = facts.quality(record, made.lineage, made.issues, {}, losses, dict(self._filtered))
        if counts := self._failures.counts():
            quality["failures"] = counts
        return replace(made.run, quality=quality)


def _key_of(record: dict[str, Any]) -> str | None:
    """What the jobs of one action share, None if it has one job only."""
    job = record["job"]
    site = str(job.get("callSite"))
    if _SEVERAL.match(site):
        # The strings hold the paths that are read.
        return repr((job.get("group"), site, record.get("strings"), job.get("operations")))
    scope = job.get("scopeId")
    return None if scope is None else f"scope {scope}"


def action_of(job: dict[str, Any]) -> str:
    """The action of a job: ``collect``, ``saveAsTextFile``."""
    named = _CALL_SITE.fullmatch(str(job.get("callSite")))
    # PySpark names its action and line; else the scope tells what the program has called.
    if job.get("named") and named:
        return named[1]
    return str(job.get("scope") or (named[1] if named else "job"))


def call_site_of(job: dict[str, Any]) -> str:
    """The action and the program's line that called it, as far as Spark knows it."""
    site = str(job.get("callSite"))
    if job.get("named"):
        return site
    for line in str(job.get("details") or "").splitlines():
        if line and not _ENGINE.match(line):
            place = re.search(r"\(([^()]+)\)$", line)
            return f"{action_of(job)} at {place[1] if place else line}"
    named = _CALL_SITE.fullmatch(site)
    return site if named is None or named[1] == action_of(job) else action_of(job)


def _measured(run: Run, lineage: Lineage, metrics: dict[str, int], failed: bool) -> Run:
    """The run with what its tasks counted, where there is one data set that it can be of."""
    inputs = list(dict.fromkeys(item.dataset for item in lineage.inputs))
    outputs = [one.dataset for one in lineage.outputs if one.dataset is not None]
    if len(inputs) == 1 and metrics.get("recordsRead"):
        run = replace(run, input_statistics=_figures(inputs[0], metrics, "Read"))
    if outputs and not failed:
        run = replace(run, output_statistics=_figures(outputs[0], metrics, "Written"))
    return run


def _figures(
    dataset: Dataset, metrics: dict[str, int], done: str
) -> dict[tuple[str, str], dict[str, int]]:
    figures = {"rows": metrics.get(f"records{done}", 0)}
    size = metrics.get(f"bytes{done}", 0)
    # Hadoop's local file system counts its checksum files too, and some others count nothing.
    if size and dataset.namespace != "file":
        figures["bytes"] = size
    return {(dataset.namespace, dataset.name): figures}
