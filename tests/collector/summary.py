"""The events of the example ``customer_summary`` and of two jobs that read what it wrote."""

from __future__ import annotations

from tests.collector.build import FACET, Json, dataset, event, lineage, schema, source

ORDERS = ("order_id:integer", "customer_id:integer", "region:string", "amount:decimal(4,2)",
          "status:string")  # fmt: skip
CUSTOMERS = ("customer_id:integer", "customer_name:string", "customer_level:string")
SUMMARY = ("customer_id:integer", "region_label:string", "total_amount:decimal(14,2)",
           "customer_seq:integer", "region_group:string")  # fmt: skip
PREFIX = "spark_catalog.default."
INSERT = "customer_summary.insert_into_customer_summary"

COLUMNS = {
    "customer_id": ("IDENTITY", "INPUT_FIELDS", "orders.customer_id"),
    "region_label": ("TRANSFORMATION", "INPUT_FIELDS", "upper(orders.region)"),
    "total_amount": ("AGGREGATION", "INPUT_FIELDS", "sum(orders.amount)"),
    "customer_seq": (
        "TRANSFORMATION", "SYSTEM", "row_number() OVER (ORDER BY orders.customer_id)",
    ),
    "region_group": (
        "TRANSFORMATION", "CONSTANT",
        "CASE WHEN upper(orders.region) = 'NORTH' THEN 'core' ELSE 'growth' END",
    ),
}  # fmt: skip
FIELDS = {
    "customer_id": ["IDENTITY orders.customer_id"],
    "region_label": ["TRANSFORMATION orders.region"],
    "total_amount": ["AGGREGATION orders.amount"],
    "customer_seq": ["WINDOW orders.customer_id"],
    "region_group": ["CONDITIONAL orders.region"],
}
ROWS = [
    "JOIN orders.customer_id", "JOIN customers.customer_id",
    "FILTER orders.status", "FILTER customers.customer_level", "FILTER orders.amount",
    "GROUP_BY orders.customer_id", "GROUP_BY orders.region",
    "SORT orders.amount",
]  # fmt: skip


def _catalog(text: str) -> Json:
    one = source(text)
    return {**one, "name": PREFIX + one["name"]}


def _columns_facet() -> Json:
    columns = [
        {"name": n, "type": t, "origin": o, "expression": e, "availability": "AVAILABLE"}
        for n, (t, o, e) in COLUMNS.items()
    ]
    return {**FACET, "columns": columns}


def _constants(*fields: str) -> Json:
    columns = [
        {
            "name": field.partition(":")[0],
            "type": "TRANSFORMATION",
            "origin": "CONSTANT",
            "availability": "AVAILABLE",
        }
        for field in fields
    ]
    return {**FACET, "columns": columns}


def events() -> list[Json]:
    """In the order of their times."""
    orders = dataset(PREFIX + "orders", schema=schema(*ORDERS))
    customers = dataset(PREFIX + "customers", schema=schema(*CUSTOMERS))
    summary = dataset(
        PREFIX + "customer_summary",
        schema=schema(*SUMMARY),
        columnLineage=lineage(
            {name: [_catalog(s) for s in made] for name, made in FIELDS.items()},
            [_catalog(s) for s in ROWS],
        ),
        sparkLineage_columns=_columns_facet(),
        symlinks={
            **FACET,
            "identifiers": [
                {"namespace": "file", "name": "/warehouse/customer_summary", "type": "LOCATION"}
            ],
        },
    )
    created = [
        event(
            run=number, minute=number, job=f"customer_summary.create_{name}",
            outputs=(
                dataset(
                    PREFIX + name, schema=schema(*fields), columnLineage=lineage({}),
                    sparkLineage_columns=_constants(*fields),
                ),
            ),
        )
        for number, (name, fields) in enumerate((("orders", ORDERS), ("customers", CUSTOMERS)), 1)
    ]  # fmt: skip
    quality = {
        **FACET,
        "outputs": [{"namespace": "db", "name": summary["name"], "availability": "AVAILABLE"}],
    }
    insert = {"run": 3, "job": INSERT, "inputs": (orders, customers), "outputs": (summary,)}
    report = dataset(
        PREFIX + "report",
        columnLineage=lineage(
            {"share": [_catalog("TRANSFORMATION customer_summary.total_amount")]}
        ),
    )
    return [
        *created,
        event("START", minute=3, **insert),
        event("COMPLETE", minute=4, facets={"sparkLineage_quality": quality}, **insert),
        event(run=5, minute=5, job="report", inputs=(PREFIX + "customer_summary",),
              outputs=(report,)),
        event(run=6, minute=6, job="export", inputs=(PREFIX + "report",),
              outputs=(dataset("export/report.csv", "s3://bucket"),)),
        event(run=7, minute=7, job="dashboard", inputs=(PREFIX + "customer_summary",)),
    ]  # fmt: skip
