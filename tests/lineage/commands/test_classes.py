"""Every command class of the installed Spark has a rule, or a reason why it needs none."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any, Final

import pytest

import spark_lineage.lineage.derive  # noqa: F401  (importing registers)
from spark_lineage.agent.verbs import VERB_OF
from spark_lineage.lineage.rule import registered

pytestmark = pytest.mark.spark

COMMAND = "org.apache.spark.sql.catalyst.plans.logical.Command"
PLAN = "org.apache.spark.sql.catalyst.plans.logical.LogicalPlan"
JARS = ("spark-catalyst_*.jar", "spark-sql_*.jar", "spark-hive_*.jar")

#: Command classes without a rule, by the reason why none is needed.
REASONS: Final = {
    "a step of a script: each statement in it is a query of its own": (
        "CloseCursor CompoundBody DeclareCursor FetchCursor OpenCursor"
    ),
    "only pipelines take it, which run it as flows": (
        "CreateFlowCommand CreateMaterializedViewAsSelect CreateStreamingTable"
        " CreateStreamingTableAsSelect CreateStreamingTableAutoCdc"
    ),
    "a text that a data source runs: it has the conservative rule": "ExternalCommandExecutor",
}
#: Row-level commands and streams have rules, or the conservative one, in their own modules.
ELSEWHERE: Final = frozenset({
    "DeleteFromTable", "DeleteFromTableWithFilters", "InsertOnlyMerge", "MergeIntoTable",
    "ReplaceData", "UpdateTable", "WriteDelta",
})  # fmt: skip


@pytest.fixture(scope="module")
def commands(spark: Any) -> set[str]:
    """The simple names of all commands in Spark's own jars."""
    import pyspark

    java = spark._jvm.java.lang
    loader = java.Thread.currentThread().getContextClassLoader()

    def load(name: str) -> Any:
        return java.Class.forName(name, False, loader)

    command, plan = load(COMMAND), load(PLAN)
    found = set()
    for name in class_names(Path(pyspark.__file__).parent / "jars"):
        loaded = load(name)
        abstract = java.reflect.Modifier.isAbstract(loaded.getModifiers())
        if not abstract and command.isAssignableFrom(loaded) and plan.isAssignableFrom(loaded):
            found.add(name.rsplit(".", 1)[-1])
    return found


def class_names(jars: Path) -> list[str]:
    """The top-level classes where commands lie; by their files, which no session need load."""
    homes = ("/catalyst/plans/logical/", "/execution/", "/hive/")
    found = []
    for pattern in JARS:
        for jar in jars.glob(pattern):
            for path in zipfile.ZipFile(jar).namelist():
                plain = path.endswith(".class") and "$" not in path
                # A command is a case class: it has a companion, and its name is no operator's.
                if plain and path.startswith("org/apache/spark/sql/") and _may_be(path, homes):
                    found.append(path.removesuffix(".class").replace("/", "."))
    return found


def _may_be(path: str, homes: tuple[str, ...]) -> bool:
    return any(home in path for home in homes) and not path.endswith("Exec.class")


def test_every_command_has_a_rule_or_a_reason(commands: set[str]) -> None:
    reasons = set(" ".join(REASONS.values()).split())
    assert len(commands) > 100
    assert commands - set(registered()) - reasons - ELSEWHERE == set()
    assert reasons & set(registered()) == set(), "what has a rule needs no reason"


def test_verbs_are_of_commands_that_have_rules() -> None:
    assert set(VERB_OF) - set(registered()) - ELSEWHERE == set()
