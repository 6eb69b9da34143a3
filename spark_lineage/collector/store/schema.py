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
    MetaData,
    Table,
    Text,
    UniqueConstraint,
)

VERSION = 1
metadata = MetaData()
# SQLite numbers rows by itself only where the type is exactly INTEGER.
_ID = BigInteger().with_variant(Integer, "sqlite")


def _id() -> Column[int]:
    return Column("id", _ID, primary_key=True)


def _ref(name: str, target: str, nullable: bool = False) -> Column[int]:
    return Column(name, _ID, ForeignKey(f"{target}.id"), nullable=nullable)


meta = Table(
    "meta",
    metadata,
    Column("key", Text, primary_key=True),
    Column("value", Text, nullable=False),
)
events = Table(
    "events",
    metadata,
    _id(),
    Column("hash", Text, nullable=False, unique=True),
    Column("kind", Text, nullable=False),
    Column("run_id", Text, nullable=False),
    Column("type", Text),
    Column("time", BigInteger, nullable=False),
    Column("received", BigInteger, nullable=False),
    Column("body", Text, nullable=False),
)
quarantine = Table(
    "quarantine",
    metadata,
    _id(),
    Column("hash", Text, nullable=False, unique=True),
    Column("received", BigInteger, nullable=False),
    Column("times", Integer, nullable=False, default=1),
    Column("faults", Text, nullable=False),
    Column("body", LargeBinary, nullable=False),
)
datasets = Table(
    "datasets",
    metadata,
    _id(),
    Column("digest", Text, nullable=False, unique=True),
    Column("namespace", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("lifecycle", Text),
    Column("lifecycle_order", Text),
)
symlinks = Table(
    "symlinks",
    metadata,
    _id(),
    Column("digest", Text, nullable=False, unique=True),
    _ref("dataset_id", "datasets"),
    Column("namespace", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("type", Text, nullable=False),
)
# `whole` marks the one row of a data set that stands for all of it: the output
# end of whole-result edges, and both ends of edges between data sets.
columns = Table(
    "columns",
    metadata,
    _id(),
    Column("digest", Text, nullable=False, unique=True),
    _ref("dataset_id", "datasets"),
    Column("whole", Boolean, nullable=False),
    Column("path", Text, nullable=False),
    Column("root", Text, nullable=False),
    Column("type", Text),
    Column("position", Integer),
    Index("columns_of_dataset", "dataset_id"),
)
schema_versions = Table(
    "schema_versions",
    metadata,
    _id(),
    _ref("dataset_id", "datasets"),
    Column("hash", Text, nullable=False),
    Column("output", Boolean, nullable=False),
    Column("order", Text, nullable=False),
    Column("body", Text, nullable=False),
    UniqueConstraint("dataset_id", "hash", "output"),
)
jobs = Table(
    "jobs",
    metadata,
    _id(),
    Column("digest", Text, nullable=False, unique=True),
    Column("namespace", Text, nullable=False),
    Column("name", Text, nullable=False),
)
runs = Table(
    "runs",
    metadata,
    _id(),
    Column("digest", Text, nullable=False, unique=True),
    Column("run_id", Text, nullable=False),
    Column("kind", Text, nullable=False),
    _ref("job_id", "jobs"),
    Column("job_order", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("end_order", Text),
    Column("started", BigInteger),
    Column("first", BigInteger, nullable=False),
    Column("last", BigInteger, nullable=False),
    Column("ended", BigInteger),
    Column("unexplained", Integer, nullable=False, default=0),
    Index("runs_of_job", "job_id", "last"),
    Index("runs_unexplained", "unexplained"),
)
run_facets = Table(
    "run_facets",
    metadata,
    _id(),
    _ref("run_id", "runs"),
    Column("name", Text, nullable=False),
    Column("order", Text, nullable=False),
    Column("body", Text, nullable=False),
    UniqueConstraint("run_id", "name"),
)
run_inputs = Table(
    "run_inputs",
    metadata,
    Column("run_id", _ID, ForeignKey("runs.id"), primary_key=True),
    Column("dataset_id", _ID, ForeignKey("datasets.id"), primary_key=True),
    Index("run_inputs_of_dataset", "dataset_id", "run_id"),
)
# Losses that agents report, the most that each application ever said of a reason.
losses = Table(
    "losses",
    metadata,
    _id(),
    Column("digest", Text, nullable=False, unique=True),
    Column("application", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("count", BigInteger, nullable=False),
)
# The column lineage of an output as one event stated it; equal ones are one row.
parts = Table(
    "parts",
    metadata,
    _id(),
    Column("hash", Text, nullable=False, unique=True),
    Column("body", Text, nullable=False),
)
# What one run says of one output.
claims = Table(
    "claims",
    metadata,
    _id(),
    _ref("run_id", "runs"),
    _ref("output_id", "datasets"),
    _ref("part_id", "parts", nullable=True),
    Column("part_order", Text),
    _ref("job_id", "jobs", nullable=True),
    _ref("definition_id", "definitions", nullable=True),
    Column("time", BigInteger),
    Column("closes_columns", Boolean, nullable=False, default=False),
    Column("closes_datasets", Boolean, nullable=False, default=False),
    UniqueConstraint("run_id", "output_id"),
    Index("claims_of_output", "output_id", "job_id", "time"),
    Index("claims_of_definition", "definition_id", "time"),
)
# One way in which a job makes an output; runs with equal lineage share it, so a
# repeat of known lineage costs one row (the run's claim) and no edge.
definitions = Table(
    "definitions",
    metadata,
    _id(),
    _ref("job_id", "jobs"),
    _ref("output_id", "datasets"),
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
edges = Table(
    "edges",
    metadata,
    _id(),
    _ref("job_id", "jobs"),
    _ref("output_id", "datasets"),
    _ref("out_id", "columns"),
    _ref("in_id", "columns"),
    Column("kind", Text, nullable=False),
    Column("masking", Boolean, nullable=False),
    Column("closed", BigInteger),
    UniqueConstraint("job_id", "out_id", "in_id", "kind", "masking"),
    Index("edges_up", "out_id"),
    Index("edges_down", "in_id"),
    Index("edges_of_output", "output_id", "job_id"),
)
definition_edges = Table(
    "definition_edges",
    metadata,
    Column("definition_id", _ID, ForeignKey("definitions.id"), primary_key=True),
    Column("edge_id", _ID, ForeignKey("edges.id"), primary_key=True),
    Column("description", Text),
    Index("definitions_of_edge", "edge_id"),
)
definition_columns = Table(
    "definition_columns",
    metadata,
    Column("definition_id", _ID, ForeignKey("definitions.id"), primary_key=True),
    Column("column_id", _ID, ForeignKey("columns.id"), primary_key=True),
    Column("type", Text),
    Column("origin", Text),
    Column("expression", Text),
    Column("availability", Text),
    Column("detail", Text, nullable=False),
    Index("definitions_of_column", "column_id"),
)
