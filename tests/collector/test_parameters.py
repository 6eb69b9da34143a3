"""A pattern that a request brings: what it may have, since anyone may send it."""

from __future__ import annotations

import httpx
import pytest

FINE = [
    "^tmp_", r"^(tmp|stg)_.*_\d+$", "[a*+{?(|]+x", "(?i)staging", r"\(\*\+\+\*\?\?\?\?",
    "a{2,3}b*", "[]*]x*", "(?:a|b)x", "_v[0-9]+$",
]  # fmt: skip
COSTLY = [
    "(a|a)*b", "(a+)+", ".*.*.*", r"(.)\1", "(?=a)", "(?:a){9}", "(?P<x>a)", "a?a?a?a?aaaa",
    "(a|a)(a|a)(a|a)(a|a)", "(?:a|a)?", "(?P=x)", "(?x) a *", "|".join("a" * 30),
]  # fmt: skip


@pytest.mark.parametrize("text", FINE)
def test_plain_patterns_are_taken(url: str, text: str) -> None:
    query = {"dataset": "none", "fold": text}
    answer = httpx.get(f"{url}/api/v1/lineage/graph", params=query, trust_env=False)
    assert answer.status_code == 404, answer.text


@pytest.mark.parametrize("text", [*COSTLY, "(", "a" * 501])
def test_costly_ones_are_refused(url: str, text: str) -> None:
    query = {"dataset": "none", "fold": text}
    answer = httpx.get(f"{url}/api/v1/lineage/graph", params=query, trust_env=False)
    assert answer.status_code == 422, answer.text
    assert "fold" in answer.text
