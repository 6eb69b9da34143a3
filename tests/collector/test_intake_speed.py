"""The quick ways of intake give just what the long ones do, and lose nothing."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Text, cast, select

from spark_lineage.collector import intake, known, maintenance, repeats, times
from spark_lineage.collector.model import REFERENCE, Event
from spark_lineage.collector.service import Collector
from spark_lineage.collector.store import closing
from spark_lineage.collector.store import schema as tables
from tests.collector.build import dataset, event, lineage, run_id, schema, writes

_LINK = {"identifiers": [{"namespace": "file", "name": "/t", "type": "LOCATION"}]}
_TEXTS = st.sampled_from(
    ["", "a", "a\0b", "ü", "\ud800", "password=geheim", "https://u:p@host", "x" * 30, "1" * 25]
)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | _TEXTS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["name", "value", "password", "token", "version", "é", "k"]), inner
        )
    ),
    max_leaves=6,
)


@st.composite
def _datasets(draw: st.DrawFn) -> Any:
    facets: dict[str, Any] = draw(
        st.fixed_dictionaries(
            {},
            optional={
                "schema": st.sampled_from([schema("a:int"), schema("a:long", "b:int"), None, {}]),
                "columnLineage": st.sampled_from(
                    [lineage({"a": ["IDENTITY s.a"]}, ["FILTER s.b"]), {"fields": {"a": 3}}]
                ),
                "symlinks": st.sampled_from([_LINK, {"identifiers": [{"name": 1}]}]),
                "version": st.builds(lambda n: {"datasetVersion": str(n)}, st.integers(0, 3)),
                "lifecycleStateChange": st.just({"lifecycleStateChange": "OVERWRITE"}),
                "other": _JSON,
            },
        )
    )
    found: dict[str, Any] = {
        "namespace": "db",
        "name": draw(st.sampled_from("st")),
        "facets": facets,
    }
    for side in ("inputFacets", "outputFacets"):
        if draw(st.booleans()):
            found[side] = draw(
                st.sampled_from([None, {}, {"outputStatistics": {"rowCount": 3}}])
                | st.builds(lambda v: {"mine": v, "inputStatistics": {"rowCount": v}}, _JSON)
            )
    return draw(st.just(found) | st.sampled_from([None, 3, {**found, "value": "x"}]))


@st.composite
def _contents(draw: st.DrawFn) -> Any:
    content = event(run=draw(st.integers(1, 3)), minute=draw(st.integers(0, 9)))
    content["inputs"] = draw(st.lists(_datasets(), max_size=2) | st.none())
    content["outputs"] = draw(st.lists(_datasets(), max_size=2))
    content["run"]["facets"] = draw(
        st.dictionaries(st.sampled_from(["parent", "errorMessage", "mine"]), _JSON, max_size=2)
    )
    content["job"]["facets"] = draw(
        st.dictionaries(st.sampled_from(["sql", "ownership", "lineage", "mine"]), _JSON, max_size=2)
    )
    if draw(st.booleans()):
        outputs = [{"namespace": "db", "name": "t", "availability": "PARTIAL", "issues": ["i"]}]
        content["run"]["facets"]["sparkLineage_quality"] = {"outputs": outputs}
    content.update(draw(st.dictionaries(st.sampled_from(["more", "eventType", "job"]), _JSON)))
    return content


def _read(body: bytes) -> Event | list[Any]:
    try:
        return intake.read(body)
    except intake.MalformedError as error:
        return error.faults


@settings(max_examples=300, deadline=None)
@given(_contents())
def test_a_repeat_is_read_as_the_event_itself(content: Any) -> None:
    body = json.dumps(content).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(intake, "_repeat", lambda _: None)
        patch.setattr(intake, "_forms", repeats.Forms(0))
        long = _read(body)
    assert _read(body) == long
    # And again, now that its parts are known, and written in another order.
    assert _read(body) == long
    turned = {key: content[key] for key in reversed(content)}
    assert _read(json.dumps(turned, indent=1).encode()) == long


def _varied(chance: random.Random, content: Any) -> Any:
    """The same event of another run, and now and then with something else in it."""
    content = json.loads(json.dumps(content))
    content["run"]["runId"] = chance.choice([run_id(chance.randrange(99)), "password=geheim", "ü"])
    content["eventTime"] = chance.choice(
        ["2026-03-01T00:00:00Z", "2026-03-01T10:00:00.123+02:00", "no time", "2026-13-01T00:00:00Z"]
    )
    for side, name in (("inputs", "inputFacets"), ("outputs", "outputFacets")):
        for item in content[side] or ():
            for facet in ((item or {}).get(name) or {}).values() if item != 3 else ():
                for member, value in facet.items() if isinstance(facet, dict) else ():
                    if type(value) is int:
                        facet[member] = chance.choice([0, 7, -3, 10**17, 2**63, 10**20, 1.5, "9"])
    parent = {"run": {"runId": run_id(3)}, "job": {"namespace": "a", "name": "b"}}
    if chance.random() < 0.3:
        content["run"]["facets"] = {"parent": parent}
    if chance.random() < 0.2:
        content["outputs"] = [dataset("other", schema=schema("a:int"))]
    return content


_WRITERS = st.sampled_from(
    [
        lambda content: json.dumps(content).encode(),
        lambda content: json.dumps(content, separators=(",", ":")).encode(),
        lambda content: json.dumps(content, separators=(",", ":"), ensure_ascii=False).encode(
            "utf-8", "surrogatepass"
        ),
        lambda content: json.dumps(content, indent=1, sort_keys=True).encode(),
    ]
)


@settings(max_examples=200, deadline=None)
@given(_contents(), st.integers(0, 1 << 30), _WRITERS)
def test_what_is_read_without_being_parsed_is_the_event_itself(
    content: Any, seed: int, write: Callable[[Any], bytes]
) -> None:
    chance = random.Random(seed)
    if isinstance(content.get("job"), dict):
        parent = {"runId": run_id(1)}, {"namespace": "a", "name": "b"}
        content["run"]["facets"]["parent"] = {"run": parent[0], "job": parent[1]}
    known_ = [write(content), write(content)]
    for text in [*known_, *(write(_varied(chance, content)) for _ in range(6)), *known_]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(intake, "_repeat", lambda _: None)
            patch.setattr(intake, "_forms", repeats.Forms(0))
            long = _read(text)
        found = _read(text)
        assert found == long
        if isinstance(found, Event) and isinstance(long, Event):
            assert _whole(found) == _whole(long)


def _whole(found: Event) -> str:
    parts = found.body.split(REFERENCE.decode())
    parts[1::2] = [found.pieces[key.encode()].decode() for key in parts[1::2]]
    return "".join(parts)


def test_a_run_like_the_one_before_is_not_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    """So do the tests above test what they say."""
    statistics = {"outputStatistics": {"rowCount": 1, "size": 5}}
    content = writes("unparsed", {"a": ["IDENTITY s.a"]}, inputs=("s",))
    content["outputs"][0]["outputFacets"] = statistics
    texts = []
    for number in range(1, 6):
        content["run"]["runId"], content["eventTime"] = (
            run_id(number),
            f"2026-01-0{number}T00:00:00Z",
        )
        statistics["outputStatistics"]["rowCount"] = 10**number
        texts.append(json.dumps(content).encode())
    for text in texts[:3]:
        intake.read(text)
    monkeypatch.setattr(intake, "_load", lambda _: pytest.fail("it was parsed"))
    found = intake.read(texts[4])
    assert (found.run_id, found.time) == (run_id(5), times.parse("2026-01-05T00:00:00Z"))
    assert json.loads(found.outputs[0].io_facets["outputStatistics"].text)["rowCount"] == 10**5


def test_parts_are_forgotten_when_they_are_too_many() -> None:
    seen: known.Seen[int] = known.Seen(250)
    made: list[int] = []

    def ask(*numbers: int) -> None:
        for n in numbers:
            seen.get(b"%040d" % n, lambda n=n: made.append(n) or n)  # type: ignore[misc]

    # Two fit into each half, one that came once stands apart.
    ask(1, 1, 2, 2, 3, 3, 1)
    assert made == [1, 2, 3]
    ask(5, 6, 7, 3, 1)
    assert made == [1, 2, 3, 5, 6, 7]
    ask(4, 4, 2, 5)
    assert made == [1, 2, 3, 5, 6, 7, 4, 2, 5]
    assert seen.get(b"x" * 1_000, lambda: 7) == 7
    assert seen.get(b"none", lambda: None) is None


def _history(chance: random.Random) -> list[dict[str, Any]]:
    """Runs of a few jobs over a few tables, with schemas, links, renames and failures."""
    found = []
    for number in range(chance.randrange(3, 9)):
        table, source = chance.sample("tuvw", 2)
        columns = {"a": [chance.choice([f"IDENTITY {source}.a", f"TRANSFORMATION {source}.b"])]}
        own: dict[str, Any] = {}
        if chance.random() < 0.5:
            own["schema"] = schema(chance.choice(["a:int", "a:long"]))
        if chance.random() < 0.3:
            place = {"namespace": "file", "name": f"/{chance.choice('tu')}", "type": "LOCATION"}
            own["symlinks"] = {"identifiers": [place]}
        if chance.random() < 0.2:
            before = {"namespace": "db", "name": source}
            own["lifecycleStateChange"] = {
                "lifecycleStateChange": "RENAME", "previousIdentifier": before
            }  # fmt: skip
        read = dataset(source, schema=schema(chance.choice(["a:int", "a:string", "b:int"])))
        minute = chance.randrange(50)
        for type in chance.choice((["START", "COMPLETE"], ["COMPLETE"], ["START", "FAIL"])):
            found.append(
                writes(
                    table, columns, type=type, run=number, minute=minute, inputs=(read,), own=own
                )
            )
            minute += chance.randrange(9)
    return found


def _changes(chance: random.Random) -> list[dict[str, Any]]:
    """Many runs of one job on one table, whose lineage changes to and fro, also in part."""
    found = []
    for number in range(chance.randrange(4, 14)):
        columns = chance.choice([{"a": ["IDENTITY s.a"]}, {"a": ["IDENTITY s.b"], "b": []}, {}])
        inputs = chance.choice([("s",), ("s", "v"), ()])
        minute = chance.randrange(40)
        quality = {"outputs": [{"namespace": "db", "name": "t", "availability": "PARTIAL"}]}
        facets = {"sparkLineage_quality": quality} if chance.random() < 0.2 else {}
        for type in chance.choice((["START", "COMPLETE"], ["COMPLETE"], ["START", "FAIL"])):
            bare = type == "START" and chance.random() < 0.5
            more = {"type": type, "run": number, "minute": minute, "facets": facets}
            found.append(
                event(job="make_t", inputs=inputs, outputs=("t",), **more)
                if bare or not columns
                else writes("t", columns, inputs=inputs, **more)
            )
            minute += chance.randrange(9)
    return found


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("history", [_history, _changes])
def test_one_by_one_and_all_at_once_give_the_same_store(
    history: Callable[[random.Random], list[dict[str, Any]]],
    seed: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Neither that events are written together nor any short way may show, in any order."""
    chance = random.Random(seed)
    bodies = [json.dumps(one).encode() for one in history(chance)]
    shown = []
    for groups in ("each", "all", "some", "long"):
        if groups == "long":
            monkeypatch.setattr(intake, "_repeat", lambda _: None)
            monkeypatch.setattr(closing, "_goes_on", lambda *_: False)
        order = chance.sample(bodies, len(bodies)) + chance.sample(bodies, len(bodies) // 2)
        collector = Collector("sqlite://")
        while order:
            size = {"all": len(order), "some": chance.randrange(1, 5)}.get(groups, 1)
            some, order = order[:size], order[size:]
            answer = collector.take_batch(b"[" + b",".join(some) + b"]")
            assert answer["status"] == "success"
        shown.append(collector.graph())
        collector.close()
    assert shown[0] == shown[1] == shown[2] == shown[3]


def test_a_repeat_of_known_lineage_adds_no_edge(collector: Collector) -> None:
    content = writes("t", {"a": ["IDENTITY s.a"], "b": ["AGGREGATION s.b"]}, inputs=("s",))

    def edges() -> list[tuple[Any, ...]]:
        query = tables.edges.select().order_by(tables.edges.c.id)
        with collector.database.read() as connection:
            return [tuple(row) for row in connection.execute(query)]

    collector.take(json.dumps(content).encode())
    before = edges()
    for run in range(2, 8):
        content["run"]["runId"] = run_id(run)
        content["eventTime"] = f"2026-01-02T00:00:0{run}Z"
        collector.take(json.dumps(content).encode())
    assert edges() == before
    assert len(before) == 3


def test_columns_are_found_whatever_their_digest(collector: Collector) -> None:
    """An older store has others: a column is found by its data set and path."""
    content = writes("t", {"a": ["IDENTITY s.a"]}, inputs=("s",), own={"schema": schema("a:int")})
    collector.take(json.dumps(content).encode())
    columns = tables.columns
    with collector.database.write() as connection:
        connection.execute(columns.update().values(digest=cast(columns.c.id, Text)))
        before = connection.execute(select(columns.c.id).order_by(columns.c.id)).all()
    again = writes("t", {"a": ["AGGREGATION s.a"]}, inputs=("s",), run=2, minute=5)
    collector.take(json.dumps(again).encode())
    with collector.database.read() as connection:
        assert connection.execute(select(columns.c.id).order_by(columns.c.id)).all() == before


def test_what_was_acknowledged_survives_a_kill_in_the_middle(tmp_path: Path) -> None:
    """Sixteen clients post while the process is killed: nothing that got its 201 is lost."""
    command = [sys.executable, "-m", "spark_lineage.cli", "collector", "--port", "0"]
    process = subprocess.Popen(
        [*command, "--db", str(tmp_path / "c.db")], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    url = process.stdout.readline().split()[-1]
    acknowledged: list[str] = []
    enough = threading.Event()

    def post(client: int) -> None:
        with httpx.Client(base_url=url, trust_env=False) as http:
            for number in range(10_000):
                # Known lineage and new: another table each time.
                table = "t" if number % 2 else f"t_{client}_{number}"
                content = writes(table, {"a": ["IDENTITY s.a"]}, run=client * 10_000 + number)
                try:
                    answer = http.post("/api/v1/lineage", json=content)
                except httpx.HTTPError:
                    return
                assert answer.status_code == 201
                acknowledged.append(content["run"]["runId"])
                if len(acknowledged) > 200:
                    enough.set()

    threads = [threading.Thread(target=post, args=(client,)) for client in range(16)]
    for thread in threads:
        thread.start()
    assert enough.wait(60)
    process.send_signal(signal.SIGKILL)
    for thread in threads:
        thread.join(60)
    process.wait()
    process.stdout.close()
    collector = Collector(str(tmp_path / "c.db"))
    query = tables.events.select().with_only_columns(tables.events.c.run_id)
    with collector.database.read() as connection:
        kept = set(connection.scalars(query))
        assert not connection.exec_driver_sql("PRAGMA foreign_key_check").all()
        assert connection.exec_driver_sql("PRAGMA integrity_check").scalar() == "ok"
    # Their texts are whole, too: each part that one refers to is there.
    texts = [json.loads(text) for text in maintenance.export(collector.database)]
    collector.close()
    assert {one["run"]["runId"] for one in texts} == kept
    assert set(acknowledged) <= kept
