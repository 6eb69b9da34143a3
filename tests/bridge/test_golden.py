"""The records of this Spark version are those that the repository keeps."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.bridge import golden_records
from tests.bridge.records import check


@pytest.fixture(scope="module")
def made(spark: Any) -> dict[str, dict[str, Any]]:
    return dict(golden_records.make(spark))


@pytest.mark.spark
@pytest.mark.parametrize("name", golden_records.CASES)
def test_a_record_is_as_kept(spark: Any, made: dict[str, dict[str, Any]], name: str) -> None:
    kept = golden_records.folder(spark.version) / f"{name}.json"
    if not kept.exists():
        pytest.skip(f"no golden records of Spark {spark.version}")
    golden = json.loads(kept.read_text(encoding="utf-8"))
    assert golden_records.summary(made[name]) == golden_records.summary(golden)


@pytest.mark.parametrize(
    "path",
    sorted(golden_records.FOLDER.glob("*/*.json")),
    ids=lambda path: f"{path.parent.name}-{path.stem}",
)
def test_what_is_kept_keeps_the_contract(path: Path) -> None:
    check(json.loads(path.read_text(encoding="utf-8")))
