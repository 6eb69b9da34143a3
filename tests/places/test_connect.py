"""The Spark Connect server, asked by a client that has no JVM (``pip install pyspark-client``)."""

from __future__ import annotations

import importlib.metadata
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.places import told
from tests.places.place import Place
from tests.support import maven
from tests.support.parts import missing

pytestmark = pytest.mark.places

SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"
CLIENTS = Path(__file__).parents[2] / ".venvs"

# Run by the client's Python, with the server's address, the user and a folder.
SCRIPT = """
    import sys
    from pyspark.sql import SparkSession, Window, functions as F

    address, user, folder = sys.argv[1:]
    spark = SparkSession.builder.remote(f"{address}/;user_id={user}").getOrCreate()

    rows = [(1, "a", 2.0), (2, "b", 3.0), (2, "c", 5.0)]
    spark.createDataFrame(rows, "id int, name string, v double").write.parquet(f"{folder}/source")

    source = spark.read.parquet(f"{folder}/source")
    totals = source.groupBy("id").agg(F.sum("v").alias("total"))
    totals.write.saveAsTable(f"totals_{user}")

    twice = F.udf(lambda x: x * 2, "double")
    ranked = source.withColumn("rank", F.rank().over(Window.partitionBy("id").orderBy("v")))
    (
        ranked.join(spark.table(f"totals_{user}"), "id")
        .filter(F.col("name") != "a")
        .withColumn("share", F.col("v") / F.col("total"))
        .select("id", twice("v").alias("twice"), "share", "rank")
        .write.parquet(f"{folder}/joined")
    )

    spark.sql(f"CREATE TABLE names_{user} USING parquet AS SELECT id FROM totals_{user}")
    spark.sql(f"INSERT INTO names_{user} SELECT id + 1 FROM totals_{user}")
    source.createOrReplaceTempView("view")
    assert spark.sql("SELECT upper(name) AS name FROM view WHERE v > 2").count() == 2
    try:
        spark.sql("SELECT raise_error('no such thing') FROM view").collect()
    except Exception as error:
        print("caught", type(error).__name__)
    print("told", user)
    spark.stop()
"""

# What one who asks for lineage at the client is told.
REFUSED = """
    import json, sys
    from pyspark.sql import SparkSession
    import spark_lineage

    spark = SparkSession.builder.remote(sys.argv[1]).getOrCreate()
    told = {}
    for name, ask in {
        "enable": lambda: spark_lineage.enable(spark),
        "enable active": lambda: spark_lineage.enable(),
        "lineage_of": lambda: spark_lineage.lineage_of(spark.range(3)),
        "lineage_of sql": lambda: spark_lineage.lineage_of("SELECT 1", spark),
        "lineage_of sql active": lambda: spark_lineage.lineage_of("SELECT 1"),
    }.items():
        try:
            ask()
            told[name] = None
        except spark_lineage.SparkLineageError as error:
            told[name] = str(error)
    print("told", json.dumps(told))
    spark.stop()
"""


