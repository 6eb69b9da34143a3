"""Which data set a scan's and a write's figures are of. What Spark gives: tests/agent."""

from __future__ import annotations

from typing import Any

from spark_lineage.lineage.derive import derive
from spark_lineage.lineage.model import Dataset, Lineage, Output
from spark_lineage.lineage.options import LineageOptions
from spark_lineage.lineage.statistics import Statistics
from spark_lineage.plan.decode import decode
from spark_lineage.plan.node import Record
from tests.plan.builder import Builder

OPTIONS = LineageOptions()
ORDERS = ("file:/wh", "default.orders")


def _scan(output: list[int], source: Any = None, kind: str = "FileSourceScanExec", **metrics: int):
    node = f"{kind} {output}"
    return {
        "class": kind, "node": node, "output": output, "columns": [], "partitionFilters": [],
        "dataFilters": [], "pushed": [], "metrics": metrics, "source": source,
    }  # fmt: skip


def _write(target: Any, **metrics: int) -> dict[str, Any]:
    return {"class": "W", "metrics": metrics, "target": target}


class Query:
    """A query over ``orders``, with the scans and writes that a test puts into it."""

    def __init__(self) -> None:
        self.build = Builder()
        self.plan, (self.a, self.b) = self.build.table("orders", ["a", "b"])
        self.described = self.build.rows[self.plan][5]

    def record(self, scans: list[Any] | None = None, writes: list[Any] | None = None) -> Record:
        told = self.build.record(self.plan, self.plan)
        told.update(scans=scans or [], writes=writes or [])
        return decode(told)

    def path(self, uri: str) -> dict[str, Any]:
        return {"c": self.build.string("Path"), "uri": self.build.string(uri)}


def _read(query: Query, *scans: Any) -> dict[Any, Any]:
    statistics = Statistics()
    record = query.record(list(scans))
    statistics.add(record, OPTIONS)
    return statistics.read(derive(record, OPTIONS))


def test_scans_of_one_input_add_up() -> None:
    query = Query()
    one = _scan([query.a], {"c": -1}, numOutputRows=5, filesSize=70, numFiles=2, scanTime=9)
    two = _scan([query.b], {"c": -1}, numOutputRows=3, filesSize=70, numFiles=2, scanTime=8)
    assert _read(query, one, two) == {ORDERS: {"rows": 8, "bytes": 140, "files": 4}}


def test_what_reads_no_data_set_is_not_counted() -> None:
    query = Query()
    for kind in ("InMemoryTableScanExec", "RDDScanExec", "ExternalRDDScanExec"):
        assert _read(query, _scan([query.a], {"c": -1}, kind, numOutputRows=5)) == {}
    assert _read(query, _scan([], None, "RangeExec", numOutputRows=5)) == {}


def test_a_scan_without_columns_is_known_by_what_it_describes() -> None:
    query = Query()
    table = {"c": query.build.string("T"), "name": query.build.string("t")}
    query.build.rows[query.plan][3] = table
    assert _read(query, _scan([], dict(table), numOutputRows=5)) == {ORDERS: {"rows": 5}}
    assert _read(query, _scan([], {**table, "name": -1}, numOutputRows=5)) == {}


def test_the_metrics_of_iceberg() -> None:
    query = Query()
    scan = _scan(
        [query.a], {"c": -1}, "BatchScanExec",
        numOutputRows=4, resultDataFiles=2, totalDataFileSize=99,
    )  # fmt: skip
    assert _read(query, scan) == {ORDERS: {"rows": 4, "bytes": 99, "files": 2}}


def _outputs(*datasets: Dataset) -> Lineage:
    return Lineage(outputs=tuple(Output(dataset) for dataset in datasets))


OUT = Dataset("file", "/out")
TABLE = Dataset("file:/wh", "default.t", symlinks=(("file", "/wh/t", "LOCATION"),))


