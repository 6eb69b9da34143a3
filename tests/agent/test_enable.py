"""``enable`` in a PySpark process, as a script or notebook would call it."""

from __future__ import annotations

import pytest

from tests.support.jobs import Jobs

HEAD = """
    import os, sys
    from pyspark.sql import SparkSession, functions as F
    import spark_lineage

    builder = SparkSession.builder.appName("notebook").master("local[1]")
    for key, value in {conf!r}.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
"""


def _script(jobs: Jobs, body: str, **conf: str) -> str:
    import textwrap

    kept = {k: v for k, v in jobs.conf().items() if not k.startswith("spark.lineage.transport")}
    head = textwrap.dedent(HEAD).format(conf={**kept, **conf})
    body = body.replace("EVENTS", repr(str(jobs.events)))
    return head + textwrap.dedent(body)


def _run(jobs: Jobs, body: str, **conf: str):  # type: ignore[no-untyped-def]
    path = jobs.folder / "job.py"
    path.write_text(_script(jobs, body, **conf))
    return jobs.python(path)


@pytest.mark.smoke
def test_a_live_session_reports_from_enable_on_and_ends_without_stop(jobs: Jobs) -> None:
    done = _run(
        jobs,
        """
        spark.range(3).write.parquet("before")
        print(spark_lineage.enable(spark, transport_type="file", transport_path=EVENTS))
        spark_lineage.enable(spark)
        spark.range(5).withColumn("twice", F.col("id") * 2).write.parquet("after")
        print("flushed", spark_lineage.flush(20))
        print("written", sum(1 for _ in open(EVENTS)))
        spark.read.parquet("after").select("twice").write.parquet("last")
        """,
    )
    assert done.code == 0, done.stderr
    assert "spark_lineage is on for local-" in done.stdout
    assert "flushed True" in done.stdout
    # Application START, START and COMPLETE of the one query so far.
    assert "written 3" in done.stdout
    assert done.writing("/before") == []
    assert [e["eventType"] for e in done.writing("/after")] == ["START", "COMPLETE"]
    assert [e["eventType"] for e in done.writing("/last")] == ["START", "COMPLETE"]
    (application,) = [e for e in done.of("COMPLETE") if e["job"]["name"] == "notebook"]
    assert application["run"]["facets"]["sparkLineage_context"]["status"] == "unknown"


def test_an_uncaught_exception_fails_the_application(jobs: Jobs) -> None:
    done = _run(
        jobs,
        """
        spark_lineage.enable(spark, transport_type="file", transport_path=EVENTS)
        spark.range(3).count()
        raise ValueError("the script's own fault")
        """,
    )
    assert done.code == 1
    assert "ValueError: the script's own fault" in done.stderr
    (failed,) = done.of("FAIL")
    assert failed["job"]["name"] == "notebook"
    assert "the script's own fault" in failed["run"]["facets"]["errorMessage"]["message"]
    assert failed["run"]["facets"]["errorMessage"]["programmingLanguage"] == "PYTHON"


def test_a_wrong_option_is_an_error_that_says_what_is_allowed(jobs: Jobs) -> None:
    done = _run(
        jobs,
        """
        for options in ({"transport_type": "pigeon"}, {"no_such": 1}, {"transport_type": "file"}):
            try:
                spark_lineage.enable(spark, **options)
            except spark_lineage.ConfigError as error:
                print("refused:", error)
        print("rows", spark.range(3).count())
        """,
    )
    assert done.code == 0, done.stderr
    assert "refused: spark.lineage.transport.type is 'pigeon'; allowed: http, file or console" in (
        done.stdout
    )
    assert "refused: no_such is 1; allowed: one of " in done.stdout
    assert "dataset_identity, enabled" in done.stdout
    assert "refused: spark.lineage.transport.path is None" in done.stdout
    assert "rows 3" in done.stdout


def test_disable_stops_and_enable_starts_again(jobs: Jobs) -> None:
    done = _run(
        jobs,
        """
        options = {"transport_type": "file", "transport_path": EVENTS}
        spark_lineage.enable(spark, **options)
        spark.range(1).write.parquet("one")
        spark_lineage.disable(spark)
        spark.range(1).write.parquet("two")
        spark_lineage.enable(spark, **options)
        spark.range(1).write.parquet("three")
        spark.stop()
        """,
    )
    assert done.code == 0, done.stderr
    assert [e["eventType"] for e in done.writing("/one")] == ["START", "COMPLETE"]
    assert done.writing("/two") == []
    assert [e["eventType"] for e in done.writing("/three")] == ["START", "COMPLETE"]


def test_two_contexts_in_one_process_do_not_mix(jobs: Jobs) -> None:
    done = _run(
        jobs,
        """
        options = {"transport_type": "file", "transport_path": EVENTS}
        spark_lineage.enable(spark, **options)
        spark.range(1).write.parquet("one")
        spark.stop()
        spark = builder.appName("second").getOrCreate()
        spark_lineage.enable(spark, **options)
        spark.range(1).write.parquet("two")
        """,
    )
    assert done.code == 0, done.stderr
    (one, _), (two, _) = done.writing("/one"), done.writing("/two")
    assert one["job"]["name"].startswith("notebook.")
    assert two["job"]["name"].startswith("second.")
    assert one["run"]["facets"]["parent"]["run"] != two["run"]["facets"]["parent"]["run"]
    ends = [e["job"]["name"] for e in done.of("COMPLETE") if "." not in e["job"]["name"]]
    assert sorted(ends) == ["notebook", "second"]


def test_enable_joins_the_plugin_and_everything_is_told_once(jobs: Jobs) -> None:
    script = jobs.folder / "job.py"
    script.write_text(
        _script(
            jobs,
            """
            print(spark_lineage.enable(spark))
            spark.range(1).write.parquet("one")
            print("flushed", spark_lineage.flush(20))
            """,
        )
    )
    done = jobs.submit(
        script,
        {"spark.sql.queryExecutionListeners": "io.sparklineage.LineageListener"},
    )
    assert done.code == 0, done.stderr
    assert "on (by the plugin)" in done.stdout
    assert "flushed True" in done.stdout
    assert [e["eventType"] for e in done.writing("/one")] == ["START", "COMPLETE"]


def test_a_notebook_reports_after_load_ext_before_there_is_a_session(jobs: Jobs) -> None:
    pytest.importorskip("IPython")
    conf = jobs.conf()
    cell = "builder = SparkSession.builder.appName('ipython').master('local[1]')\n"
    for key, value in conf.items():
        cell += f"builder = builder.config({key!r}, {value!r})\n"
    path = jobs.script(
        f"""
        from IPython.core.interactiveshell import InteractiveShell
        shell = InteractiveShell.instance()
        def cell(text):
            assert shell.run_cell(text).success
        cell("%load_ext spark_lineage")
        cell("from pyspark.sql import SparkSession")
        cell({cell + "spark = builder.getOrCreate()"!r})
        cell("spark.range(2).write.parquet('from_cell')")
        cell("import spark_lineage; assert spark_lineage.flush(20)")
        """
    )
    done = jobs.python(path)
    assert done.code == 0, done.stdout + done.stderr
    assert "spark_lineage is on for" in done.stdout
    assert [e["eventType"] for e in done.writing("/from_cell")] == ["START", "COMPLETE"]
