"""Lineage from plans: what each column is made of, and what the rows depend on."""

from spark_lineage.lineage.derive import derive
from spark_lineage.lineage.fallback import datasets_only
from spark_lineage.lineage.memory import Memory
from spark_lineage.lineage.model import Lineage
from spark_lineage.lineage.options import LineageOptions

__all__ = ["Lineage", "LineageOptions", "Memory", "datasets_only", "derive"]
