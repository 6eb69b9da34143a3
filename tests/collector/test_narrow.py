"""What a token of some namespaces sees: of others no name, whatever is asked."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from spark_lineage.collector import guard, narrow, overrides
from spark_lineage.collector.server import running
from spark_lineage.collector.service import Collector
from tests.collector.build import FACET, Json, dataset, event, run_id, schema, take

SECRET = ("hush", "secret")


def edge(namespace: str, name: str, field: str, kind: str = "IDENTITY") -> Json:
    told = [{"type": "DIRECT", "subtype": kind}]
    return {"namespace": namespace, "name": name, "field": field, "transformations": told}


def made(
    number: int, job: tuple[str, str], out: tuple[str, str], columns: dict[str, list[Json]],
    *inputs: tuple[str, str], **more: Any,
) -> Json:  # fmt: skip
    facts = [{"name": name, "type": "TRANSFORMATION", "origin": "INPUT_FIELDS",
              "availability": "AVAILABLE", "via": [],
              "expression": " + ".join(f"{s['name']}.{s['field']}" for s in some)}
             for name, some in columns.items()]  # fmt: skip
    for fact, some in zip(facts, columns.values(), strict=True):
        for one in some:
            one["transformations"][0]["description"] = fact["expression"]
    tags = {**FACET, "tags": [{"key": f"tag of {out[1]}", "value": "x"}]}
    facet = {**FACET, "fields": {name: {"inputFields": some} for name, some in columns.items()}}
    target = dataset(
        out[1], out[0], columnLineage=facet, tags=tags,
        schema=schema(*(f"{name}:string" for name in columns)),
        sparkLineage_columns={**FACET, "columns": facts},
    )  # fmt: skip
    content = event(
        run=number, minute=number, job=job[1], outputs=(target,),
        inputs=tuple(dataset(name, space) for space, name in inputs), **more,
    )  # fmt: skip
    content["job"]["namespace"] = job[0]
    return content


OPEN, SHUT = ("shop", "orders"), ("secretdb", "hush.people")
OURS, THEIRS = ("etl", "report"), ("secretjobs", "hush_job")


def events() -> list[Json]:
    parent = {"parent": {**FACET, "run": {"runId": run_id(5)},
                         "job": {"namespace": THEIRS[0], "name": THEIRS[1]}}}  # fmt: skip
    return [
        made(1, OURS, ("shop", "report"), {
            "a": [edge(*OPEN, "x")],
            # A sum of what may be seen and what may not.
            "b": [edge(*OPEN, "y"), edge(*SHUT, "hush_name")],
        }, OPEN, SHUT, facets=parent),
        # Theirs writes of ours, and ours reads what theirs wrote.
        made(2, THEIRS, SHUT, {"hush_name": [edge(*OPEN, "x", "AGGREGATION")]}, OPEN),
        made(3, THEIRS, ("shop", "orders"), {"x": [edge(*SHUT, "hush_name")], "y": []}, SHUT),
        made(4, OURS, ("shop", "end"), {"c": [edge("shop", "report", "b")]}, ("shop", "report")),
        made(5, ("etl", "other"), ("shop", "report"), {"a": [edge(*OPEN, "z")]}, OPEN),
    ]  # fmt: skip


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    path = tmp_path_factory.mktemp("narrow") / "c.db"
    collector = Collector(str(path))
    take(collector, *events())
    key = collector.change(guard.create, "some", "read", ["shop", "etl"])
    said = {
        "action": "CONFIRM", "namespace": "shop", "dataset": "report", "column": "b",
        "from_namespace": SHUT[0], "from_dataset": SHUT[1], "from_column": "hush_name",
        "kind": "IDENTITY", "masking": False, "by": "ann", "reason": "so",
    }  # fmt: skip
    collector.change(overrides.put, said)
    collector.close()
    with running(str(path)) as url:
        headers = {"Authorization": f"Bearer {key}"}
        with httpx.Client(base_url=url, headers=headers, trust_env=False, timeout=60) as found:
            yield found


# What every parameter of a question may be; each question is asked with each combination.
GIVEN: dict[str, list[Any]] = {
    "name": ["report", "hush.people", "report.b", "people"], "q": ["e", "hush"],
    "dataset": ["report", "orders", "hush.people", "people"], "column": ["b", "x", "hush_name"],
    "run": [run_id(1), run_id(2)], "job": ["report", "hush_job"], "tag": ["tag of orders",
    "tag of hush.people"], "namespace": [None, SHUT[0]], "since": ["2020-01-01T00:00:00Z"],
    "until": ["2026-11-01T00:00:00Z"], "step": ["week"],
    "nodeId": ["dataset:shop:report", "dataset:secretdb:hush.people", "job:etl:report",
               "job:secretjobs:hush_job", "datasetField:shop:report:b",
               "datasetField:secretdb:hush.people:hush_name"], "withDownstream": ["true"],
    "direction": ["both"],
}  # fmt: skip
PATHS = {
    "rest": ["shop", "secretdb", "shop/datasets", "secretdb/datasets", "etl/jobs",
             "secretjobs/jobs", "shop/datasets/report", "secretdb/datasets/hush.people",
             "etl/jobs/report/runs", "secretjobs/jobs/hush_job/runs", "shop/datasets/orders"],
    "name": ["shop", "secretdb"], "what": ["jobs", "lineage-events"], "number": ["1"],
    "run": [run_id(1), run_id(2)],
}  # fmt: skip


def questions(client: httpx.Client) -> Iterator[tuple[str, Json]]:
    document = client.get("/openapi.json").json()
    for path, operations in document["paths"].items():
        if "get" not in operations:
            continue
        told = operations["get"].get("parameters", [])
        places = [p["name"] for p in told if p["in"] == "path"]
        names = [p["name"] for p in told if p["in"] == "query" and p["name"] in GIVEN]
        for parts in itertools.product(*(PATHS[name] for name in places)):
            where = path.replace(":path", "")
            for name, part in zip(places, parts, strict=True):
                where = where.replace("{" + name + "}", part)
            for values in itertools.product(*(GIVEN[name] for name in names)):
                given = dict(zip(names, values, strict=True))
                yield where, {key: value for key, value in given.items() if value is not None}


def test_no_question_tells_of_other_namespaces(client: httpx.Client) -> None:
    answered: set[str] = set()
    asked = 0
    for path, given in questions(client):
        answer = client.get(path, params=given)
        asked += 1
        assert answer.status_code in (200, 403, 404, 409, 422), (path, given, answer.text)
        text = answer.text
        for value in given.values():
            # What the question itself says may come back.
            text = text.replace(json.dumps(str(value))[1:-1], "")
        if path != "/openapi.json":
            assert not any(word in text for word in SECRET), (path, given, text)
        if answer.status_code == 200:
            answered.add(path)
    assert asked > 100
    # It is not that nothing is told.
    assert {"/api/v1/columns/explain", "/api/v1/columns/impact", "/api/v1/lineage/graph",
            "/api/v1/find", "/api/v1/runs", "/api/v1/health", "/api/v1/lineage",
            "/api/v1/column-lineage", "/api/v1/namespaces/shop/datasets/report",
            "/api/v1/tags/flow", "/api/v1/diff"} <= answered  # fmt: skip


def test_what_is_left(client: httpx.Client) -> None:
    def get(path: str, **given: str) -> Json:
        found: Json = client.get(path, params=given).json()
        return found

    told = get("/api/v1/columns/explain", dataset="report", column="b")
    assert told["hidden"] > 0
    by_name = {(n["dataset"], n["column"]): n for n in told["nodes"]}
    # `x` comes by way of what is not shown.
    assert set(by_name) == {("report", "b"), ("orders", "y"), ("orders", "x")}
    (step,) = by_name["report", "b"]["steps"]
    # Its expression names the other one, too.
    assert step["expression"] is None
    assert [(s["dataset"], told["nodes"][s["node"]]["column"]) for s in step["direct"]] == [
        ("orders", "y")
    ]
    whole = get("/api/v1/columns/explain", dataset="end", column="c")["nodes"][0]["steps"][0]
    assert whole["expression"] == "report.b"
    graph = get("/api/v1/lineage/graph", dataset="report", column="a")
    ids = {one["id"] for one in graph["columns"]}
    assert graph["column_edges"]
    assert all({e["source"], e["target"]} <= ids for e in graph["column_edges"])
    assert [one["name"] for one in get("/api/v1/namespaces")["namespaces"]] == ["etl", "shop"]
    assert {j["job"]["name"] for j in get("/api/v1/health")["jobs"]} <= {"report", "other"}
    told = get("/api/v1/tags/flow", tag="tag of hush.people")
    # What reaches ours is told of ours.
    assert {(c["dataset"], c["tagged"]) for c in told["columns"]} == {
        ("orders", False), ("report", False), ("end", False),
    }  # fmt: skip


def test_what_is_for_all_namespaces_is_not_for_some(client: httpx.Client) -> None:
    for path in ("/api/v1/graph", "/api/v1/quarantine", "/api/v1/quarantine/1", "/api/v1/tokens",
                 "/api/v1/events/lineage"):  # fmt: skip
        assert client.get(path).status_code == 403
    for path in (SHUT[0], f"{SHUT[0]}/datasets/{quote(SHUT[1])}", "secret%64b", "SHOP"):
        assert client.get(f"/api/v1/namespaces/{path}").status_code == 403
    assert client.get("/api/v1/sources/" + quote(SHUT[0])).status_code == 403
    asked = {"dataset": "orders", "fields": [{"name": "y", "type": "string"}]}
    told = client.post("/api/v1/schema-change", json=asked)
    assert told.status_code == 200
    assert not any(word in told.text for word in SECRET)
    assert [c["column"] for c in told.json()["changes"]] == ["x"]
    asked["dataset"] = SHUT[1]
    assert client.post("/api/v1/schema-change", json=asked).status_code == 404


def test_an_admin_of_some_namespaces_is_none_of_all(tmp_path: Any) -> None:
    path = tmp_path / "c.db"
    collector = Collector(str(path))
    key = collector.change(guard.create, "a", "admin", ["shop"])
    collector.close()
    with running(str(path)) as url:
        headers = {"Authorization": f"Bearer {key}"}
        new = {"name": "b", "scope": "admin"}
        made = httpx.post(f"{url}/api/v1/tokens", json=new, headers=headers, trust_env=False)
        assert made.status_code == 403


def test_what_is_nested_without_end_is_no_fault(tmp_path: Any) -> None:
    deep: Any = {}
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(RecursionError):
        narrow.answer(deep, frozenset({"x"}), "/")
