"""Observed influences, and the score of lineages beside them.

The rules are those of the truth's own ``score.py``: outputs are matched by
position, names compare in lower case, and of a source only its table and its
column count (two roles of one table are one column).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from spark_lineage.lineage import Lineage
from spark_lineage.lineage.model import Kind, Output, Source

Pair = tuple[str, str, str]
"""Query, output column, ``table.column``."""


@dataclass(frozen=True)
class Truth:
    """What was observed of one query: for each output, in order, the columns that change it."""

    id: str
    outputs: tuple[str, ...]
    influences: tuple[frozenset[str], ...]


def load(path: Path) -> dict[str, Truth]:
    """The truth of each query, by id."""
    found = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        outputs = tuple(row["outputs"])
        seen = tuple(frozenset(c.lower() for c in row["influences"][o]) for o in outputs)
        found[row["id"]] = Truth(row["id"], outputs, seen)
    return found


def short(source: Source) -> str:
    """``table.column`` of a source, in lower case."""
    return f"{source.name.rsplit('.', 1)[-1]}.{source.field}".lower()


def result(lineage: Lineage) -> Output:
    """The one output of a query that writes nothing."""
    (output,) = lineage.outputs
    return output


@dataclass
class Score:
    """Counts over the queries scored so far."""

    queries: int = 0
    observed: int = 0
    hit: int = 0
    #: What was observed and is in no edge.
    missed: list[Pair] = field(default_factory=list)
    direct: int = 0
    #: Direct, and never observed.
    direct_unobserved: list[Pair] = field(default_factory=list)
    pairs: int = 0
    #: Named by something else than SORT alone, and never observed, with the kinds that name it.
    unobserved: list[tuple[Pair, tuple[str, ...]]] = field(default_factory=list)

    def add(self, truth: Truth, output: Output) -> None:
        """Compare one query's lineage; its outputs are matched by position."""
        columns = [column for column in output.columns if "." not in column.name]
        if len(columns) != len(truth.outputs):
            raise AssertionError(
                f"{truth.id}: {len(columns)} outputs where {len(truth.outputs)} are observed"
            )
        self.queries += 1
        for name, seen, column in zip(truth.outputs, truth.influences, columns, strict=True):
            direct = {short(source) for source in column.direct}
            kinds = kinds_of((*column.direct, *column.indirect, *output.indirect))
            self.observed += len(seen)
            self.hit += len(seen & set(kinds))
            self.missed += [(truth.id, name, item) for item in sorted(seen - set(kinds))]
            self.direct += len(direct)
            self.direct_unobserved += [(truth.id, name, i) for i in sorted(direct - seen)]
            for item, named in sorted(kinds.items()):
                others = tuple(sorted(kind for kind in named if kind != Kind.SORT.value))
                if others:
                    self.pairs += 1
                    if item not in seen:
                        self.unobserved.append(((truth.id, name, item), others))

    @property
    def direct_share(self) -> float:
        """The share of direct pairs that were observed."""
        return 1 - len(self.direct_unobserved) / max(1, self.direct)

    @property
    def share(self) -> float:
        """The share of all pairs, SORT left out, that were observed."""
        return 1 - len(self.unobserved) / max(1, self.pairs)

    def text(self) -> str:
        """The figures, for people."""
        by_kind = Counter("+".join(kinds) for _, kinds in self.unobserved)
        return "\n".join(
            (
                f"queries                              {self.queries}",
                f"observed influences in the lineage   {self.hit}/{self.observed}",
                f"direct pairs observed                {self.direct_share:.2%} of {self.direct}",
                f"all pairs but SORT observed          {self.share:.2%} of {self.pairs}",
                f"never observed, by kind              {dict(by_kind.most_common())}",
            )
        )


def kinds_of(sources: Iterable[Source]) -> Mapping[str, set[str]]:
    """The kinds by which each ``table.column`` is named."""
    found: dict[str, set[str]] = {}
    for source in sources:
        found.setdefault(short(source), set()).add(source.kind.value)
    return found
