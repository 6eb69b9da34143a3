"""The self-check: what the query reads against what the lineage says.

The optimizer prunes each column that nothing needs, so a column that the
optimized plan refers to above its leaf, or that was pushed into a scan, and
that is in no edge is a fault of the rules, unless a named reason explains it.
This reads the optimized plan and the scans only; it shares no code with the
rules but the names of data sets, and adds no edge.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

from spark_lineage.lineage.datasets import Naming
from spark_lineage.lineage.model import Dataset, Output, Unexplained
from spark_lineage.plan.node import PlanNode, Record
from spark_lineage.plan.walk import reachable

_DISTRIBUTION: Final = frozenset({"RepartitionByExpression", "RebalancePartitions"})
_METRIC: Final = frozenset({"CollectMetrics"})
_CARRIED: Final = frozenset(
    {"ReplaceData", "WriteDelta", "MergeRows", "DeleteFromTable", "UpdateTable", "MergeIntoTable"}
)
_LEAVES: Final = frozenset(
    {
        "LogicalRelation",
        "HiveTableRelation",
        "DataSourceV2Relation",
        "DataSourceV2ScanRelation",
        "StreamingRelation",
        "StreamingDataSourceV2Relation",
        "StreamingDataSourceV2ScanRelation",
    }
)
Field = tuple[str, str, str]


class Reading:
    """What the optimized plan and the scans say of a record's query."""

    def __init__(self, record: Record, naming: Naming) -> None:
        self.record = record
        self.naming = naming
        self.datasets: set[Dataset] = set()
        self.certain = record.optimized is not None
        self.referred: dict[Field, set[str]] = {}
        self.scanned: set[Field] = set()
        self._columns: dict[int, list[Field]] = {}
        if record.optimized is not None:
            self._plan(record.optimized)

    def read(self, dataset: Dataset) -> bool:
        """Whether this run scans a data set; true where that cannot be told."""
        return not self.certain or dataset in self.datasets

    def _plan(self, root: int) -> None:
        record = self.record
        plans = self._nodes(root)
        for ref in plans:
            name = record.shape(ref).name
            if name in _LEAVES:
                self._leaf(PlanNode(record, ref))
            elif name in ("InMemoryRelation", "LogicalRDD", "LogicalQueryStage"):
                # What is behind a cache is not in this plan.
                self.certain = False
        for ref in plans:
            name = record.shape(ref).name
            if name not in _LEAVES:
                self._refer(PlanNode(record, ref), _reason(name))
        for ref in record.node(root).output():
            self._note(ref, "")
        for scan in record.scans:
            self._scan(scan)

    def _nodes(self, root: int) -> list[int]:
        """The nodes of the optimized plan: children, and the plans of subqueries.

        A plan in another field (a command's query, what a cache was made of)
        is not optimized: its leaves list what nothing needs.
        """
        record = self.record
        found: set[int] = set()
        stack = [root]
        while stack:
            ref = stack.pop()
            if ref in found:
                continue
            found.add(ref)
            node = PlanNode(record, ref)
            stack.extend(node.children)
            children = set(node.children)
            for _, raw in node.fields():
                for field_ref in record.refs(raw):
                    if record.shape(field_ref).kind == "E":
                        stack.extend(self._subqueries(field_ref))
                    elif record.shape(field_ref).kind == "P" and field_ref not in children:
                        self.certain = False
        return sorted(found)

    def _subqueries(self, root: int) -> list[int]:
        record = self.record
        found: list[int] = []
        stack, seen = [root], {root}
        while stack:
            ref = stack.pop()
            row = record.rows[ref]
            shape = record.shapes[row[0]]
            if shape.kind == "P":
                found.append(ref)
                continue
            below = list(row[1] or []) if shape.kind == "E" else []
            position = shape.position.get("plan")
            if position is not None:
                below.extend(record.refs(row[position]))
            for child in below:
                if child not in seen:
                    seen.add(child)
                    stack.append(child)
        return found

    def _leaf(self, node: PlanNode) -> None:
        if node.class_name == "DataSourceV2ScanRelation" and node.refs("relation"):
            named = PlanNode(self.record, node.refs("relation")[0])
            datasets = self.naming.relation(named)
        else:
            datasets = self.naming.relation(node)
        self.datasets.update(datasets)
        for ref in node.output():
            if "__metadata_col" in (self.record.expression(ref).text("metadata") or ""):
                continue
            expr_id = self.record.expr_id(ref)
            if expr_id is not None:
                name = self.record.name(ref)
                self._columns[expr_id] = [(d.namespace, d.name, name) for d in datasets]

    def _refer(self, node: PlanNode, reason: str) -> None:
        roots = [
            ref
            for _, raw in node.fields()
            for ref in self.record.refs(raw)
            if self.record.shape(ref).kind != "P"
        ]
        stack, seen = roots, set(roots)
        while stack:
            ref = stack.pop()
            shape = self.record.shape(ref)
            if shape.kind == "P":
                continue
            if shape.name == "AttributeReference":
                self._note(ref, reason)
                continue
            row = self.record.rows[ref]
            below = list(row[1] or []) if shape.kind == "E" else []
            for raw in row[2 if shape.kind == "E" else 1 :]:
                below.extend(self.record.refs(raw))
            for child in below:
                if child not in seen:
                    seen.add(child)
                    stack.append(child)

    def _note(self, ref: int, reason: str) -> None:
        expr_id = self.record.expr_id(ref)
        for field in self._columns.get(expr_id, ()) if expr_id is not None else ():
            self.referred.setdefault(field, set()).add(reason)

    def _scan(self, scan: dict[str, object]) -> None:
        for key in ("partitionFilters", "dataFilters"):
            for ref in self.record.refs(scan.get(key)):
                if ref < len(self.record.rows):
                    for inner in reachable(self.record, [ref]):
                        if self.record.shape(inner).name == "AttributeReference":
                            self._note(inner, "")
        for ref in self.record.refs(scan.get("output")):
            expr_id = self.record.expr_id(ref)
            if expr_id is not None:
                self.scanned.update(self._columns.get(expr_id, ()))


def _reason(name: str) -> str:
    if name in _DISTRIBUTION:
        return "DISTRIBUTION"
    if name in _METRIC:
        return "METRIC"
    if name in _CARRIED:
        return "CARRIED_OVER"
    return ""


def check(
    reading: Reading, outputs: Iterable[Output]
) -> tuple[tuple[Unexplained, ...], dict[str, int]]:
    """The columns read that no edge and no reason explains, and how many each reason explains."""
    edges: set[Field] = set()
    for output in outputs:
        lists = [output.indirect]
        for column in output.columns:
            lists.extend((column.direct, column.indirect))
        for sources in lists:
            for source in sources:
                edges.add((source.namespace, source.name, source.field.lower()))
                top = source.field.split(".", 1)[0]
                edges.add((source.namespace, source.name, top.lower()))
    explained: Counter[str] = Counter()
    unexplained: list[Unexplained] = []
    for (namespace, name, field), reasons in sorted(reading.referred.items()):
        if (namespace, name, field.lower()) in edges:
            continue
        named = sorted(reason for reason in reasons if reason)
        if "" not in reasons and named:
            explained[named[0]] += 1
        else:
            unexplained.append(Unexplained(namespace, name, field))
    explained["SCAN"] += sum(
        1
        for namespace, name, field in reading.scanned
        if (namespace, name, field) not in reading.referred
        and (namespace, name, field.lower()) not in edges
    )
    return tuple(unexplained), {key: count for key, count in explained.items() if count}
