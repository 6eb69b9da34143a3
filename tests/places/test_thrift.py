"""The Thrift server, asked by real clients: beeline of Spark's jars, and PyHive."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.places import told
from tests.places.place import Place
from tests.places.running import Running
from tests.support.ports import free_port

pytestmark = pytest.mark.places

SERVER = "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2"


@pytest.fixture(scope="module")
def server(module_place: Place) -> Iterator[tuple[Running, int]]:
    """The server and its port."""
    port = free_port()
    options = module_place.options(spark_log_level="INFO")
    running = module_place.start(
        "thrift", "spark-submit", *options, "--class", SERVER, "--name", "reports",
        "spark-internal", "--hiveconf", f"hive.server2.thrift.port={port}",
        "--hiveconf", "hive.server2.thrift.bind.host=127.0.0.1",
    )  # fmt: skip
    running.wait_for("ThriftBinaryCLIService on port")
    return running, port


@pytest.fixture(scope="module")
def events(module_place: Place, server: tuple[Running, int]) -> list[told.Event]:
    """What the server told of two clients, until its own end."""
    running, port = server
    module_place.run(
        "beeline", "beeline", "-u", f"jdbc:hive2://127.0.0.1:{port}/default", "-n", "alice",
        "-e", "CREATE TABLE numbers USING parquet AS SELECT id AS a FROM range(3)",
        "-e", "CREATE TABLE later USING parquet AS SELECT a * 2 AS b FROM numbers",
    )  # fmt: skip
    hive = pytest.importorskip("pyhive.hive")
    from pyhive.exc import OperationalError

    with hive.connect("127.0.0.1", port, username="bob") as connection:
        cursor = connection.cursor()
        cursor.execute("CREATE DATABASE other")
        cursor.execute("USE other")
        cursor.execute("SELECT sum(b) FROM default.later")
        assert cursor.fetchall() == [(6,)]
        cursor.execute("INSERT INTO default.numbers SELECT b FROM default.later")
        with pytest.raises(OperationalError):
            cursor.execute("SELECT raise_error('no such thing') FROM default.later")
    assert running.end(), running.text()[-6000:]
    return module_place.jobs.read()


def test_each_run_has_one_end(events: list[told.Event]) -> None:
    told.assert_each_run_has_one_end(events)
    assert told.application(events)["job"]["name"] == "reports"


def test_the_user_and_the_address_of_the_client(events: list[told.Event]) -> None:
    later = told.written(events, "default.later")
    assert told.sources(later) == {"b": {("default.numbers", "a", "TRANSFORMATION")}}
    assert later["job"]["facets"]["sql"]["query"] == (
        "CREATE TABLE later USING parquet AS SELECT a * 2 AS b FROM numbers"
    )
    context = told.context(later)
    assert (context["user"], context["clientAddress"]) == ("alice", "127.0.0.1")
    (insert,) = [
        event
        for event in told.ends(events)
        if event["inputs"] and [o["name"] for o in event["outputs"]] == ["default.numbers"]
    ]
    context = told.context(insert)
    assert (context["user"], context["clientAddress"]) == ("bob", "127.0.0.1")
    assert context["database"] == "other"


def test_sessions_are_told_apart(events: list[told.Event]) -> None:
    sessions: dict[str, set[str]] = {}
    for event in told.ends(events):
        context = told.context(event)
        # A statement that the server itself runs when it opens a session has no client.
        if "clientAddress" in context:
            sessions.setdefault(context["user"], set()).add(context["sessionId"])
    assert sessions.keys() == {"alice", "bob"}
    assert not sessions["alice"] & sessions["bob"]


def test_a_failed_query_is_its_users(events: list[told.Event]) -> None:
    (failed,) = [event for event in events if event["eventType"] == "FAIL"]
    assert "no such thing" in failed["run"]["facets"]["errorMessage"]["message"]
    assert told.context(failed)["user"] == "bob"
