"""Secrets are masked before anything is kept, and what is none stays."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select

from spark_lineage.collector import masking
from spark_lineage.collector.service import Collector
from spark_lineage.collector.store import schema
from tests.collector.build import FACET, dataset, event, take, writes


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("postgres://user:hunter2@db:5432/x", "postgres://user:***@db:5432/x"),
        ("jdbc:mysql://h/d?user=u&password=hunter2&ssl=true",
         "jdbc:mysql://h/d?user=u&password=***&ssl=true"),
        ("https://a.blob.core.windows.net/c?sv=1&sig=hunter2", "https://a.blob.core.windows.net/c?sv=1&sig=***"),
        ("Authorization: Bearer abcdefghijkl", "Authorization: ***"),
        ("curl -H 'Bearer hunter2hunter2'", "curl -H '***'"),
        ("fs.s3a.secret.key=hunter2 x", "fs.s3a.secret.key=*** x"),
        ("SELECT password FROM users", "SELECT password FROM users"),
        ("s3://bucket/passwords/day=1", "s3://bucket/passwords/day=1"),
        ("mailto:a@b.c", "mailto:a@b.c"),
    ],
)  # fmt: skip
def test_texts(given: str, kept: str) -> None:
    assert masking.text(given) == kept


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({"database.password": "hunter2"}, {"database.password": "***"}),
        ({"awsSecretAccessKey": "x"}, {"awsSecretAccessKey": "***"}),
        ({"apiKey": "x", "token": 12}, {"apiKey": "***", "token": "***"}),
        ({"name": "DB_PASSWORD", "value": "x"}, {"name": "DB_PASSWORD", "value": "***"}),
        ({"key": "sasl.password", "value": "x"}, {"key": "sasl.password", "value": "***"}),
        ({"name": "HOME", "value": "/root"}, {"name": "HOME", "value": "/root"}),
        # A column of that name, its lineage and its schema are no secrets.
        ({"password": {"inputFields": []}}, {"password": {"inputFields": []}}),
        ({"name": "password", "type": "string"}, {"name": "password", "type": "string"}),
        ({"secretName": "vault/x", "password": ""}, {"secretName": "vault/x", "password": ""}),
        (["redis://:pw@h"], ["redis://:***@h"]),
    ],
)
def test_values(given: Any, kept: Any) -> None:
    before = json.dumps(given)
    assert masking.masked(given) == kept
    assert json.dumps(given) == before


_WORDS = st.sampled_from(
    [
        "password", "PassWd", "pwd", "my_secret", "api.key", "AccountKey", "private-key", "tokens",
        "session_token", "credentials", "Authorization", "signature", "sig", "Bearer abcdefgh12",
        "basic ZGVmZ2hpams=", "paſſword", "authorızation", "SİGNATURE", "toKen", "name", "value",
        "key", "x", "://u:pw@h", "://u@h", "=", ": ", "&", '"', "\\", "\n", "\u0001", " ", "ü",
    ]
)  # fmt: skip
_TEXT = st.lists(_WORDS, max_size=4).map("".join)
_VALUE = st.recursive(
    _TEXT | st.integers() | st.booleans() | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXT, inner, max_size=3),
    max_leaves=8,
)


@given(_VALUE)
def test_the_quick_look_overlooks_nothing(value: Any) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(masking, "suspicious", lambda _: True)
        found = masking.masked(value)
    assert masking.masked(value) == found


def test_nothing_of_it_is_on_the_disk(collector: Collector) -> None:
    facets = {"connector": {**FACET, "configs": {"database.password": "hunter2"}}}
    name = "jdbc:postgresql://u:hunter2@h/d"
    take(
        collector,
        event(facets=facets, inputs=(dataset("s", namespace="pg://u:hunter2@h"),)),
        writes("t", {"a": ["IDENTITY s.x"]}, run=2, own={"dataSource": {**FACET, "uri": name}}),
    )
    collector.take_batch(b'{"password": "hunter2", "url": "pg://u:hunter2@h"}')
    with collector._database.read() as connection:
        for table in schema.metadata.sorted_tables:
            for row in connection.execute(select(table)):
                assert "hunter2" not in str(tuple(row)), table.name
    assert "pg://u:***@h" in {d["namespace"] for d in collector.graph()["datasets"]}
