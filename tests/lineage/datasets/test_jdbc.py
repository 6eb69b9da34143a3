"""JDBC URLs and table names as data sets."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_lineage.lineage.datasets.jdbc import (
    database_of,
    jdbc_table,
    parts_of,
    snowflake_namespace,
)
from spark_lineage.lineage.datasets.remote import remote_relation

URLS = [
    [part.strip() for part in line.split(" | ")]
    for line in Path(__file__).with_name("jdbc_urls.txt").read_text().splitlines()
    if line and not line.startswith("#")
]


@pytest.mark.parametrize(("url", "table", "namespace", "name"), URLS)
def test_url(url: str, table: str, namespace: str, name: str) -> None:
    found = jdbc_table(url, table)
    assert (found.namespace, found.name) == (namespace, name)
    assert "secret" not in repr(found) + repr(database_of(url))


@pytest.mark.parametrize(("url", "table", "namespace", "name"), URLS)
def test_a_query_names_the_same(url: str, table: str, namespace: str, name: str) -> None:
    found = remote_relation(
        {"url": url, "query": f"SELECT a FROM {table}"}, (("a", "integer", None),)
    )
    assert [(each.namespace, each.name) for each in found.datasets] == [(namespace, name)]


def test_a_catalogs_parts_are_exact() -> None:
    url = "jdbc:postgresql://h/db"
    assert jdbc_table(url, ["S", "T"]).name == "db.S.T"
    assert jdbc_table(url, ["t"]) == jdbc_table(url, "public.t")
    assert jdbc_table("jdbc:mysql://h", ["shop", "t"]) == jdbc_table("jdbc:mysql://h/shop", "t")


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("t", [("t", False)]),
        ('a."b.c".d', [("a", False), ("b.c", True), ("d", False)]),
        ("[a]]b].t", [("a]b", True), ("t", False)]),
        ("db..t", [("db", False), ("", False), ("t", False)]),
        ("(select 1) q", None),
        ("t q", None),
        ("a join b", None),
        ("f(1)", None),
        ("t;drop", None),
        ("", None),
        (".", None),
    ],
)
def test_parts(text: str, parts: list[tuple[str, bool]] | None) -> None:
    assert parts_of(text) == parts


@settings(max_examples=300)
@given(st.text(max_size=60))
def test_no_url_raises(text: str) -> None:
    database_of(text)
    assert jdbc_table(f"jdbc:{text}", "t").namespace


@settings(max_examples=500)
@given(
    st.sampled_from(["postgresql", "mysql", "sqlserver", "clickhouse", "trino", "foo", "db2"]),
    st.text("abc:/?#@;,=&%[]() ", max_size=12),
)
def test_a_password_is_never_shown(engine: str, around: str) -> None:
    """Whatever stands around it: what is before the last ``@`` is a credential."""
    found = jdbc_table(f"jdbc:{engine}://user:{around}Zecret{around}@host:1/db", "t")
    assert "Zecret" not in repr(found)


@pytest.mark.parametrize(
    ("account", "namespace"),
    [
        ("https://myorg-myaccount.snowflakecomputing.com", "snowflake://myorg-myaccount"),
        ("xy12345.us-west-2.aws", "snowflake://xy12345.us-west-2.aws"),
        ("xy12345.us-east-1", "snowflake://xy12345.us-east-1.aws"),
        ("XY12345", "snowflake://xy12345.us-west-1.aws"),
        ("a-b.privatelink.snowflakecomputing.com", "snowflake://a-b"),
    ],
)
def test_snowflake_accounts(account: str, namespace: str) -> None:
    assert snowflake_namespace(account) == namespace
