"""Marquez's API by plain HTTP: what its answers mean, on each database.

What is right comes from Marquez's OpenAPI document and from how its server answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from spark_lineage.collector import marquez_columns, marquez_graph
from tests.collector import shop
from tests.collector.build import dataset, event, lineage, run_id, schema, source

Get = Callable[..., Any]


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def client(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[httpx.Client]:
    """A client of a service that has the shop, and events of now."""
    yield from shop.served(request, tmp_path_factory)


def send(client: httpx.Client, content: Any) -> None:
    assert client.post("/api/v1/lineage", json=content).status_code == 201


@pytest.fixture
def get(client: httpx.Client) -> Get:
    def ask(path: str, status: int = 200, **parameters: str) -> Any:
        answer = client.get("/api/v1" + path, params=parameters or None)
        assert answer.status_code == status, answer.text
        return answer.json()

    return ask


def path(namespace: str, kind: str, name: str, *tail: str) -> str:
    parts = ("namespaces", namespace, kind, name, *tail)
    return "".join("/" + quote(part, safe="") for part in parts)


DAILY = path(shop.LAKE, "datasets", shop.DAILY)
ORDERS = path(shop.PG, "datasets", shop.ORDERS)
JOB = path(shop.JOBS, "jobs", shop.JOB)


def test_jobs_come_newest_first_and_by_the_state_of_their_last_run(get: Get) -> None:
    told = get("/jobs")
    assert [one["name"] for one in told["jobs"]] == [
        "mail", shop.DECLARED, "broken", "publish", shop.JOB
    ]  # fmt: skip
    assert told["totalCount"] == 5
    pages = [get("/jobs", limit="2", offset=str(offset)) for offset in (0, 2, 4, 6)]
    assert [one["name"] for page in pages for one in page["jobs"]] == [
        one["name"] for one in told["jobs"]
    ]
    assert {page["totalCount"] for page in pages} == {5}

    def of(*states: str) -> list[str]:
        query = "&".join(f"lastRunStates={state}" for state in states)
        found = get(f"/namespaces/{shop.JOBS}/jobs?{query}")
        assert found["totalCount"] == len(found["jobs"])
        return [one["name"] for one in found["jobs"]]

    assert of("FAILED") == ["broken"]
    assert of("RUNNING", "FAILED") == ["broken", "publish"]
    # It was aborted once, and has completed since.
    assert of("ABORTED") == []
    assert get("/jobs?lastRunStates=LOST", 422)["code"] == 422


def test_a_job(get: Get) -> None:
    job = get(JOB)
    assert (job["name"], job["tags"], job["description"]) == (shop.JOB, ["critical"], "Daily sums")
    # Its name begins with that of the job which started it.
    assert (job["parentJobName"], job["simpleName"]) == ("dag", "daily/sums 100%")
    assert job["createdAt"] == "2026-01-01T00:10:00.000000Z"
    assert job["updatedAt"] == "2026-01-01T00:57:00.000000Z"
    states = [run["state"] for run in job["latestRuns"]]
    assert states == ["COMPLETED", "ABORTED", "COMPLETED", "FAILED", "COMPLETED"]
    run = job["latestRun"]
    assert (run["id"], run["durationMs"]) == (run_id(5), 420_000)
    assert run["nominalStartTime"] == "2026-01-01T00:00:00.000000Z"
    assert run["jobVersion"]["version"] == job["currentVersion"]
    version = get(DAILY)["currentVersion"]
    assert [one["datasetVersionId"] for one in run["outputDatasetVersions"]] == [
        {"namespace": shop.LAKE, "name": shop.DAILY, "version": version}
    ]
    old = get("/jobs/runs/" + run_id(1))["outputDatasetVersions"]
    assert old[0]["datasetVersionId"]["version"] != version
    assert get(JOB + "/versions")["versions"][0]["latestRun"]["id"] == run_id(5)
    assert get(path(shop.JOBS, "jobs", shop.DECLARED))["outputs"] == [
        {"namespace": "db", "name": "declared out"}
    ]


def test_facets_of_a_run_and_of_its_job(get: Get) -> None:
    of = {kind: get(f"/jobs/runs/{run_id(2)}/facets", type=kind) for kind in ("run", "job")}
    assert set(of["run"]["facets"]) == {"errorMessage", "nominalTime", "parent"}
    assert set(of["job"]["facets"]) == {"sql", "sourceCodeLocation", "documentation", "tags"}
    assert get(f"/jobs/runs/{run_id(2)}/facets", 422, type="dataset")["code"] == 422
    assert run_id(77) in get(f"/jobs/runs/{run_id(77)}/facets", 404)["message"]


def test_a_data_set(get: Get) -> None:
    one = get(DAILY)
    assert (one["createdAt"], one["updatedAt"]) == (
        "2026-01-01T00:17:00.000000Z", "2026-01-01T01:10:00.000000Z"
    ) or one["updatedAt"] == "2026-01-01T01:06:00.000000Z"  # fmt: skip
    assert one["lastModifiedAt"] == "2026-01-01T00:57:00.000000Z"
    assert [field["description"] for field in one["fields"]] == [None, "sum of the amounts", None]
    made = {column["name"]: column for column in one["columnLineage"]}
    assert set(made) == {"day", "total", "buyers"}
    assert made["total"]["inputFields"] == [
        {"namespace": shop.PG, "dataset": shop.ORDERS, "field": "amount",
         "transformationType": "AGGREGATION", "transformationDescription": "sum(amount)"}
    ]  # fmt: skip
    read = get(ORDERS)
    # It was only read: there is a time of it, and no column lineage, which is null.
    assert (read["createdAt"], read["columnLineage"]) == ("2026-01-01T00:10:00.000000Z", None)
    assert (read["tags"], read["description"]) == (["GOLD"], "All orders")
    assert {field["name"]: field["tags"] for field in read["fields"]} == {
        "id": [], "amount": [], "email": ["PII"]
    }  # fmt: skip


def test_versions(get: Get) -> None:
    told = get(DAILY + "/versions")
    new, old = told["versions"]
    assert told["totalCount"] == 2
    assert [len(one["fields"]) for one in (new, old)] == [3, 2]
    assert [one["createdByRun"]["id"] for one in (new, old)] == [run_id(3), run_id(1)]
    assert [one["createdAt"][11:16] for one in (new, old)] == ["00:37", "00:17"]
    assert {one["lifecycleState"] for one in (new, old)} == {"OVERWRITE"}
    assert set(new["facets"]) == {"schema", "columnLineage", "lifecycleStateChange"}
    assert get(f"{DAILY}/versions/{old['version']}") == old
    assert get(DAILY + "/versions", limit="1", offset="1")["versions"] == [old]
    assert get(f"{DAILY}/versions/{run_id(1)}", 404)["code"] == 404
    # Nobody wrote it here: of the reads there is no run that made it.
    assert [one["createdByRun"] for one in get(ORDERS + "/versions")["versions"]] == [None]


def test_column_graph_has_edges_as_marquez_tells_them(get: Get) -> None:
    node = f"dataset:{shop.LAKE}:{shop.DAILY}"
    told = get("/column-lineage", nodeId=node, depth="2", withDownstream="true")["graph"]
    nodes = {one["id"]: one for one in told}
    total = f"datasetField:{shop.LAKE}:{shop.DAILY}:total"
    amount = f"datasetField:{shop.PG}:{shop.ORDERS}:amount"
    kpi = f"datasetField:bigquery:{shop.REPORT}:kpi"
    assert nodes[total]["inEdges"] == [{"origin": total, "destination": amount}]
    assert nodes[total]["outEdges"] == [{"origin": total, "destination": kpi}]
    assert nodes[amount]["outEdges"] == [{"origin": amount, "destination": total}]
    # Other jobs read it and say nothing of columns.
    assert {one["data"]["dataset"] for one in told} == {shop.DAILY, shop.ORDERS, shop.REPORT}
    up = get("/column-lineage", nodeId=kpi, depth="1")["graph"]
    assert {one["id"] for one in up} == {kpi, total}
    of_job = get("/column-lineage", nodeId=f"job:{shop.JOBS}:{shop.JOB}", depth="1")["graph"]
    assert {one["data"]["dataset"] for one in of_job} == {shop.DAILY, shop.ORDERS}


def test_depth_counts_from_job_to_job(get: Get) -> None:
    def reached(node: str, depth: int) -> set[str]:
        told = get("/lineage", nodeId=node, depth=str(depth))
        assert told["truncated"] is False
        return {one["data"]["name"] for one in told["graph"]}

    job = f"job:{shop.JOBS}:{shop.JOB}"
    near = {shop.JOB, shop.ORDERS, shop.DAILY}
    further = {"publish", "broken", shop.REPORT, shop.DECLARED, "declared out"}
    assert reached(job, 0) == near
    assert reached(job, 1) == near | further
    table = f"dataset:{shop.LAKE}:{shop.DAILY}"
    assert reached(table, 0) == {shop.DAILY}
    assert reached(table, 1) == near | {"publish", "broken", shop.REPORT}
    assert reached(table, 2) == near | further


def test_a_renamed_data_set_is_one_node(get: Get) -> None:
    told = get("/lineage", nodeId="job:jobs:mail", depth="3")["graph"]
    assert sorted(one["id"] for one in told) == [
        "dataset:db:mails", f"dataset:{shop.PG}:customers_new", "job:jobs:mail"
    ]  # fmt: skip
    inputs = get("/namespaces/jobs/jobs/mail")["inputs"]
    assert inputs == [{"namespace": shop.PG, "name": "customers_new"}]


def test_node_ids_that_are_none(get: Get) -> None:
    for node in ("run:" + run_id(1), "table:a:b", "", "dataset:a:b", "job:", "datasetField:a:b:c"):
        for question in ("/lineage", "/column-lineage"):
            told = get(question, 404, nodeId=node)
            assert (told["code"], bool(told["message"])) == (404, True)
    field = f"datasetField:{shop.LAKE}:{shop.DAILY}:total"
    assert "/column-lineage" in get("/lineage", 404, nodeId=field)["message"]
    # A version may follow, and the page encodes a namespace twice.
    graph = get("/lineage", nodeId=f"dataset:{shop.LAKE}:{shop.DAILY}#{run_id(1)}", depth="1")
    twice = f"dataset:{quote(shop.LAKE, safe='')}:{shop.DAILY}"
    assert get("/lineage", nodeId=twice, depth="1") == graph


def test_search(get: Get) -> None:
    def names(q: str, **more: str) -> list[str]:
        told = get("/search", q=q, **more)
        assert told["totalCount"] >= len(told["results"])
        return [one["name"] for one in told["results"]]

    assert names("DAI") == [shop.JOB, shop.DAILY]
    assert names("dai", sort="UPDATE_AT") == [shop.DAILY, shop.JOB]
    assert names("dai", filter="job") == [shop.JOB]
    assert names("dai", filter="DATASET") == [shop.DAILY]
    assert names("dai", namespace=shop.LAKE) == [shop.DAILY]
    assert names("dai", limit="1") == [shop.JOB]
    assert names("d_ily%100") == [shop.JOB]
    assert names("%rders%") == [shop.ORDERS]
    # By the name that it had.
    assert names("customers") == ["customers_new"]
    assert names("dai", after="2026-01-01", before="2026-01-02") == [shop.JOB, shop.DAILY]
    assert names("dai", before="2026-01-01") == []
    assert get("/search", 422, q="x", filter="FIELD")["code"] == 422
    assert get("/search", 422, q="x", after="soon")["code"] == 422


def test_events(get: Get) -> None:
    every = get("/events/lineage")
    # What is of no run is no event of this list.
    assert every["totalCount"] == len(every["events"]) == 15
    times = [one["eventTime"] for one in every["events"]]
    assert times == sorted(times, reverse=True)
    told = get("/events/lineage", sortDirection="asc", limit="2", offset="1")
    assert [one["eventTime"] for one in told["events"]] == times[::-1][1:3]
    span = {"after": "2026-01-01T00:10:00.000Z", "before": "2026-01-01T00:27:00.000Z"}
    told = get("/events/lineage", **span, limit="1")
    assert (told["totalCount"], told["events"][0]["eventType"]) == (3, "START")
    # An offset whose plus a client did not encode.
    assert get("/events/lineage?after=2026-01-01T02:20:00+01:00")["totalCount"] == 1
    assert get("/events/lineage", 422, after="yesterday")["code"] == 422
    assert get("/events/lineage", 422, sortDirection="up")["code"] == 422


def test_statistics(client: httpx.Client, get: Get) -> None:
    before = get("/stats/jobs", period="DAY")
    assert {one["count"] for one in before} == {5}
    now = datetime.now(timezone.utc)
    ago = now - timedelta(days=2)
    for number, (moment, type_) in enumerate([(now, "COMPLETE"), (now, "FAIL"), (ago, "START")]):
        content = event(type_, 50 + number, job=f"of now {number}", outputs=(
            dataset("t", f"new{number}://x"),
        ))  # fmt: skip
        content["eventTime"] = moment.isoformat()
        send(client, content)
    day = get("/stats/lineage-events", period="DAY", timezone="Europe/Berlin")
    sums = {key: sum(hour[key] for hour in day) for key in ("start", "complete", "fail", "abort")}
    assert sums == {"start": 0, "complete": 1, "fail": 1, "abort": 0}
    week = get("/stats/lineage-events", period="WEEK", timezone="Asia/Kathmandu")
    assert sum(one["start"] for one in week) == 1
    # The page shows which day it is by UTC.
    assert {one["startInterval"][11:] for one in week} == {"00:00:00.000000Z"}
    jobs = [one["count"] for one in get("/stats/jobs", period="DAY", timezone="UTC")]
    assert (jobs[0], jobs[-1], jobs) == (6, 8, sorted(jobs))
    sources = [one["count"] for one in get("/stats/sources", period="WEEK", timezone="UTC")]
    assert (sources[0], sources[-1]) == (4, 7)
    assert get("/stats/datasets", period="DAY")[-1]["count"] == 9
    assert get("/stats/cats", 404)["code"] == 404
    assert "DAY or WEEK" in get("/stats/jobs", 422, period="YEAR")["message"]
    assert "time zone" in get("/stats/jobs", 422, period="WEEK", timezone="Mars")["message"]


def test_tags(client: httpx.Client, get: Get) -> None:
    def change(method: str, where: str) -> Any:
        answer = client.request(method, "/api/v1" + where)
        assert answer.status_code == 200, answer.text
        return answer.json()

    text = {"description": "of the house"}
    assert client.put("/api/v1/tags/own%2Ftag", json=text).json() == {"name": "own/tag", **text}
    assert {"name": "own/tag", **text} in get("/tags")["tags"]
    for where, own in ((JOB, "critical"), (ORDERS, "GOLD")):
        assert change("POST", where + "/tags/own%2Ftag")["tags"] == [own, "own/tag"]
        # A producer states the other; a person takes it away, and that stands.
        assert change("DELETE", f"{where}/tags/{own}")["tags"] == ["own/tag"]
        send(client, shop.run_of(6, "START", 90))
        assert get(where)["tags"] == ["own/tag"]
        # It is among those that can be set again.
        assert own in {one["name"] for one in get("/tags")["tags"]}
        assert change("DELETE", where + "/tags/own%2Ftag")["tags"] == []
        assert change("POST", f"{where}/tags/{own}")["tags"] == [own]
    field = ORDERS + "/fields/email/tags/"
    tags_of = {one["name"]: one["tags"] for one in change("DELETE", field + "PII")["fields"]}
    assert tags_of["email"] == []
    assert client.get("/api/v1/tags/flow", params={"tag": "PII"}).json()["columns"] == []
    change("POST", field + "PII")
    (tagged,) = client.get("/api/v1/tags/flow", params={"tag": "PII"}).json()["columns"][:1]
    assert tagged["column"] == "email"
    for where in (ORDERS + "/fields/none/tags/x", path("no", "jobs", "no", "tags", "x")):
        assert client.post("/api/v1" + where).status_code == 404


def test_what_is_deleted_comes_back_with_its_next_event(client: httpx.Client, get: Get) -> None:
    out = dataset("gone", "gone://x", schema=schema("a:int"), columnLineage=lineage({"a": []}))
    send(client, event(run=70, minute=1, job="goner", outputs=(out,)))
    names = {"datasets": ("gone://x", "gone"), "jobs": ("jobs", "goner")}
    for kind, (namespace, name) in names.items():
        where = path(namespace, kind, name)
        told = client.delete("/api/v1" + where)
        assert (told.status_code, told.json()["name"]) == (200, name)
        assert "deleted" in get(where, 404)["message"]
        assert client.delete("/api/v1" + where).status_code == 404
        listed = get(f"/namespaces/{quote(namespace, safe='')}/{kind}")
        assert name not in {one["name"] for one in listed[kind]}
        assert get("/search", q=name, filter=kind[:-1], namespace=namespace)["results"] == []
        get("/lineage", 404, nodeId=f"{kind[:-1]}:{namespace}:{name}")
    spaces = {one["name"]: one["isHidden"] for one in get("/namespaces")["namespaces"]}
    assert (spaces["gone://x"], spaces["jobs"]) == (True, False)
    # All else knows it still.
    assert client.get("/api/v1/datasets/explain", params={"dataset": "gone"}).status_code == 200
    again = event(run=71, job="goner", outputs=(out,))
    again["eventTime"] = (datetime.now(timezone.utc) + timedelta(seconds=1)).isoformat()
    send(client, again)
    for kind, (namespace, name) in names.items():
        assert get(path(namespace, kind, name))["name"] == name
    space = client.delete("/api/v1/namespaces/gone%3A%2F%2Fx").json()
    assert (space["name"], space["isHidden"]) == ("gone://x", True)
    assert get("/namespaces/gone%3A%2F%2Fx/datasets")["datasets"] == []


@pytest.mark.parametrize("slash", ["%2F", "/"])
def test_names_in_paths_encoded_or_not(client: httpx.Client, slash: str) -> None:
    made = {**source("IDENTITY x"), "namespace": "s3://a/b", "name": "x/y", "field": "c/d"}
    odd = "d:i/r#1/100% ü.datasets/jobs/z"
    out = dataset(
        odd, "file://h/p", schema=schema("k/l:int"), columnLineage=lineage({"k/l": [made]})
    )
    send(client, event(run=80, minute=2, job="j/o b/runs", outputs=(out,)))

    def asked(*parts: str) -> Any:
        raw = "/".join(quote(part, safe="/").replace("/", slash) for part in parts)
        return client.get("/api/v1/namespaces/" + raw)

    for name in (odd, "x/y"):
        space = "file://h/p" if name == odd else "s3://a/b"
        told = asked(space, "datasets", name)
        assert (told.status_code, told.json()["name"]) == (200, name)
        assert asked(space, "datasets").json()["totalCount"] == 1
        assert asked(space).json()["name"] == space
        assert asked(space, "datasets", name, "versions").json()["totalCount"] == (name == odd)
    assert asked("jobs", "jobs", "j/o b/runs").json()["name"] == "j/o b/runs"
    assert asked("jobs", "jobs", "j/o b/runs", "runs").json()["totalCount"] == 1
    source_ = client.get("/api/v1/sources/" + "s3://a/b".replace("/", slash))
    assert source_.json()["name"] == "s3://a/b"
    node = f"datasetField:file://h/p:{odd}:k/l"
    for text in (quote(node, safe=""), quote(node, safe=":/")):
        told = client.get(f"/api/v1/column-lineage?nodeId={text}&depth=1")
        assert {one["data"]["field"] for one in told.json()["graph"]} == {"k/l", "c/d"}


UNKNOWN = [
    "/namespaces/no", "/namespaces/no/datasets", "/namespaces/no/datasets/x",
    "/namespaces/no/jobs/x", "/namespaces/no/jobs/x/runs", "/namespaces/jobs/jobs/x/versions",
    "/namespaces/", "/namespaces//datasets", "/namespaces/%00/jobs/x", "/namespaces/%FF%FE",
    "/sources/no", "/jobs/runs/no", "/jobs/runs/no/facets", "/runlineage/upstream?runId=x",
    "/namespaces/" + "datasets/" * 200, f"/namespaces/{'a' * 3000}/datasets/{'b' * 3000}",
]  # fmt: skip


@pytest.mark.parametrize("where", UNKNOWN, ids=lambda where: where[:40])
def test_what_is_unknown_is_404_with_a_text(client: httpx.Client, where: str) -> None:
    told = client.get("/api/v1" + where)
    assert told.status_code in (404, 422), told.text
    assert (told.json()["code"], bool(told.json()["message"])) == (told.status_code, True)


def test_an_unknown_namespace_has_no_jobs(get: Get) -> None:
    assert get("/namespaces/no/jobs") == {"jobs": [], "totalCount": 0}


WRITES = [
    ("PUT", "/namespaces/n"), ("PUT", "/sources/s"), ("PUT", "/namespaces/n/datasets/d"),
    ("PUT", "/namespaces/n/jobs/j"), ("POST", "/jobs/runs/r/start"),
    ("POST", "/jobs/runs/r/complete?at=2026-01-01T00:00:00Z"), ("POST", "/jobs/runs/r/fail"),
    ("POST", "/jobs/runs/r/abort"), ("POST", JOB + "/runs"), ("POST", "/jobs?runState=FAILED"),
    ("DELETE", JOB + "/runs"), ("DELETE", "/tags/x"), ("PATCH", JOB), ("PUT", "/lineage"),
]  # fmt: skip


@pytest.mark.parametrize(("method", "where"), WRITES)
def test_what_marquez_made_by_its_own_calls(client: httpx.Client, method: str, where: str) -> None:
    told = client.request(method, "/api/v1" + where, json={"type": "DB_TABLE", "ownerName": "me"})
    assert told.status_code == 405, told.text
    assert "Allow" in told.headers
    assert (told.json()["code"], bool(told.json()["message"])) == (405, True)


def test_limits(get: Get) -> None:
    for where in (
        "/namespaces",
        "/sources",
        "/tags",
        "/jobs",
        "/events/lineage",
        DAILY + "/versions",
    ):
        for bad in ({"limit": "-1"}, {"offset": "-1"}, {"limit": "x"}, {"limit": "1001"}):
            told = get(where, 422, **bad)
            assert told["detail"][0]["loc"][-1] in bad
        assert get(where, offset="100000")
    names = [one["name"] for one in get("/namespaces")["namespaces"]]
    assert [one["name"] for one in get("/namespaces", limit="1", offset="1")["namespaces"]] == (
        names[1:2]
    )


def test_a_graph_that_is_cut_says_so(
    client: httpx.Client, get: Get, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(marquez_graph, "MOST_NODES", 3)
    told = get("/lineage", nodeId=f"job:{shop.JOBS}:{shop.JOB}", depth="5")
    assert (len(told["graph"]), told["truncated"], told["left_out"] > 0) == (3, True, True)
    monkeypatch.setattr(marquez_columns, "MOST_COLUMNS", 1)
    told = get("/column-lineage", nodeId=f"datasetField:{shop.LAKE}:{shop.DAILY}:total")
    assert (len(told["graph"]), told["truncated"], told["left_out"]) == (1, True, 1)


ODD = [
    "%00",
    "%FF",
    "a%00b",
    "%ED%A0%80",
    "%",
    "%zz",
    "..%2F..",
    "%22%27;--",
    "%F0%9F%95%B7",
    ":" * 3000,
]


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: str(odd)[:12])
def test_odd_texts_are_never_a_fault_of_the_server(client: httpx.Client, odd: str) -> None:
    for method, where in (
        ("PUT", f"/tags/{odd}"), ("POST", f"{JOB}/tags/{odd}"), ("DELETE", f"{JOB}/tags/{odd}"),
        ("DELETE", f"/namespaces/{odd}"), ("GET", f"/namespaces/{odd}/datasets/{odd}"),
        ("GET", f"/search?q={odd}"), ("GET", f"/search?q=x&namespace={odd}&sort=UPDATE_AT"),
        ("GET", f"/lineage?nodeId=dataset:{odd}:{odd}"), ("GET", f"/jobs/runs/{odd}"),
        ("GET", f"/column-lineage?nodeId=datasetField:{odd}:{odd}:{odd}"),
        ("GET", f"/events/lineage?after={odd}"), ("GET", f"/stats/jobs?period=WEEK&timezone={odd}"),
        ("GET", f"/namespaces/{'datasets/' * 4000}{odd}"),
    ):  # fmt: skip
        told = client.request(method, "/api/v1" + where, json={})
        assert told.status_code in (200, 404, 405, 422), (where[:80], told.text)
        told.json()
