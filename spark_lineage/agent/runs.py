"""Executions folded into runs: one user action is one run, whatever Spark makes of it.

A nested execution adds to its root's run; the root's own end ends the run. The
application is a run of its own, the parent of all others.
"""

from __future__ import annotations

import time
from collections import Counter, OrderedDict
from dataclasses import replace
from typing import Any

from spark_lineage.agent import facts
from spark_lineage.agent.application import Application, application_of
from spark_lineage.agent.derived import Derived, Deriver, maintenance_of
from spark_lineage.agent.filters import EventFilter, is_query, is_told
from spark_lineage.agent.guard import Failures
from spark_lineage.agent.jobs import RddJobs
from spark_lineage.agent.link import check_version
from spark_lineage.agent.names import query_hash, root_class
from spark_lineage.agent.open_run import OpenRun
from spark_lineage.config import Settings
from spark_lineage.lineage.datasets.lakehouse import is_bookkeeping, within
from spark_lineage.lineage.merge import merge
from spark_lineage.lineage.model import Lineage
from spark_lineage.lineage.options import LineageOptions
from spark_lineage.lineage.statistics import Statistics
from spark_lineage.openlineage.events import EventBuilder
from spark_lineage.openlineage.ids import run_id
from spark_lineage.openlineage.run import ParentRun, Run, RunError

MAX_OPEN_RUNS = 10_000
MAX_APPLICATIONS = 100
READING = "reading a record"

Event = dict[str, Any]


