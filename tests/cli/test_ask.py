"""``explain`` and ``impact`` against a running collector."""

from __future__ import annotations

import json
import socket

import pytest

from tests.cli.conftest import Run

COLUMN = """\
customer_summary.total_amount  decimal(14,2)
└── total_amount = sum(orders.amount)
    AGGREGATION · INPUT_FIELDS
    by customer_summary.insert_into_customer_summary
    run 00000000-0000-0000-0000-000000000003 COMPLETE 2026-01-01 00:04:00 UTC
    ├── from orders.amount  AGGREGATION  decimal(4,2)
    │   └── TRANSFORMATION · CONSTANT
    │       by customer_summary.create_orders
    │       run 00000000-0000-0000-0000-000000000001 COMPLETE 2026-01-01 00:01:00 UTC
    ├── rows by JOIN customers.customer_id, orders.customer_id
    ├── rows by FILTER customers.customer_level, orders.amount, orders.status
    ├── rows by GROUP_BY orders.customer_id, orders.region
    └── rows by SORT orders.amount

customer_summary  spark_catalog.default.customer_summary  in db
customers         spark_catalog.default.customers  in db
orders            spark_catalog.default.orders  in db
"""


def lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.splitlines()]


def test_explain_a_column(run: Run, address: str) -> None:
    done = run("explain", "customer_summary.total_amount", "--url", address)
    assert (done.code, done.err) == (0, "")
    assert lines(done.out) == lines(COLUMN)


def test_explain_shows_each_step(run: Run, address: str) -> None:
    out = run("explain", "report.share", "--url", address).out
    shown = ["report.share", "from customer_summary.total_amount", "= sum(orders.amount)",
             "from orders.amount"]  # fmt: skip
    places = [out.index(part) for part in shown]
    assert places == sorted(places)


def test_what_chooses_a_value(run: Run, address: str) -> None:
    out = run("explain", "customer_summary.customer_seq", "--url", address).out
    assert "TRANSFORMATION · SYSTEM" in out
    assert "chosen by WINDOW orders.customer_id" in out


def test_explain_a_table(run: Run, address: str) -> None:
    done = run("explain", "customer_summary", "--url", address)
    assert done.code == 0
    told = [" ".join(line.split()) for line in done.out.splitlines()]
    for expected in (
        "customer_id integer IDENTITY INPUT_FIELDS orders.customer_id",
        "region_label string TRANSFORMATION INPUT_FIELDS upper(orders.region)",
        "total_amount decimal(14,2) AGGREGATION INPUT_FIELDS sum(orders.amount)",
        "customer_seq integer TRANSFORMATION SYSTEM"
        " row_number() OVER (ORDER BY orders.customer_id)",
        "WINDOW orders.customer_id",
        "CONDITIONAL orders.region",
        "JOIN customers.customer_id, orders.customer_id",
        "FILTER customers.customer_level, orders.amount, orders.status",
        "GROUP_BY orders.customer_id, orders.region",
        "SORT orders.amount",
    ):
        assert expected in told


def test_impact(run: Run, address: str) -> None:
    done = run("impact", "orders.amount", "--url", address)
    assert (done.code, done.err) == (0, "")
    told = [" ".join(line.split()) for line in done.out.splitlines()]
    for expected in (
        "orders.amount",
        "a change reaches 6 columns, 3 data sets, 3 jobs",
        "customer_summary 1 hop, by customer_summary.insert_into_customer_summary",
        "total_amount AGGREGATION, FILTER, SORT",
        "customer_id FILTER, SORT",
        "report 2 hops, by report",
        "share AGGREGATION, FILTER, SORT through customer_summary.total_amount",
        "report.csv: as a whole (DATASET)",
        "job dashboard reads customer_summary and writes nothing",
    ):
        assert expected in told


def test_only_values(run: Run, address: str) -> None:
    out = run("impact", "orders.amount", "--values", "--url", address).out
    assert "a change reaches 2 columns" in out
    assert "FILTER" not in out
    out = run("impact", "orders.order_id", "--url", address).out
    assert "nothing that is known depends on it" in out


def test_json(run: Run, address: str) -> None:
    for command in ("explain", "impact"):
        answer = json.loads(run(command, "orders.amount", "--json", "--url", address).out)
        assert answer["column"]["column"] == "amount"


def test_plain_and_narrow_enough(run: Run, address: str) -> None:
    for arguments in (("explain", "customer_summary"), ("impact", "orders"),
                      ("explain", "report.share", "--all")):  # fmt: skip
        out = run(*arguments, "--url", address).out
        assert "\x1b" not in out
        assert max(map(len, out.splitlines())) <= 120


def test_depth(run: Run, address: str) -> None:
    out = run("explain", "report.share", "--depth", "1", "--url", address).out
    assert "1 more column upstream: raise --depth" in out


def test_unknown_names(run: Run, address: str) -> None:
    done = run("explain", "customer_sumary.total_amount", "--url", address)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("error: nothing named 'customer_sumary.total_amount' is known")
    assert "did you mean:" in done.err
    assert "spark_catalog.default.customer_summary" in done.err
    done = run("impact", "orders.amont", "--url", address)
    assert done.code == 2
    assert "spark_catalog.default.orders.amount" in done.err


def test_wrong_namespace(run: Run, address: str) -> None:
    assert run("explain", "orders", "--namespace", "db", "--url", address).code == 0
    assert run("explain", "orders", "--namespace", "no", "--url", address).code == 2


def test_no_collector(run: Run) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        done = run("explain", "a.b", "--url", f"http://127.0.0.1:{port}")
    assert done.code == 3
    assert f"no collector answers at http://127.0.0.1:{port} (connection refused)" in done.err
    assert "spark-lineage collector" in done.err


@pytest.mark.parametrize("url", ["localhost:8765", "ftp://x", "http://"])
def test_wrong_url(run: Run, url: str) -> None:
    done = run("impact", "a.b", "--url", url)
    assert done.code == 2
    assert "an http or https URL" in done.err


def test_something_else_answers(run: Run, address: str) -> None:
    done = run("impact", "a.b", "--url", f"{address}/elsewhere")
    assert done.code in (2, 3)
    assert "is no collector" in done.err or "Not Found" in done.err
