"""Events of a small shop that have all that Marquez's pages show; names have odd letters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from spark_lineage.collector.server import running
from tests.collector import postgres
from tests.collector.build import FACET, Json, dataset, event, lineage, run_id, schema, source

PG, LAKE, JOBS = "postgres://db:5432", "s3://lake", "jobs"
ORDERS, DAILY, REPORT = "shop.public.orders", "warehouse/daily sums", "rpt#2:ü%/x"
JOB, DECLARED = "dag.daily/sums 100%", "declared only"
_SQL = "INSERT INTO daily SELECT day, sum(amount) FROM orders GROUP BY day"


def orders() -> Json:
    """The source: tagged, described, checked."""
    checks = [
        {"assertion": "not_null", "success": True, "column": "id"},
        {"assertion": "unique", "success": False, "column": "email"},
    ]
    return dataset(
        ORDERS, PG, schema=schema("id:bigint", "amount:decimal(10,2)", "email:text"),
        tags={**FACET, "tags": [{"key": "PII", "value": "x", "field": "email"},
                                {"key": "GOLD", "value": ""}]},
        documentation={**FACET, "description": "All orders"},
        dataQualityAssertions={**FACET, "assertions": checks},
    )  # fmt: skip


def daily(columns: int) -> Json:
    """The target in one of its versions: of two columns or of three."""
    of = {
        "total": ("AGGREGATION", "amount", "sum(amount)"),
        "day": ("TRANSFORMATION", "id", ""),
        "buyers": ("AGGREGATION", "email", "count(email)"),
    }
    names = ("day", "total", "buyers")[:columns]
    made = {
        name: [
            {
                **source(f"{of[name][0]} x", description=of[name][2]),
                "namespace": PG,
                "name": ORDERS,
                "field": of[name][1],
            }
        ]
        for name in names
    }
    fields = schema(*(f"{name}:bigint" for name in names))
    fields["fields"][1]["description"] = "sum of the amounts"
    return dataset(
        DAILY, LAKE, schema=fields, columnLineage=lineage(made),
        lifecycleStateChange={**FACET, "lifecycleStateChange": "OVERWRITE"},
    )  # fmt: skip


def report() -> Json:
    """What is made of the target."""
    made = {**source("TRANSFORMATION x"), "namespace": LAKE, "name": DAILY, "field": "total"}
    return dataset(
        REPORT, "bigquery", schema=schema("kpi:double"), columnLineage=lineage({"kpi": [made]})
    )


def run_of(number: int, type: str, minute: int, columns: int = 3, **more: Any) -> Json:
    """An event of the job that makes the target."""
    parent = {"run": {"runId": run_id(99)}, "job": {"namespace": JOBS, "name": "dag"}}
    facets: dict[str, Any] = {
        "parent": {**FACET, **parent},
        "nominalTime": {**FACET, "nominalStartTime": "2026-01-01T02:00:00+02:00"},
        **more,
    }
    writes = type in ("COMPLETE", "ABORT")
    found = event(type, number, minute, JOB, (orders(),), (daily(columns),) * writes, facets)
    found["job"]["facets"] = {
        "sql": {**FACET, "query": _SQL},
        "sourceCodeLocation": {**FACET, "type": "git", "url": "https://example.com/daily.sql"},
        "documentation": {**FACET, "description": "Daily sums"},
        "tags": {**FACET, "tags": [{"key": "critical", "value": "true"}]},
    }
    return found


def events() -> list[Json]:
    """Five ended runs of one job, one that runs, one that failed, a job without runs, a rename."""
    error = {**FACET, "message": "boom", "programmingLanguage": "SQL"}
    found = []
    for number, (end, columns) in enumerate(
        [("COMPLETE", 2), ("FAIL", 2), ("COMPLETE", 3), ("ABORT", 3), ("COMPLETE", 3)], 1
    ):
        more = {"errorMessage": error} if end == "FAIL" else {}
        found += [run_of(number, "START", number * 10, columns),
                  run_of(number, end, number * 10 + 7, columns, **more)]  # fmt: skip
    target = dataset(DAILY, LAKE)
    declared = event(None, 0, 70, DECLARED, (orders(),), (dataset("declared out"),))
    del declared["run"]
    declared["schemaURL"] = declared["schemaURL"].replace("RunEvent", "JobEvent")
    before, after = dataset("customers", PG), dataset("customers_new", PG)
    renamed = {"namespace": PG, "name": "customers"}
    change = {**FACET, "lifecycleStateChange": "RENAME", "previousIdentifier": renamed}
    rename = {
        "eventTime": "2026-01-01T01:15:00Z",
        "producer": FACET["_producer"],
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/DatasetEvent",
        "dataset": dataset("customers_new", PG, lifecycleStateChange=change),
    }
    return [
        *found,
        event("START", 20, 60, "publish", (target,)),
        event("RUNNING", 20, 65, "publish", (target,), (report(),)),
        event("FAIL", 21, 66, "broken", (target,)),
        declared,
        event(run=22, minute=71, job="mail", inputs=(before,), outputs=("mails",)),
        rename,
        event(run=23, minute=80, job="mail", inputs=(after,), outputs=("mails",)),
    ]


def served(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[httpx.Client]:
    """A client of a service that has the shop, on the database that the parameter names."""
    db_url = str(tmp_path_factory.mktemp("shop") / "c.db")
    if request.param == "postgresql":
        db_url = request.getfixturevalue("postgres_url")
    with running(db_url) as url, httpx.Client(base_url=url, trust_env=False, timeout=30) as found:
        for content in events():
            assert found.post("/api/v1/lineage", json=content).status_code == 201
        yield found
    if request.param == "postgresql":
        postgres.empty(db_url)
