"""Iceberg's REST catalog on a real server: several warehouses behind a token, and views."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.lakehouse.lake import ICEBERG, Ran, check, released, run, steps_of
from tests.support.iceberg_rest import CLIENT, SECRET, TOKEN, running_rest_catalog
from tests.support.jobs import Jobs
from tests.support.python import kept_of

STEPS = steps_of("rest.json")
PASSWORD, KEY = "pa55word-of-the-lake", "k3y-of-the-lake"
pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def iceberg_jars() -> list[Path]:
    return released(ICEBERG)


@pytest.fixture(scope="module")
def port(iceberg_jars: list[Path], module_jobs: Jobs) -> Iterator[int]:
    home = module_jobs.folder / "rest"
    home.mkdir()
    with running_rest_catalog(home, "lake", "hr", "own") as found:
        yield found


def conf(port: int) -> dict[str, str]:
    server = f"http://127.0.0.1:{port}"
    catalogs = {
        "rest": {
            "uri": server,
            "warehouse": "lake",
            "credential": f"{CLIENT}:{SECRET}",
            "oauth2-server-uri": f"{server}/v1/oauth/tokens",
            "scope": "catalog",
        },
        "again": {
            "uri": f"{server}/",
            "warehouse": "lake",
            "token": TOKEN,
            "header.X-Api-Key": KEY,
            "cache-enabled": "false",
        },
        # Iceberg's client takes no user and password in an address.
        "user": {"uri": f"http://reader:{PASSWORD}@127.0.0.1:{port}", "token": TOKEN},
        "hr": {"uri": server, "warehouse": "hr", "token": TOKEN},
        # The session's own catalog hands Iceberg's tables to this one.
        "spark_catalog": {"uri": server, "warehouse": "own", "token": TOKEN},
        "own": {"uri": server, "warehouse": "own", "token": TOKEN},
    }
    found = {
        "spark.sql.extensions": (
            "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
        ),
    }
    for name, settings in catalogs.items():
        prefix = f"spark.sql.catalog.{name}"
        kind = "SparkSessionCatalog" if name == "spark_catalog" else "SparkCatalog"
        found[prefix] = f"org.apache.iceberg.spark.{kind}"
        found[f"{prefix}.type"] = "rest"
        found.update({f"{prefix}.{key}": value for key, value in settings.items()})
    return found


@pytest.fixture(scope="module")
def ran(port: int, iceberg_jars: list[Path], module_jobs: Jobs) -> Ran:
    found = run(module_jobs, iceberg_jars, STEPS, conf(port))
    found.homes[f"http://127.0.0.1:{port}"] = "rest:"
    return found


def test_step(ran: Ran, step: dict[str, Any]) -> None:
    check(ran, step)


def test_all_steps_have_worked(ran: Ran) -> None:
    assert ran.failed == {}
    assert "RESTException" in ran.facts["refused"]


def _output(ran: Ran, step: str) -> dict[str, Any]:
    (event,) = ran.ends(step)
    output: dict[str, Any] = event["outputs"][0]
    return output


@pytest.mark.parametrize(
    ("name", "catalog"),
    [("insert", "rest"), ("overwrite a partition through the other catalog", "again")],
)
def test_a_table_has_its_catalog_and_path(ran: Ran, port: int, name: str, catalog: str) -> None:
    facets = _output(ran, name)["facets"]
    told = {k: v for k, v in facets["catalog"].items() if not k.startswith("_") and v}
    assert told == {
        "framework": "iceberg",
        "type": "rest",
        "name": catalog,
        "metadataUri": f"http://127.0.0.1:{port}",
        "source": "spark",
    }
    assert facets["symlinks"]["identifiers"] == [
        {"namespace": "file", "name": f"{ran.folder}/rest/lake/db/t", "type": "LOCATION"}
    ]


def test_a_view_is_a_view(ran: Ran) -> None:
    for step in ("create a view", "replace a view", "properties of a view", "drop a view"):
        facets = _output(ran, step)["facets"]
        assert facets["datasetType"]["datasetType"] == "VIEW", step
        assert "symlinks" not in facets, step
    assert "datasetType" in _output(ran, "insert")["facets"]


def test_what_is_read_through_a_view_says_so(ran: Ran) -> None:
    facet = _output(ran, "read a view")["facets"]["sparkLineage_columns"]
    assert [(each["name"], each["via"]) for each in facet["columns"]] == [
        ("id", ["db.v"]),
        ("name", ["db.v"]),
    ]
    assert facet["via"] == ["db.v"]


def test_what_is_not_known_of_a_view_that_may_have_been_there_is_said(ran: Ran) -> None:
    (event,) = ran.ends("a view that is there")
    (told,) = event["run"]["facets"]["sparkLineage_quality"]["outputs"]
    assert told["issues"] == ["IF NOT EXISTS: the catalog does not tell whether the view was there"]


@pytest.mark.parametrize(
    ("name", "before"), [("rename", "lake.a.b.t"), ("rename a view", "lake.db.w")]
)
def test_what_was_renamed_says_its_name_before(ran: Ran, port: int, name: str, before: str) -> None:
    facet = _output(ran, name)["facets"]["lifecycleStateChange"]
    previous = facet["previousIdentifier"]
    assert (previous["namespace"], previous["name"]) == (f"http://127.0.0.1:{port}", before)


def test_a_view_is_an_input_where_it_is_asked_for(
    ran: Ran, port: int, iceberg_jars: list[Path], tmp_path: Path
) -> None:
    # Another application, which has another name for the catalog too: the view has its own.
    jobs = Jobs(tmp_path)
    settings = conf(port)
    settings |= {
        key.replace(".catalog.rest", ".catalog.far"): value for key, value in settings.items()
    }
    statement = "INSERT INTO far.db.t2 SELECT number, word FROM far.db.v"
    steps = [{"name": "read a view", "sql": [statement]}]
    found = run(jobs, iceberg_jars, steps, {**settings, "spark.lineage.views": "inputs"})
    found.homes[f"http://127.0.0.1:{port}"] = "rest:"
    assert found.failed == {}
    (event,) = found.ends("read a view")
    assert [found.short(each) for each in event["inputs"]] == ["rest:lake.db.v"]
    assert event["inputs"][0]["facets"]["datasetType"]["datasetType"] == "VIEW"
    assert [found.short(each) for each in event["outputs"]] == ["rest:lake.db.t2"]
    assert found.edges(event)[0] == {
        "id IDENTITY rest:lake.db.v.number",
        "name IDENTITY rest:lake.db.v.word",
    }


def test_the_collector_holds_one_node_for_each_data_set(
    ran: Ran, module_jobs: Jobs, tmp_path: Path
) -> None:
    # What was renamed is one, and a path is its table.
    assert sorted(ran.short(dataset) for dataset in kept_of(module_jobs.events, tmp_path)) == [
        "default.p",
        "default.src",
        "rest:hr.db.t",
        "rest:lake.a.b.u",
        "rest:lake.db.log",
        "rest:lake.db.t",
        "rest:lake.db.t2",
        "rest:lake.db.v",
        "rest:lake.db.x",
        "rest:own.default.r",
    ]


def test_no_secret_is_told(ran: Ran, port: int, module_jobs: Jobs) -> None:
    text = module_jobs.events.read_text()
    (event,) = ran.ends("insert")
    told = event["run"]["facets"]["sparkLineage_context"]["catalogs"]
    server, own = f"http://127.0.0.1:{port}", "org.apache.iceberg.spark.SparkCatalog"
    assert told["rest"] == {
        "class": own,
        "type": "rest",
        "uri": server,
        "warehouse": "lake",
        "scope": "catalog",
    }
    assert told["user"] == {"class": own, "type": "rest", "uri": server}
    for secret in (SECRET, TOKEN, PASSWORD, KEY):
        assert secret not in text
        assert secret not in ran.finished.stdout
    for path in module_jobs.spool.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            assert not any(each.encode() in content for each in (SECRET, TOKEN, PASSWORD, KEY))
