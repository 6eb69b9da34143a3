"""The leaves: tables, files, and rows that stand in the query itself."""

from __future__ import annotations

from collections.abc import Iterable

from spark_lineage.lineage.column import BARE, DERIVED, NOTHING, Column, Origin, State
from spark_lineage.lineage.datasets.lakehouse import reader_made
from spark_lineage.lineage.datasets.remote import Remote
from spark_lineage.lineage.fold import Fold
from spark_lineage.lineage.lanes import IDENTITY, Lanes
from spark_lineage.lineage.memory import Recalled
from spark_lineage.lineage.model import Dataset
from spark_lineage.lineage.rule import rule
from spark_lineage.lineage.sqltext import Edge
from spark_lineage.lineage.streams import is_idle
from spark_lineage.plan.node import PlanNode, number


def relation_columns(fold: Fold, node: PlanNode, datasets: list[Dataset]) -> State:
    """Each output attribute is the column of that name of the data sets."""
    indexes = [fold.sources.dataset(dataset) for dataset in datasets]
    label = short_name(datasets[0]) if datasets else ""
    columns: dict[int, Column] = {}
    output = node.output()
    made = reader_made(fold.record, node)
    for ref, expr_id in zip(output, fold.ids(output), strict=True):
        name = fold.record.name(ref)
        # Without a data set behind it, the engine makes the rows.
        if is_metadata(fold, ref) or not datasets or made is None or name in made:
            columns[expr_id] = Column({}, DERIVED, Origin(name), system=True)
            continue
        bits = 0
        for index in indexes:
            bits |= fold.sources.field(index, name)
        columns[expr_id] = Column({IDENTITY: bits} if bits else {}, BARE, Origin(f"{label}.{name}"))
    fold.leaves[node.ref] = datasets
    return State(columns, {})


def query_columns(fold: Fold, node: PlanNode, remote: Remote) -> State:
    """Each output attribute is what the query's text makes of other tables' columns."""
    sources = fold.sources
    indexes = [sources.dataset(dataset) for dataset in remote.datasets]

    def lanes_of(edges: Iterable[Edge]) -> Lanes:
        lanes: Lanes = {}
        for lane, table, path in edges:
            bits = sources.field(indexes[table], path[0])
            for name in path[1:]:
                bits = sources.deeper(bits, name)
            lanes[lane] = lanes.get(lane, 0) | bits
        return lanes

    told = remote.lineage
    issues = told.issues if told is not None else NOTHING
    columns: dict[int, Column] = {}
    output = node.output()
    for ref, expr_id in zip(output, fold.ids(output), strict=True):
        name = fold.record.name(ref)
        made = remote.column(name)
        if made is None:
            issue = frozenset({f"column {name}: not of the query's text"})
            columns[expr_id] = Column({}, DERIVED, Origin(name), issues=issue)
            continue
        columns[expr_id] = Column(
            lanes_of(made.edges),
            made.type,
            Origin(made.text or name),
            made.system,
            made.opaque,
            made.issues,
        )
    fold.leaves[node.ref] = list(remote.datasets)
    return State(columns, lanes_of(told.rows) if told is not None else {}, None, issues)


def short_name(dataset: Dataset) -> str:
    """The last part of a data set's name, for texts."""
    name = dataset.name.rstrip("/")
    if "/" in name:
        return name.rsplit("/", 1)[-1]
    return name.rsplit(".", 1)[-1]


def is_metadata(fold: Fold, ref: int) -> bool:
    """Whether an attribute is made by the reader, not stored (``_metadata``, ``_pos``, ...)."""
    metadata = fold.record.expression(ref).text("metadata")
    return metadata is not None and "__metadata_col" in metadata


@rule(
    "LogicalRelation",
    "HiveTableRelation",
    "DataSourceV2Relation",
    "DataSourceV2ScanRelation",
    "StreamingRelation",
    "StreamingRelationV2",
    "StreamingDataSourceV2Relation",
    "StreamingDataSourceV2ScanRelation",
)
def relation(fold: Fold, node: PlanNode) -> State:
    """A table or files, or a query that another database answers."""
    remote = fold.naming.remote(node)
    if remote is not None:
        return query_columns(fold, node, remote)
    return relation_columns(fold, node, fold.naming.relation(node))


@rule("LocalRelation", "OneRowRelation", "EmptyRelation")
def local_relation(fold: Fold, node: PlanNode) -> State:
    """Rows that the query's text holds; or a stream's source that has nothing new."""
    if is_idle(fold.record, node.ref):
        return _idle(fold, node)
    columns = {expr_id: Column({}, DERIVED) for expr_id in fold.ids(node.output())}
    return State(columns, {})


