"""Tokens, limits, metrics, and a fuzzer that must find no 500."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings

from spark_lineage.collector import guard
from spark_lineage.collector.app import Settings, create
from spark_lineage.collector.server import running
from spark_lineage.collector.service import Collector
from spark_lineage.collector.store.engine import QueryTimeoutError
from tests.collector import summary
from tests.collector.build import Json, event

LINEAGE = "/api/v1/lineage"


def tokens(path: Path, **wanted: tuple[str, list[str]]) -> dict[str, str]:
    collector = Collector(str(path))
    made = {name: collector.change(guard.create, name, *said) for name, said in wanted.items()}
    collector.close()
    return made


def test_scopes(tmp_path: Path) -> None:
    path = tmp_path / "c.db"
    made = tokens(path, r=("read", []), w=("write", ["jobs"]), a=("admin", []))
    assert made["r"] not in path.read_bytes().decode("latin-1")
    with running(str(path)) as url, httpx.Client(base_url=url, trust_env=False) as client:

        def ask(method: str, where: str, who: str | None, content: object = None) -> int:
            headers = {"Authorization": f"Bearer {made[who]}"} if who else {}
            return client.request(method, where, json=content, headers=headers).status_code

        assert ask("GET", "/healthz", None) == 200
        assert ask("GET", "/readyz", None) == 200
        assert ask("GET", "/api/v1/runs", None) == 401
        assert client.get("/api/v1/runs", headers={"Authorization": "Bearer no"}).status_code == 401
        assert ask("GET", "/api/v1/runs", "r") == 200
        assert ask("GET", "/metrics", "r") == 200
        assert ask("POST", LINEAGE, "r", event()) == 403
        assert ask("POST", LINEAGE, "w", event()) == 201
        other = event(run=2)
        other["job"]["namespace"] = "elsewhere"
        assert ask("POST", LINEAGE, "w", other) == 403
        assert ask("POST", LINEAGE, "a", other) == 201
        batch = client.post(
            LINEAGE + "/batch", json=[event(run=3), other],
            headers={"Authorization": f"Bearer {made['w']}"},
        ).json()  # fmt: skip
        assert [one["index"] for one in batch["failed_events"]] == [1]
        assert "elsewhere" in batch["failed_events"][0]["reason"]
        assert ask("POST", "/api/v1/prune", "w", {"days": 1}) == 403
        assert ask("POST", "/api/v1/prune", "a", {"days": 1}) == 200
        assert ask("POST", "/api/v1/schema-change", "r", {"dataset": "x", "fields": []}) == 404


def test_elsewhere_than_on_loopback_a_token_is_needed(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "spark_lineage.cli", "collector", "--host", "0.0.0.0",
               "--port", "0", "--db", str(tmp_path / "c.db")]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "spark-lineage token create" in done.stderr
    tokens(tmp_path / "c.db", a=("admin", []))
    for more in ([], ["--open"]):
        with subprocess.Popen([*command, *more], stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline().startswith("listening on ")
            process.terminate()


def test_the_rate_of_one_client(tmp_path: Path) -> None:
    limited = Settings(rate=3)
    with running(str(tmp_path / "c.db"), settings=limited) as url:
        codes = [httpx.get(url + "/api/v1/runs", trust_env=False) for _ in range(8)]
        assert [one.status_code for one in codes[:3]] == [200, 200, 200]
        refused = [one for one in codes if one.status_code == 429]
        assert refused
        assert refused[0].headers["Retry-After"] == "1"
        assert httpx.get(url + "/healthz", trust_env=False).status_code == 200


def test_questions_may_not_take_for_ever(db_url: str) -> None:
    collector = Collector(db_url, query_seconds=0.2)
    endless = (
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
    )
    begin = time.monotonic()
    with pytest.raises(QueryTimeoutError), collector.database.read() as connection:
        connection.exec_driver_sql(endless)
    assert time.monotonic() - begin < 20
    # The connection is as good as before.
    assert collector.health()["events"] == 0
    collector.close()


def test_metrics_and_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with running(str(tmp_path / "c.db"), settings=Settings(alarms=("quarantined>0",))) as url:
        with caplog.at_level(logging.INFO, "spark_lineage.collector.access"):
            httpx.post(url + LINEAGE, json=event(), trust_env=False)
            httpx.get(url + "/api/v1/resolve?name=sekrit", trust_env=False)
        text = httpx.get(url + "/metrics", trust_env=False).text
    assert (
        'spark_lineage_requests_total{method="POST",route="/api/v1/lineage",status="201"} 1' in text
    )
    assert "spark_lineage_coverage 1.0" in text
    assert "spark_lineage_kept_events 1" in text
    assert 'spark_lineage_alarm{rule="quarantined>0"} 0' in text
    lines: list[Json] = [
        json.loads(r.getMessage()) for r in caplog.records if r.name.endswith("access")
    ]
    assert [(one["method"], one["path"], one["status"]) for one in lines][:2] == [
        ("POST", LINEAGE, 201), ("GET", "/api/v1/resolve", 404),
    ]  # fmt: skip
    assert "sekrit" not in caplog.text


def _schema(path: Path) -> schemathesis.BaseSchema:
    app = create(str(path))
    for content in summary.events():
        app.state.collector.take(json.dumps(content).encode())
    return schemathesis.openapi.from_asgi("/openapi.json", app)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_fuzzer_finds_no_500(tmp_path: Path) -> None:
    """Each operation of the OpenAPI document with values that fit and that do not."""
    found = _schema(tmp_path / "c.db")
    count = 0
    for result in found.get_all_operations():
        operation = result.ok()
        count += 1

        @settings(
            max_examples=12,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy())
        def check(case: schemathesis.Case) -> None:
            answer = case.call()
            assert answer.status_code < 500, (case.path, answer.status_code, answer.text)

        check()
    assert count > 30
