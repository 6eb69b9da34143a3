"""Data sets that were dropped, schemas that a webhook was told, and health over time."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "drops",
        sa.Column("run_id", _ID, nullable=False),
        sa.Column("name_id", _ID, nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"]),
        sa.ForeignKeyConstraint(["name_id"], ["names.id"]),
        sa.PrimaryKeyConstraint("run_id", "name_id"),
    )
    op.execute(
        "INSERT INTO drops (run_id, name_id) SELECT run_id, name_id FROM io_facets"
        " WHERE output AND name = 'lifecycleStateChange' AND upper(body) LIKE '%\"DROP\"%'"
    )
    op.create_table(
        "told_schemas",
        sa.Column("name_id", _ID, nullable=False),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["name_id"], ["names.id"]),
        sa.PrimaryKeyConstraint("name_id"),
    )
    op.create_table(
        "snapshots",
        sa.Column("time", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("time"),
    )


def downgrade() -> None:
    """Drop them."""
    op.drop_table("snapshots")
    op.drop_table("told_schemas")
    op.drop_table("drops")