def _idle(fold: Fold, node: PlanNode) -> State:
    """What this source gave in an earlier batch is what the stream's state is made of."""
    ids = fold.ids(node.output())
    found = fold.memory.recall_source(ids, fold.sources) if fold.memory else None
    if found is not None:
        return _remembered(fold, node, ids, found)
    issue = frozenset({"a source of the stream has nothing new: which one is not in the plan"})
    return State({i: Column({}, DERIVED, issues=issue) for i in ids}, {}, None, issue)


def _remembered(fold: Fold, node: PlanNode, ids: list[int], recalled: Recalled) -> State:
    fold.leaves[node.ref] = recalled.inputs
    columns = dict(zip(ids, recalled.columns, strict=True))
    return State(columns, recalled.rows, ids, recalled.issues)


@rule("Range")
def range_(fold: Fold, node: PlanNode) -> State:
    """Numbers that the engine makes."""
    columns = {i: Column({}, DERIVED, Origin("range()"), True) for i in fold.ids(node.output())}
    return State(columns, {})


@rule("PythonWorkerLogs")
def worker_logs(fold: Fold, node: PlanNode) -> State:
    """What Python workers logged in this session: rows that the engine makes."""
    return State({i: Column({}, DERIVED, system=True) for i in fold.ids(node.output())}, {})


@rule("AttachDistributedSequence")
def sequence(fold: Fold, node: PlanNode) -> State:
    """A number for each row, as pandas on Spark wants it for its index."""
    child = fold.child(node)
    numbers = fold.ids(node.refs("sequenceAttr"))
    made = {i: Column({}, DERIVED, Origin("row number"), True) for i in numbers}
    state = State({**child.columns, **made}, child.rows, None, child.issues)
    state.uses.extend(node.children)
    return state


@rule("LogicalRDD", "ExternalRDD", "LogicalQueryStage")
def rdd(fold: Fold, node: PlanNode) -> State:
    """Rows of an RDD: what made them is not in the plan, but may be remembered."""
    described = node.raw("rdd")
    ids = fold.ids(node.output())
    rdd_id = number(described.get("id")) if isinstance(described, dict) else None
    recalled = fold.memory.recall(ids, rdd_id, fold.sources) if fold.memory and ids else None
    if recalled is not None:
        return _remembered(fold, node, ids, recalled)
    if isinstance(described, dict) and described.get("inMemory") is True:
        # As with the rows that stand in a plan: what the program had them from is its own affair.
        return State({i: Column({}, DERIVED) for i in ids}, {})
    issue = frozenset({"rows come from an RDD: what made them is not known"})
    fold.leaves[node.ref] = fold.naming.rdd(described) if isinstance(described, dict) else []
    return State({i: Column({}, DERIVED, issues=issue) for i in ids}, {}, None, issue)


@rule("MemoryPlan")
def memory_sink(fold: Fold, node: PlanNode) -> State:
    """What a streaming query has put into memory, to be looked at under the query's name."""
    issue = frozenset({"rows of a stream kept in memory: what made them is not in the plan"})
    columns = {i: Column({}, DERIVED, issues=issue) for i in fold.ids(node.output())}
    return State(columns, {}, None, issue)


@rule("Transpose")
def transpose(fold: Fold, node: PlanNode) -> State:
    """Spark runs the input of TRANSPOSE while it analyses: only the rows are left in the plan."""
    issue = frozenset({"TRANSPOSE ran its input in the analysis: what made it is not in the plan"})
    columns = {i: Column({}, DERIVED, issues=issue) for i in fold.ids(node.output())}
    return State(columns, {}, None, issue)


@rule("InMemoryRelation")
def cached(fold: Fold, node: PlanNode) -> State:
    """A cache in an analyzed plan: followed where the record holds the plan behind it."""
    plans = [
        r
        for _, raw in node.fields()
        for r in fold.record.refs(raw)
        if fold.record.shape(r).kind == "P"
    ]
    ids = fold.ids(node.output())
    for plan in plans:
        state, order = fold.states.get(plan), fold.order(plan)
        if state is not None and len(order) == len(ids):
            columns = {i: state.columns[j] for i, j in zip(ids, order, strict=True)}
            found = State(columns, state.rows, ids, state.issues)
            found.uses = [plan]
            return found
    issue = frozenset({"a cached relation without the plan that made it"})
    return State({i: Column({}, DERIVED, issues=issue) for i in ids}, {}, ids, issue)
