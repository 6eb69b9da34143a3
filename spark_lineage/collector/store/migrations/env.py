"""Run by Alembic: on the connection that ``migrate.up`` hands over, in its transaction."""

from __future__ import annotations

from alembic import context

from spark_lineage.collector.store import schema

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=schema.metadata,
    # SQLite changes a table by copying it.
    render_as_batch=True,
    transactional_ddl=False,
)
context.run_migrations()
