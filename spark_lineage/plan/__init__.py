"""Plans as the bridge recorded them: decoding, nodes, walks. Knows nothing of lineage."""

from spark_lineage.plan.decode import FORMAT_VERSION, decode
from spark_lineage.plan.node import Expression, PlanNode, Record, Shape

__all__ = ["FORMAT_VERSION", "Expression", "PlanNode", "Record", "Shape", "decode"]