@pytest.fixture(scope="module")
def client() -> Path:
    """The Python of an environment with Spark's client and without a JVM; made once."""
    spark = importlib.metadata.version("pyspark")
    if spark.startswith("3."):
        # There is no client of its own: the package itself, with what Connect needs.
        needed = ["grpcio>=1.56", "grpcio-status>=1.56", "googleapis-common-protos>=1.56"]
        wanted = [f"pyspark=={spark}", *needed, "pyarrow>=15", "setuptools<81"]
    else:
        wanted = [f"pyspark-client>=4,<={spark}"]
    folder = CLIENTS / f"connect-{spark}"
    python, ready = folder / "bin" / "python", folder / ".ready"
    if not ready.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        # This package at the client, too, whose users may ask it there.
        here = str(Path(__file__).parents[2])
        done = subprocess.run(
            [str(python), "-m", "pip", "install", "-q", "pandas<3", *wanted, "--editable", here],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            missing(f"{wanted[0]} from PyPI ({done.stderr[-300:].strip()})")
        ready.touch()
    return python


def _server_jar() -> list[str]:
    """Where Spark does not bring the server's jar, that of the newest patch there is."""
    major, minor, patch = importlib.metadata.version("pyspark").split(".")[:3]
    if int(major) >= 4:
        return []
    name = "org.apache.spark:spark-connect_2.12"
    for each in range(int(patch), -1, -1):
        try:
            (jar,) = maven.jars(f"{name}:{major}.{minor}.{each}", alone=True)
        except (pytest.skip.Exception, pytest.fail.Exception):
            if each == 0:
                raise
        else:
            return [f"--conf=spark.driver.extraClassPath={jar}"]
    raise AssertionError("not reached")


@pytest.fixture(scope="module")
def clients(module_place: Place, client: Path) -> dict[str, Any]:
    """Two users' clients side by side and one that asks at the client; then the server's end."""
    server = module_place.start(
        "connect", "spark-submit",
        *module_place.options(
            spark_connect_grpc_binding_port="0", spark_connect_grpc_binding_address="127.0.0.1"
        ),
        *_server_jar(), "--class", SERVER, "--name", "shared", "spark-internal",
    )  # fmt: skip
    found = server.wait_for(r"Spark Connect server started at:? ?\S*?:(\d+)\s")
    address = f"sc://127.0.0.1:{found[1]}"
    arguments = {
        user: [address, user, str(module_place.folder / user)] for user in ("alice", "bob")
    }
    script = module_place.jobs.script(SCRIPT, "client.py")
    started = {
        user: module_place.start_command(user, [str(client), "-W", "ignore", str(script), *given])
        for user, given in arguments.items()
    }
    asking = module_place.start_command(
        "refused",
        [
            str(client), "-W", "ignore",
            str(module_place.jobs.script(REFUSED, "refused.py")), address,
        ],
    )  # fmt: skip
    for running in (*started.values(), asking):
        running.wait()
    assert server.end(), server.text()[-6000:]
    return {
        "outputs": {user: running.text() for user, running in started.items()},
        "refused": asking.text(),
        "events": module_place.jobs.read(),
    }


@pytest.fixture(scope="module")
def events(clients: dict[str, Any]) -> list[told.Event]:
    """What the server told."""
    found: list[told.Event] = clients["events"]
    return found


def _of(events: list[told.Event], user: str) -> list[told.Event]:
    return [event for event in events if told.context(event).get("user") == user]


def test_the_clients_ran(clients: dict[str, Any], events: list[told.Event]) -> None:
    for user, output in clients["outputs"].items():
        assert f"told {user}" in output, output[-4000:]
    told.assert_each_run_has_one_end(events)
    assert told.application(events)["job"]["name"] == "shared"


@pytest.mark.parametrize("user", ["alice", "bob"])
def test_the_sessions_user_is_told(events: list[told.Event], user: str) -> None:
    own = _of(told.ends(events), user)
    names = {output["name"] for event in own for output in event["outputs"]}
    assert {f"default.totals_{user}", f"default.names_{user}"} <= names
    assert not {name for name in names if name.endswith("bob" if user == "alice" else "alice")}
    assert len({told.context(event)["sessionId"] for event in own}) == 1


@pytest.mark.parametrize("user", ["alice", "bob"])
def test_columns_through_the_clients_plans(events: list[told.Event], user: str) -> None:
    own = _of(events, user)
    totals = f"default.totals_{user}"
    assert told.sources(told.written(own, totals)) == {
        "id": {("source", "id", "IDENTITY")},
        "total": {("source", "v", "AGGREGATION")},
    }
    joined = told.written(own, "joined")
    assert told.sources(joined) == {
        "id": {("source", "id", "IDENTITY")},
        "twice": {("source", "v", "TRANSFORMATION")},
        "share": {("source", "v", "TRANSFORMATION"), (totals, "total", "TRANSFORMATION")},
    } | ({"rank": set()} if "rank" in told.sources(joined) else {})
    for event in (told.written(own, totals), joined):
        quality = event["run"]["facets"]["sparkLineage_quality"]
        assert quality["unknownNodes"] == {}
        assert quality["unexplained"] == []


def test_statements_have_their_text(events: list[told.Event]) -> None:
    queries = {
        event["job"]["facets"]["sql"]["query"]
        for event in _of(told.ends(events), "alice")
        if "sql" in event["job"]["facets"]
    }
    assert {
        "CREATE TABLE names_alice USING parquet AS SELECT id FROM totals_alice",
        "INSERT INTO names_alice SELECT id + 1 FROM totals_alice",
    } <= queries


def test_a_failure_is_its_users(events: list[told.Event]) -> None:
    failed = [event for event in events if event["eventType"] == "FAIL"]
    assert sorted(told.context(event)["user"] for event in failed) == ["alice", "bob"]
    for event in failed:
        assert "no such thing" in event["run"]["facets"]["errorMessage"]["message"]


def test_jobs_of_one_server(events: list[told.Event]) -> None:
    # By what is written; no id of a session or an operation in any name.
    names = {event["job"]["name"] for event in events}
    assert "shared.default.totals_alice" in {
        name.replace("save_as_v1_table.", "") for name in names
    }
    sessions = {told.context(event).get("sessionId") for event in events} - {None}
    assert not [name for name in names for session in sessions if session in name]
    assert {told.context(event).get("callSite") for event in told.ends(events)} == {
        None,
        "Spark Connect",
    }


def test_asking_at_the_client_says_what_to_do(clients: dict[str, Any]) -> None:
    output = clients["refused"]
    assert "told {" in output, output[-4000:]
    answers = json.loads(output[output.index("told {") + 5 :].splitlines()[0])
    assert len(answers) == 5
    for answer in answers.values():
        assert answer is not None
        assert "Spark Connect client" in answer
        assert "spark-lineage submit-args" in answer
