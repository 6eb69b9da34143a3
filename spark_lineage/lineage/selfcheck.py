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
from heapq import heappop, heappush
from typing import Any, Final

from spark_lineage.lineage.datasets import Naming
from spark_lineage.lineage.datasets.lakehouse import reader_made
from spark_lineage.lineage.model import Dataset, Output, Unexplained
from spark_lineage.plan.node import Expression, PlanNode, Record

_REASONS: Final = {
    "RepartitionByExpression": "DISTRIBUTION",
    "RebalancePartitions": "DISTRIBUTION",
    "CollectMetrics": "METRIC",
    "ReplaceData": "CARRIED_OVER",
    "WriteDelta": "CARRIED_OVER",
    "MergeRows": "CARRIED_OVER",
    "DeleteFromTable": "CARRIED_OVER",
    "UpdateTable": "CARRIED_OVER",
    "MergeIntoTable": "CARRIED_OVER",
    "DeleteHoodieTableCommand": "CARRIED_OVER",
    "MergeIntoHoodieTableCommand": "CARRIED_OVER",
    "UpdateHoodieTableCommand": "CARRIED_OVER",
}
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
#: Nodes whose output is named by the same ids as the child's or by their own expressions: a
#: child's column counts as read only where an expression says so.
_BY_ID: Final = frozenset(
    {
        "Aggregate",
        "CollectMetrics",
        "Expand",
        "Filter",
        "Generate",
        "GlobalLimit",
        "Join",
        "LocalLimit",
        "Offset",
        "Project",
        "RebalancePartitions",
        "Repartition",
        "RepartitionByExpression",
        "ResolvedHint",
        "Sample",
        "Sort",
        "SubqueryAlias",
        "Window",
    }
)
_OPAQUE: Final = frozenset({"InMemoryRelation", "LogicalRDD", "LogicalQueryStage", "ExternalRDD"})
_READ: Final = frozenset({""})
_CARRIED: Final = frozenset({"CARRIED_OVER"})
_FIXED: Final = frozenset({"FIXED_ROWS"})
#: NEAREST BY is optimized to an aggregate of this name, which packs the right side's whole rows;
#: they are unpacked under the same ids, so what is needed of them shows above.
_NEAREST: Final = "__nearest_matches__"

Field = tuple[str, str, str]
Reasons = frozenset[str] | set[str]


