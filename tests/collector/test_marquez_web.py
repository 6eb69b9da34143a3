"""The requests of Marquez's web page, as data, against a filled store on each database."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import UUID

import httpx
import pytest

from tests.collector import shop
from tests.collector.build import run_id

WEB = json.loads((Path(__file__).parent / "fixtures/marquez/web.json").read_text("utf-8"))
NAMES = {
    "jobs": shop.JOBS, "job": shop.JOB, "declared": shop.DECLARED, "namespace": shop.LAKE,
    "dataset": shop.DAILY, "source": shop.PG, "field": "total", "run": run_id(5),
    "tag": "urgent: a/b",
}  # fmt: skip


def encoded(text: str) -> str:
    """As JavaScript's ``encodeURIComponent``."""
    return quote(text, safe="!~*'()")


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def client(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[httpx.Client]:
    """A client of a service that has the shop."""
    yield from shop.served(request, tmp_path_factory)


def faults(value: Any, shape: Any, at: str = "$") -> Iterator[str]:
    """Where a value is not of a shape."""
    if isinstance(shape, str) and shape.startswith("@"):
        shape = WEB["shapes"][shape[1:]]
    if isinstance(shape, dict):
        if not isinstance(value, dict):
            yield f"{at} is {value!r}, no object"
            return
        for key, inner in shape.items():
            name = key.rstrip("?*")
            if name not in value:
                if not key.endswith("*"):
                    yield f"{at}.{name} is not there"
            elif not (key.endswith("?") and value[name] is None):
                yield from faults(value[name], inner, f"{at}.{name}")
    elif isinstance(shape, list):
        if not isinstance(value, list):
            yield f"{at} is {value!r}, no list"
            return
        for number, item in enumerate(value):
            yield from faults(item, shape[0], f"{at}[{number}]")
    elif not is_of(value, shape):
        yield f"{at} is {value!r}, no {shape}"


def is_of(value: Any, kind: str) -> bool:
    """Whether a value is of one of the plain kinds."""
    if kind.endswith("?"):
        return value is None or is_of(value, kind[:-1])
    if kind == "any":
        return True
    if kind in ("count", "flag", "object"):
        of = {"count": int, "flag": bool, "object": dict}[kind]
        return isinstance(value, of) and (kind == "flag" or not isinstance(value, bool))
    if not isinstance(value, str):
        return False
    if kind in ("time", "uuid"):
        try:
            if kind == "uuid":
                return str(UUID(value)) == value
            return datetime.fromisoformat(value.replace("Z", "+00:00")).year > 2000
        except ValueError:
            return False
    return kind == "text" or value in kind.split("|")


def found(value: Any, path: str) -> list[Any]:
    """All that stands at a path; ``[]`` is each item of a list."""
    every = [value]
    for part in path.split("."):
        if part == "[]":
            every = [item for one in every if isinstance(one, list) for item in one]
        else:
            every = [one[part] for one in every if isinstance(one, dict) and part in one]
    return [one for one in every if one is not None]


@pytest.mark.parametrize("asked", WEB["requests"], ids=lambda asked: str(asked["page"]))
def test_request(client: httpx.Client, asked: dict[str, Any]) -> None:
    names = {name: encoded(text) for name, text in NAMES.items()}
    url = "/api/v1" + asked["url"].format_map(names)
    answer = client.request(asked["method"], url, json=asked.get("body"))
    assert answer.status_code == 200, answer.text
    told = answer.json()
    assert list(faults(told, asked["reads"])) == []
    for path in asked.get("filled", ()):
        assert found(told, path), f"nothing at {path}"
    for path in asked.get("null", ()):
        assert found(told, path) == []
    if "length" in asked:
        items = told if isinstance(told, list) else found(told, "events.[]")
        assert len(items) == asked["length"]


def test_the_shapes_find_what_does_not_fit() -> None:
    interval = {"startInterval": "2026-01-01T00:00:00Z", "endInterval": None, "count": True}
    assert list(faults([interval], ["@interval"])) == [
        "$[0].endInterval is None, no time", "$[0].count is True, no count"
    ]  # fmt: skip
    assert list(faults({"jobVersion": 1}, {"jobVersion?": {"name": "text"}, "x": "any"})) == [
        "$.jobVersion is 1, no object", "$.x is not there"
    ]  # fmt: skip
    assert not is_of("1970-01-01T00:00:00Z", "time")
    assert not is_of("x", "uuid")
    assert is_of("A", "A|B")
    assert not is_of("C", "A|B")
