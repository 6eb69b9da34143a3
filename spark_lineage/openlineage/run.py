"""What is known of a run, apart from its lineage: the input of the event builder."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class ParentRun:
    """A run that started this one: ids and names as OpenLineage has them."""

    run_id: str
    namespace: str
    name: str


@dataclass(frozen=True)
class RunError:
    """Why a run failed, or was ``cancelled``: message and stack, both without secrets."""

    message: str
    stack: str | None = None
    language: str = "JVM"
    cancelled: bool = False


@dataclass(frozen=True)
class SourceLocation:
    """Where a program's file is kept in git: URLs without credentials."""

    url: str
    repository: str
    path: str
    version: str
    branch: str | None = None
    tag: str | None = None


@dataclass(frozen=True)
class Declared:
    """What people say of jobs and runs in settings: the same for all of an application.

    Tags are ``(key, value, source)``, owners ``(type, name)``, times ISO 8601.
    """

    job_tags: tuple[tuple[str, str, str | None], ...] = ()
    run_tags: tuple[tuple[str, str, str | None], ...] = ()
    owners: tuple[tuple[str, str], ...] = ()
    nominal_start: str | None = None
    nominal_end: str | None = None
    source: SourceLocation | None = None


@dataclass(frozen=True)
class Run:
    """One run of one job. Times are milliseconds since the epoch.

    ``job_kind`` is ``APPLICATION``, ``COMMAND``, ``QUERY`` or ``RDD_JOB`` (OpenLineage's
    jobType of the job); ``context`` and ``quality`` are the contents of the
    ``sparkLineage_context`` and ``sparkLineage_quality`` run facets;
    ``statistics`` maps a data set ``(namespace, name)`` to
    ``{"rows", "bytes", "files"}``, read for inputs and written for outputs.
    ``plan_hash`` and ``sql_hash`` are the version of the job.
    """

    run_id: str
    job_namespace: str
    job_name: str
    job_kind: str
    start_time: int
    end_time: int | None = None
    sql: str | None = None
    parent: ParentRun | None = None
    root: ParentRun | None = None
    spark_version: str = ""
    error: RunError | None = None
    context: dict[str, Any] = field(default_factory=dict)
    quality: dict[str, Any] = field(default_factory=dict)
    input_statistics: dict[tuple[str, str], dict[str, int]] = field(default_factory=dict)
    output_statistics: dict[tuple[str, str], dict[str, int]] = field(default_factory=dict)
    plan_hash: str | None = None
    sql_hash: str | None = None
    declared: Declared = Declared()