def test_each_write_has_its_target() -> None:
    query = Query()
    statistics = Statistics()
    writes = [
        _write(query.path("file:/out"), numOutputRows=1, numOutputBytes=10, numFiles=1),
        _write(query.path("file:/wh/t"), numOutputRows=2, numOutputBytes=20, numFiles=1),
        _write(query.path("file:/out"), numOutputRows=4, numOutputBytes=40, numFiles=1),
    ]
    statistics.add(query.record(None, writes), OPTIONS)
    assert statistics.written(_outputs(OUT, TABLE)) == {
        ("file", "/out"): {"rows": 5, "bytes": 50, "files": 2},
        ("file:/wh", "default.t"): {"rows": 2, "bytes": 20, "files": 1},
    }
    assert statistics.written(_outputs(OUT)) == {
        ("file", "/out"): {"rows": 5, "bytes": 50, "files": 2}
    }
    assert statistics.written(None) == {}


def test_a_table_is_a_target_too() -> None:
    query = Query()
    statistics = Statistics()
    statistics.add(query.record(None, [_write(query.described, numOutputRows=7)]), OPTIONS)
    assert statistics.written(_outputs(Dataset(*ORDERS))) == {ORDERS: {"rows": 7}}


def test_a_write_without_target_is_that_of_the_only_output_left() -> None:
    query = Query()
    statistics = Statistics()
    one = _write(query.path("file:/out"), numOutputRows=1)
    v2 = _write(None, addedRecords=3, addedFileSizeInBytes=30, addedDataFiles=1)
    statistics.add(query.record(None, [one, v2]), OPTIONS)
    assert statistics.written(_outputs(OUT, TABLE))["file:/wh", "default.t"] == {
        "rows": 3, "bytes": 30, "files": 1,
    }  # fmt: skip
    other = Dataset("file", "/other")
    # Two are left: nobody knows whose it is.
    assert set(statistics.written(_outputs(OUT, TABLE, other))) == {("file", "/out")}


def test_an_inner_execution_and_its_outer_are_counted_once() -> None:
    query = Query()
    statistics = Statistics()
    scan = _scan([query.a], {"c": -1}, numOutputRows=5, scanTime=3)
    write = _write(query.path("file:/out"), numOutputRows=5)
    for _ in range(2):
        statistics.add(query.record([scan], [write]), OPTIONS)
    again = _scan([query.a], {"c": -1}, numOutputRows=5, scanTime=4)
    assert statistics.reads == {ORDERS: {"rows": 5}}
    statistics.add(query.record([again]), OPTIONS)
    assert statistics.reads == {ORDERS: {"rows": 10}}
    assert statistics.written(_outputs(OUT)) == {("file", "/out"): {"rows": 5}}


def _counted(query: Query, written: dict[str, int], *writes: Any) -> dict[Any, Any]:
    record = query.record(writes=list(writes))
    record.execution["written"] = written
    statistics = Statistics()
    statistics.add(record, OPTIONS)
    target = Dataset("jdbc", "db.t")
    return statistics.written(Lineage(outputs=(Output(target),)))


def test_what_tasks_counted_is_of_the_only_output_where_no_node_has_counted() -> None:
    query = Query()
    one = ("jdbc", "db.t")
    assert _counted(query, {"rows": 3, "bytes": 0}) == {one: {"rows": 3}}
    assert _counted(query, {"rows": 3, "bytes": 9}) == {one: {"rows": 3, "bytes": 9}}
    assert _counted(query, {"rows": 0, "bytes": 9}) == {}
    counted = _counted(query, {"rows": 3, "bytes": 9}, _write(None, numOutputRows=5))
    assert counted == {one: {"rows": 5}}


def test_of_two_metrics_of_one_figure_the_larger_counts() -> None:
    query = Query()
    iceberg = _write(None, numOutputRows=2, addedRecords=0, addedFileSizeInBytes=0)
    assert _counted(query, {}, iceberg) == {("jdbc", "db.t"): {"rows": 2}}
