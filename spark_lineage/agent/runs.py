"""Executions folded into runs: one user action is one run, whatever Spark makes of it.

A nested execution adds to its root's run; the root's own end ends the run. The
application is a run of its own, the parent of all others.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from dataclasses import dataclass, field, replace
from typing import Any

from spark_lineage.agent import facts
from spark_lineage.agent.actions import Actions
from spark_lineage.agent.guard import Failures
from spark_lineage.agent.names import JobNames
from spark_lineage.config import Settings
from spark_lineage.lineage.derive import derive
from spark_lineage.lineage.fallback import datasets_only
from spark_lineage.lineage.memory import Memory
from spark_lineage.lineage.merge import merge
from spark_lineage.lineage.model import Lineage
from spark_lineage.lineage.options import LineageOptions
from spark_lineage.openlineage.events import EventBuilder
from spark_lineage.openlineage.ids import run_id
from spark_lineage.openlineage.run import ParentRun, Run, RunError
from spark_lineage.plan.decode import decode

MAX_OPEN_RUNS = 10_000
MAX_APPLICATIONS = 100

Event = dict[str, Any]


@dataclass
class _Application:
    """An application that was seen: its run, and whether its end was told."""

    id: str
    run: Run
    names: JobNames = field(default_factory=JobNames)
    memory: Memory = field(default_factory=Memory)
    actions: Actions = field(default_factory=Actions)
    ended: bool = False


@dataclass
class _Open:
    """A run whose end has not been seen."""

    run: Run
    started: bool = False
    lineage: Lineage | None = None
    nested: list[Lineage] = field(default_factory=list)
    writes: list[dict[str, Any]] = field(default_factory=list)
    issues: list[str] = field(default_factory=list)


class Runs:
    """Turns records into events, in order. Not thread-safe: one host owns it."""

    def __init__(self, settings: Settings, failures: Failures) -> None:
        self._settings = settings
        self._failures = failures
        self._options = lineage_options(settings)
        self._builder = EventBuilder(settings.facets_disabled, settings.sql)
        self._applications: OrderedDict[str, _Application] = OrderedDict()
        self._open: OrderedDict[tuple[str, int], _Open] = OrderedDict()
        self._roots: OrderedDict[tuple[str, int], int] = OrderedDict()
        self.losses: dict[str, int] = {}
        self.undelivered: dict[str, int] = {}
        """What delivery has lost so far, by reason; told with the next event."""

    def take(self, record: dict[str, Any]) -> list[Event]:
        """Take one record and give the events that follow from it."""
        events: list[Event] = []
        application = self._application(record, events)
        if record["kind"] == "application":
            if record["phase"] == "END":
                events += self.end_application(
                    application.id, int(record["app"].get("endTime") or _now())
                )
            return events
        if record["phase"] == "START":
            events += self._start(record, application)
        else:
            events += self._end(record, application)
        return events

    def end_application(
        self, application_id: str, at: int | None = None, error: RunError | None = None
    ) -> list[Event]:
        """End an application's run, once: FAIL with an error that is known, else COMPLETE.

        Runs still open are aborted: nothing will tell their end any more.
        """
        application = self._applications.get(application_id)
        if application is None or application.ended:
            return []
        application.ended = True
        at = at or _now()
        events: list[Event] = []
        for key in [key for key in self._open if key[0] == application_id]:
            open_run = self._open.pop(key)
            run = replace(open_run.run, end_time=at)
            if not open_run.started:
                events.append(self._builder.start(run, open_run.lineage))
            events.append(self._builder.end(run, open_run.lineage, "ABORT"))
        context = dict(application.run.context)
        context["status"] = "failed" if error else "unknown"
        run = replace(application.run, end_time=at, error=error, context=context)
        events.append(self._builder.end(run, None, "FAIL" if error else "COMPLETE"))
        return events

    def end_all(self, error: RunError | None = None) -> list[Event]:
        """End every application that is still open."""
        events: list[Event] = []
        for application_id in list(self._applications):
            events += self.end_application(application_id, error=error)
        return events

    def _application(self, record: dict[str, Any], events: list[Event]) -> _Application:
        app = record["app"]
        application_id = str(app["id"])
        known = self._applications.get(application_id)
        if known is None:
            settings = self._settings
            started = int(app.get("startTime") or 0)
            run = Run(
                run_id=run_id(started, application_id),
                job_namespace=settings.namespace,
                job_name=settings.job_name or str(app.get("name") or application_id),
                job_kind="APPLICATION",
                start_time=started,
                parent=_configured_parent(settings),
                root=_configured_root(settings),
                spark_version=str(app.get("sparkVersion") or ""),
                context=facts.application_context(app),
            )
            known = _Application(application_id, run)
            self._applications[application_id] = known
            while len(self._applications) > MAX_APPLICATIONS:
                self._applications.popitem(last=False)
            events.append(self._builder.start(run, None))
        return known

    def _start(self, record: dict[str, Any], application: _Application) -> list[Event]:
        execution = record["execution"]
        number, root = int(execution["id"]), _root(execution)
        key = (application.id, root)
        if number != root:
            self._remember(self._roots, (application.id, number), root)
            return []
        lineage, issues, _ = self._derive(record, application)
        open_run = _Open(self._run(record, application, lineage), lineage=lineage, issues=issues)
        self._remember(self._open, key, open_run)
        # Without a plan the job has no name yet: its start is told with its end.
        if lineage is None or self._is_left_out(lineage, issues):
            return []
        open_run.started = True
        return [self._builder.start(self._with_quality(open_run, record, lineage, {}), lineage)]

    def _end(self, record: dict[str, Any], application: _Application) -> list[Event]:
        execution = record["execution"]
        number = int(execution["id"])
        root = self._roots.pop((application.id, number), None)
        if root is None:
            root = _root(execution)
        key = (application.id, root)
        lineage, issues, times = self._derive(record, application)
        open_run = self._open.get(key)
        if open_run is None:
            # The root's start was dropped, or came before us.
            open_run = _Open(self._run(record, application, lineage))
            if number != root:
                self._remember(self._open, key, open_run)
        open_run.writes += record.get("writes") or []
        open_run.issues += [issue for issue in issues if issue not in open_run.issues]
        if number != root:
            if lineage is not None:
                open_run.nested.append(lineage)
            return []
        self._open.pop(key, None)
        contributions = [*([lineage] if lineage is not None else []), *open_run.nested]
        merged = merge(contributions) if contributions else open_run.lineage
        if self._is_left_out(merged, open_run.issues):
            return []
        run = self._run(record, application, merged)
        if open_run.started:
            run = replace(run, job_name=open_run.run.job_name, job_kind=open_run.run.job_kind)
        open_run.run = replace(
            run, output_statistics=facts.output_statistics(open_run.writes, merged)
        )
        events = []
        if not open_run.started:
            events.append(
                self._builder.start(self._with_quality(open_run, record, merged, {}), merged)
            )
        failed = execution.get("outcome") == "FAILURE"
        if failed:
            open_run.run = replace(open_run.run, error=facts.error_of(execution))
        ended = self._with_quality(open_run, record, merged, times)
        events.append(self._builder.end(ended, merged, "FAIL" if failed else "COMPLETE"))
        return events

    def _derive(
        self, record: dict[str, Any], application: _Application
    ) -> tuple[Lineage | None, list[str], dict[str, float]]:
        """Derive a record's lineage; a failure is an issue in the event, never an end."""
        plans = record.get("plans") or {}
        truncated = (record.get("bridge") or {}).get("truncated")
        issues = [f"plan cut by the bridge: {truncated}"] if truncated else []
        if plans.get("analyzed") is None and plans.get("optimized") is None:
            return None, issues, {}
        began = time.perf_counter()
        try:
            decoded = decode(record)
            read = time.perf_counter()
            lineage = derive(decoded, self._options, application.memory)
        except Exception as error:
            self._failures.add("deriving lineage", error)
            problem = f"column lineage failed: {type(error).__name__}: {error}"
            return self._datasets_only(record, problem), [*issues, problem], {}
        done = time.perf_counter()
        return (
            lineage,
            issues,
            {
                "decodeMillis": round((read - began) * 1000, 3),
                "deriveMillis": round((done - read) * 1000, 3),
            },
        )

    def _datasets_only(self, record: dict[str, Any], problem: str) -> Lineage | None:
        try:
            return datasets_only(decode(record), self._options, problem)
        except Exception as error:
            self._failures.add("deriving data sets", error)
            return None

    def _is_left_out(self, lineage: Lineage | None, issues: list[str]) -> bool:
        if self._settings.read_only_actions or lineage is None or issues:
            return False
        return all(output.dataset is None for output in lineage.outputs)

    def _run(
        self, record: dict[str, Any], application: _Application, lineage: Lineage | None
    ) -> Run:
        execution = record["execution"]
        app_run = application.run
        parent = ParentRun(app_run.run_id, app_run.job_namespace, app_run.job_name)
        root = _root(execution)
        started = int(execution.get("startTime") or app_run.start_time)
        return Run(
            run_id=run_id(app_run.start_time, application.id, root),
            job_namespace=self._settings.namespace,
            job_name=application.names.name(app_run.job_name, record, lineage),
            job_kind=facts.job_kind(lineage),
            start_time=started,
            end_time=execution.get("endTime"),
            sql=execution.get("sql"),
            parent=parent,
            root=app_run.root or app_run.parent or parent,
            spark_version=app_run.spark_version,
            context=facts.execution_context(record, application.actions.id_of(record)),
        )

    def _with_quality(
        self,
        open_run: _Open,
        record: dict[str, Any],
        lineage: Lineage | None,
        times: dict[str, float],
    ) -> Run:
        quality = facts.quality(
            record, lineage, open_run.issues, times, {**self.losses, **self.undelivered}
        )
        counts = self._failures.counts()
        if counts:
            quality["failures"] = counts
        return replace(open_run.run, quality=quality)

    def _remember(self, memory: OrderedDict[Any, Any], key: Any, value: Any) -> None:
        memory[key] = value
        while len(memory) > MAX_OPEN_RUNS:
            memory.popitem(last=False)
            self.losses["open_runs_forgotten"] = self.losses.get("open_runs_forgotten", 0) + 1


def lineage_options(settings: Settings) -> LineageOptions:
    """How lineage is told under these settings."""
    return LineageOptions(
        dataset_identity=settings.dataset_identity,
        masking_functions=settings.masking_functions,
        views_as_datasets=settings.views == "inputs",
        literals=settings.sql == "full",
    )


def _root(execution: dict[str, Any]) -> int:
    root = execution.get("rootId")
    return int(execution["id"] if root is None else root)


def _now() -> int:
    return int(time.time() * 1000)


def _configured_parent(settings: Settings) -> ParentRun | None:
    if not (settings.parent_run_id and settings.parent_job_name):
        return None
    return ParentRun(
        settings.parent_run_id,
        settings.parent_job_namespace or settings.namespace,
        settings.parent_job_name,
    )


def _configured_root(settings: Settings) -> ParentRun | None:
    if not (settings.root_parent_run_id and settings.root_parent_job_name):
        return None
    return ParentRun(
        settings.root_parent_run_id,
        settings.root_parent_job_namespace or settings.namespace,
        settings.root_parent_job_name,
    )
