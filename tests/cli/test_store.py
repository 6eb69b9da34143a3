"""Commands that open the database themselves, and the forms of ``impact``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from spark_lineage.collector.intake import MalformedError
from spark_lineage.collector.service import Collector
from tests.cli.conftest import Run
from tests.collector import summary
from tests.collector.build import take


@pytest.fixture
def db(tmp_path: Path) -> str:
    path = str(tmp_path / "c.db")
    collector = Collector(path)
    take(collector, *summary.events())
    with pytest.raises(MalformedError):
        collector.take(b'{"eventTime": 1}')
    collector.close()
    return path


def test_quarantine(run: Run, db: str) -> None:
    done = run("quarantine", "list", "--db", db)
    assert done.code == 0
    number, state, _, times, fault = done.out.strip().split("\t")
    assert (state, times) == ("OPEN", "1x")
    assert fault.startswith("$.eventTime must be a time as text (+")
    shown = run("quarantine", "show", number, "--db", db)
    assert json.loads(shown.out)["body"] == '{"eventTime": 1}'
    assert run("quarantine", "replay", number, "--db", db).code == 1
    assert run("quarantine", "replay", "--db", db).code == 1
    assert run("quarantine", "show", "99", "--db", db).code == 2
    assert run("quarantine", "show", "--db", db).code == 2


def test_export_and_import_give_the_same_graph(run: Run, db: str, tmp_path: Path) -> None:
    lines = run("export", "--db", db).out
    assert len(lines.splitlines()) == 7
    file = tmp_path / "events.ndjson"
    file.write_text("\n".join(reversed(lines.splitlines())) + "\n")
    other = str(tmp_path / "other.db")
    assert run("import", str(file), "--db", other).out == "7 events taken, 0 not\n"
    graphs = [run("export", "--db", path, "--graph", "--json").out for path in (db, other)]
    assert graphs[0] == graphs[1]
    assert json.loads(graphs[0])["edges"]
    file.write_text("{}\n")
    done = run("import", str(file), "--db", other)
    assert (done.code, done.out) == (1, "0 events taken, 1 not\n")


def test_prune(run: Run, db: str) -> None:
    assert run("prune", "--days", "0", "--dry-run", "--db", db).out.startswith("7 events and 0")
    assert "deleted" in run("prune", "--days", "0", "--db", db).out
    assert run("export", "--db", db).out == ""


def test_tokens(run: Run, db: str) -> None:
    made = run("token", "create", "ci", "--scope", "write", "--namespace", "jobs", "--db", db)
    assert made.out.startswith("slt_")
    assert run("token", "create", "ci", "--db", db).code == 2
    listed = run("token", "list", "--db", db).out
    assert listed.startswith("ci\twrite\tjobs\t")
    assert made.out.strip() not in listed
    assert run("token", "revoke", "ci", "--db", db).code == 0
    assert run("token", "revoke", "ci", "--db", db).code == 2


def test_audit(run: Run, db: str) -> None:
    drawn = run("audit", "--sample", "2", "--seed", "1", "--db", db)
    assert drawn.out.endswith("2 edges drawn, none judged\n")
    number = drawn.out.partition("\t")[0]
    done = run("audit", "--judge", number, "--verdict", "CORRECT", "--by", "ann", "--db", db)
    assert done.out == "1 of 1 judged edges are correct: 100.0%, 95 % interval 20.7% to 100.0%\n"
    assert json.loads(run("audit", "--json", "--db", db).out)["judged"] == 1
    assert run("audit", "--judge", "999", "--db", db).code == 2


def test_impact_as_csv_and_markdown(run: Run, address: str) -> None:
    asked = ("impact", "orders.amount", "--url", address, "--values", "--format")
    assert run(*asked, "csv").out.splitlines() == [
        "distance,namespace,dataset,column,type,kinds,job,owners",
        'db'.join(["1,", ",spark_catalog.default.customer_summary,total_amount,"])
        + '"decimal(14,2)",AGGREGATION,customer_summary.insert_into_customer_summary,',
        "2,db,spark_catalog.default.report,share,,AGGREGATION,report,",
        # What the export makes of it is known as a file only.
    ]  # fmt: skip
    text = run(*asked, "markdown").out
    assert text.startswith("**spark_catalog.default.orders.amount**: 2 columns in 3 tables, 3 jobs")
    assert "| 2 | db | spark_catalog.default.report | share |" in text
    assert json.loads(run(*asked, "json").out)["columns"]


def test_impact_as_of_a_time(run: Run, address: str) -> None:
    asked = ("impact", "orders.amount", "--url", address, "--format", "csv", "--as-of")
    assert len(run(*asked, "2026-01-01T00:02:00Z").out.splitlines()) == 1
    assert len(run(*asked, "2026-01-01T00:05:00Z").out.splitlines()) > 2
    assert run(*asked, "yesterday").code == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--kafka", "topic"), "--kafka is 'topic'; allowed: BROKER"),
        (("--kafka", "h:1/t", "--kafka-config", "/nowhere.json"), "a file of JSON"),
        (("--temp", "("), "--temp is '('; allowed: a regular expression"),
        (("--webhook", "nobody"), "--webhook is 'nobody'; allowed: an http or https URL"),
        (("--alarm", "coverage"), "--alarm is 'coverage'; allowed: one of coverage, "),
    ],
)
def test_a_service_that_cannot_be_set_up_says_why(
    run: Run, tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    done = run("collector", "--port", "0", "--db", str(tmp_path / "c.db"), *arguments)
    assert done.code == 2
    assert said in done.err
