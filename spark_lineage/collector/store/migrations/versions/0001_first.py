"""The first tables."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_ORDER = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


_TABLES = (
    "aliases",
    "datasets",
    "events",
    "facets",
    "jobs",
    "losses",
    "names",
    "parts",
    "quarantine",
    "columns",
    "definitions",
    "job_edges",
    "job_io",
    "job_versions",
    "meanings",
    "part_names",
    "runs",
    "schema_versions",
    "symlinks",
    "claims",
    "definition_columns",
    "edges",
    "io_facets",
    "renames",
    "run_facets",
    "run_inputs",
    "definition_edges",
)


def upgrade() -> None:
    """Make the change."""
    op.create_table(
        "aliases",
        sa.Column("pattern", sa.Text(), nullable=False),
        sa.Column("target", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("pattern"),
    )
    op.create_table(
        "datasets",
        sa.Column("id", _ID, nullable=False),
        sa.Column("namespace", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("ended", sa.BigInteger(), nullable=True),
        sa.Column("ghost", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "events",
        sa.Column("id", _ID, nullable=False),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("type", sa.Text(), nullable=True),
        sa.Column("time", sa.BigInteger(), nullable=False),
        sa.Column("received", sa.BigInteger(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("hash"),
    )
    op.create_table(
        "facets",
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("owner", _ID, autoincrement=False, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("order", _ORDER, nullable=False),
        sa.Column("deleted", sa.Boolean(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("kind", "owner", "name"),
    )
    op.create_table(
        "jobs",
        sa.Column("id", _ID, nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("namespace", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("digest"),
    )
    op.create_table(
        "losses",
        sa.Column("id", _ID, nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("application", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("count", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("digest"),
    )
    op.create_table(
        "names",
        sa.Column("id", _ID, nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("namespace", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("alias_id", _ID, nullable=True),
        sa.Column("used", sa.Boolean(), nullable=False),
        sa.Column("lifecycle", sa.Text(), nullable=True),
        sa.Column("lifecycle_order", _ORDER, nullable=True),
        sa.ForeignKeyConstraint(
            ["alias_id"],
            ["names.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("digest"),
    )
    op.create_table(
        "parts",
        sa.Column("id", _ID, nullable=False),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("hash"),
    )
    op.create_table(
        "quarantine",
        sa.Column("id", _ID, nullable=False),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("received", sa.BigInteger(), nullable=False),
        sa.Column("times", sa.Integer(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("faults", sa.Text(), nullable=False),
        sa.Column("by", sa.Text(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("settled", sa.BigInteger(), nullable=True),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("hash"),
    )
    op.create_table(
        "columns",
        sa.Column("id", _ID, nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("dataset_id", _ID, nullable=False),
        sa.Column("whole", sa.Boolean(), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("root", sa.Text(), nullable=False),
        sa.Column("type", sa.Text(), nullable=True),
        sa.Column("position", sa.Integer(), nullable=True),
        sa.Column("stated", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(
            ["dataset_id"],
            ["datasets.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("digest"),
    )
    op.create_table(
        "definitions",
        sa.Column("id", _ID, nullable=False),
        sa.Column("job_id", _ID, nullable=False),
        sa.Column("output_id", _ID, nullable=False),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("columns_known", sa.Boolean(), nullable=False),
        sa.Column("availability", sa.Text(), nullable=True),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("first_seen", sa.BigInteger(), nullable=True),
        sa.Column("last_seen", sa.BigInteger(), nullable=True),
        sa.Column("closed", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(
            ["job_id"],
            ["jobs.id"],
        ),
        sa.ForeignKeyConstraint(
            ["output_id"],
            ["datasets.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("job_id", "output_id", "hash"),
    )
    op.create_table(
        "job_edges",
        sa.Column("job_id", _ID, nullable=False),
        sa.Column("from_id", _ID, nullable=False),
        sa.Column("first_seen", sa.BigInteger(), nullable=False),
        sa.Column("last_seen", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["from_id"],
            ["jobs.id"],
        ),
        sa.ForeignKeyConstraint(
            ["job_id"],
            ["jobs.id"],
        ),
        sa.PrimaryKeyConstraint("job_id", "from_id"),
    )
    op.create_table(
        "job_io",
        sa.Column("job_id", _ID, nullable=False),
        sa.Column("name_id", _ID, nullable=False),
        sa.Column("output", sa.Boolean(), nullable=False),
        sa.Column("first_seen", sa.BigInteger(), nullable=False),
        sa.Column("last_seen", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["job_id"],
            ["jobs.id"],
        ),
        sa.ForeignKeyConstraint(
            ["name_id"],
            ["names.id"],
        ),
        sa.PrimaryKeyConstraint("job_id", "name_id", "output"),
    )
    op.create_table(
        "job_versions",
        sa.Column("job_id", _ID, nullable=False),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("first_seen", sa.BigInteger(), nullable=False),
        sa.Column("last_seen", sa.BigInteger(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["job_id"],
            ["jobs.id"],
        ),
        sa.PrimaryKeyConstraint("job_id", "hash"),
    )
    op.create_table(
        "meanings",
        sa.Column("name_id", _ID, nullable=False),
        sa.Column("since", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("dataset_id", _ID, nullable=False),
        sa.ForeignKeyConstraint(
            ["dataset_id"],
            ["datasets.id"],
        ),
        sa.ForeignKeyConstraint(
            ["name_id"],
            ["names.id"],
        ),
        sa.PrimaryKeyConstraint("name_id", "since"),
    )
    op.create_table(
        "part_names",
        sa.Column("part_id", _ID, nullable=False),
        sa.Column("name_id", _ID, nullable=False),
        sa.ForeignKeyConstraint(
            ["name_id"],
            ["names.id"],
        ),
        sa.ForeignKeyConstraint(
            ["part_id"],
            ["parts.id"],
        ),
        sa.PrimaryKeyConstraint("part_id", "name_id"),
    )
    op.create_table(
        "runs",
        sa.Column("id", _ID, nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("job_id", _ID, nullable=False),
        sa.Column("job_order", _ORDER, nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("end_order", _ORDER, nullable=True),
        sa.Column("started", sa.BigInteger(), nullable=True),
        sa.Column("first", sa.BigInteger(), nullable=False),
        sa.Column("last", sa.BigInteger(), nullable=False),
        sa.Column("ended", sa.BigInteger(), nullable=True),
        sa.Column("unexplained", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["job_id"],
            ["jobs.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("digest"),
    )
    op.create_table(
        "schema_versions",
        sa.Column("id", _ID, nullable=False),
        sa.Column("name_id", _ID, nullable=False),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("output", sa.Boolean(), nullable=False),
        sa.Column("first", sa.BigInteger(), nullable=False),
        sa.Column("order", _ORDER, nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["name_id"],
            ["names.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("name_id", "hash", "output"),
    )
    op.create_table(
        "symlinks",
        sa.Column("id", _ID, nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("name_id", _ID, nullable=False),
        sa.Column("to_id", _ID, nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("first", sa.BigInteger(), nullable=False),
        sa.Column("last", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["name_id"],
            ["names.id"],
        ),
        sa.ForeignKeyConstraint(
            ["to_id"],
            ["names.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("digest"),
    )
    op.create_table(
        "claims",
        sa.Column("id", _ID, nullable=False),
        sa.Column("run_id", _ID, nullable=False),
        sa.Column("name_id", _ID, nullable=False),
        sa.Column("part_id", _ID, nullable=True),
        sa.Column("part_order", _ORDER, nullable=True),
        sa.Column("job_id", _ID, nullable=True),
        sa.Column("output_id", _ID, nullable=True),
        sa.Column("definition_id", _ID, nullable=True),
        sa.Column("time", sa.BigInteger(), nullable=True),
        sa.Column("closes_columns", sa.Boolean(), nullable=False),
        sa.Column("closes_datasets", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(
            ["definition_id"],
            ["definitions.id"],
        ),
        sa.ForeignKeyConstraint(
            ["job_id"],
            ["jobs.id"],
        ),
        sa.ForeignKeyConstraint(
            ["name_id"],
            ["names.id"],
        ),
        sa.ForeignKeyConstraint(
            ["output_id"],
            ["datasets.id"],
        ),
        sa.ForeignKeyConstraint(
            ["part_id"],
            ["parts.id"],
        ),
        sa.ForeignKeyConstraint(
            ["run_id"],
            ["runs.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("run_id", "name_id"),
    )
    op.create_table(
        "definition_columns",
        sa.Column("definition_id", _ID, nullable=False),
        sa.Column("column_id", _ID, nullable=False),
        sa.Column("type", sa.Text(), nullable=True),
        sa.Column("origin", sa.Text(), nullable=True),
        sa.Column("expression", sa.Text(), nullable=True),
        sa.Column("availability", sa.Text(), nullable=True),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["column_id"],
            ["columns.id"],
        ),
        sa.ForeignKeyConstraint(
            ["definition_id"],
            ["definitions.id"],
        ),
        sa.PrimaryKeyConstraint("definition_id", "column_id"),
    )
    op.create_table(
        "edges",
        sa.Column("id", _ID, nullable=False),
        sa.Column("job_id", _ID, nullable=False),
        sa.Column("output_id", _ID, nullable=False),
        sa.Column("out_id", _ID, nullable=False),
        sa.Column("in_id", _ID, nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("masking", sa.Boolean(), nullable=False),
        sa.Column("closed", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(
            ["in_id"],
            ["columns.id"],
        ),
        sa.ForeignKeyConstraint(
            ["job_id"],
            ["jobs.id"],
        ),
        sa.ForeignKeyConstraint(
            ["out_id"],
            ["columns.id"],
        ),
        sa.ForeignKeyConstraint(
            ["output_id"],
            ["datasets.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("job_id", "out_id", "in_id", "kind", "masking"),
    )
    op.create_table(
        "io_facets",
        sa.Column("run_id", _ID, nullable=False),
        sa.Column("name_id", _ID, nullable=False),
        sa.Column("output", sa.Boolean(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("order", _ORDER, nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["name_id"],
            ["names.id"],
        ),
        sa.ForeignKeyConstraint(
            ["run_id"],
            ["runs.id"],
        ),
        sa.PrimaryKeyConstraint("run_id", "name_id", "output", "name"),
    )
    op.create_table(
        "renames",
        sa.Column("run_id", _ID, nullable=False),
        sa.Column("from_id", _ID, nullable=False),
        sa.Column("to_id", _ID, nullable=False),
        sa.ForeignKeyConstraint(
            ["from_id"],
            ["names.id"],
        ),
        sa.ForeignKeyConstraint(
            ["run_id"],
            ["runs.id"],
        ),
        sa.ForeignKeyConstraint(
            ["to_id"],
            ["names.id"],
        ),
        sa.PrimaryKeyConstraint("run_id", "from_id", "to_id"),
    )
    op.create_table(
        "run_facets",
        sa.Column("id", _ID, nullable=False),
        sa.Column("run_id", _ID, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("order", _ORDER, nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["run_id"],
            ["runs.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("run_id", "name"),
    )
    op.create_table(
        "run_inputs",
        sa.Column("run_id", _ID, nullable=False),
        sa.Column("name_id", _ID, nullable=False),
        sa.ForeignKeyConstraint(
            ["name_id"],
            ["names.id"],
        ),
        sa.ForeignKeyConstraint(
            ["run_id"],
            ["runs.id"],
        ),
        sa.PrimaryKeyConstraint("run_id", "name_id"),
    )
    op.create_table(
        "definition_edges",
        sa.Column("definition_id", _ID, nullable=False),
        sa.Column("edge_id", _ID, nullable=False),
        sa.Column("description", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["definition_id"],
            ["definitions.id"],
        ),
        sa.ForeignKeyConstraint(
            ["edge_id"],
            ["edges.id"],
        ),
        sa.PrimaryKeyConstraint("definition_id", "edge_id"),
    )


def downgrade() -> None:
    """Drop all."""
    for name in reversed(_TABLES):
        op.drop_table(name)
