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


def test_openlineages_settings_that_are_spread_over_keys() -> None:
    conf = {
        "spark.openlineage.facets.disabled": "[sql]",
        "spark.openlineage.facets.schema.disabled": "true",
        "spark.openlineage.facets.debug.disabled": "false",
        "spark.openlineage.job.owners.team": "data",
    }
    settings = load(conf, {})
    assert settings.facets_disabled == ("sql", "schema")
    assert settings.job_owners == (("team", "data"),)
    ours = load({**conf, "spark.lineage.job.owners": "person:ann"}, {})
    assert ours.job_owners == (("person", "ann"),)


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("a:b;c", (("a", "b", None), ("c", "true", None))),
        ("[a:b:SERVICE; d : e ]", (("a", "b", "SERVICE"), ("d", "e", None))),
        ("", ()),
    ],
)
def test_tags(text: str, tags: object) -> None:
    assert load({"spark.lineage.run.tags": text}, {}).run_tags == tags
    assert load(options={"run_tags": text.strip("[]").split(";")}, environ={}).run_tags == tags


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("run.tags", ":x"),
        ("job.owners", "ann"),
        ("job.owners", "team:"),
        ("nominalStartTime", "2026-01-01"),
        ("nominalEndTime", "today"),
        ("applicationRunId", "7"),
        ("lineageFacet", "maybe"),
    ],
)
def test_what_is_declared_wrongly_is_refused(key: str, value: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load({f"spark.lineage.{key}": value}, {})
    assert caught.value.key == f"spark.lineage.{key}"


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("2026-01-01T10:00:00Z", "2026-01-01T10:00:00+00:00"),
        ("2026-01-01T10:00:00+02:00", "2026-01-01T10:00:00+02:00"),
        ("2026-01-01 10:00", "2026-01-01T10:00:00+00:00"),
    ],
)
def test_nominal_times(text: str, time: str) -> None:
    assert load({"spark.lineage.nominalStartTime": text}, {}).nominal_start_time == time


def test_namespaces_get_other_names_by_keys_of_the_users_own() -> None:
    prefix = "spark.lineage.namespace."
    told = load(
        {
            prefix + "alias": "nn0=cluster, s3://raw=lake",
            prefix + "alias.nn1": "cluster",
            prefix + "pattern.b": r"kafka://b-(\d+) => kafka://b",
            prefix + "pattern.a": r"hdfs://([a-z]+)\d => hdfs://\1",
        },
        {},
    )
    assert dict(told.namespace_alias) == {"nn0": "cluster", "s3://raw": "lake", "nn1": "cluster"}
    assert told.namespace_pattern == (
        (r"hdfs://([a-z]+)\d", r"hdfs://\1"),
        (r"kafka://b-(\d+)", "kafka://b"),
    )
    assert load({}, {"SPARK_LINEAGE_NAMESPACE_ALIAS": "a=b"}).namespace_alias == (("a", "b"),)
    assert load({}, {}, {"namespace_alias": {"a": "b"}}).namespace_alias == (("a", "b"),)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("alias.nn1", " "),
        ("alias", "nn1"),
        ("pattern.a", "no arrow"),
        ("pattern.a", "( => x"),
        ("pattern.a", r"a => \2"),
        ("other.a", "x"),
    ],
)
def test_a_wrong_name_for_a_namespace_is_refused(key: str, value: str) -> None:
    with pytest.raises(ConfigError, match=r"spark\.lineage\.namespace"):
        load({"spark.lineage.namespace." + key: value}, {})
