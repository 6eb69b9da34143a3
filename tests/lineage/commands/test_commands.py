"""Every case in ``cases/`` is run: what each of its runs read, changed, and is called."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.lineage.commands.stage import Output, Stage, Told

CASES = [
    pytest.param(
        {**case, "database": f"db_{path.stem}_{case['id']}"}, id=f"{path.stem}-{case['id']}"
    )
    for path in sorted((Path(__file__).parent / "cases").glob("*.json"))
    for case in json.loads(path.read_text(encoding="utf-8"))
]

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def stage(spark: Any) -> Iterator[Stage]:
    stage = Stage(spark)
    spark.sql("CREATE NAMESPACE IF NOT EXISTS dv2.cmd")
    yield stage
    stage.close()


@pytest.mark.parametrize("case", CASES)
def test_case(case: dict[str, Any], stage: Stage, tmp_path: Path) -> None:
    version = tuple(int(part) for part in stage.spark.version.split(".")[:2])
    if version < tuple(case.get("since", (3, 0))):
        pytest.skip(f"needs Spark {case['since']}")
    stage.enter(case["database"])
    try:
        for statement in case.get("setup", ()):
            stage.execute(statement, tmp_path)
        stage.records()
        for statement in case["run"]:
            failing = statement.startswith("fails:")
            try:
                stage.execute(statement.removeprefix("fails:").strip(), tmp_path)
            except Exception:
                assert failing
            else:
                assert not failing, "the statement was to fail"
        told = stage.told()
    finally:
        stage.leave()
    expected = case["runs"]
    assert [run.job for run in told] == [run["job"] for run in expected]
    for run, wanted in zip(told, expected, strict=True):
        check(run, wanted)


def check(run: Told, wanted: dict[str, Any]) -> None:
    assert run.state == wanted.get("state", "COMPLETE")
    assert list(run.inputs) == wanted.get("inputs", [])
    assert [output.name for output in run.outputs] == list(wanted.get("outputs", {}))
    for output in run.outputs:
        check_output(output, wanted["outputs"][output.name])
        if "_view." in run.job:
            assert (output.kind, output.location) == ("VIEW", None)
    quality = run.event["run"]["facets"]["sparkLineage_quality"]
    # A statement that failed in the analysis has no plan to tell of.
    assert quality.get("unknownNodes", {}) == {}
    issues = [issue for output in quality.get("outputs", ()) for issue in output["issues"]]
    assert bool(issues) == bool(wanted.get("untold")), issues


def check_output(output: Output, wanted: Any) -> None:
    """``wanted`` is the lifecycle, or an object of what is said; what it leaves out is none."""
    told = {"lifecycle": wanted} if wanted is None or isinstance(wanted, str) else wanted
    assert output.lifecycle == told.get("lifecycle")
    assert output.previous == told.get("previous")
    assert list(output.partitions) == told.get("partitions", [])
    if "location" in told:
        assert output.location == told["location"]
