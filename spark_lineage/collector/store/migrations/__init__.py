"""Changes of the tables, each a step of Alembic; see ``migrate``."""
