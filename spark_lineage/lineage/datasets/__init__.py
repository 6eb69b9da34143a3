"""Which data set a relation, a table, a path or a connector's options name."""

from spark_lineage.lineage.datasets.naming import Naming
from spark_lineage.lineage.datasets.schema import Schema, parse_schema

__all__ = ["Naming", "Schema", "parse_schema"]