class Reading:
    """What the optimized plan and the scans say of a record's query."""

    def __init__(self, record: Record, naming: Naming) -> None:
        self.record = record
        self.naming = naming
        self.datasets: set[Dataset] = set()
        #: Whether a data set that is not there was surely not read.
        self.certain = record.optimized is not None
        self.referred: dict[Field, Reasons] = {}
        self.scanned: set[Field] = set()
        self._columns: dict[int, list[Field]] = {}
        self._uses: dict[int, set[str]] = {}
        self._offset = [{"P": 3, "E": 2, "O": 1}[shape.kind] for shape in record.shapes]
        if record.optimized is not None:
            self._plan(record.optimized)

    def read(self, dataset: Dataset) -> bool:
        """Whether this run scans a data set; true where that cannot be told."""
        return not self.certain or dataset in self.datasets

    def _plan(self, root: int) -> None:
        record = self.record
        self._note_all(record.node(root).output(), _READ)
        pending, seen = [-root], {root}
        # From the root down: whoever uses a column stands behind it in the table.
        while pending:
            node = PlanNode(record, -heappop(pending))
            below = list(node.children)
            if node.class_name in _LEAVES:
                self._leaf(node)
            else:
                if node.class_name in _OPAQUE:
                    # What is behind a cache is not of this plan.
                    self.certain = False
                else:
                    below.extend(self._node(node))
            for child in below:
                if child not in seen:
                    seen.add(child)
                    heappush(pending, -child)
        for scan in record.scans:
            self._scan(scan)
        for expr_id, fields in self._columns.items():
            reasons = self._uses.get(expr_id)
            if reasons:
                for field in fields:
                    self.referred[field] = self.referred.get(field, frozenset()) | reasons

    def _leaf(self, node: PlanNode) -> None:
        named = node
        if node.class_name.endswith("DataSourceV2ScanRelation") and node.refs("relation"):
            named = PlanNode(self.record, node.refs("relation")[0])
        datasets = self.naming.relation(named)
        self.datasets.update(datasets)
        made = reader_made(self.record, named)
        # What a source aggregates itself is no column of its.
        stored = {self.record.expr_id(ref) for ref in named.output()}
        remote = self.naming.remote(named)
        for ref in node.output():
            if "__metadata_col" in (self.record.expression(ref).text("metadata") or ""):
                continue
            expr_id = self.record.expr_id(ref)
            name = self.record.name(ref)
            if made is None or name in made or expr_id not in stored:
                continue
            if expr_id is not None:
                if remote is not None:
                    self._columns[expr_id] = remote.fields(name)
                else:
                    self._columns[expr_id] = [(d.namespace, d.name, name) for d in datasets]

    def _node(self, node: PlanNode) -> list[int]:
        """Note what a node's expressions refer to; gives the plans of its subqueries."""
        record = self.record
        reason = frozenset({_REASONS.get(node.class_name, "")})
        if node.class_name == "Union":
            self._positional(node)
        elif node.class_name not in _BY_ID:
            # By position, or into a table: every column of the child counts.
            for child in node.children:
                self._note_all(record.node(child).output(), reason)
        subqueries: list[int] = []
        children = set(node.children)
        for field, raw in node.fields():
            if field == "generatorOutput":
                # What a generator makes is not what it reads.
                continue
            if field == "projections" and isinstance(raw, list):
                for projection in raw:
                    self._by_place(node.output(), record.refs(projection), subqueries)
                continue
            if field == "generator" and self._made_in_place(node, subqueries):
                continue
            for ref in record.refs(raw):
                kind = record.shape(ref).kind
                if kind == "P":
                    # A plan in another field than children is not optimized.
                    self.certain = self.certain and ref in children
                elif field in ("projectList", "aggregateExpressions", "windowExpressions"):
                    self._named(ref, subqueries)
                else:
                    self._expression(ref, reason, subqueries)
        return subqueries

    def _made_in_place(self, node: PlanNode, subqueries: list[int]) -> bool:
        """Note what a generator of as many rows as are written reads; False for any other one.

        The values in one place are read for the column that they become, and if nothing needs
        that for nothing: they do not decide how many rows there are.
        """
        record = self.record
        generator = record.expression(node.refs("generator")[0])
        made = node.refs("generatorOutput")
        values = self._rows_of(generator)
        if values is None:
            return False
        if generator.class_name == "PosExplode":
            made = made[1:]
        for row in values:
            for own, ref in zip(made, row, strict=False):
                expr_id = record.expr_id(own)
                reasons = self._uses.get(expr_id) if expr_id is not None else None
                self._expression(ref, reasons or _FIXED, subqueries)
        return True

    def _rows_of(self, generator: Expression) -> list[list[int]] | None:
        """The values of each row that a generator writes, where they are written one by one."""
        if generator.class_name == "Stack":
            values, rows = generator.children[1:], self._whole(generator.children[0])
            width = -(-len(values) // rows) if rows else 0
            if not width:
                return None
            return [values[at : at + width] for at in range(0, len(values), width)]
        if generator.class_name not in ("Explode", "PosExplode", "Inline"):
            return None
        array = self._uncast(generator.children[0])
        if array.class_name != "CreateArray":
            return None
        if generator.class_name != "Inline":
            return [[ref] for ref in array.children]
        structs = [self._uncast(ref) for ref in array.children]
        if any(struct.class_name != "CreateNamedStruct" for struct in structs):
            return None
        return [struct.children[1::2] for struct in structs]

    def _uncast(self, ref: int) -> Expression:
        found = self.record.expression(ref)
        while found.class_name == "Cast":
            found = self.record.expression(found.children[0])
        return found

    def _whole(self, ref: int) -> int | None:
        """The whole number that is a literal."""
        found = self.record.expression(ref)
        text = found.text("value") if found.class_name == "Literal" else None
        return int(text) if text and text.isdigit() else None

    def _by_place(self, output: list[int], refs: list[int], subqueries: list[int]) -> None:
        """Each expression of a projection is read for what the column in its place is."""
        for own, ref in zip(output, refs, strict=False):
            expr_id = self.record.expr_id(own)
            reasons = self._uses.get(expr_id) if expr_id is not None else None
            self._expression(ref, reasons or _READ, subqueries)

    def _named(self, ref: int, subqueries: list[int]) -> None:
        """An expression of a list is read for what its own column is read for."""
        if self.record.shape(ref).name == "AttributeReference":
            return
        expr_id = self.record.expr_id(ref)
        reasons = self._uses.get(expr_id) if expr_id is not None else None
        if self.record.name(ref) == _NEAREST:
            ref = self._nearest(ref, subqueries)
        self._expression(ref, reasons or _READ, subqueries)

    def _nearest(self, ref: int, subqueries: list[int]) -> int:
        """Note the packed rows as carried over; gives the expression that ranks them."""
        function = ref
        while len(self.record.rows[function][1] or ()) == 1:
            function = self.record.rows[function][1][0]
        packed, ranking, *_ = self.record.rows[function][1] or (ref, ref)
        if packed != ref:
            self._expression(packed, _CARRIED, subqueries)
        return ranking

    def _positional(self, node: PlanNode) -> None:
        own = node.output()
        for child in node.children:
            for mine, theirs in zip(own, self.record.node(child).output(), strict=False):
                expr_id = self.record.expr_id(mine)
                reasons = self._uses.get(expr_id) if expr_id is not None else None
                self._note_all([theirs], reasons or _READ)

    def _expression(self, root: int, reasons: Reasons, subqueries: list[int]) -> None:
        record = self.record
        stack, seen = [root], {root}
        asked: set[int] = set()
        while stack:
            ref = stack.pop()
            row = record.rows[ref]
            shape = record.shapes[row[0]]
            if shape.kind == "P":
                subqueries.append(ref)
                if ref not in asked:
                    self._note_all(record.node(ref).output(), _READ)
                continue
            if shape.name == "Exists":
                # Whether there is a row at all: none of its columns is read. (It is a join
                # elsewhere; the rows of a MERGE are still found by it in an optimized plan.)
                asked.update(self._below(row, shape.kind))
            if shape.name == "AttributeReference":
                self._note_all([ref], reasons)
                continue
            for child in self._below(row, shape.kind):
                if child not in seen:
                    seen.add(child)
                    stack.append(child)

    def _below(self, row: list[Any], kind: str) -> list[int]:
        below: list[int] = list(row[1] or ()) if kind == "E" else []
        for raw in row[self._offset[row[0]] :]:
            if type(raw) is int:
                if raw >= 0:
                    below.append(raw)
            elif isinstance(raw, list):
                below.extend(self.record.refs(raw))
        return below

    def _note_all(self, refs: Iterable[int], reasons: Reasons) -> None:
        for ref in refs:
            expr_id = self.record.expr_id(ref)
            if expr_id is not None:
                self._uses.setdefault(expr_id, set()).update(reasons)

    def _scan(self, scan: dict[str, Any]) -> None:
        size = len(self.record.rows)
        for key in ("partitionFilters", "dataFilters"):
            for ref in self.record.refs(scan.get(key)):
                if ref < size:
                    self._expression(ref, _READ, [])
        for ref in self.record.refs(scan.get("output")):
            expr_id = self.record.expr_id(ref) if ref < size else None
            if expr_id is not None:
                self.scanned.update(self._columns.get(expr_id, ()))


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
        if "" in reasons:
            unexplained.append(Unexplained(namespace, name, field))
        else:
            explained[min(reasons)] += 1
    for namespace, name, field in reading.scanned:
        known = (namespace, name, field) in reading.referred
        if not known and (namespace, name, field.lower()) not in edges:
            # The plan needs it nowhere: the format could not leave it out.
            explained["SCAN"] += 1
    return tuple(unexplained), dict(explained)
