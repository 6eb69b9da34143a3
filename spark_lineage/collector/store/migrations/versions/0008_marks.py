"""What people say by Marquez's API: tags of jobs, tags taken away, their texts, what is hidden."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Make the tables; the tags that there are stand."""
    op.add_column(
        "tags", sa.Column("removed", sa.Boolean(), nullable=False, server_default=sa.false())
    )
    op.create_table(
        "job_tags",
        sa.Column("job_id", _ID, nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("by", sa.Text(), nullable=False),
        sa.Column("time", sa.BigInteger(), nullable=False),
        sa.Column("removed", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"]),
        sa.PrimaryKeyConstraint("job_id", "key"),
    )
    op.create_table(
        "tag_texts",
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), nullable=True),
        sa.Column("time", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("key"),
    )
    op.create_table(
        "hidden",
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("owner", _ID, nullable=False),
        sa.Column("by", sa.Text(), nullable=False),
        sa.Column("time", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("kind", "owner"),
    )


def downgrade() -> None:
    """Drop them, and with them the tags that were taken away."""
    for name in ("hidden", "tag_texts", "job_tags"):
        op.drop_table(name)
    op.execute("DELETE FROM tags WHERE removed")
    with op.batch_alter_table("tags") as table:
        table.drop_column("removed")
