"""The other questions and the operating loop from the command line, in each form."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator

import httpx
import pytest

from spark_lineage.collector.server import running
from tests.cli.conftest import Run
from tests.collector import summary
from tests.collector.build import FACET, Json, dataset, event, run_id, schema, source, writes

FORMS = ("table", "csv", "json", "markdown")


def events() -> list[Json]:
    tags = {**FACET, "tags": [{"key": "PII", "value": "x", "field": "mail"}]}
    people = dataset("people", schema=schema("mail:string", "age:int"), tags=tags)
    overwrite = {**FACET, "lifecycleStateChange": "OVERWRITE"}
    hashed = source("TRANSFORMATION people.mail", masking=True)
    return [
        *summary.events(),
        event(run=20, minute=20, job="load", outputs=(people,)),
        writes("copy", {"m": ["IDENTITY people.mail"], "h": [hashed]}, run=21, minute=21,
               own={"lifecycleStateChange": overwrite}),
        writes("copy", {"m": ["TRANSFORMATION people.mail"]}, run=22, minute=22),
        event("FAIL", run=23, minute=23, job="make_copy"),
        writes("tmp_1", {"m": ["IDENTITY copy.m"]}, run=24, minute=24),
        writes("last", {"m": ["IDENTITY tmp_1.m", "IDENTITY people.gone"]}, run=25, minute=25),
    ]  # fmt: skip


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running(str(tmp_path_factory.mktemp("questions") / "c.db")) as url:
        with httpx.Client(base_url=url, trust_env=False) as client:
            for content in events():
                assert client.post("/api/v1/lineage", json=content).status_code == 201
        yield url


def told(run: Run, url: str, *arguments: str, form: str = "csv", code: int = 0) -> list[list[str]]:
    done = run(*arguments, "--url", url, "--format", form)
    assert (done.code, done.err) == (code, "")
    return list(csv.reader(io.StringIO(done.out)))[1:]


COMMANDS = [
    ("explain", "last.m"), ("explain", "copy"), ("impact", "people.mail"), ("graph", "copy.m"),
    ("search", "people"), ("diff", "--since", "2026-01-01T00:21:00Z"), ("tags", "PII"),
    ("tags", "--of", "copy.m"), ("runs",), ("runs", "--run", run_id(22)), ("seen", "copy"),
    ("health", "--since", "2026-01-01T00:00:00Z"), ("queue",), ("overrides",),
    ("health", "--since", "2026-01-01T00:00:00Z", "--until", "2026-01-03T00:00:00Z", "--trend",
     "day"),
]  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("arguments", COMMANDS, ids=lambda one: " ".join(one)[:30])
def test_every_question_in_every_form(
    run: Run, asked: str, arguments: tuple[str, ...], form: str
) -> None:
    done = run(*arguments, "--url", asked, "--format", form)
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines
    if form == "json":
        same = json.loads(run(*arguments, "--url", asked, "--json").out)
        # But for the time that is now.
        now = ("to", "at")
        assert {k: v for k, v in same.items() if k not in now} == {
            k: v for k, v in json.loads(done.out).items() if k not in now
        }
    if form == "csv":
        assert len({len(row) for row in csv.reader(lines)}) == 1
    if form == "markdown" and arguments[0] != "overrides":
        table = [line for line in lines if line.startswith("|")]
        assert len(table) > 2
        assert set(table[1]) <= {"|", "-"}


def test_graph(run: Run, asked: str) -> None:
    rows = told(run, asked, "graph", "copy.m", "--values")
    assert sorted((row[0], row[1], row[2]) for row in rows) == [
        ("copy.m", "tmp_1.m", "IDENTITY"), ("people.mail", "copy.m", "TRANSFORMATION"),
        ("tmp_1.m", "last.m", "IDENTITY"),
    ]  # fmt: skip
    rows = told(run, asked, "graph", "copy.m", "--direction", "down", "--fold", "^tmp_")
    assert [row[:3] for row in rows] == [["copy.m", "last.m", "IDENTITY"]]
    assert run("graph", "copy.m", "--fold", "(", "--url", asked).code == 2


def test_filters_of_impact(run: Run, asked: str) -> None:
    before = ("impact", "people.mail", "--as-of", "2026-01-01T00:21:30Z")
    assert {row[3] for row in told(run, asked, *before)} == {"m", "h"}
    assert {row[3] for row in told(run, asked, *before, "--unmasked")} == {"m"}
    # A job's newer success closed the masked copy.
    assert {row[2] for row in told(run, asked, "impact", "people.mail")} == {
        "copy", "tmp_1", "last",
    }  # fmt: skip
    assert told(run, asked, "impact", "people.mail", "--kind", "JOIN", "--kind", "sort") == []
    assert told(run, asked, "impact", "people.mail", "--via", "no_view") == []


def test_time(run: Run, asked: str) -> None:
    rows = told(run, asked, "diff", "copy", "--since", "2026-01-01T00:21:30Z")
    assert sorted(tuple(row[:4]) for row in rows) == [
        ("added", "copy.m", "TRANSFORMATION", "people.mail"),
        ("removed", "copy.h", "TRANSFORMATION*", "people.mail"),
        ("removed", "copy.m", "IDENTITY", "people.mail"),
    ]
    rows = told(run, asked, "seen", "copy")
    assert [(row[1], row[3]) for row in rows] == [("write", run_id(22)), ("OVERWRITE", run_id(21))]
    rows = told(run, asked, "explain", "copy", "--as-of", "2026-01-01T00:21:30Z")
    assert {row[0] for row in rows} == {"m", "h"}


def test_tags_runs_and_search(run: Run, asked: str) -> None:
    assert [row[2] for row in told(run, asked, "tags", "pii")] == [
        "people", "copy", "tmp_1", "last",
    ]  # fmt: skip
    assert told(run, asked, "tags", "--of", "last.m") == [["PII", "x", "people.mail", "3", ""]]
    for wrong in (("tags",), ("tags", "PII", "--of", "a.b"), ("tags", "--of", "copy")):
        assert run(*wrong, "--url", asked).code == 2
    rows = told(run, asked, "runs", "make_copy")
    assert [(row[0], row[2]) for row in rows] == [
        (run_id(23), "FAIL"), (run_id(22), "COMPLETE"), (run_id(21), "COMPLETE"),
    ]  # fmt: skip
    assert run("runs", "--run", "no", "--url", asked).code == 2
    out = run("runs", "--run", run_id(3), "--url", asked).out
    assert f"run {run_id(3)} of {summary.INSERT}: COMPLETE in 60 s" in out
    assert told(run, asked, "search", "people")[0] == ["DATASET", "db", "people", ""]


def test_a_proposed_schema(run: Run, asked: str) -> None:
    rows = told(run, asked, "schema-change", "people", "mail:int", code=1)
    assert [(row[0], row[1], row[4]) for row in rows] == [
        ("mail", "type", "yes"), ("age", "removed", ""),
    ]  # fmt: skip
    assert told(run, asked, "schema-change", "people", "mail", "age:bigint", "new:int")[0][1] == (
        "widened"
    )
    assert run("schema-change", "people", ":int", "--url", asked).code == 2


def test_health_on_a_screen_names_what_is_0_everywhere_below(run: Run, asked: str) -> None:
    out = run("health", "--since", "2026-01-01T00:00:00Z", "--url", asked).out
    head, notes = out.splitlines()[1], out[out.index("0 everywhere") :].splitlines()[0]
    assert "failures" in head
    assert "dropped" not in head
    assert "dropped" in notes
    assert "failures" not in notes.replace("agent failures", "")
    # That nothing has lineage is no good news: it stays in sight.
    quiet = ("--since", "2025-01-01T00:00:00Z", "--until", "2025-01-02T00:00:00Z")
    seen = run("health", *quiet, "--trend", "day", "--url", asked).out.splitlines()
    assert seen[1].split() == ["from", "runs", "outputs", "coverage"]
    # Names stay whole.
    assert any(line.split()[0] == "make_copy" for line in out.splitlines() if line.strip())


def test_health(run: Run, asked: str) -> None:
    rows = told(run, asked, "health", "--since", "2026-01-01T00:00:00Z")
    by_job = {row[0]: row for row in rows}
    assert by_job["make_copy"][1:5] == ["3", "1", "2", "1.0"]
    assert by_job["make_last"][11] == "1"
    out = run("health", "--url", asked).out
    assert "coverage 0." in out
    span = ("--since", "2026-01-01T00:00:00Z", "--until", "2026-01-02T00:00:00Z")
    (row,) = told(run, asked, "health", "--trend", "day", *span, "--job", "make_copy")
    assert row[1:3] == ["3", "1"]
    assert run("health", "--trend", "day", "--job", "nobody", "--url", asked).code == 2


def test_the_queue_and_overrides(run: Run, asked: str) -> None:
    (row,) = [r for r in told(run, asked, "queue") if r[1] == "UNKNOWN_SOURCE_COLUMN"]
    assert row[3] == "people has no column gone"
    assert run("queue", "resolve", row[0], "--url", asked).code == 2
    assert run("queue", "resolve", "0000", "--reason", "x", "--url", asked).code == 2
    done = run("queue", "resolve", row[0], "--reason", "is so", "--by", "ann", "--url", asked)
    assert done.out == "resolved: people has no column gone\n"
    assert row[0] not in {r[0] for r in told(run, asked, "queue")}

    said = ("--reason", "seen", "--by", "ann")
    (row,) = told(run, asked, "overrides", "add", "copy.m", "people.age", *said)
    assert row[1:6] == ["ADD", "copy.m", "DIRECT", "people.age", "ann"]
    assert ("people.age", "ADD") in {
        (r[0], r[5]) for r in told(run, asked, "graph", "copy.m", "--direction", "up")
    }
    assert [r[0] for r in told(run, asked, "overrides")] == [row[0]]
    assert told(run, asked, "overrides", "undo", row[0], "--by", "bob")[0][8] == "bob"
    assert told(run, asked, "overrides") == []
    assert len(told(run, asked, "overrides", "list", "--all")) == 1
    for wrong in (("undo", row[0]), ("undo", "x"), ("add", "copy.m", "people.age"),
                  ("remove", "copy.no", "people.age", *said),
                  ("confirm", "copy.m", "people.age", "--type", "NO", *said)):  # fmt: skip
        assert run("overrides", *wrong, "--url", asked).code == 2
