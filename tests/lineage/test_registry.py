"""The everyday operators have rules, under names that Spark has."""

from __future__ import annotations

from typing import Any

import pytest

import spark_lineage.lineage  # noqa: F401  (importing registers)
from spark_lineage.lineage.rule import registered

pytestmark = pytest.mark.spark

OPERATORS = (
    "Aggregate AsOfJoin CTERelationDef CTERelationRef CoGroup CollectMetrics Deduplicate",
    "DeduplicateWithinWatermark DeserializeToObject Distinct EventTimeWatermark Except Expand",
    "Filter FlatMapCoGroupsInPandas FlatMapGroupsInPandas Generate GlobalLimit Intersect Join",
    "LateralJoin LocalLimit LocalRelation MapElements MapGroups MapInPandas MapPartitions Offset",
    "OneRowRelation Project Range RebalancePartitions Repartition RepartitionByExpression",
    "ResolvedHint Sample SerializeFromObject Sort SubqueryAlias TypedFilter Union View Window",
    "WithCTE",
)
LOGICAL = "org.apache.spark.sql.catalyst.plans.logical."


def test_operators_exist_in_spark_and_have_rules(spark: Any) -> None:
    rules = registered()
    loader = spark._jvm.java.lang.Thread.currentThread().getContextClassLoader()
    for name in " ".join(OPERATORS).split():
        assert name in rules
        assert spark._jvm.java.lang.Class.forName(LOGICAL + name, False, loader) is not None
