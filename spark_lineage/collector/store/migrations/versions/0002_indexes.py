"""The indexes of the first tables."""

from __future__ import annotations

from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_INDEXES = (
    ("datasets_by_name", "datasets", ["name"]),
    ("events_by_time", "events", ["time"]),
    ("events_of_run", "events", ["run_id"]),
    ("events_received", "events", ["received"]),
    ("facets_by_name", "facets", ["name", "kind"]),
    ("names_of_alias", "names", ["alias_id"]),
    ("quarantine_by_state", "quarantine", ["state", "id"]),
    ("columns_of_dataset", "columns", ["dataset_id", "whole"]),
    ("columns_of_root", "columns", ["dataset_id", "root"]),
    ("definitions_of_output", "definitions", ["output_id"]),
    ("job_edges_from", "job_edges", ["from_id"]),
    ("job_io_of_name", "job_io", ["name_id"]),
    ("meanings_of_dataset", "meanings", ["dataset_id"]),
    ("part_names_of_name", "part_names", ["name_id"]),
    ("runs_by_time", "runs", ["last"]),
    ("runs_of_job", "runs", ["job_id", "last"]),
    ("runs_unexplained", "runs", ["unexplained"]),
    ("symlinks_of_name", "symlinks", ["name_id"]),
    ("symlinks_to_name", "symlinks", ["to_id"]),
    ("claims_of_definition", "claims", ["definition_id", "time"]),
    ("claims_of_name", "claims", ["name_id"]),
    ("claims_of_output", "claims", ["output_id", "job_id", "time"]),
    ("claims_of_part", "claims", ["part_id"]),
    ("definitions_of_column", "definition_columns", ["column_id"]),
    ("edges_down", "edges", ["in_id"]),
    ("edges_of_output", "edges", ["output_id", "job_id"]),
    ("edges_up", "edges", ["out_id"]),
    ("renames_from", "renames", ["from_id"]),
    ("renames_to", "renames", ["to_id"]),
    ("run_inputs_of_name", "run_inputs", ["name_id", "run_id"]),
    ("definitions_of_edge", "definition_edges", ["edge_id"]),
)


def upgrade() -> None:
    """Make them."""
    for name, table, columns in _INDEXES:
        op.create_index(name, table, columns)


def downgrade() -> None:
    """Drop them."""
    for name, table, _ in reversed(_INDEXES):
        op.drop_index(name, table)
