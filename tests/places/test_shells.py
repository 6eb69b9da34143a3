"""The shells, as a person at a terminal uses them."""

from __future__ import annotations

import pytest

from tests.places import told
from tests.places.place import Place

pytestmark = pytest.mark.places

WRITE_NUMBERS = "spark.range(5).withColumnRenamed('id', 'a').write.saveAsTable('numbers')"
WRITE_LATER = "spark.sql('SELECT a + 1 AS b FROM numbers').write.saveAsTable('later')"
LATER = {"b": {("default.numbers", "a", "TRANSFORMATION")}}


def test_pyspark_by_configuration(place: Place) -> None:
    shell = place.start("pyspark", "pyspark", *place.options(), terminal=True)
    shell.type(WRITE_NUMBERS)
    shell.type("print('at the', 'prompt')")
    shell.wait_for("at the prompt")
    # Ctrl-C reaches all processes of the terminal: the shell goes on, and so must the agent.
    shell.interrupt()
    shell.wait_for("KeyboardInterrupt")
    shell.type(WRITE_LATER)
    shell.type("exit()")
    assert shell.wait() == 0, shell.text()[-4000:]
    events = place.jobs.read()
    told.assert_each_run_has_one_end(events)
    assert told.sources(told.written(events, "default.later")) == LATER


def test_pyspark_with_enable(place: Place) -> None:
    shell = place.start("pyspark", "pyspark", *place.plain(), terminal=True)
    shell.type(WRITE_NUMBERS)
    shell.type("import spark_lineage")
    shell.type("spark_lineage.enable(spark)")
    shell.type(WRITE_LATER)
    shell.type("exit()")
    assert shell.wait() == 0, shell.text()[-4000:]
    assert "spark_lineage is on for local-" in shell.text()
    events = place.jobs.read()
    told.assert_each_run_has_one_end(events)
    assert told.sources(told.written(events, "default.later")) == LATER
    # What ran before is not told.
    outputs = [output["name"] for event in told.ends(events) for output in event["outputs"]]
    assert outputs == ["default.later"]


def test_spark_shell(place: Place) -> None:
    shell = place.start("spark-shell", "spark-shell", *place.options(), terminal=True)
    shell.type('spark.range(5).withColumnRenamed("id", "a").write.saveAsTable("numbers")')
    shell.type("case class Number(a: Long)")
    shell.type('spark.table("numbers").as[Number].filter(_.a > 1).write.saveAsTable("typed")')
    shell.type(
        'spark.sql("SELECT a, upper(cast(a AS string)) AS text FROM numbers")'
        '.write.saveAsTable("later")'
    )
    shell.type(":quit")
    assert shell.wait() == 0, shell.text()[-4000:]
    events = place.jobs.read()
    told.assert_each_run_has_one_end(events)
    assert told.sources(told.written(events, "default.later")) == {
        "a": {("default.numbers", "a", "IDENTITY")},
        "text": {("default.numbers", "a", "TRANSFORMATION")},
    }
    assert told.sources(told.written(events, "default.typed")) == {
        "a": {("default.numbers", "a", "IDENTITY")}
    }


def test_spark_sql_with_a_file(place: Place) -> None:
    statements = """
        CREATE TABLE numbers USING parquet AS SELECT id AS a, 'x' AS word FROM range(3);
        -- A comment; with a semicolon.
        CREATE TABLE later USING parquet AS SELECT count(a) AS n, word FROM numbers GROUP BY word;
        SELECT * FROM later;
    """
    script = place.folder / "statements.sql"
    script.write_text(statements)
    place.run("spark-sql", "spark-sql", *place.options(), "-f", str(script))
    events = place.jobs.read()
    told.assert_each_run_has_one_end(events)
    later = told.written(events, "default.later")
    assert told.sources(later) == {
        "n": {("default.numbers", "a", "AGGREGATION")},
        "word": {("default.numbers", "word", "IDENTITY")},
    }
    assert "CREATE TABLE later" in later["job"]["facets"]["sql"]["query"]
    (read,) = [e for e in told.ends(events) if e["inputs"] and not e["outputs"]]
    assert read["job"]["facets"]["sql"]["query"].strip() == "SELECT * FROM later"
