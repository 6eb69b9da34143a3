"""The tables of what people say and may do, which no event can change."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Table,
    Text,
    UniqueConstraint,
    false,
)

from spark_lineage.collector.store.schema_parts import ID, id_column, metadata

# What people say of an edge: ADD, REMOVE or CONFIRM; it stands until it is undone.
overrides = Table(
    "overrides",
    metadata,
    id_column(),
    Column("action", Text, nullable=False),
    Column("namespace", Text, nullable=False),
    Column("dataset", Text, nullable=False),
    Column("column", Text),
    Column("from_namespace", Text, nullable=False),
    Column("from_dataset", Text, nullable=False),
    Column("from_column", Text),
    Column("kind", Text, nullable=False),
    Column("masking", Boolean, nullable=False),
    Column("by", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("time", BigInteger, nullable=False),
    Column("undone_by", Text),
    Column("undone", BigInteger),
)
# What a person decided on an entry of the work queue, found again by its kind and key.
decisions = Table(
    "decisions",
    metadata,
    Column("kind", Text, primary_key=True),
    Column("key", Text, primary_key=True),
    Column("by", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("time", BigInteger, nullable=False),
)
# Edges drawn for people to judge, and their verdicts.
samples = Table(
    "samples",
    metadata,
    id_column(),
    Column("sample", Text, nullable=False),
    Column("edge", Text, nullable=False),
    Column("verdict", Text),
    Column("by", Text),
    Column("reason", Text),
    Column("time", BigInteger),
    UniqueConstraint("sample", "edge"),
)
# Who may do what: only the hash of a token is kept.
tokens = Table(
    "tokens",
    metadata,
    Column("hash", Text, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("scope", Text, nullable=False),
    Column("namespaces", Text, nullable=False),
    Column("created", BigInteger, nullable=False),
)
# Tags that people set here, beside those that producers state; `field` is empty for all of it.
tags = Table(
    "tags",
    metadata,
    Column("name_id", ID, ForeignKey("names.id"), primary_key=True),
    Column("field", Text, primary_key=True),
    Column("key", Text, primary_key=True),
    Column("value", Text, nullable=False),
    Column("by", Text, nullable=False),
    Column("time", BigInteger, nullable=False),
    # Taken away by a person, though a producer may state it again.
    Column("removed", Boolean, nullable=False, server_default=false()),
)
# The same of jobs.
job_tags = Table(
    "job_tags",
    metadata,
    Column("job_id", ID, ForeignKey("jobs.id"), primary_key=True),
    Column("key", Text, primary_key=True),
    Column("by", Text, nullable=False),
    Column("time", BigInteger, nullable=False),
    Column("removed", Boolean, nullable=False),
)
# What a tag means, and that there is such a tag, even where nothing has it.
tag_texts = Table(
    "tag_texts",
    metadata,
    Column("key", Text, primary_key=True),
    Column("description", Text),
    Column("time", BigInteger, nullable=False),
)
# Names of data sets (kind DATASET) and jobs (JOB) that Marquez's API shows no more, until an
# event of a later time than this speaks of them.
hidden = Table(
    "hidden",
    metadata,
    Column("kind", Text, primary_key=True),
    Column("owner", ID, primary_key=True, autoincrement=False),
    Column("by", Text, nullable=False),
    Column("time", BigInteger, nullable=False),
)
