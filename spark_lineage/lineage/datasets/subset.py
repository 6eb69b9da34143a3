"""Which part of a data set is read or written, in the words of OpenLineage's ``subset`` facet.

A condition is true of all that was read; where a part cannot be told in these
words it is left out, and the condition says more than was read, never less.
None is: the whole data set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from spark_lineage.lineage.datasets.paths import Place
from spark_lineage.lineage.model import Dataset
from spark_lineage.plan.node import PlanNode, Record
from spark_lineage.plan.walk import plan_rows

Condition = dict[str, Any]
Relation = Callable[[PlanNode], Sequence[Dataset]]

#: More values than these are not told one by one.
MAX_VALUES: Final = 100

_COMPARISONS: Final = {
    "EqualTo": "EQUAL",
    "EqualNullSafe": "EQUAL",
    "GreaterThan": "GREATER_THAN",
    "GreaterThanOrEqual": "GREATER_EQUAL_THAN",
    "LessThan": "LESS_THAN",
    "LessThanOrEqual": "LESS_EQUAL_THAN",
}
_TURNED: Final = {
    "EQUAL": "EQUAL",
    "GREATER_THAN": "LESS_THAN",
    "GREATER_EQUAL_THAN": "LESS_EQUAL_THAN",
    "LESS_THAN": "GREATER_THAN",
    "LESS_EQUAL_THAN": "GREATER_EQUAL_THAN",
}
#: Leaves of a plan whose scans may have filters of partitions.
_LEAVES: Final = frozenset({"LogicalRelation", "HiveTableRelation", "DataSourceV2ScanRelation"})


def partitions(found: Iterable[Mapping[str, Any]]) -> Condition:
    """These partitions, each by its columns' values."""
    told: dict[str, Condition] = {}
    for dimensions in found:
        identifier = "/".join(f"{key}={value}" for key, value in dimensions.items())
        told[identifier] = {"identifier": identifier, "dimensions": dict(dimensions)}
    return {"type": "partition", "partitions": list(told.values())}


def locations(found: Iterable[str]) -> Condition:
    """What is at these places."""
    return {"type": "location", "locations": list(dict.fromkeys(found))}


def compare(field: str, comparison: str, value: str) -> Condition:
    """A column compared with a value."""
    return {
        "type": "compare",
        "left": {"type": "field", "field": field},
        "right": {"type": "literal", "value": value},
        "comparison": comparison,
    }


def joined(operator: str, conditions: Sequence[Condition]) -> Condition:
    """All (``AND``) or any (``OR``) of one or more conditions, as a tree of little depth."""
    distinct: list[Condition] = []
    for condition in conditions:
        if condition not in distinct:
            distinct.append(condition)
    while len(distinct) > 1:
        pairs = [distinct[i : i + 2] for i in range(0, len(distinct), 2)]
        distinct = [
            {"type": "binary", "left": p[0], "right": p[1], "operator": operator}
            if len(p) == 2
            else p[0]
            for p in pairs
        ]
    return distinct[0]


def either(conditions: Sequence[Condition | None]) -> Condition | None:
    """What several readings of one data set read together; None if one reads all."""
    known = [condition for condition in conditions if condition is not None]
    if not known or len(known) < len(conditions):
        return None
    kinds = {condition["type"] for condition in known}
    if kinds == {"partition"}:
        return partitions(item["dimensions"] for one in known for item in one["partitions"])
    if kinds == {"location"}:
        return locations(item for one in known for item in one["locations"])
    return joined("OR", known)


def of_places(places: Sequence[Place]) -> Condition | None:
    """What these places, of one data set, are of it."""
    conditions: list[Condition | None] = []
    for place in places:
        if place.part is not None:
            conditions.append(locations([place.part]))
        elif place.partitions:
            conditions.append(partitions([dict(place.partitions)]))
        else:
            conditions.append(None)
    return either(conditions)


def of_filters(record: Record, refs: Iterable[int]) -> Condition | None:
    """Predicates that hold together, as far as the words go."""
    told = [_predicate(record, ref) for ref in refs]
    known = [condition for condition in told if condition is not None]
    return joined("AND", known) if known else None


def _predicate(record: Record, root: int) -> Condition | None:
    """A predicate, from its leaves up; None where it has no words."""
    done: dict[int, Condition | None] = {}
    stack = [root]
    while stack:
        ref = stack[-1]
        node = record.expression(ref)
        name = node.class_name
        pending = [c for c in node.children if name in ("And", "Or") and c not in done]
        if pending:
            stack.extend(pending)
            continue
        stack.pop()
        if name in ("And", "Or"):
            inner = [done[child] for child in node.children]
            known = [condition for condition in inner if condition is not None]
            if name == "Or" and len(known) < len(inner):
                known = []
            done[ref] = joined(name.upper(), known) if known else None
        else:
            done[ref] = _comparison(record, ref)
    return done[root]


