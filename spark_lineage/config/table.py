"""All settings there are."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from spark_lineage.config import parsers
from spark_lineage.config.parsers import Parser

DEFAULT_URL = "http://localhost:8765"

_BOOL = "true or false"
_SIZE = "a positive size such as 1048576, 512k, 32m or 1g"
_TIME = "a time such as 500ms, 5s, 2m or 1h"
_POSITIVE = "a whole number above 0"
_TAGS = "key:value;key:value:source;label"
_PATTERNS = "patterns with * and ?, separated by commas or semicolons"


@dataclass(frozen=True)
class Setting:
    """One setting: its key after the prefix, its default, what it may be."""

    key: str
    default: Any
    parse: Parser
    allowed: str
    meaning: str
    openlineage: str | None = None
    secret: bool = False
    """Whether its value may hold credentials: it is never shown."""

    @property
    def attribute(self) -> str:
        """Its name as an attribute of :class:`Settings` and as an option of ``enable``."""
        words = re.sub(r"([a-z])([A-Z])", r"\1_\2", self.key)
        return words.replace(".", "_").lower()


#: Settings below whose key users put names of their own, each with a value.
FAMILIES = ("namespace.alias", "namespace.pattern")

SETTINGS: tuple[Setting, ...] = (
    Setting(
        "enabled", True, parsers.boolean, _BOOL, "whether lineage is reported at all", "disabled"
    ),
    Setting(
        "python", None, parsers.text, "a path of a Python program", "the Python of the sidecar"
    ),
    Setting(
        "transport.type",
        None,
        parsers.one_of("http", "file", "console"),
        "http, file or console",
        "where events go",
        "transport.type",
    ),
    Setting(
        "transport.url",
        None,
        parsers.url,
        "an http or https URL",
        f"the collector's address; default {DEFAULT_URL}",
        "transport.url",
    ),
    Setting(
        "transport.endpoint",
        "api/v1/lineage",
        parsers.text,
        "a path",
        "the path at which the collector takes events",
        "transport.endpoint",
    ),
    Setting(
        "transport.path",
        None,
        parsers.text,
        "a path of a file to append to",
        "the file of the file transport",
        "transport.location",
    ),
    Setting(
        "transport.apiKey",
        None,
        parsers.text,
        "a text",
        "sent as a bearer token",
        "transport.auth.apiKey",
        secret=True,
    ),
    Setting(
        "transport.config",
        None,
        parsers.transport,
        "a JSON object with a type",
        "the transport as OpenLineage configures it: kafka, composite, transform, ...",
        secret=True,
    ),
    Setting("transport.timeout", 5.0, parsers.time, _TIME, "how long one post may take"),
    Setting("namespace", "default", parsers.text, "a text", "the namespace of jobs", "namespace"),
    Setting(
        "namespace.alias",
        (),
        parsers.pairs,
        "old=new, old=new; or one key each: `namespace.alias.old` is new",
        "other names for data sets' namespaces, or their hosts: `namespace.alias.nn1=cluster`",
    ),
    Setting(
        "namespace.pattern",
        (),
        parsers.replacements,
        "regex => replacement; or several, each below a name of your own: `namespace.pattern.a`",
        "the same by regular expressions of a whole namespace; `\\1` is a group",
    ),
    Setting(
        "job.name",
        None,
        parsers.text,
        "a text",
        "the name of the job instead of the application's",
        "appName",
    ),
    Setting(
        "job.tags",
        (),
        parsers.tags,
        _TAGS,
        "tags of every job",
        "job.tags",
    ),
    Setting("run.tags", (), parsers.tags, _TAGS, "tags of every run", "run.tags"),
    Setting(
        "job.owners",
        (),
        parsers.owners,
        "type:name;type:name",
        "who owns the jobs",
        "job.owners",
    ),
    Setting(
        "applicationRunId",
        None,
        parsers.uuid,
        "a UUID",
        "the run id of the application, as its scheduler has it; kept over retries",
        "applicationRunId",
    ),
    Setting(
        "nominalStartTime",
        None,
        parsers.moment,
        "a date and time of ISO 8601",
        "the time for which the run was scheduled",
    ),
    Setting(
        "nominalEndTime",
        None,
        parsers.moment,
        "a date and time of ISO 8601",
        "the end of the interval for which it was scheduled",
    ),
    Setting(
        "parentRunId", None, parsers.uuid, "a UUID", "the run that started this one", "parentRunId"
    ),
    Setting("parentJobName", None, parsers.text, "a text", "its job", "parentJobName"),
    Setting(
        "parentJobNamespace",
        None,
        parsers.text,
        "a text",
        "its job's namespace",
        "parentJobNamespace",
    ),
    Setting(
        "rootParentRunId", None, parsers.uuid, "a UUID", "the run at the root", "rootParentRunId"
    ),
    Setting("rootParentJobName", None, parsers.text, "a text", "its job", "rootParentJobName"),
    Setting(
        "rootParentJobNamespace",
        None,
        parsers.text,
        "a text",
        "its job's namespace",
        "rootParentJobNamespace",
    ),
    Setting(
        "dataset.identity",
        "table",
        parsers.one_of("table", "path"),
        "table or path",
        "whether a catalog's table is named by the catalog or by its path",
    ),
    Setting(
        "masking.functions",
        (),
        parsers.names,
        "names separated by commas",
        "more functions whose result is masked",
    ),
    Setting(
        "readOnlyActions",
        True,
        parsers.boolean,
        "on or off",
        "whether queries that write nothing are runs too",
    ),
    Setting(
        "readOnlyActions.sample",
        1.0,
        parsers.share,
        "a share from 0 to 1, such as 0.1",
        "the share of the queries that write nothing that are told",
    ),
    Setting(
        "sql",
        "full",
        parsers.one_of("full", "normalized", "off"),
        "full, normalized or off",
        "whether events hold SQL text; with normalized and off no literal leaves the driver's "
        "machine, in expressions, filters and errors either",
    ),
    Setting(
        "views",
        "through",
        parsers.one_of("through", "inputs"),
        "through or inputs",
        "whether lineage goes through permanent views, or they are inputs of their own",
    ),
    Setting(
        "facets.disabled",
        (),
        parsers.names,
        "names separated by commas or semicolons",
        "facets that events are made without",
        "facets.disabled",
    ),
    Setting(
        "lineageFacet",
        False,
        parsers.boolean,
        "on or off",
        "whether outputs have OpenLineage's explicit lineage facet beside columnLineage",
    ),
    Setting(
        "filter.datasets.allow",
        (),
        parsers.names,
        _PATTERNS,
        "only runs that name a data set like one of these are told",
    ),
    Setting(
        "filter.datasets.deny",
        (),
        parsers.names,
        _PATTERNS,
        "runs that name a data set like one of these are not told",
    ),
    Setting(
        "filter.jobs.allow",
        (),
        parsers.names,
        _PATTERNS,
        "only runs of jobs with a name like one of these are told",
    ),
    Setting(
        "filter.jobs.deny",
        (),
        parsers.names,
        _PATTERNS,
        "runs of jobs with a name like one of these are not told",
    ),
    Setting(
        "filter.statements.allow",
        (),
        parsers.names,
        _PATTERNS,
        "only runs of statements whose Spark class is like one of these are told",
    ),
    Setting(
        "filter.statements.deny",
        (),
        parsers.names,
        _PATTERNS,
        "runs of statements whose Spark class is like one of these are not told",
        "filter.deniedSparkNodes",
    ),
    Setting(
        "agent.memory",
        512 << 20,
        parsers.size,
        _SIZE,
        "the resident memory above which the sidecar ends itself",
    ),
    Setting("queue.records", 10_000, parsers.count, _POSITIVE, "records kept in the driver"),
    Setting("queue.bytes", 32 << 20, parsers.size, _SIZE, "bytes of records kept in the driver"),
    Setting("record.bytes", 16 << 20, parsers.size, _SIZE, "the largest record"),
    Setting("plan.nodes", 2_000_000, parsers.count, _POSITIVE, "the most rows of one plan"),
    Setting(
        "shutdown.timeout",
        5.0,
        parsers.time,
        _TIME,
        "the longest wait for delivery at the application's end",
    ),
    Setting(
        "spool.dir",
        None,
        parsers.text,
        "a directory",
        "where events wait; default ~/.spark_lineage/spool",
    ),
    Setting("spool.bytes", 256 << 20, parsers.size, _SIZE, "the largest spool"),
    Setting("spool.age", 7 * 86400.0, parsers.time, _TIME, "how long an event may wait"),
    Setting(
        "spool.archive",
        None,
        parsers.text,
        "a directory or a URL of fsspec, such as s3://bucket/lineage",
        "where a copy of what is not delivered at the end goes",
    ),
    Setting(
        "log.level",
        "INFO",
        lambda text: parsers.one_of("debug", "info", "warning", "error")(text).upper(),
        "debug, info, warning or error",
        "what the agent logs",
    ),
)
