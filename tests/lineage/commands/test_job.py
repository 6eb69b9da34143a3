"""Commands of a real job without Hive: what arrives at the end, facet by facet."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.jobs import Finished, Jobs

SCRIPT = """
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.appName("swap").getOrCreate()
    spark.sql("CREATE TABLE live (a INT, d STRING) USING parquet PARTITIONED BY (d)")
    spark.sql("CREATE TABLE fresh USING parquet AS SELECT 1 AS a, 'x' AS d")
    spark.sql("ALTER TABLE live RENAME TO old")
    spark.sql("ALTER TABLE fresh RENAME TO live")
    spark.sql("ALTER TABLE old ADD PARTITION (d='1')")
    spark.sql("DROP TABLE IF EXISTS old")
    spark.sql("DROP TABLE IF EXISTS older")
    spark.table("live").write.mode("ignore").parquet("kept")
    spark.table("live").write.mode("ignore").parquet("kept")
    spark.stop()
"""

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def finished(module_jobs: Jobs) -> Finished:
    done = module_jobs.submit(module_jobs.script(SCRIPT))
    assert done.code == 0, done.stderr
    return done


def ends(finished: Finished, job: str) -> list[dict[str, Any]]:
    return [e for e in finished.of("COMPLETE") if e["job"]["name"] == f"swap.{job}"]


def change(event: dict[str, Any]) -> dict[str, Any]:
    (output,) = event["outputs"]
    facet = output["facets"]["lifecycleStateChange"]
    return {key: value for key, value in facet.items() if not key.startswith("_")}


def test_a_swap_is_two_renames_each_with_the_name_before(finished: Finished) -> None:
    (away,) = ends(finished, "rename_table.default.old")
    (into,) = ends(finished, "rename_table.default.live")
    namespace = away["outputs"][0]["namespace"]
    assert change(away) == {
        "lifecycleStateChange": "RENAME",
        "previousIdentifier": {"namespace": namespace, "name": "default.live"},
    }
    assert change(into)["previousIdentifier"] == {"namespace": namespace, "name": "default.fresh"}
    assert into["outputs"][0]["name"] == "default.live"


def test_what_is_made_and_changed_says_so(finished: Finished) -> None:
    (made,) = ends(finished, "create_table.default.live")
    assert change(made) == {"lifecycleStateChange": "CREATE"}
    (copied,) = ends(finished, "default.fresh")
    assert change(copied) == {"lifecycleStateChange": "CREATE"}
    (added,) = ends(finished, "alter_table.default.old")
    assert change(added) == {"lifecycleStateChange": "ALTER"}
    condition = added["outputs"][0]["outputFacets"]["subset"]["outputCondition"]
    assert condition["type"] == "partition"
    assert [part["dimensions"] for part in condition["partitions"]] == [{"d": "1"}]


def test_what_was_not_there_is_not_dropped(finished: Finished) -> None:
    (gone,) = ends(finished, "drop_table.default.old")
    assert change(gone) == {"lifecycleStateChange": "DROP"}
    (idle,) = ends(finished, "drop_table.default.older")
    assert idle["outputs"] == []


def test_an_ignored_write_is_no_write(finished: Finished) -> None:
    first, second = ends(finished, "kept")
    assert change(first) == {"lifecycleStateChange": "CREATE"}
    assert [each["name"] for each in first["inputs"]] == ["default.live"]
    assert (second["inputs"], second["outputs"]) == ([], [])


def test_no_start_tells_of_a_change(finished: Finished) -> None:
    outputs = [output for event in finished.of("START") for output in event["outputs"]]
    assert outputs
    assert not any("lifecycleStateChange" in output["facets"] for output in outputs)
