"""Rows, bytes and files that one execution read and wrote, by data set.

From the metrics of the executed plan's own nodes, so that nothing of another
query is in them. A scan is that of the leaf whose columns it gives; a write
names its target. What cannot be told apart is not told: a scan of several
data sets at once, of an RDD, or of a cache (which reads nothing).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from spark_lineage.lineage.datasets import Naming
from spark_lineage.lineage.model import Dataset, Lineage
from spark_lineage.lineage.options import LineageOptions
from spark_lineage.plan.node import PlanNode, Record
from spark_lineage.plan.walk import plan_rows

Identity = tuple[str, str]
Figures = dict[str, int]
"""``rows``, ``bytes`` and ``files``, those of them that are known."""

#: Metrics of Spark's own scans, and of Iceberg's. Bytes are those of the files scanned.
_READ: Final = {
    "numOutputRows": "rows",
    "filesSize": "bytes",
    "totalDataFileSize": "bytes",
    "numFiles": "files",
    "resultDataFiles": "files",
}
_WRITTEN: Final = {
    "numOutputRows": "rows",
    "addedRecords": "rows",
    "numOutputBytes": "bytes",
    "addedFileSizeInBytes": "bytes",
    "numFiles": "files",
    "addedDataFiles": "files",
}
#: Of what the tasks of an execution counted.
_COUNTED: Final = ("rows", "bytes")
_LEAVES: Final = frozenset(
    {"LogicalRelation", "HiveTableRelation", "DataSourceV2Relation", "DataSourceV2ScanRelation"}
)
#: Leaves of the executed plan whose rows are of no data set, whatever their columns are.
_NO_READS: Final = frozenset({"InMemoryTableScanExec", "RDDScanExec", "ExternalRDDScanExec"})


@dataclass
class Statistics:
    """What the executions of one run read and wrote, added up as they end."""

    reads: dict[Identity, Figures] = field(default_factory=dict)
    writes: dict[Identity, Figures] = field(default_factory=dict)
    unnamed: list[Figures] = field(default_factory=list)
    """Writes that name no target, such as those of DataSource V2."""
    counted: Figures = field(default_factory=dict)
    """What tasks wrote of which no node of a plan tells (JDBC, Delta)."""
    _seen: set[Any] = field(default_factory=set)

    def add(self, record: Record, options: LineageOptions) -> None:
        """Add what a record's execution read and wrote.

        Scans of one record add up (a self-join reads twice). What an inner
        execution and its outer both show is counted once: of scans the same
        node with the same metrics, of writes to one data set the larger.
        """
        if record.scans or record.writes:
            naming = Naming(record, options)
            self._add_reads(record, naming)
            self._add_writes(record, naming)
        if not any(_figures(write, _WRITTEN) for write in record.writes):
            told = record.execution.get("written") or {}
            # Files without rows are not kept by all writers.
            if told.get("rows"):
                _sum(self.counted, {word: int(told[word]) for word in _COUNTED if told.get(word)})

    def _add_reads(self, record: Record, naming: Naming) -> None:
        scans = [scan for scan in record.scans if scan.get("class") not in _NO_READS]
        if not any(scan.get("source") for scan in scans):
            return
        leaves = _Leaves(record, naming)
        new = set()
        for scan in scans:
            key = (scan.get("node"), *sorted((scan.get("metrics") or {}).items()))
            figures = _figures(scan, _READ)
            dataset = leaves.of(scan)
            if dataset is None or not figures or key in self._seen:
                continue
            new.add(key)
            _sum(self.reads.setdefault((dataset.namespace, dataset.name), {}), figures)
        self._seen |= new

    def _add_writes(self, record: Record, naming: Naming) -> None:
        found: dict[Identity, Figures] = {}
        unnamed: list[Figures] = []
        for write in record.writes:
            figures = _figures(write, _WRITTEN)
            dataset = _target(naming, write.get("target"))
            if not figures:
                continue
            if dataset is None:
                unnamed.append(figures)
            else:
                _sum(found.setdefault((dataset.namespace, dataset.name), {}), figures)
        for identity, figures in found.items():
            self.writes[identity] = _larger(self.writes.get(identity, {}), figures)
        if len(unnamed) == 1 and len(self.unnamed) == 1:
            self.unnamed = [_larger(self.unnamed[0], unnamed[0])]
        else:
            self.unnamed += unnamed

    def read(self, lineage: Lineage | None) -> dict[Identity, Figures]:
        """What was read of each input of this lineage."""
        inputs = [item.dataset for item in lineage.inputs] if lineage else []
        return _matched(inputs, self.reads)

    def written(self, lineage: Lineage | None) -> dict[Identity, Figures]:
        """What was written to each output; a write without a name is the only one's left."""
        told = lineage.outputs if lineage else ()
        outputs = list(dict.fromkeys(output.dataset for output in told if output.dataset))
        found = _matched(outputs, self.writes)
        left = [one for one in outputs if (one.namespace, one.name) not in found]
        if len(left) == 1 and len(self.unnamed) == 1:
            found[left[0].namespace, left[0].name] = self.unnamed[0]
        elif len(outputs) == 1 and not found and not self.unnamed and self.counted:
            found[outputs[0].namespace, outputs[0].name] = dict(self.counted)
        return found


