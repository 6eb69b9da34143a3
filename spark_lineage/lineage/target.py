"""What a command writes: the data set and, by its own column names, what each is made of."""

from __future__ import annotations

from dataclasses import dataclass, field

from spark_lineage.lineage.column import Column
from spark_lineage.lineage.lanes import Lanes
from spark_lineage.lineage.model import Dataset


@dataclass
class Target:
    """One output of a command."""

    dataset: Dataset | None
    columns: list[tuple[str, Column, str | None]] = field(default_factory=list)
    rows: Lanes = field(default_factory=dict)
    issues: frozenset[str] = frozenset()
    lifecycle: str | None = None
    previous: tuple[str, str] | None = None
    #: False: named, but left as it was; None: only nested executions can tell.
    written: bool | None = True