class Runs:
    """Turns records into events, in order. Not thread-safe: one host owns it.

    ``program`` is the file of the program, where the host knows it.
    """

    def __init__(self, settings: Settings, failures: Failures, program: str | None = None) -> None:
        self._settings = settings
        self._failures = failures
        self._program = program
        self._options = lineage_options(settings)
        self._deriver = Deriver(self._options, failures)
        self._filter = EventFilter(settings)
        self._builder = EventBuilder(settings.facets_disabled, settings.sql, settings.lineage_facet)
        self._applications: OrderedDict[str, Application] = OrderedDict()
        self._open: OrderedDict[tuple[str, int], OpenRun] = OrderedDict()
        self._roots: OrderedDict[tuple[str, int], int] = OrderedDict()
        self.losses: dict[str, int] = {}
        self.undelivered: dict[str, int] = {}
        """What delivery has lost so far, by reason; told with the next event."""
        self.filtered: Counter[str] = Counter()
        """Runs that the event filter left out, by the list that did."""
        self._jobs = RddJobs(
            settings, self._options, self._builder, self._filter, failures, self.filtered
        )

    def take(self, record: dict[str, Any]) -> list[Event]:
        """Take one record and give the events that follow from it; never raises.

        A run that cannot be told in full is told without its lineage, with what
        failed; a record that cannot be told at all is counted as lost.
        """
        events: list[Event] = []
        try:
            check_version(record)
            application = self._application(record, events)
            application.see(record)
        except Exception as error:
            self._failures.add(READING, error)
            self._lose("records_unreadable")
            return events
        known = self._open.get(_key(record))
        try:
            told = self._events(record, application)
        except Exception as error:
            self._failures.add(READING, error)
            told = self._less(record, application, known, error)
        if told and record["kind"] != "application" and not application.told:
            # An allow-list of jobs names this one, and not the application.
            application.told = True
            events.append(self._builder.start(application.run, None))
        return events + told

    def _events(self, record: dict[str, Any], application: Application) -> list[Event]:
        if record["kind"] == "application":
            if record["phase"] != "END":
                return []
            outcome = record.get("outcome") or {}
            error, code = None, outcome.get("exitCode")
            if code:
                error = RunError(f"the application ended with exit code {code}")
            at = int(outcome.get("time") or 0) or _now()
            return self.end_application(application.id, at, error)
        if application.denied:
            return []
        if record["kind"] == "job":
            losses = {**self.losses, **self.undelivered}
            return self._jobs.take(record, application, losses)
        if record["kind"] != "execution":
            # Of a newer bridge.
            return []
        if record["phase"] == "START":
            return self._start(record, application)
        return self._end(record, application)

    def _less(
        self,
        record: dict[str, Any],
        application: Application,
        known: OpenRun | None,
        error: Exception,
    ) -> list[Event]:
        """What is told of a record in whose place something failed; ``known``: its run before."""
        problem = f"the run cannot be told in full: {type(error).__name__}: {error}"
        try:
            if known is not None:
                known.issues.append(problem)
            key, execution = _key(record), record["execution"]
            if record["phase"] == "START" or int(execution["id"]) != key[1]:
                # Its end, or its root's, is still to come.
                return []
            self._open.pop(key, None)
            if known is not None and known.filtered:
                return []
            made = Derived(issues=[problem])
            bare = OpenRun(self._run(record, application, made), issues=[problem])
            if known is not None:
                bare = replace(known, lineage=None, nested={}, statistics=Statistics())
                made.plan_hash, made.sql_hash = known.run.plan_hash, known.run.sql_hash
            return self._end_run(record, application, bare, made)
        except Exception as second:
            self._failures.add("telling a run without lineage", second)
            self._lose("records_unreadable")
            return []

    def _lose(self, reason: str) -> None:
        self.losses[reason] = self.losses.get(reason, 0) + 1

    def end_application(
        self,
        application_id: str,
        at: int | None = None,
        error: RunError | None = None,
        died: bool = False,
    ) -> list[Event]:
        """End an application's run, once, and abort the runs that are still open.

        FAIL with an error that is known, ABORT if that says it was cancelled.
        ``died``: the driver went without telling its end, which is a FAIL if its
        last action failed, and an ABORT if it was in the middle of one. Else nobody
        knows how it ended: COMPLETE, with the status ``unknown``.
        """
        application = self._applications.get(application_id)
        if application is None or application.ended:
            return []
        application.ended = True
        at = max(at or (application.last_seen if died else _now()), application.run.start_time)
        events: list[Event] = []
        aborted = False
        for key in [key for key in self._open if key[0] == application_id]:
            open_run = self._open.pop(key)
            aborted = True
            if open_run.filtered or not self._is_known_to_pass(open_run, application):
                continue
            run = replace(open_run.run, end_time=at)
            if not open_run.started:
                events.append(self._builder.start(run, open_run.lineage))
            events.append(self._builder.end(run, open_run.lineage, "ABORT"))
        if jobs := self._jobs.abort(application_id, at):
            aborted = True
            events += jobs
        if not application.told:
            if application.denied or not events:
                return events
            application.told = True
            events.insert(0, self._builder.start(application.run, None))
        state, status = "COMPLETE", "unknown"
        if error:
            state, status = ("ABORT", "aborted") if error.cancelled else ("FAIL", "failed")
        elif died and application.last_failed:
            state, status = "FAIL", "failed"
        elif died and aborted:
            state, status = "ABORT", "aborted"
        context = {**application.run.context, "status": status}
        # The last event tells what was lost up to the end.
        losses = {**self.losses, **self.undelivered}
        quality = facts.quality(
            {"bridge": application.bridge}, None, [], {}, losses, dict(self.filtered)
        )
        run = replace(application.run, end_time=at, error=error, context=context, quality=quality)
        events.append(self._builder.end(run, None, state))
        return events

    def end_all(self, error: RunError | None = None, died: bool = False) -> list[Event]:
        """End every application that is still open, as :meth:`end_application` says."""
        events: list[Event] = []
        for application_id in list(self._applications):
            events += self.end_application(application_id, error=error, died=died)
        return events

    def held(self) -> dict[str, int]:
        """How many entries the maps hold, by what they are of."""
        applications = self._applications.values()
        return {
            "applications": len(applications),
            "open": len(self._open),
            "nested": len(self._roots),
            "ended": sum(len(application.ended_roots) for application in applications),
            "names": sum(len(application.names) for application in applications),
            "columns": sum(len(application.memory) for application in applications),
        }

    def _application(self, record: dict[str, Any], events: list[Event]) -> Application:
        application_id = str(record["app"]["id"])
        known = self._applications.get(application_id)
        if known is None:
            first = not self._applications
            known = application_of(record["app"], self._settings, self._program, first)
            known.denied = self._filter.jobs.denies([known.name])
            self._applications[application_id] = known
            while len(self._applications) > MAX_APPLICATIONS:
                self._applications.popitem(last=False)
            if not self._filter.jobs.refuses([known.name]):
                known.told = True
                events.append(self._builder.start(known.run, None))
        return known

    def _start(self, record: dict[str, Any], application: Application) -> list[Event]:
        execution = record["execution"]
        number, root = int(execution["id"]), _root(execution)
        key = (application.id, root)
        if number != root:
            self._remember(self._roots, (application.id, number), root)
            if key in self._open:
                self._open[key].has_nested = True
            return []
        if root_class(record) is not None and self._leaves_out(record, application):
            left_out = OpenRun(self._run(record, application, Derived()), filtered=True)
            self._remember(self._open, key, left_out)
            return []
        made = self._deriver.derive(record, application.memory)
        self._deriver.identify(record, made)
        if made.lineage is not None:
            # As it stands without nested executions: what is done conditionally is not done yet.
            made.lineage = merge([made.lineage])
        open_run = OpenRun(
            self._run(record, application, made), lineage=made.lineage, issues=made.issues
        )
        # spark-sql plans a query, and so runs the command in it, before it tells of the query's
        # start: what is nested has come first.
        earlier = self._open.get(key)
        if earlier is not None:
            open_run.has_nested = True
            open_run.nested, open_run.statistics = earlier.nested, earlier.statistics
            open_run.issues += [issue for issue in earlier.issues if issue not in made.issues]
        self._remember(self._open, key, open_run)
        # Without a plan the job has no name yet: its start is told with its end. So is that of a
        # query around a command: it may be no more than a look at what the command gave.
        if made.lineage is None or (execution.get("mode") == "ALL" and not is_query(record)):
            return []
        if self._is_left_out(open_run.run, made.lineage, made.issues):
            return []
        if is_bookkeeping(record, made.lineage) or facts.is_inference(record):
            return []
        open_run.started = True
        started = self._with_quality(open_run, record, made.lineage, {})
        return [self._builder.start(started, made.lineage)]

    def _end(self, record: dict[str, Any], application: Application) -> list[Event]:
        execution = record["execution"]
        number = int(execution["id"])
        root = self._roots.pop((application.id, number), None)
        if root is None:
            root = _root(execution)
        if root in application.ended_roots:
            # An execution that outlives its action: the run has had its one end.
            return []
        key = (application.id, root)
        open_run = self._open.get(key)
        if number == root:
            application.end_root(root)
            failed = execution.get("outcome") == "FAILURE"
            application.last_failed = failed and not facts.is_cancelled(execution)
            self._open.pop(key, None)
            if facts.is_look_at_result(record) and not (
                open_run is not None and open_run.has_nested
            ):
                # The command had a run of its own, which has told of it.
                return []
            if (open_run is None or not open_run.started) and (
                (open_run is not None and open_run.filtered)
                or self._leaves_out(record, application, open_run)
            ):
                return []
        elif open_run is not None and open_run.filtered:
            return []
        if execution.get("outcome") != "FAILURE" and facts.is_inference(record):
            return []
        made = self._deriver.derive(record, application.memory)
        known = open_run.run.plan_hash if open_run is not None else None
        if is_bookkeeping(record, made.lineage):
            if number != root:
                return []
            if open_run is None or not (open_run.started or open_run.nested):
                known = maintenance_of(record, made, application.actions)
                if known is None:
                    return []
        if number == root or open_run is None:
            self._deriver.identify(record, made, known)
        if open_run is None:
            # The root's start was dropped, or came before us.
            open_run = OpenRun(self._run(record, application, made))
            if number != root:
                self._remember(self._open, key, open_run)
        self._measure(open_run, made)
        open_run.issues += [issue for issue in made.issues if issue not in open_run.issues]
        if number != root:
            open_run.has_nested = True
            if made.lineage is not None:
                open_run.nested[number] = within(record, made.lineage)
            return []
        return self._end_run(record, application, open_run, made)

    def _end_run(
        self, record: dict[str, Any], application: Application, open_run: OpenRun, made: Derived
    ) -> list[Event]:
        """The end of a run, with its start where that was not told."""
        execution = record["execution"]
        own = [made.lineage] if made.lineage is not None else []
        contributions = [*own, *open_run.inside()]
        merged = merge(contributions) if contributions else open_run.lineage
        if not open_run.started and self._is_left_out(open_run.run, merged, open_run.issues):
            self.filtered["readOnlyActions"] += 1
            return []
        run = self._run(record, application, replace(made, lineage=merged))
        if open_run.started:
            run = replace(run, job_name=open_run.run.job_name, job_kind=open_run.run.job_kind)
        state = "COMPLETE"
        statistics = open_run.statistics
        run = replace(run, input_statistics=statistics.read(merged))
        if execution.get("outcome") == "FAILURE":
            state = "ABORT" if facts.is_cancelled(execution) else "FAIL"
            run = replace(run, error=facts.error_of(execution))
        else:
            run = replace(run, output_statistics=statistics.written(merged))
        open_run.run = run
        events = []
        if not open_run.started:
            # What is known only now is of the end.
            context = {k: v for k, v in run.context.items() if k != "durationMillis"}
            start = replace(
                run, error=None, context=context, input_statistics={}, output_statistics={}
            )
            open_run.run = start
            started = self._with_quality(open_run, record, merged, {})
            events.append(self._builder.start(started, merged))
            open_run.run = run
        ended = self._with_quality(open_run, record, merged, made.times)
        events.append(self._builder.end(ended, merged, state))
        return events

    def _leaves_out(
        self, record: dict[str, Any], application: Application, open_run: OpenRun | None = None
    ) -> bool:
        """Whether the event filter leaves an action out, by as little of its plan as tells that."""
        reason = self._filter.of_statement(record)
        if reason is None and (self._filter.datasets.there or self._filter.jobs.there):
            lineage = self._deriver.outline(record, application.memory)
            nested = open_run.inside() if open_run is not None else []
            both = [*([lineage] if lineage else []), *nested]
            lineage = merge(both) if both else None
            reason = self._filter.of_datasets(lineage)
            if reason is None and self._filter.jobs.there:
                run = self._run(
                    record, application, self._deriver.identify(record, Derived(lineage))
                )
                reason = self._filter.of_job(application.name, run.job_name)
        if reason is not None:
            self.filtered[reason] += 1
        return reason is not None

    def _is_known_to_pass(self, open_run: OpenRun, application: Application) -> bool:
        """Whether a run that never ended is told: it may have had no plan to be judged by."""
        if open_run.started:
            return True
        return not (
            self._filter.statements.only
            or self._filter.datasets.only
            or self._filter.of_job(application.name, open_run.run.job_name)
        )

    def _measure(self, open_run: OpenRun, made: Derived) -> None:
        try:
            if made.decoded is not None:
                open_run.statistics.add(made.decoded, self._options)
        except Exception as error:
            self._failures.add("adding statistics", error)

    def _is_left_out(self, run: Run, lineage: Lineage | None, issues: list[str]) -> bool:
        """Whether an action that writes nothing is one of those that are not told."""
        if lineage is None or issues:
            return False
        if any(output.dataset and output.written for output in lineage.outputs):
            return False
        return not is_told(run, self._settings)

    def _run(self, record: dict[str, Any], application: Application, made: Derived) -> Run:
        execution = record["execution"]
        app_run = application.run
        parent = ParentRun(app_run.run_id, app_run.job_namespace, app_run.job_name)
        query = query_hash(record, made.plan_hash, made.sql_hash)
        return Run(
            run_id=run_id(application.id_base, application.id, _root(execution)),
            job_namespace=self._settings.namespace,
            job_name=application.names.name(app_run.job_name, record, made.lineage, query),
            job_kind=facts.job_kind(made.lineage),
            start_time=int(execution.get("startTime") or app_run.start_time),
            end_time=execution.get("endTime"),
            sql=execution.get("sql"),
            parent=parent,
            root=app_run.root or app_run.parent or parent,
            spark_version=app_run.spark_version,
            context=facts.execution_context(record, application.actions.id_of(record)),
            plan_hash=made.plan_hash,
            sql_hash=made.sql_hash,
            declared=app_run.declared,
        )

    def _with_quality(
        self,
        open_run: OpenRun,
        record: dict[str, Any],
        lineage: Lineage | None,
        times: dict[str, float],
    ) -> Run:
        quality = facts.quality(
            record,
            lineage,
            open_run.issues,
            times,
            {**self.losses, **self.undelivered},
            dict(self.filtered),
        )
        counts = self._failures.counts()
        if counts:
            quality["failures"] = counts
        return replace(open_run.run, quality=quality)

    def _remember(self, memory: OrderedDict[Any, Any], key: Any, value: Any) -> None:
        memory[key] = value
        while len(memory) > MAX_OPEN_RUNS:
            memory.popitem(last=False)
            self._lose("open_runs_forgotten")


def lineage_options(settings: Settings) -> LineageOptions:
    """How lineage is told under these settings."""
    return LineageOptions(
        dataset_identity=settings.dataset_identity,
        masking_functions=settings.masking_functions,
        views_as_datasets=settings.views == "inputs",
        literals=settings.sql == "full",
        namespace_aliases=settings.namespace_alias,
        namespace_patterns=settings.namespace_pattern,
    )


def _key(record: dict[str, Any]) -> tuple[str, int]:
    """Which run an execution's record is of; no run's for a record of another kind."""
    execution = record.get("execution")
    return str(record["app"]["id"]), -1 if execution is None else _root(execution)


def _root(execution: dict[str, Any]) -> int:
    root = execution.get("rootId")
    return int(execution["id"] if root is None else root)


def _now() -> int:
    return int(time.time() * 1000)