class _Leaves:
    """Which data set a scan reads, by the columns that it gives, else by what it describes."""

    def __init__(self, record: Record, naming: Naming) -> None:
        self._record = record
        self._by_id: dict[int, Dataset | None] = {}
        self._described: list[tuple[Any, Dataset | None]] = []
        root = record.analyzed if record.optimized is None else record.optimized
        for ref in plan_rows(record, root) if root is not None else ():
            node = PlanNode(record, ref)
            if node.class_name in _LEAVES:
                self._leaf(node, naming)

    def _leaf(self, node: PlanNode, naming: Naming) -> None:
        named = node
        if node.class_name == "DataSourceV2ScanRelation" and node.refs("relation"):
            named = PlanNode(self._record, node.refs("relation")[0])
        datasets = naming.relation(named)
        only = datasets[0] if len(datasets) == 1 else None
        for ref in node.output():
            expr_id = self._record.expr_id(ref)
            if expr_id is not None:
                self._by_id[expr_id] = only
        for name in ("relation", "table", "tableMeta"):
            described = named.raw(name)
            if isinstance(described, dict):
                self._described.append((described, only))

    def of(self, scan: dict[str, Any]) -> Dataset | None:
        size = len(self._record.rows)
        for ref in self._record.refs(scan.get("output")):
            expr_id = self._record.expr_id(ref) if ref < size else None
            if expr_id is not None and expr_id in self._by_id:
                return self._by_id[expr_id]
        # A count reads no column, a pushed aggregate gives columns of its own.
        source = scan.get("source")
        same = [dataset for described, dataset in self._described if described == source]
        return same[0] if same and all(one == same[0] for one in same) else None


def _target(naming: Naming, described: Any) -> Dataset | None:
    if not isinstance(described, dict):
        return None
    if naming.record.class_of(described) == "CatalogTable":
        return naming.catalog_table(described)
    path = naming.described_path(described)
    return naming.path(path, trim=False) if path else None


def _matched(
    datasets: Iterable[Dataset], figures: dict[Identity, Figures]
) -> dict[Identity, Figures]:
    """The figures of each data set, also where they were found under a symlink of it."""
    found: dict[Identity, Figures] = {}
    for dataset in datasets:
        names = [(namespace, name) for namespace, name, _ in dataset.symlinks]
        own = (dataset.namespace, dataset.name)
        for identity in (own, *names):
            if identity in figures:
                found[own] = _larger(found.get(own, {}), figures[identity])
    return found


def _figures(node: dict[str, Any], words: dict[str, str]) -> Figures:
    metrics = node.get("metrics") or {}
    figures: Figures = {}
    for metric, word in words.items():
        if metric in metrics:
            figures[word] = max(figures.get(word, 0), int(metrics[metric]))
    if figures.get("rows"):
        # Iceberg counts no files of a table that a query makes.
        figures = {word: figure for word, figure in figures.items() if figure}
    return figures


def _sum(total: Figures, more: Figures) -> None:
    for word, figure in more.items():
        total[word] = total.get(word, 0) + figure


def _larger(one: Figures, other: Figures) -> Figures:
    return {word: max(one.get(word, 0), other.get(word, 0)) for word in {**one, **other}}
