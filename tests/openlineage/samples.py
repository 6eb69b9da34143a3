"""Lineages and runs written by hand, for the tests of events."""

from __future__ import annotations

from typing import Any

from spark_lineage.lineage.model import (
    Dataset,
    Input,
    Kind,
    Lineage,
    Origin,
    Output,
    OutputColumn,
    Source,
)
from spark_lineage.openlineage.run import ParentRun, Run, RunError

WAREHOUSE = "file:/warehouse"
RUN_ID = "018c2f1e-0000-7000-8000-000000000001"
APPLICATION_ID = "018c2f1e-0000-7000-8000-0000000000aa"
ROOT_ID = "018c2f1e-0000-7000-8000-0000000000ff"

ORDERS = Dataset(
    WAREHOUSE,
    "orders",
    schema=(
        ("order_id", '"long"', None),
        ("customer_id", '"long"', "who bought"),
        ("amount", '"decimal(10,2)"', None),
    ),
    symlinks=(("file", "/warehouse/orders", "LOCATION"),),
)
CUSTOMERS = Dataset(WAREHOUSE, "customers", schema=(("customer_id", '"long"', None),))
SUMMARY = Dataset(WAREHOUSE, "customer_summary")


def orders(field: str, kind: Kind, masking: bool = False, via: tuple[str, ...] = ()) -> Source:
    return Source(WAREHOUSE, "orders", field, kind, masking, via)


SUMMARY_LINEAGE = Lineage(
    inputs=(Input(ORDERS), Input(CUSTOMERS, read=False)),
    outputs=(
        Output(
            SUMMARY,
            columns=(
                OutputColumn(
                    "customer_id",
                    Kind.IDENTITY,
                    Origin.INPUT_FIELDS,
                    "orders.customer_id",
                    direct=(orders("customer_id", Kind.IDENTITY),),
                    data_type='"long"',
                ),
                OutputColumn(
                    "total_amount",
                    Kind.AGGREGATION,
                    Origin.INPUT_FIELDS,
                    "sum(orders.amount)",
                    direct=(orders("amount", Kind.AGGREGATION, via=("paid_orders",)),),
                    data_type='"decimal(20,2)"',
                ),
                OutputColumn(
                    "customer_seq",
                    Kind.TRANSFORMATION,
                    Origin.SYSTEM,
                    "row_number() OVER (ORDER BY orders.customer_id)",
                    indirect=(orders("customer_id", Kind.WINDOW),),
                    data_type='"integer"',
                ),
                OutputColumn(
                    "loaded_by",
                    Kind.TRANSFORMATION,
                    Origin.CONSTANT,
                    "'etl'",
                    data_type='"string"',
                ),
            ),
            indirect=(
                orders("customer_id", Kind.JOIN),
                Source(WAREHOUSE, "customers", "customer_id", Kind.JOIN),
                orders("customer_id", Kind.GROUP_BY),
                orders("amount", Kind.FILTER),
            ),
            lifecycle="OVERWRITE",
        ),
    ),
    unknown_nodes={"Frobnicate": 2},
)


def run(**changes: Any) -> Run:
    facts: dict[str, Any] = {
        "run_id": RUN_ID,
        "job_namespace": "default",
        "job_name": "app.customer_summary",
        "job_kind": "COMMAND",
        "start_time": 1_700_000_000_005,
        "end_time": 1_700_000_001_250,
        "sql": "INSERT OVERWRITE customer_summary ...",
        "parent": ParentRun(APPLICATION_ID, "default", "app"),
        "root": ParentRun(ROOT_ID, "airflow", "dag"),
        "spark_version": "3.5.9",
        "context": {"user": "ann", "queryId": "7"},
        "quality": {"agentVersion": "0.1.0", "dropped": {"queue_full": 1}},
        "input_statistics": {(WAREHOUSE, "orders"): {"rows": 10, "bytes": 2048, "files": 2}},
        "output_statistics": {(WAREHOUSE, "customer_summary"): {"rows": 3, "bytes": 512}},
    }
    return Run(**(facts | changes))


FAILURE = RunError("java.lang.ArithmeticException: / by zero", "at Foo.bar(Foo.java:1)")
