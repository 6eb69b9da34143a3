"""Every relational class of Spark's logical plans has a rule, or a reason why it needs none."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any, Final

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

#: Classes that are in no analyzed plan, so that no rule ever sees them, by what removes them.
GAPS: Final = {
    "the analysis replaces it by other nodes": (
        "DataFrameDropColumns Pivot UnresolvedBinBy UnresolvedInsert UnresolvedWith Unpivot Zip"
    ),
    "the optimizer makes it, of an expression or a node of the analyzed plan": (
        "ArrowEvalPython ArrowEvalPythonUDTF BatchEvalPython BatchEvalPythonUDTF DomainJoin"
        " WindowGroupLimit"
    ),
    "the analysis runs it, what is left is its result": "Call",
    "a step of a script: each statement in it is a query of its own": (
        "ErrorCondition ExceptionHandler ForStatement IfElseStatement IterateStatement"
        " LeaveStatement LoopStatement RepeatStatement SearchedCaseStatement SimpleCaseStatement"
        " SingleStatement WhileStatement"
    ),
    "declares a flow of a pipeline, which runs as a streaming query": "AutoCdcInto",
    "row-level commands: they have the conservative rule yet": "MergeRows",
}


def logical_classes(spark: Any) -> set[str]:
    """The simple names of all logical plans in Spark's own jar that are no commands."""
    import pyspark

    (jar,) = Path(pyspark.__file__).parent.glob("jars/spark-catalyst_*.jar")
    names = zipfile.ZipFile(jar).namelist()
    folder = LOGICAL.replace(".", "/")
    java = spark._jvm.java.lang
    loader = java.Thread.currentThread().getContextClassLoader()

    def load(name: str) -> Any:
        return java.Class.forName(LOGICAL + name, False, loader)

    plan, command = load("LogicalPlan"), load("Command")
    found = set()
    for name in names:
        simple = name.removeprefix(folder).removesuffix(".class")
        if not name.startswith(folder) or not name.endswith(".class") or set(simple) & set("$/"):
            continue
        loaded = load(simple)
        abstract = java.reflect.Modifier.isAbstract(loaded.getModifiers())
        if plan.isAssignableFrom(loaded) and not abstract and not command.isAssignableFrom(loaded):
            found.add(simple)
    return found


def test_operators_exist_in_spark_and_have_rules(spark: Any) -> None:
    rules = registered()
    loader = spark._jvm.java.lang.Thread.currentThread().getContextClassLoader()
    for name in " ".join(OPERATORS).split():
        assert name in rules
        assert spark._jvm.java.lang.Class.forName(LOGICAL + name, False, loader) is not None


def test_every_relational_class_has_a_rule_or_a_reason(spark: Any) -> None:
    explained = set(" ".join(GAPS.values()).split())
    rules = registered()
    assert logical_classes(spark) - set(rules) - explained == set()
    assert explained & set(rules) == set(), "what has a rule needs no reason"
