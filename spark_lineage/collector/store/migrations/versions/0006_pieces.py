"""Long parts of events' texts, each kept once; indexes for names, and for walks alone."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


_MORE = ["job_id", "output_id", "kind", "masking", "closed"]
_ENDS = {"edges_up": ["out_id", "in_id"], "edges_down": ["in_id", "out_id"]}


def _walks(included: list[str]) -> None:
    """Make the indexes of walks anew; in SQLite they have the row's id as they are."""
    if op.get_bind().dialect.name == "sqlite":
        return
    for name, ends in _ENDS.items():
        op.drop_index(name, "edges")
        op.create_index(name, "edges", [*ends, *_MORE], postgresql_include=included)


def upgrade() -> None:
    """Make the table and the indexes; the texts that there are stay as they are."""
    op.create_table(
        "pieces",
        sa.Column("hash", sa.Text, primary_key=True),
        sa.Column("seen", sa.BigInteger, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
    )
    op.create_index("pieces_seen", "pieces", ["seen"])
    op.create_index("names_by_name", "names", ["name"], postgresql_using="hash")
    _walks(["id"])


def downgrade() -> None:
    """Drop them: for a store whose events have no references."""
    _walks([])
    op.drop_index("names_by_name", "names")
    op.drop_index("pieces_seen", "pieces")
    op.drop_table("pieces")
