"""Settings: where they come from and what a wrong one says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from spark_lineage.config import SETTINGS, load
from spark_lineage.errors import ConfigError


def test_defaults_hold_without_anything() -> None:
    settings = load({}, {})
    assert settings.enabled is True
    assert settings.transport_url is None
    assert settings.queue_bytes == 32 * 1024 * 1024
    assert settings.shutdown_timeout == 5.0


def test_spark_conf_wins_over_environment_over_openlineage() -> None:
    openlineage = {"spark.openlineage.namespace": "from-openlineage"}
    environment = {"SPARK_LINEAGE_NAMESPACE": "from-environment"}
    assert load(openlineage, {}).namespace == "from-openlineage"
    assert load(openlineage, environment).namespace == "from-environment"
    assert load({**openlineage, "spark.lineage.namespace": "own"}, environment).namespace == "own"
    assert load({"spark.lineage.namespace": "own"}, {}, {"namespace": "x"}).namespace == "x"


def test_the_parent_that_a_scheduler_injects_is_taken() -> None:
    run = "01890a5d-ac96-774b-bcce-b302099a8057"
    settings = load(
        {"spark.openlineage.parentRunId": run, "spark.openlineage.parentJobName": "dag.task"}, {}
    )
    assert settings.parent_run_id == run
    assert settings.parent_job_name == "dag.task"


def test_a_value_that_only_the_other_tool_knows_is_not_refused() -> None:
    assert load({"spark.openlineage.transport.type": "composite"}, {}).transport_type is None


def test_openlineage_disabled_turns_it_off() -> None:
    assert load({"spark.openlineage.disabled": "true"}, {}).enabled is False
    assert load({"spark.openlineage.disabled": "false"}, {}).enabled is True


@pytest.mark.parametrize(
    ("text", "size"), [("1024", 1024), ("64k", 65536), ("32m", 32 << 20), ("1g", 1 << 30)]
)
def test_sizes(text: str, size: int) -> None:
    assert load({"spark.lineage.queue.bytes": text}, {}).queue_bytes == size


@pytest.mark.parametrize(("text", "seconds"), [("500ms", 0.5), ("5s", 5), ("2m", 120), ("7", 7)])
def test_times(text: str, seconds: float) -> None:
    assert load({"spark.lineage.shutdown.timeout": text}, {}).shutdown_timeout == seconds


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("spark.lineage.enabled", "maybe"),
        ("spark.lineage.transport.type", "pigeon"),
        ("spark.lineage.transport.url", "ftp://x"),
        ("spark.lineage.queue.records", "0"),
        ("spark.lineage.queue.bytes", "-1"),
        ("spark.lineage.shutdown.timeout", "soon"),
        ("spark.lineage.parentRunId", "7"),
        ("spark.lineage.log.level", "loud"),
        ("spark.lineage.colour", "red"),
    ],
)
def test_a_wrong_setting_names_key_value_and_what_is_allowed(key: str, value: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load({key: value}, {})
    assert (caught.value.key, caught.value.value) == (key, value)
    assert f"{key} is {value!r}; allowed: {caught.value.allowed}" in str(caught.value)


def test_the_secret_is_not_shown() -> None:
    settings = load({"spark.lineage.transport.apiKey": "s3cret"}, {})
    assert settings.transport_api_key == "s3cret"
    assert "s3cret" not in repr(settings)


def test_every_setting_says_what_it_means() -> None:
    assert all(setting.meaning and setting.allowed for setting in SETTINGS)
    assert len({setting.attribute for setting in SETTINGS}) == len(SETTINGS)


def test_the_bridge_knows_the_same_keys() -> None:
    source = Path(__file__).parents[1] / "jvm_bridge/src/main/java/io/sparklineage/Settings.java"
    block = source.read_text().split("Set<String> KEYS =")[1].split(";")[0]
    assert sorted(re.findall(r'"([^"]+)"', block)) == sorted(s.key for s in SETTINGS)


def test_lists_may_be_in_brackets_as_openlineage_writes_them() -> None:
    conf = {"spark.openlineage.facets.disabled": "[sql;schema]"}
    assert load(conf, {}).facets_disabled == ("sql", "schema")
