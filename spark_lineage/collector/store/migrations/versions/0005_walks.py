"""Indexes that hold all that a walk reads, and of the few rows that intake must know of."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

_MORE = ["job_id", "output_id", "kind", "masking", "closed"]
_ENDS = {"edges_up": ["out_id", "in_id"], "edges_down": ["in_id", "out_id"]}

# Of a few rows of a large table each.
_FEW = (
    ("columns_nested", "columns", ["dataset_id"], "path <> root"),
    ("edges_closed", "edges", ["output_id", "job_id"], "closed IS NOT NULL"),
    ("meanings_later", "meanings", ["name_id"], "since > -100000000000000000"),
)


def upgrade() -> None:
    """Make them."""
    for name, ends in _ENDS.items():
        op.drop_index(name, "edges")
        op.create_index(name, "edges", [*ends, *_MORE])
    for name, table, columns, where in _FEW:
        few = sa.text(where)
        op.create_index(name, table, columns, sqlite_where=few, postgresql_where=few)


def downgrade() -> None:
    """Make the shorter ones of before."""
    for name, table, _, _ in _FEW:
        op.drop_index(name, table)
    for name, ends in _ENDS.items():
        op.drop_index(name, "edges")
        op.create_index(name, "edges", ends[:1])
