"""A run between its start and its end."""

from __future__ import annotations

from dataclasses import dataclass, field

from spark_lineage.lineage.model import Lineage
from spark_lineage.lineage.statistics import Statistics
from spark_lineage.openlineage.run import Run


@dataclass
class OpenRun:
    """A run whose end has not been seen."""

    run: Run
    started: bool = False
    filtered: bool = False
    has_nested: bool = False
    lineage: Lineage | None = None
    nested: dict[int, Lineage] = field(default_factory=dict)
    """The lineages of the executions inside, by their numbers: an outer one began before."""
    statistics: Statistics = field(default_factory=Statistics)
    issues: list[str] = field(default_factory=list)

    def inside(self) -> list[Lineage]:
        """The lineages of the executions inside, the outer ones first."""
        return [self.nested[number] for number in sorted(self.nested)]
