"""New rows cost less in PostgreSQL: no checks of derived ones, names searched for from a list."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

_DERIVED = {
    "columns": {"dataset_id": "datasets"},
    "edges": {
        "job_id": "jobs", "output_id": "datasets", "out_id": "columns", "in_id": "columns",
    },
    "definition_edges": {"definition_id": "definitions", "edge_id": "edges"},
    "definition_columns": {"definition_id": "definitions", "column_id": "columns"},
}  # fmt: skip


def _searched(settings: str) -> None:
    for table in ("names", "columns", "jobs"):
        op.execute(f"ALTER INDEX IF EXISTS {table}_trigrams {settings}")


def upgrade() -> None:
    """Drop the checks, and let the index of names gather new ones."""
    bind = op.get_bind()
    if bind.dialect.name == "sqlite":
        return
    for table in _DERIVED:
        for key in sa.inspect(bind).get_foreign_keys(table):
            op.drop_constraint(str(key["name"]), table, type_="foreignkey")
    _searched("SET (fastupdate = on, gin_pending_list_limit = 256)")


def downgrade() -> None:
    """Check again."""
    if op.get_bind().dialect.name == "sqlite":
        return
    for table, keys in _DERIVED.items():
        for name, target in keys.items():
            op.create_foreign_key(f"{table}_{name}_fkey", table, target, [name], ["id"])
    _searched("SET (fastupdate = off)")
