"""An application's own run: the parent of the runs of all its actions."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any

from spark_lineage.agent import facts
from spark_lineage.agent.actions import Actions
from spark_lineage.agent.names import JobNames
from spark_lineage.agent.source import locate
from spark_lineage.config import Settings
from spark_lineage.lineage.memory import Memory
from spark_lineage.openlineage.ids import run_id
from spark_lineage.openlineage.run import Declared, ParentRun, Run

MAX_ENDED = 10_000


@dataclass
class Application:
    """An application that was seen: its run, and what was told of it."""

    id: str
    run: Run
    id_base: int
    """The start, in milliseconds, from which the ids of its runs are made."""
    names: JobNames = field(default_factory=JobNames)
    memory: Memory = field(default_factory=Memory)
    actions: Actions = field(default_factory=Actions)
    told: bool = False
    """Whether its START was told."""
    denied: bool = False
    """Whether the event filter leaves all of it out."""
    ended: bool = False
    last_seen: int = 0
    """The latest time that a record of it told, in milliseconds."""
    last_failed: bool = False
    """Whether the last action that ended failed."""
    ended_roots: OrderedDict[int, None] = field(default_factory=OrderedDict)
    bridge: dict[str, Any] = field(default_factory=dict)
    """What the bridge last told of itself: its losses above all."""

    @property
    def name(self) -> str:
        """The name of its job, by which its actions' jobs are named."""
        return self.run.job_name

    def see(self, record: dict[str, Any]) -> None:
        """Note the times of a record, and what its bridge tells of itself."""
        self.bridge = record.get("bridge") or self.bridge
        execution = record.get("execution") or record.get("job") or {}
        for key in ("startTime", "endTime"):
            self.last_seen = max(self.last_seen, int(execution.get(key) or 0))

    def end_root(self, number: int) -> None:
        """Note that an action's run has ended: what comes of it later is not a run again."""
        self.ended_roots[number] = None
        while len(self.ended_roots) > MAX_ENDED:
            self.ended_roots.popitem(last=False)


def application_of(
    app: dict[str, Any], settings: Settings, program: str | None, first: bool
) -> Application:
    """The application that a record tells of.

    ``program`` is the file of the program where the host knows it better than the
    driver's JVM. The run id that a scheduler gives is the ``first`` application's:
    a further one of the same process is another run.
    """
    application_id = str(app["id"])
    started = int(app.get("startTime") or 0)
    given = settings.application_run_id if first else None
    run = Run(
        run_id=given or run_id(started, application_id),
        job_namespace=settings.namespace,
        job_name=settings.job_name or str(app.get("name") or application_id),
        job_kind="APPLICATION",
        start_time=started,
        parent=_parent(settings),
        root=_root_parent(settings),
        spark_version=str(app.get("sparkVersion") or ""),
        context=facts.application_context(app),
        declared=_declared(settings, program or app.get("program")),
    )
    return Application(application_id, run, started, last_seen=started)


def _declared(settings: Settings, program: str | None) -> Declared:
    wanted = "sourceCodeLocation" not in settings.facets_disabled
    return Declared(
        settings.job_tags,
        settings.run_tags,
        settings.job_owners,
        settings.nominal_start_time,
        settings.nominal_end_time,
        locate(program) if wanted else None,
    )


def _parent(settings: Settings) -> ParentRun | None:
    if not (settings.parent_run_id and settings.parent_job_name):
        return None
    return ParentRun(
        settings.parent_run_id,
        settings.parent_job_namespace or settings.namespace,
        settings.parent_job_name,
    )


def _root_parent(settings: Settings) -> ParentRun | None:
    if not (settings.root_parent_run_id and settings.root_parent_job_name):
        return None
    return ParentRun(
        settings.root_parent_run_id,
        settings.root_parent_job_namespace or settings.namespace,
        settings.root_parent_job_name,
    )
