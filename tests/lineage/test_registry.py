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

#: Classes without a rule, by the reason why none is needed, or is missing yet.
GAPS: Final = {
    "the analysis replaces it by other nodes": (
        "DataFrameDropColumns MetricViewPlaceholder NamedStreamingRelation"
        " NonGroupingAggregateReference Pivot ResolvedMetricView SQLTableFunction UnresolvedBinBy"
        " UnresolvedDeduplicate UnresolvedInsert UnresolvedQualify UnresolvedWith Unpivot"
        " V2ChangelogReference V2TableReference Zip"
    ),
    "the optimizer makes it, of an expression or a node of the analyzed plan": (
        "ArrowEvalPython ArrowEvalPythonUDTF BatchEvalPython BatchEvalPythonUDTF DomainJoin"
        " OrderedJoin ScanBuilderHolder WindowGroupLimit WriteFiles"
    ),
    "a step of a script: each statement in it is a query of its own": (
        "ErrorCondition ExceptionHandler ForStatement IfElseStatement IterateStatement"
        " LeaveStatement LoopStatement RepeatStatement SearchedCaseStatement SimpleCaseStatement"
        " SingleStatement WhileStatement"
    ),
    "holds expressions while an encoder is resolved, never a query": "DummyExpressionHolder",
    "streams and pipelines: they have the conservative rule yet": (
        "AutoCdcInto OffsetHolder StreamingExecutionRelation"
        " WriteToContinuousDataSource WriteToStream WriteToStreamStatement"
    ),
}


def relational_classes(spark: Any) -> set[str]:
    """The simple names of all resolved plans in Spark's own jars that are no commands."""
    import pyspark

    java = spark._jvm.java.lang
    loader = java.Thread.currentThread().getContextClassLoader()

    def load(name: str) -> Any:
        return java.Class.forName(name, False, loader)

    plan, command = load(LOGICAL + "LogicalPlan"), load(LOGICAL + "Command")
    unresolved = load("org.apache.spark.sql.catalyst.analysis.UnresolvedNode")
    known, found = set(registered()), set()
    for path in class_files(Path(pyspark.__file__).parent / "jars"):
        name = path.removesuffix(".class").replace("/", ".")
        simple = name.rsplit(".", 1)[-1]
        loaded = None if simple in known else load(name)
        if loaded is None or not plan.isAssignableFrom(loaded):
            continue
        abstract = java.reflect.Modifier.isAbstract(loaded.getModifiers())
        if not abstract and not any(
            other.isAssignableFrom(loaded) for other in (command, unresolved)
        ):
            found.add(simple)
    return found


def class_files(jars: Path) -> list[str]:
    """The top-level classes of Catalyst and of Spark SQL, less those that are expressions."""
    found = []
    for jar in [*jars.glob("spark-catalyst_*.jar"), *jars.glob("spark-sql_*.jar")]:
        for name in zipfile.ZipFile(jar).namelist():
            ours = name.startswith("org/apache/spark/sql/") and "/expressions/" not in name
            if ours and name.endswith(".class") and "$" not in name:
                found.append(name)
    return found


def test_operators_exist_in_spark_and_have_rules(spark: Any) -> None:
    rules = registered()
    loader = spark._jvm.java.lang.Thread.currentThread().getContextClassLoader()
    for name in " ".join(OPERATORS).split():
        assert name in rules
        assert spark._jvm.java.lang.Class.forName(LOGICAL + name, False, loader) is not None


def test_every_relational_class_has_a_rule_or_a_reason(spark: Any) -> None:
    explained = set(" ".join(GAPS.values()).split())
    assert relational_classes(spark) - explained == set()
    assert explained & set(registered()) == set(), "what has a rule needs no reason"
