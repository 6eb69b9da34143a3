"""The registry of rules: one function for each class of plan nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from spark_lineage.errors import LineageError
from spark_lineage.lineage.column import State
from spark_lineage.plan.node import PlanNode

if TYPE_CHECKING:
    from spark_lineage.lineage.fold import Fold

Rule = Callable[["Fold", PlanNode], State]

_RULES: dict[str, Rule] = {}


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Register a rule for plan nodes by Spark's simple class names; twice is refused."""

    def register(function: Rule) -> Rule:
        for name in names:
            if name in _RULES:
                raise LineageError(f"the plan node {name} has two rules")
            _RULES[name] = function
        return function

    return register


def rule_of(name: str) -> Rule | None:
    """The rule for a class of plan nodes, or None if there is none."""
    return _RULES.get(name)


def registered() -> dict[str, Rule]:
    """All rules by class name (a copy)."""
    return dict(_RULES)
