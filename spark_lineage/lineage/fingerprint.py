"""A hash of a query that is the same from run to run, and differs for different queries.

The rule, for the normalised analyzed plan: what is hashed is each node's class
with its fields and what it is over. Left out is what changes without the query
changing: expression ids (a column is named by what makes it), aliases of
relations, columns of a source that the query does not use, a table's
properties and statistics, seeds that Spark chose, the value that a session variable
has just now, and rows that are in the query. A source is its data set's name; a
stream's is told by its columns alone, since a batch in which it has nothing new does
not name it. Dates, times, UUIDs and the ids that PySpark and ML give to what has no name
are masked in literals, names and paths, so that a job of each day keeps its hash; all
other literals count, unless none may leave the machine: a hash would tell of it who
guesses it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from spark_lineage.lineage.datasets import Naming
from spark_lineage.lineage.options import LineageOptions
from spark_lineage.lineage.streams import BATCHES, is_idle, source_leaf
from spark_lineage.plan.node import PlanNode, Record

_UUID: Final = r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_PLAIN_UUID: Final = r"(?<![0-9a-fA-F])[0-9a-fA-F]{32}(?![0-9a-fA-F])"
#: ML's stages and their columns (``Identifiable``), frames given to ``pyspark.pandas.sql``.
_GIVEN: Final = r"(?<=[A-Za-z]_)[0-9a-f]{12}(?![0-9A-Za-z])|(?<=pandas_on_spark_)\d+"
_DATE: Final = (
    r"(?:19|20)\d\d-\d\d?-\d\d?(?:[T ]\d\d?:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?"
)
_COMPACT: Final = r"(?<!\d)(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?!\d)"
#: Spark names a column that it has no name for by the variable's value too.
_VARIABLE: Final = r"variablereference\([^)]*\)"
_LAMBDA: Final = r"(?<=\$\$Lambda)[$/]\S*"
_MASKED: Final = re.compile(
    f"{_UUID}|{_PLAIN_UUID}|{_GIVEN}|{_DATE}|{_COMPACT}|{_VARIABLE}|{_LAMBDA}"
)
_TIME_TYPES: Final = frozenset({"date", "timestamp", "timestamp_ntz", "time"})

_LEAVES: Final = frozenset(
    {
        "LogicalRelation",
        "HiveTableRelation",
        "DataSourceV2Relation",
        "StreamingRelation",
        "StreamingRelationV2",
    }
)
#: Fields that say nothing of the query, or other things each time.
_SKIPPED: Final = frozenset(
    {
        "exprId", "resultId", "resultIds", "qualifier", "nullable", "metadata", "explicitMetadata",
        "output", "outputOrdering", "outputAttrs", "dataCols", "partitionCols",
        "numSlices", "seed", "randomSeed", "timeZoneId", "evalMode", "data", "stats",
        "statsOpt", "tableStats", "desc", "nonInheritableMetadataKeys", "fileIndex", "jobTags",
        "analysisContext", "queryContext", "isStreaming", "batchId", "varDef",
    }
)  # fmt: skip
#: What of a described object names it; all else of it may change by itself.
_DESCRIBED: Final = (
    "c", "catalog", "database", "table", "name", "namespace", "uri", "format", "paths",
)  # fmt: skip
_COUNTERS: Final = frozenset({"id", "cteId", "loopId"})


def sql_hash(sql: str) -> str:
    """The hash of a statement: blanks as one, dates, times and UUIDs masked."""
    return _digest([masked(" ".join(sql.split()))])


def plan_hash(record: Record, options: LineageOptions) -> str | None:
    """The hash of a record's normalised analyzed plan, as 64 hexadecimal digits; None without."""
    if record.analyzed is None:
        return None
    return _digest(_Normal(record, options).tokens(record.analyzed))


