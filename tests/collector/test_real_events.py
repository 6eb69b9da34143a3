"""Events of real producers go in, and the graph that results is the one worked out by hand."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from spark_lineage.collector.graph import Bounds
from spark_lineage.collector.service import Collector, QuarantinedError
from tests.collector.build import OWN, bodies, edges

PUBLIC = Path(__file__).parents[3] / "shared" / "events" / "public"


def public(name: str) -> Path:
    """A file that may not be copied into the project."""
    path = PUBLIC / name
    if not path.exists():
        if os.environ.get("CI") == "true":
            pytest.fail(f"{name} is missing, and must be there under CI=true")
        pytest.skip(f"{name} is not here")
    return path


def load(collector: Collector, path: Path) -> None:
    for body in bodies(path):
        assert collector.take(body)


@pytest.mark.parametrize("path", sorted(OWN.iterdir()), ids=lambda path: path.stem)
def test_own_events_go_in(collector: Collector, path: Path) -> None:
    load(collector, path)
    assert collector.health()["events"] == len(bodies(path))


def test_public_events_go_in_and_invalid_ones_are_quarantined(collector: Collector) -> None:
    public("airflow2_dag_start.json")
    files = sorted(PUBLIC.iterdir())
    refused = set()
    taken = 0
    for path in files:
        for body in bodies(path):
            try:
                taken += collector.take(body)
            except QuarantinedError:
                refused.add(path.name)
    assert refused == {path.name for path in files if path.name.startswith("invalid_")}
    assert collector.health()["quarantined"] == 5
    assert collector.health()["events"] == taken > 80


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("run", "$.run.runId"),
        ("run_facet", "$.run.facets.parent.run.runId"),
        ("job_facet", "$.job.facets.ownership.owners[0].name"),
        ("dataset_facet", "$.outputs[0].facets.ownership.owners[0].name"),
        ("output_dataset_facet", "$.outputs[0].outputFacets.outputStatistics.rowCount"),
    ],
)
def test_invalid_events_name_their_fault(collector: Collector, name: str, path: str) -> None:
    file = "invalid_no_run_id.json" if name == "run" else f"invalid_{name}.json"
    with pytest.raises(QuarantinedError) as caught:
        collector.take(bodies(public(file))[0])
    assert [fault.path for fault in caught.value.faults] == [path]


@pytest.mark.parametrize(
    "stream", [p.name for p in sorted(OWN.glob("*.ndjson"))] + [
        "airflow2_three_dags.ndjson", "spark_bigquery_shakespeare.ndjson",
        "spark_column_lineage_ctas.ndjson", "spark_hive_complete.ndjson",
    ],
)  # fmt: skip
def test_streams_in_any_order(collector: Collector, stream: str) -> None:
    path = OWN / stream if (OWN / stream).exists() else public(stream)
    load(collector, path)
    other = Collector("sqlite://")
    shuffled = bodies(path) * 2
    random.Random(7).shuffle(shuffled)
    for body in shuffled:
        other.take(body)
    assert other.graph() == collector.graph()
    other.close()


def test_airflow_and_its_failed_task(collector: Collector) -> None:
    load(collector, OWN / "airflow3_postgres_dag.ndjson")
    db, totals = "demo.public", "demo.public.totals"
    # Three jobs say the same of `totals`; the run that failed erased nothing.
    assert edges(collector) == {
        f"{totals}.id < DIRECT {db}.customers.id",
        f"{totals}.name < DIRECT {db}.customers.name",
        f"{totals}._0 < DIRECT {db}.orders.amount",
    }
    jobs = {e["job_name"] for e in collector.graph()["edges"] if e["kind"] == "DIRECT"}
    assert jobs == {"shop_pg.load_totals", "shop_pg.copy_file.query.3", "shop_pg.fail.query.3"}
    states = {run["job"]["name"]: run["state"] for run in collector.runs(None, None, None, 100)}
    assert states["shop_pg"] == "FAIL"
    assert states["shop_pg.fail"] == "FAIL"
    assert states["shop_pg.load_totals"] == "COMPLETE"
    assert len(collector.runs(None, None, None, 100)) == 17


def test_dbt_with_all_starts_first(collector: Collector) -> None:
    load(collector, OWN / "dbt_classic_seed_run_test.ndjson")
    assert edges(collector) == {
        "shop.main.stg_orders.order_id < DIRECT shop.main.raw_orders.id",
        "shop.main.stg_orders.customer_id < DIRECT shop.main.raw_orders.customer",
        "shop.main.stg_orders.amount < DIRECT shop.main.raw_orders.amount",
        "shop.main.customer_totals.customer_id < DIRECT shop.main.raw_customers.id",
        "shop.main.customer_totals.name < DIRECT shop.main.raw_customers.name",
        "shop.main.customer_totals.total < DIRECT shop.main.stg_orders.amount",
        # What the model that failed was to be; nothing that completed says otherwise.
        "shop.main.broken.no_such_column < DIRECT shop.main.stg_orders.no_such_column",
    }
    answer = collector.impact("raw_orders", "amount", None, Bounds())
    assert [(c["dataset"], c["column"]) for c in answer["columns"]] == [
        ("shop.main.stg_orders", "amount"),
        ("shop.main.customer_totals", "total"),
    ]


def test_the_python_client(collector: Collector) -> None:
    load(collector, OWN / "python_client_run_complete_column_lineage_1_2_0.json")
    load(collector, OWN / "python_client_dataset_event.json")
    assert edges(collector) == {
        "shop.public.totals.name < TRANSFORMATION masked shop.public.customers.email",
        "shop.public.totals.total < AGGREGATION shop.public.orders.amount",
        "shop.public.totals.* < JOIN shop.public.orders.customer_id",
    }
    nested = {c["path"] for c in collector.graph()["columns"] if c["name"].endswith("customers")}
    assert {"address", "address.geo.lat"} <= nested
    # By the location that a symlink names.
    assert collector.resolve("warehouse/customers.email", None)["dataset"].endswith("customers")


def test_trino(collector: Collector) -> None:
    load(collector, OWN / "trino_start.json")
    load(collector, OWN / "trino_complete.json")
    assert edges(collector) == {
        "iceberg.dwh.def.id < DIRECT pg.public.cde.id",
        "iceberg.dwh.def.value < DIRECT pg.public.abc.value",
    }


def test_openlineage_spark(collector: Collector) -> None:
    load(collector, public("spark_column_lineage_ctas.ndjson"))
    one, two, out = "/tmp/cll_test/cll_source1", "/tmp/cll_test/cll_source2", "/tmp/cll_test/tbl1"
    common = {
        f"GROUP_BY {one}.a", f"GROUP_BY {one}.b", f"JOIN {one}.a", f"FILTER {one}.a",
        f"JOIN {two}.a", f"FILTER {two}.a",
    }  # fmt: skip
    values = {
        "ident": f"IDENTITY {one}.a",
        "trans": f"TRANSFORMATION {one}.b",
        "agg": f"AGGREGATION {two}.c",
    }
    assert edges(collector) == {
        f"{out}.{column} < {source}"
        for column, value in values.items()
        for source in {value, *common}
    }
    # The name in the catalog is a symlink of the path.
    assert collector.resolve("default.tbl1.agg", None) == {
        "namespace": "file", "dataset": out, "column": "agg",
    }  # fmt: skip


def test_running_events_that_drop_the_inputs(collector: Collector) -> None:
    load(collector, public("spark_bigquery_shakespeare.ndjson"))
    source = "bigquery-public-data.samples.shakespeare"
    found = edges(collector, table_level=True)
    assert f"/tmp/outputs/1729097570970 < INPUT {source}" in found
    out = "/tmp/outputs/1729097570970"
    sources = {
        "word": ("IDENTITY word", "GROUP_BY word", "FILTER word", "FILTER word_count"),
        "sum(word_count)": (
            "AGGREGATION word_count", "GROUP_BY word", "FILTER word", "FILTER word_count",
        ),
    }  # fmt: skip
    assert edges(collector) == {
        f"{out}.{column} < {kind} {source}.{field}"
        for column, told in sources.items()
        for kind, field in (one.split() for one in told)
    }


def test_a_run_without_start(collector: Collector) -> None:
    load(collector, public("spark_create_table_complete_only.json"))
    (run,) = collector.runs(None, None, None, 10)
    assert run["state"] == "COMPLETE"
    assert run["started"] == run["ended"]


def test_hive_with_two_outputs(collector: Collector) -> None:
    load(collector, public("hive_multi_insert_complete.json"))
    assert edges(collector) == {
        "test.t1.id < TRANSFORMATION test.t3.id",
        "test.t1.name < IDENTITY test.t4.name",
        "test.t1.* < JOIN test.t3.id",
        "test.t1.* < JOIN test.t4.id",
        "test.t2.id < AGGREGATION test.t3.id",
        "test.t2.name < IDENTITY test.t4.name",
        "test.t2.* < JOIN test.t3.id",
        "test.t2.* < JOIN test.t4.id",
        "test.t2.* < GROUP_BY test.t4.name",
    }
