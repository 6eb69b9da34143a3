"""JDBC end to end: a real PostgreSQL, its driver, one application, and the events it sent.

Each case of ``cases.json`` is a statement; what it gave and what its event says were worked
out by hand. Columns' sources are kind and table with column, ``!`` for masked; a table
without a schema is in ``public``.
"""

from __future__ import annotations

import json
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.jobs import Finished, Jobs
from tests.support.maven import jars
from tests.support.postgres import server

FOLDER = Path(__file__).parent
CASES: list[dict[str, Any]] = json.loads((FOLDER / "cases.json").read_text())
DRIVER = "org.postgresql:postgresql:42.7.7"
TABLES = """
CREATE TABLE orders (id int, cust int, total int, note text, token text);
INSERT INTO orders VALUES (1, 1, 10, 'a', 'ann@x'), (2, 2, 20, 'b', '-'), (3, 1, 5, 'c', '-');
CREATE TABLE customers (id int, name text, mail text, city text);
INSERT INTO customers VALUES (1, 'Ann', 'ann@x', 'rome'), (2, 'Bob', 'bob@x', 'rome');
CREATE SCHEMA sales;
CREATE TABLE sales.lines (id int, sku text);
INSERT INTO sales.lines VALUES (1, 'p');
CREATE TABLE sales.marks (mark text);
INSERT INTO sales.marks VALUES ('m');
"""

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]


class Ran:
    """The application's end, and the address of its database."""

    def __init__(self, finished: Finished, namespace: str, results: Path) -> None:
        self.finished = finished
        self.namespace = namespace
        self.results = results

    def values(self, case: str) -> list[list[Any]]:
        """The rows that a case wrote."""
        parquet = pytest.importorskip("pyarrow.parquet")
        table = parquet.read_table(self.results / case)
        return [list(row.values()) for row in table.to_pylist()]


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ran]:
    psycopg = pytest.importorskip("psycopg")
    driver = jars(DRIVER, alone=True)[0]
    jobs = Jobs(tmp_path_factory.mktemp("jdbc"))
    with server() as postgres:
        place = urllib.parse.urlsplit(postgres.url)
        with psycopg.connect(
            host="127.0.0.1", port=place.port, user="test", dbname="postgres", autocommit=True
        ) as admin:
            admin.execute("CREATE DATABASE shop")
        with psycopg.connect(
            host="127.0.0.1", port=place.port, user="test", dbname="shop", autocommit=True
        ) as connection:
            connection.execute(TABLES)
        url = f"jdbc:postgresql://127.0.0.1:{place.port}/shop?password=Zecret-word"
        script = jobs.script((FOLDER / "program.py").read_text())
        script = jobs.folder / script.name
        finished = submit(jobs, script, driver, url)
        yield Ran(finished, f"postgres://127.0.0.1:{place.port}", jobs.folder / "out")


def submit(jobs: Jobs, script: Path, driver: Path, url: str) -> Finished:
    catalog = "spark.sql.catalog.pg"
    runner = jobs.folder / "run.py"
    arguments = [str(script), str(FOLDER / "cases.json"), str(jobs.folder / "out"), url]
    runner.write_text(
        f"import runpy, sys\nsys.argv = {arguments!r}\nrunpy.run_path(sys.argv[0], run_name='x')\n"
    )
    finished = jobs.submit(
        runner,
        {
            "spark.driver.extraClassPath": str(driver),
            catalog: "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog",
            f"{catalog}.url": url,
            f"{catalog}.driver": "org.postgresql.Driver",
            f"{catalog}.user": "test",
            f"{catalog}.password": "Zecret-word",
            f"{catalog}.pushDownAggregate": "true",
            f"{catalog}.pushDownLimit": "true",
        },
        timeout=500,
    )
    assert finished.code == 0, finished.stderr[-4000:]
    return finished


def event_of(ran: Ran, case: dict[str, Any]) -> dict[str, Any]:
    output = case.get("output") or f"/out/{case['id']}"
    found = [
        event
        for event in ran.finished.of("COMPLETE")
        if any(each["name"].endswith(output) for each in event.get("outputs", ()))
    ]
    assert len(found) == 1, [event.get("outputs") for event in ran.finished.of("COMPLETE")]
    return found[0]


def sources(fields: list[dict[str, Any]], ran: Ran) -> set[str]:
    found = set()
    for field in fields:
        assert field["namespace"] == ran.namespace
        table = field["name"].removeprefix("shop.").removeprefix("public.")
        for how in field["transformations"]:
            mask = "!" if how.get("masking") and how["type"] == "DIRECT" else ""
            found.add(f"{how['subtype']}{mask} {table}.{field['field']}")
    return found


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_case(ran: Ran, case: dict[str, Any]) -> None:
    if "values" in case:
        assert sorted(map(str, ran.values(case["id"]))) == sorted(map(str, case["values"]))
    event = event_of(ran, case)
    inputs = {(each["namespace"], each["name"]) for each in event.get("inputs", ())}
    assert inputs == {(ran.namespace, name) for name in case["inputs"]}
    facets = event["outputs"][0]["facets"]
    lineage = facets.get("columnLineage", {"fields": {}})
    told = {name: sources(field["inputFields"], ran) for name, field in lineage["fields"].items()}
    assert {name: told.get(name, set()) for name in case["columns"]} == {
        name: set(edges) for name, edges in case["columns"].items()
    }
    assert set(told) <= set(case["columns"])
    assert sources(lineage.get("dataset", []), ran) == set(case.get("rows", ()))
    quality = event["run"]["facets"]["sparkLineage_quality"]
    assert not quality.get("unexplained")
    assert not quality.get("unknownNodes")
    available = [each["availability"] for each in quality["outputs"]]
    assert available == [case.get("availability", "AVAILABLE")]


def test_no_secret_leaves(ran: Ran) -> None:
    assert "Zecret" not in json.dumps(ran.finished.events)
    assert "Zecret" not in ran.finished.stderr
