"""The tables. Times are microseconds since the epoch; texts have no length limit.

Long texts are found by a digest of fixed width (see ``model.digest``), since an
index entry has a size limit in PostgreSQL that real names exceed.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    Table,
    Text,
    UniqueConstraint,
)

from spark_lineage.collector.store.schema_parts import (
    ID,
    ORDER,
    id_column,
    metadata,
    ref,
    refs,
    where,
)
from spark_lineage.collector.store.schema_people import (
    decisions,
    hidden,
    job_tags,
    overrides,
    samples,
    tag_texts,
    tags,
    tokens,
)

# Found here beside those below: to who asks, all tables are one schema.
__all__ = [
    "decisions",
    "hidden",
    "job_tags",
    "metadata",
    "overrides",
    "samples",
    "tag_texts",
    "tags",
    "tokens",
]

events = Table(
    "events",
    metadata,
    id_column(),
    Column("hash", Text, nullable=False, unique=True),
    Column("kind", Text, nullable=False),
    Column("run_id", Text, nullable=False),
    Column("type", Text),
    Column("time", BigInteger, nullable=False),
    Column("received", BigInteger, nullable=False),
    Column("body", Text, nullable=False),
    Index("events_of_run", "run_id"),
    Index("events_received", "received"),
    Index("events_by_time", "time"),
)
# Long parts of events' texts, which stand there as references by these hashes. `seen` is
# when an event with it was received last, to a day.
pieces = Table(
    "pieces",
    metadata,
    Column("hash", Text, primary_key=True),
    Column("seen", BigInteger, nullable=False),
    Column("body", Text, nullable=False),
    Index("pieces_seen", "seen"),
)
quarantine = Table(
    "quarantine",
    metadata,
    id_column(),
    Column("hash", Text, nullable=False, unique=True),
    Column("received", BigInteger, nullable=False),
    Column("times", Integer, nullable=False, default=1),
    Column("state", Text, nullable=False),
    Column("faults", Text, nullable=False),
    Column("by", Text),
    Column("reason", Text),
    Column("settled", BigInteger),
    Column("body", LargeBinary, nullable=False),
    Index("quarantine_by_state", "state", "id"),
)
# A name as producers write it. `alias_id` is the name that a namespace alias makes of it.
names = Table(
    "names",
    metadata,
    id_column(),
    Column("digest", Text, nullable=False, unique=True),
    Column("namespace", Text, nullable=False),
    Column("name", Text, nullable=False),
    ref("alias_id", "names", nullable=True),
    # Whether an event spoke of a data set by it, not only of another one as linked to it.
    Column("used", Boolean, nullable=False),
    Column("lifecycle", Text),
    Column("lifecycle_order", ORDER),
    Index("names_of_alias", "alias_id"),
    # By a hash, where an entry of an index may not be long.
    Index("names_by_name", "name", postgresql_using="hash"),
)
# Another name of a data set, as a `symlinks` facet says.
symlinks = Table(
    "symlinks",
    metadata,
    id_column(),
    Column("digest", Text, nullable=False, unique=True),
    ref("name_id", "names"),
    ref("to_id", "names"),
    Column("type", Text, nullable=False),
    Column("first", BigInteger, nullable=False),
    Column("last", BigInteger, nullable=False),
    Index("symlinks_of_name", "name_id"),
    Index("symlinks_to_name", "to_id"),
)
# A run that says it gave a data set another name; it counts when the run succeeded.
renames = Table(
    "renames",
    metadata,
    Column("run_id", ID, ForeignKey("runs.id"), primary_key=True),
    Column("from_id", ID, ForeignKey("names.id"), primary_key=True),
    Column("to_id", ID, ForeignKey("names.id"), primary_key=True),
    Index("renames_from", "from_id"),
    Index("renames_to", "to_id"),
)
# A run that says it dropped a data set; it counts when the run succeeded.
drops = Table(
    "drops",
    metadata,
    Column("run_id", ID, ForeignKey("runs.id"), primary_key=True),
    Column("name_id", ID, ForeignKey("names.id"), primary_key=True),
)
# The data sets themselves, each under the name by which it is shown. `ended` is when
# it lost its last name to another one; only an ended one shares its name.
datasets = Table(
    "datasets",
    metadata,
    id_column(),
    Column("namespace", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("ended", BigInteger),
    # Nothing was ever said of it: the time before a name was taken or after it was given away.
    Column("ghost", Boolean, nullable=False, default=False),
    Index("datasets_by_name", "name"),
)
# What a name means, and from when on: one row, but for names that were given away or taken.
meanings = Table(
    "meanings",
    metadata,
    Column("name_id", ID, ForeignKey("names.id"), primary_key=True),
    Column("since", BigInteger, primary_key=True, autoincrement=False),
    ref("dataset_id", "datasets"),
    Index("meanings_of_dataset", "dataset_id"),
    # The names that changed their meaning: few or none. After the beginning of time
    # (`rows.BEGINNING`), as a number: an index needs it so.
    Index("meanings_later", "name_id", **where("since > -100000000000000000")),
)
# `whole` marks the one row of a data set that stands for all of it: the output
# end of whole-result edges, and both ends of edges between data sets.
columns = Table(
    "columns",
    metadata,
    id_column(),
    Column("digest", Text, nullable=False, unique=True),
    Column("dataset_id", ID, nullable=False),
    *refs(dataset_id="datasets"),
    Column("whole", Boolean, nullable=False),
    Column("path", Text, nullable=False),
    Column("root", Text, nullable=False),
    Column("type", Text),
    Column("position", Integer),
    # Whether a schema has it, not only lineage.
    Column("stated", Boolean, nullable=False, default=False),
    Index("columns_of_dataset", "dataset_id", "whole"),
    Index("columns_of_root", "dataset_id", "root"),
    # Few or none: whether a data set has any is asked for each one that a walk passes.
    Index("columns_nested", "dataset_id", **where("path <> root")),
)
schema_versions = Table(
    "schema_versions",
    metadata,
    id_column(),
    ref("name_id", "names"),
    Column("hash", Text, nullable=False),
    Column("output", Boolean, nullable=False),
    Column("first", BigInteger, nullable=False),
    Column("order", ORDER, nullable=False),
    Column("body", Text, nullable=False),
    UniqueConstraint("name_id", "hash", "output"),
)
jobs = Table(
    "jobs",
    metadata,
    id_column(),
    Column("digest", Text, nullable=False, unique=True),
    Column("namespace", Text, nullable=False),
    Column("name", Text, nullable=False),
)
runs = Table(
    "runs",
    metadata,
    id_column(),
    Column("digest", Text, nullable=False, unique=True),
    Column("run_id", Text, nullable=False),
    Column("kind", Text, nullable=False),
    ref("job_id", "jobs"),
    Column("job_order", ORDER, nullable=False),
    Column("state", Text, nullable=False),
    Column("end_order", ORDER),
    Column("started", BigInteger),
    Column("first", BigInteger, nullable=False),
    Column("last", BigInteger, nullable=False),
    Column("ended", BigInteger),
    Column("unexplained", Integer, nullable=False, default=0),
    Index("runs_of_job", "job_id", "last"),
    Index("runs_unexplained", "unexplained"),
    Index("runs_by_time", "last"),
)
run_facets = Table(
    "run_facets",
    metadata,
    id_column(),
    ref("run_id", "runs"),
    Column("name", Text, nullable=False),
    Column("order", ORDER, nullable=False),
    Column("body", Text, nullable=False),
    UniqueConstraint("run_id", "name"),
)
run_inputs = Table(
    "run_inputs",
    metadata,
    Column("run_id", ID, ForeignKey("runs.id"), primary_key=True),
    Column("name_id", ID, ForeignKey("names.id"), primary_key=True),
    Index("run_inputs_of_name", "name_id", "run_id"),
)
# The newest of each facet of a job or a data set (`owner` is its row's id); what a facet
# with `_deleted` replaced stays gone, since that facet is the newest.
facets = Table(
    "facets",
    metadata,
    Column("kind", Text, primary_key=True),
    Column("owner", ID, primary_key=True, autoincrement=False),
    Column("name", Text, primary_key=True),
    Column("order", ORDER, nullable=False),
    Column("deleted", Boolean, nullable=False),
    Column("body", Text, nullable=False),
    Index("facets_by_name", "name", "kind"),
)
# What a run says of one data set that it read or wrote: statistics, checks, versions.
io_facets = Table(
    "io_facets",
    metadata,
    Column("run_id", ID, ForeignKey("runs.id"), primary_key=True),
    Column("name_id", ID, ForeignKey("names.id"), primary_key=True),
    Column("output", Boolean, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("order", ORDER, nullable=False),
    Column("body", Text, nullable=False),
)
# Which namespaces are one: a plain name or a regular expression, and what it stands for.
aliases = Table(
    "aliases",
    metadata,
    Column("pattern", Text, primary_key=True),
    Column("target", Text, nullable=False),
)
# A job's ways of working, told apart by the hash of its SQL or code: unchanged makes no new one.
job_versions = Table(
    "job_versions",
    metadata,
    Column("job_id", ID, ForeignKey("jobs.id"), primary_key=True),
    Column("hash", Text, primary_key=True),
    Column("first_seen", BigInteger, nullable=False),
    Column("last_seen", BigInteger, nullable=False),
    Column("source", Text, nullable=False),
)
# An edge from job to job, as a `lineage` facet or `jobDependencies` states it.
job_edges = Table(
    "job_edges",
    metadata,
    Column("job_id", ID, ForeignKey("jobs.id"), primary_key=True),
    Column("from_id", ID, ForeignKey("jobs.id"), primary_key=True),
    Column("first_seen", BigInteger, nullable=False),
    Column("last_seen", BigInteger, nullable=False),
    Index("job_edges_from", "from_id"),
)
# A data set that a job reads or writes, as a `lineage` facet of another job states it.
job_io = Table(
    "job_io",
    metadata,
    Column("job_id", ID, ForeignKey("jobs.id"), primary_key=True),
    Column("name_id", ID, ForeignKey("names.id"), primary_key=True),
    Column("output", Boolean, primary_key=True),
    Column("first_seen", BigInteger, nullable=False),
    Column("last_seen", BigInteger, nullable=False),
    Index("job_io_of_name", "name_id"),
)
# Losses that agents report, the most that each application ever said of a reason.
losses = Table(
    "losses",
    metadata,
    id_column(),
    Column("digest", Text, nullable=False, unique=True),
    Column("application", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("count", BigInteger, nullable=False),
)
# The column lineage of an output as one event stated it; equal ones are one row.
parts = Table(
    "parts",
    metadata,
    id_column(),
    Column("hash", Text, nullable=False, unique=True),
    Column("body", Text, nullable=False),
)
# The names that a part has sources in.
part_names = Table(
    "part_names",
    metadata,
    Column("part_id", ID, ForeignKey("parts.id"), primary_key=True),
    Column("name_id", ID, ForeignKey("names.id"), primary_key=True),
    Index("part_names_of_name", "name_id"),
)
# What one run says of one output.
claims = Table(
    "claims",
    metadata,
    id_column(),
    ref("run_id", "runs"),
    ref("name_id", "names"),
    ref("part_id", "parts", nullable=True),
    Column("part_order", ORDER),
    ref("job_id", "jobs", nullable=True),
    ref("output_id", "datasets", nullable=True),
    ref("definition_id", "definitions", nullable=True),
    Column("time", BigInteger),
    Column("closes_columns", Boolean, nullable=False, default=False),
    Column("closes_datasets", Boolean, nullable=False, default=False),
    UniqueConstraint("run_id", "name_id"),
    Index("claims_of_name", "name_id"),
    Index("claims_of_part", "part_id"),
    Index("claims_of_output", "output_id", "job_id", "time"),
    Index("claims_of_definition", "definition_id", "time"),
)
# One way in which a job makes an output; runs with equal lineage share it, so a
# repeat of known lineage costs one row (the run's claim) and no edge.
definitions = Table(
    "definitions",
    metadata,
    id_column(),
    ref("job_id", "jobs"),
    ref("output_id", "datasets"),
    Column("hash", Text, nullable=False),
    Column("columns_known", Boolean, nullable=False),
    Column("availability", Text),
    Column("detail", Text, nullable=False),
    Column("first_seen", BigInteger),
    Column("last_seen", BigInteger),
    Column("closed", BigInteger),
    UniqueConstraint("job_id", "output_id", "hash"),
    Index("definitions_of_output", "output_id"),
)
_OF_A_WALK = ("job_id", "output_id", "kind", "masking", "closed")
edges = Table(
    "edges",
    metadata,
    id_column(),
    *(Column(name, ID, nullable=False) for name in ("job_id", "output_id", "out_id", "in_id")),
    *refs(job_id="jobs", output_id="datasets", out_id="columns", in_id="columns"),
    Column("kind", Text, nullable=False),
    Column("masking", Boolean, nullable=False),
    Column("closed", BigInteger),
    UniqueConstraint("job_id", "out_id", "in_id", "kind", "masking"),
    # All that a walk reads of an edge: it never goes to the table itself (in SQLite each
    # index has the row's id).
    Index("edges_up", "out_id", "in_id", *_OF_A_WALK, postgresql_include=["id"]),
    Index("edges_down", "in_id", "out_id", *_OF_A_WALK, postgresql_include=["id"]),
    Index("edges_of_output", "output_id", "job_id"),
    Index("edges_closed", "output_id", "job_id", **where("closed IS NOT NULL")),
)
definition_edges = Table(
    "definition_edges",
    metadata,
    Column("definition_id", ID, primary_key=True),
    Column("edge_id", ID, primary_key=True),
    *refs(definition_id="definitions", edge_id="edges"),
    Column("description", Text),
    Index("definitions_of_edge", "edge_id"),
)
definition_columns = Table(
    "definition_columns",
    metadata,
    Column("definition_id", ID, primary_key=True),
    Column("column_id", ID, primary_key=True),
    *refs(definition_id="definitions", column_id="columns"),
    Column("type", Text),
    Column("origin", Text),
    Column("expression", Text),
    Column("availability", Text),
    Column("detail", Text, nullable=False),
    Index("definitions_of_column", "column_id"),
)
# The schema of a writer that the webhook was last told of (its hash in `schema_versions`).
told_schemas = Table(
    "told_schemas",
    metadata,
    Column("name_id", ID, ForeignKey("names.id"), primary_key=True),
    Column("hash", Text, nullable=False),
)
# The totals of the store's health at some times, as JSON: what was cannot be derived again.
snapshots = Table(
    "snapshots",
    metadata,
    Column("time", BigInteger, primary_key=True, autoincrement=False),
    Column("body", Text, nullable=False),
)
