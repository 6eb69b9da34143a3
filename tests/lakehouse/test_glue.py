"""Iceberg's Glue catalog and its files in S3, on a server that has Amazon's interfaces."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.lakehouse.lake import ICEBERG, Ran, check, released, run, steps_of
from tests.support.aws import ACCOUNT, ENVIRONMENT, KEY, REGION, SECRET, running_aws
from tests.support.jobs import Jobs

STEPS = steps_of("glue.json")
ARN = f"arn:aws:glue:{REGION}:{ACCOUNT}"
BUNDLE = "org.apache.iceberg:iceberg-aws-bundle:1.12.0"
pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def iceberg_jars() -> list[Path]:
    with_aws = {version: (*found, BUNDLE) for version, found in ICEBERG.items()}
    return released(with_aws)


@pytest.fixture(scope="module")
def address(iceberg_jars: list[Path]) -> Iterator[str]:
    with running_aws("lake", "other") as found:
        yield found


@pytest.fixture(scope="module")
def ran(address: str, iceberg_jars: list[Path], module_jobs: Jobs) -> Ran:
    own = "org.apache.iceberg.aws.glue.GlueCatalog"
    catalogs = {
        # All that names it stands in its own settings.
        "glue": {
            "type": "glue",
            "warehouse": "s3://lake/house",
            "glue.id": ACCOUNT,
            "client.region": REGION,
            "s3.access-key-id": KEY,
            "s3.secret-access-key": SECRET,
        },
        # Region and account are the session's.
        "again": {
            "catalog-impl": own,
            "warehouse": "s3a://lake/house/",
            "cache-enabled": "false",
        },
        "where": {"catalog-impl": own, "warehouse": "s3://other/house"},
    }
    conf = {
        "spark.glue.accountId": ACCOUNT,
        "spark.driver.extraJavaOptions": f"-Daws.region={REGION}",
        "spark.sql.extensions": (
            "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
        ),
    }
    for name, settings in catalogs.items():
        prefix = f"spark.sql.catalog.{name}"
        common = {
            "io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
            "glue.endpoint": address,
            "s3.endpoint": address,
            "s3.path-style-access": "true",
        }
        conf[prefix] = "org.apache.iceberg.spark.SparkCatalog"
        conf.update({f"{prefix}.{key}": value for key, value in {**common, **settings}.items()})
    environment = {key: value for key, value in ENVIRONMENT.items() if key != "AWS_REGION"}
    found = run(module_jobs, iceberg_jars, STEPS, conf, environment)
    found.homes[ARN] = "glue:"
    return found


def test_step(ran: Ran, step: dict[str, Any]) -> None:
    check(ran, step)


def test_all_steps_have_worked(ran: Ran) -> None:
    assert ran.failed == {}


def _output(ran: Ran, step: str) -> dict[str, Any]:
    (event,) = ran.ends(step)
    output: dict[str, Any] = event["outputs"][0]
    return output


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("insert", ("s3://lake", "house/db.db/t")),
        ("insert through the other catalog", ("s3://lake", "house/db.db/t")),
        ("create as select through two catalogs", ("s3://other", "t2")),
        ("two warehouses of one account", ("s3://other", "house/db.db/t4")),
    ],
)
def test_a_table_has_its_path(ran: Ran, name: str, place: tuple[str, str]) -> None:
    links = _output(ran, name)["facets"]["symlinks"]["identifiers"]
    assert links == [{"namespace": place[0], "name": place[1], "type": "LOCATION"}]


def test_a_table_has_its_catalog(ran: Ran) -> None:
    for name, catalog in (("insert", "glue"), ("insert through the other catalog", "again")):
        facet = _output(ran, name)["facets"]["catalog"]
        assert {k: v for k, v in facet.items() if not k.startswith("_") and v} == {
            "framework": "iceberg",
            "type": "glue",
            "name": catalog,
            "metadataUri": ARN,
            "warehouseUri": "s3://lake/house",
            "source": "spark",
        }


def test_openlineage_calls_it_so_too(ran: Ran) -> None:
    from openlineage.client.naming.dataset import AWSGlue

    known = AWSGlue(region_name=REGION, account_id=ACCOUNT, database_name="db", table_name="t")
    output = _output(ran, "insert")
    assert (output["namespace"], output["name"]) == (known.get_namespace(), known.get_name())


def test_a_job_has_the_name_of_its_table(ran: Ran) -> None:
    (event,) = ran.ends("insert")
    assert event["job"]["name"] == "lake.db.t"


def test_what_was_renamed_says_its_name_before(ran: Ran) -> None:
    facet = _output(ran, "rename")["facets"]["lifecycleStateChange"]
    previous = facet["previousIdentifier"]
    assert (previous["namespace"], previous["name"]) == (ARN, "table/db/t2")


def test_no_key_is_told(ran: Ran, address: str, module_jobs: Jobs) -> None:
    (event,) = ran.ends("insert")
    told = event["run"]["facets"]["sparkLineage_context"]["catalogs"]["glue"]
    assert told["glue.endpoint"] == address
    for secret in (KEY, SECRET):
        assert secret not in module_jobs.events.read_text()
        assert secret not in ran.finished.stdout
