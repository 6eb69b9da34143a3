"""What a webhook is told: alarms, and schema changes with what they hit."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from spark_lineage.collector import alarms
from spark_lineage.collector.app import Settings
from spark_lineage.collector.schema_watch import SchemaWatch
from spark_lineage.collector.server import running
from spark_lineage.collector.service import Collector
from spark_lineage.collector.webhook import Webhook
from spark_lineage.errors import ConfigError
from tests.collector.build import FACET, Json, dataset, event, schema, take, writes
from tests.collector.hook import Receiver, receiver


@pytest.fixture
def hook() -> Iterator[Receiver]:
    with receiver() as found:
        yield found


def test_alarms_tell_what_changed(hook: Receiver) -> None:
    totals: dict[str, Any] = {"coverage": 0.95, "quarantined": 0}
    rules = [alarms.rule("coverage < 0.9"), alarms.rule("quarantined>0")]
    post = Webhook(hook.url)
    post.start()
    watch = alarms.Alarms(rules, lambda: totals, post)
    assert watch.look() == []
    totals["coverage"] = 0.5
    assert watch.look() == [{"alarm": "coverage<0.9", "state": "ringing", "value": 0.5}]
    assert watch.look() == []
    totals["coverage"] = 0.9
    watch.look()
    assert post.flush(30)
    assert [one["alarms"][0]["state"] for one in hook.got] == ["ringing", "over"]
    post.stop()
    for text in ("coverage", "nothing<1", "coverage=1"):
        with pytest.raises(ConfigError, match="--alarm"):
            alarms.rule(text)


def test_it_is_tried_again_and_no_more_than_so_often(hook: Receiver) -> None:
    post = Webhook(hook.url, tries=3, first_pause=0.01)
    post.start()
    hook.answers = [503, 429]
    post.put({"number": 1})
    assert post.flush(30)
    hook.answers = [500, 500, 500]
    post.put({"number": 2})
    assert post.flush(30)
    # What it will never take is not sent again.
    hook.answers = [400]
    post.put({"number": 3})
    post.put({"number": 4})
    assert post.flush(30)
    post.stop()
    assert [one["number"] for one in hook.got] == [1, 4]
    assert dict(post.counts) == {"sent": 2, "failed": 2}
    assert 'spark_lineage_webhook_messages_total{outcome="failed"} 2' in post.lines()


def test_where_nobody_listens_no_more_than_so_many_wait() -> None:
    post = Webhook("http://127.0.0.1:9/", most=2)
    assert [post.put({}) for _ in range(3)] == [True, True, False]
    assert post.counts["dropped"] == 1
    assert not post.flush(0)
    with pytest.raises(ConfigError, match="--webhook"):
        Webhook("no url")


def of(number: int, *fields: str, name: str = "orders", minute: int | None = None) -> Json:
    out = dataset(name, schema=schema(*fields))
    return event(run=number, minute=number if minute is None else minute, job="load",
                 outputs=(out,))  # fmt: skip


def downstream() -> list[Json]:
    stars = {"sparkLineage_context": {**FACET, "stars": True}}
    return [
        of(1, "id:bigint", "amount:decimal(6,2)", "note:string"),
        writes("report", {"total": ["AGGREGATION orders.amount"]}, run=50, minute=50),
        event(run=51, minute=51, job="all", inputs=("orders",), facets=stars),
    ]


def told(collector: Collector, *events: Json) -> list[Json]:
    """What is told of each of these events, one after the other."""
    found: list[Json] = []
    watch = SchemaWatch(collector.database, found.append)
    for content in events:
        take(collector, content)
        for one in (*content["inputs"], *content["outputs"]):
            watch.look(one["namespace"], one["name"])
    return [one["schema_change"] for one in found]


def test_a_schema_change_is_told_with_what_it_hits(collector: Collector) -> None:
    (one,) = told(
        collector, *downstream(), of(2, "id:bigint", "amount:decimal(4,2)", "remark:string")
    )
    assert one["dataset"] == {"namespace": "db", "dataset": "orders"}
    assert one["breaking"]
    assert [(c["column"], c["change"], c["renamed_to"]) for c in one["changes"]] == [
        ("amount", "narrowed", None), ("note", "renamed", "remark"),
    ]  # fmt: skip
    amount, note = one["changes"]
    assert (amount["from"], amount["to"], amount["breaking"]) == (
        "decimal(6,2)", "decimal(4,2)", True,
    )  # fmt: skip
    assert [(c["dataset"], c["column"]) for c in amount["columns"]] == [("report", "total")]
    assert [j["job"]["name"] for j in amount["jobs"]] == ["make_report"]
    # Nobody is known to read it.
    assert (note["columns"], note["breaking"]) == ([], False)
    assert [r["job"]["name"] for r in one["star_readers"]] == ["all"]
    assert one["time"] == "2026-01-01T00:02:00.000000Z"


def test_what_is_no_change_is_not_told(collector: Collector) -> None:
    assert told(
        collector,
        *downstream(),
        of(2, "id:bigint", "amount:decimal(6,2)", "note:string"),
        # Another order of columns, another spelling, a late event of an older schema.
        of(3, "note:STRING", "id:bigint", "amount:decimal(6, 2)"),
        of(4, "id:bigint", minute=0),
        # What a reader states of it.
        event(run=5, minute=9, job="r", inputs=(dataset("orders", schema=schema("id:bigint")),)),
    ) == []  # fmt: skip


def test_there_and_back_is_told_twice_and_not_again_after_a_restart(collector: Collector) -> None:
    first = told(collector, *downstream(), of(2, "id:bigint"))
    again = told(collector, of(3, "id:bigint"), of(4, "id:bigint"),
                 of(5, "id:bigint", "amount:decimal(6,2)", "note:string"),
                 of(6, "id:bigint", "amount:decimal(6,2)", "note:string"))  # fmt: skip
    assert [[c["change"] for c in one["changes"]] for one in first] == [["removed", "removed"]]
    assert [(one["added"], one["changes"], one["breaking"]) for one in again] == [
        (["amount", "note"], [], False)
    ]


def test_a_store_that_was_there_before_the_watch(collector: Collector) -> None:
    take(collector, *downstream(), of(2, "id:bigint"), of(3, "id:bigint"))
    assert told(collector, of(4, "id:bigint")) == []
    assert [one["added"] for one in told(collector, of(5, "id:bigint", "x:int"))] == [["x"]]


def test_the_service_tells_it(tmp_path: Any, hook: Receiver) -> None:
    settings = Settings(webhook=hook.url, alarms=("runs_of_a_day>1000",))
    with running(str(tmp_path / "c.db"), settings=settings) as url:
        with httpx.Client(base_url=url, trust_env=False) as client:
            for content in (*downstream(), of(2, "id:bigint")):
                assert client.post("/api/v1/lineage", json=content).status_code == 201
            assert hook.wait(1)
            # In a batch as well as alone.
            body = "\n".join(json.dumps(one) for one in (of(3, "id:int"), of(4, "id:int")))
            client.post("/api/v1/lineage/batch", content=body)
            assert hook.wait(2)
            text = client.get("/metrics").text
        assert 'spark_lineage_alarm{rule="runs_of_a_day>1000"} 0' in text
        assert 'spark_lineage_webhook_messages_total{outcome="dropped"} 0' in text
    changes = [one["schema_change"]["changes"] for one in hook.got]
    assert [[c["change"] for c in some] for some in changes] == [
        ["removed", "removed"], ["narrowed"],
    ]  # fmt: skip