def _comparison(record: Record, ref: int) -> Condition | None:
    node = record.expression(ref)
    if node.class_name == "In" or node.class_name == "InSet":
        return _membership(record, ref)
    word = _COMPARISONS.get(node.class_name)
    if word is None or len(node.children) != 2:
        return None
    left, right = node.children
    if record.shape(left).name == "Literal":
        left, right, word = right, left, _TURNED[word]
    field, value = _field(record, left), _value(record, right)
    return None if field is None or value is None else compare(field, word, value)


def _membership(record: Record, ref: int) -> Condition | None:
    node = record.expression(ref)
    first, *others = node.children
    field = _field(record, first)
    if node.class_name == "In":
        values = [_value(record, other) for other in others]
    else:
        raw = node.raw("hset")
        values = [record.text(item) for item in raw] if isinstance(raw, list) else [None]
    known = [value for value in values if value is not None]
    if field is None or not known or len(known) < len(values) or len(known) > MAX_VALUES:
        return None
    return joined("OR", [compare(field, "EQUAL", value) for value in known])


def _field(record: Record, ref: int) -> str | None:
    return record.name(ref) if record.shape(ref).name == "AttributeReference" else None


def _value(record: Record, ref: int) -> str | None:
    return record.expression(ref).text("value") if record.shape(ref).name == "Literal" else None


def narrowed(record: Record, readings: Iterable[Dataset], relation: Relation) -> list[Dataset]:
    """Each data set once, with what all its readings read of it.

    ``relation`` names the data sets of a leaf (:meth:`Naming.relation`); the scans' filters
    of partitions are those of what was executed. A command that left the reading to another
    execution has no scans: then there is no ``scanned`` fact.
    """
    together: dict[Dataset, list[Dataset]] = {}
    for dataset in readings:
        together.setdefault(dataset, []).append(dataset)
    filtered = _scanned(record, relation)
    found: list[Dataset] = []
    for dataset, same in together.items():
        told = [
            condition
            for condition in (
                either([one.facts.get("subset") for one in same]),
                filtered.get(dataset),
            )
            if condition is not None
        ]
        facts = {key: value for key, value in dataset.facts.items() if key != "subset"}
        if told:
            facts["subset"] = joined("AND", told)
        if record.scans:
            facts["scanned"] = True
        found.append(replace(same[0], facts=facts))
    return found


def _scanned(record: Record, relation: Relation) -> dict[Dataset, Condition]:
    """By data set: what the filters of partitions of all its scans say."""
    size = len(record.rows)
    scans = [s for s in record.scans if record.refs(s.get("partitionFilters"))]
    if not scans or record.optimized is None:
        return {}
    owners = _owners(record, relation)
    told: dict[Dataset, list[Condition | None]] = {}
    for scan in record.scans:
        if scan.get("source") is None or "RDDScan" in str(scan.get("class")):
            continue
        filters = [ref for ref in record.refs(scan.get("partitionFilters")) if ref < size]
        output = [ref for ref in record.refs(scan.get("output")) if ref < size]
        owner = _owner(record, owners, [*output, *filters])
        if owner is None:
            # A scan that may be of any data set: then none is surely read in part.
            return {}
        told.setdefault(owner, []).append(of_filters(record, filters))
    found = {dataset: either(conditions) for dataset, conditions in told.items()}
    return {dataset: condition for dataset, condition in found.items() if condition is not None}


def _owners(record: Record, relation: Relation) -> dict[int, Dataset]:
    owners: dict[int, Dataset] = {}
    if record.optimized is None:
        return owners
    for ref in plan_rows(record, record.optimized):
        node = PlanNode(record, ref)
        if node.class_name not in _LEAVES:
            continue
        named = node
        if node.class_name == "DataSourceV2ScanRelation" and node.refs("relation"):
            named = PlanNode(record, node.refs("relation")[0])
        datasets = relation(named)
        if len(datasets) == 1:
            for attribute in [*node.output(), *named.output()]:
                expr_id = record.expr_id(attribute)
                if expr_id is not None:
                    owners[expr_id] = datasets[0]
    return owners


def _owner(record: Record, owners: Mapping[int, Dataset], refs: Iterable[int]) -> Dataset | None:
    stack = list(refs)
    while stack:
        ref = stack.pop()
        if record.shape(ref).name == "AttributeReference":
            owner = owners.get(record.expr_id(ref) or -1)
            if owner is not None:
                return owner
        elif record.shape(ref).kind == "E":
            stack.extend(record.expression(ref).children)
    return None