def _digest(tokens: Iterable[str]) -> str:
    digest = hashlib.sha256()
    for token in tokens:
        digest.update(token.encode("utf-8", "surrogatepass"))
        digest.update(b"\0")
    return digest.hexdigest()


def masked(text: str) -> str:
    """The text without what changes from day to day: dates, times, UUIDs, classes of lambdas."""
    return _MASKED.sub("*", text)


class _Normal:
    """One plan, row by row, each by its place among the rows that count."""

    def __init__(self, record: Record, options: LineageOptions) -> None:
        self._record = record
        self._naming = Naming(record, options)
        self._literals = options.literals
        self._place: dict[int, int] = {}
        self._makers: dict[int, tuple[int, int]] = {}
        self._counted: dict[tuple[str, int], int] = {}
        self._texts: dict[int, str] = {}
        self._streams: set[int] = set()
        offset = {"P": 3, "E": 2, "O": 1}
        # By shape: the fields that count with their places in a row, and how its rows are told.
        self._fields = [
            [
                (offset[shape.kind] + place, field)
                for place, field in enumerate(shape.fields)
                if field not in _SKIPPED
            ]
            for shape in record.shapes
        ]
        self._names: list[str] = [shape.name for shape in record.shapes]
        self._kinds = [shape.kind for shape in record.shapes]
        self._seeds = [shape.position.get("hideSeed") for shape in record.shapes]
        self._leafy = [name == "AttributeReference" or name in _LEAVES for name in self._names]

    def tokens(self, root: int) -> Iterator[str]:
        """The rows as texts, those below first."""
        kept: list[int] = []
        rows, names, place = self._record.rows, self._names, self._place
        for ref in sorted(self._reachable(root, names[rows[root][0]] in BATCHES)):
            row = rows[ref]
            if names[row[0]] == "SubqueryAlias":
                # Another name for the same rows.
                place[ref] = place[row[1][0]]
            else:
                place[ref] = len(kept)
                kept.append(ref)
        self._find_makers(kept)
        return map(self._row, kept)

    def _reachable(self, root: int, of_stream: bool) -> set[int]:
        """The rows of which the query is made: a leaf's own columns are none of them."""
        rows, refs = self._record.rows, self._record.refs
        seen, stack = {root}, [root]
        while stack:
            at = stack.pop()
            row = rows[at]
            index = row[0]
            if self._leafy[index] or self._hides_seed(row):
                continue
            if of_stream and self._kinds[index] == "P" and self._is_stream(at):
                self._streams.add(at)
                continue
            below = [] if self._kinds[index] == "O" else list(row[1] or ())
            if self._names[index] != "SubqueryAlias":
                size = len(row)
                for position, _ in self._fields[index]:
                    raw = row[position] if position < size else None
                    if type(raw) is int:
                        if raw >= 0:
                            below.append(raw)
                    elif raw.__class__ in (list, dict):
                        below += refs(raw)
            for ref in below:
                if ref not in seen:
                    seen.add(ref)
                    stack.append(ref)
        return seen

    def _is_stream(self, ref: int) -> bool:
        return source_leaf(self._record, ref) is not None or is_idle(self._record, ref)

    def _hides_seed(self, row: list[Any]) -> bool:
        """Whether this is a random function whose seed Spark chose."""
        position = self._seeds[row[0]]
        return position is not None and bool(row[position] is True)

    def _find_makers(self, kept: list[int]) -> None:
        """For each expression id the row that makes it, and its place among that row's columns."""
        record, makers, place = self._record, self._makers, self._place
        plans = []
        for ref in kept:
            index = record.rows[ref][0]
            if self._kinds[index] == "P":
                plans.append(ref)
            elif self._kinds[index] == "E" and not self._leafy[index]:
                expr_id = record.expr_id(ref)
                if expr_id is not None:
                    makers.setdefault(expr_id, (place[ref], 0))
        for ref in plans:
            row = record.rows[ref]
            if not isinstance(row[2], list):
                continue
            leaf = self._leafy[row[0]] or ref in self._streams
            for number, column in enumerate(row[2]):
                expr_id = record.expr_id(column)
                if expr_id is not None and expr_id not in makers:
                    # A source's columns are known by name: it may get more of them.
                    makers[expr_id] = (place[ref], 0 if leaf else number)

    def _row(self, ref: int) -> str:
        record, place = self._record, self._place
        row = record.rows[ref]
        index = row[0]
        name = self._names[index]
        if self._leafy[index]:
            return self._column(ref) if name == "AttributeReference" else self._source(ref)
        if ref in self._streams:
            return f"stream of {[record.name(column).lower() for column in record.refs(row[2])]}"
        parts: list[str] = [name]
        if self._hides_seed(row):
            return parts[0]
        if self._kinds[index] != "O" and row[1]:
            parts += [str(place[child]) for child in row[1]]
        if name == "Literal":
            return " ".join([*parts, *self._literal(row)])
        size = len(row)
        for position, field in self._fields[index]:
            raw = row[position] if position < size else None
            if type(raw) is int:
                parts.append(f"{field}={self._text(raw) if raw < 0 else place[raw]}")
            elif raw is not None:
                parts.append(f"{field}={self._value(field, raw)}")
        return " ".join(parts)

    def _text(self, raw: int) -> str:
        known = self._texts.get(raw)
        if known is None:
            known = self._texts[raw] = repr(masked(self._record.text(raw) or ""))
        return known

    def _column(self, ref: int) -> str:
        record = self._record
        expr_id = record.expr_id(ref)
        maker = self._makers.get(expr_id) if expr_id is not None else None
        return f"column {record.name(ref).lower()} of {maker}"

    def _source(self, ref: int) -> str:
        datasets = self._naming.relation(PlanNode(self._record, ref))
        return f"source {sorted((one.namespace, masked(one.name)) for one in datasets)}"

    def _literal(self, row: list[Any]) -> list[str]:
        shape = self._record.shapes[row[0]]
        text = self._record.text(row[shape.position["value"]])
        kind = self._record.type_text(row[shape.position["dataType"]]) or ""
        if text is None:
            return [kind, "NULL"]
        if not self._literals:
            return [kind, "?"]
        return [kind, "*" if kind in _TIME_TYPES else f"'{masked(text)}'"]

    def _value(self, field: str, raw: Any) -> str:
        """A field's value as text; nested values without recursion."""
        out: list[str] = []
        stack: list[Any] = [raw]
        while stack:
            item = stack.pop()
            if isinstance(item, _Text):
                out.append(item)
            elif item is None or isinstance(item, bool):
                out.append(str(item))
            elif type(item) is int:
                out.append(self._text(item) if item < 0 else f"@{self._place.get(item)}")
            elif isinstance(item, str):
                out.append(repr(masked(item)))
            elif isinstance(item, list):
                stack.append(_Text("]"))
                stack.extend(reversed(item))
                stack.append(_Text("["))
            elif isinstance(item, dict):
                self._object(field, item, out, stack)
        return " ".join(out)

    def _object(self, field: str, item: dict[str, Any], out: list[str], stack: list[Any]) -> None:
        if "#" in item:
            out.append(self._number(field, item["#"]))
        elif "map" in item:
            pairs = sorted(self._record.mapping(item).items())
            stack.extend(part for key, value in reversed(pairs) for part in (value, _Text(key)))
        else:
            stack.extend(item[key] for key in reversed(_DESCRIBED) if key in item)

    def _number(self, field: str, number: Any) -> str:
        if field not in _COUNTERS:
            return str(number)
        # Spark counts these for its whole life: what matters is which are the same.
        kind = "cte" if field in ("id", "cteId") else field
        return f"{kind}{self._counted.setdefault((kind, number), len(self._counted))}"


class _Text(str):
    """Text that is ready, not a value of the record."""

    __slots__ = ()
